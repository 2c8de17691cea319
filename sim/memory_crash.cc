// The in-memory file system's directories and files after a crash, and the accounting of space, which starts anew.
#include <set>
#include <utility>

#include "sim/memory_state.h"
#include "util/base/hash.h"
#include "util/files/paths.h"

namespace sepal {

void MemoryNames::Apply(const Change& change, Map* names) {
  if (!change.removed.empty()) {
    const auto it = names->find(change.removed);
    if (it != names->end() && it->second == change.node) names->erase(it);
  }
  if (!change.added.empty()) (*names)[change.added] = change.node;
}

void MemoryNames::Sync() {
  for (const Change& change : pending) Apply(change, &durable);
  pending.clear();
}

void MemoryFileSystem::State::Recharge(MemoryNode* node) {
  const uint64_t now = node->names + node->handles > 0 ? node->SpaceTaken() : 0;
  used += now - node->charged_bytes;
  node->charged_bytes = now;
}

MemoryNames* MemoryFileSystem::State::MakeDirectories(const std::string& path) {
  std::shared_ptr<MemoryNames>& names = directories[path];
  if (names == nullptr) names = std::make_shared<MemoryNames>();
  MemoryNames* made = names.get();
  if (path != "/" && path != ".") MakeDirectories(ParentPath(path));
  return made;
}

MemoryNodePtr MemoryFileSystem::State::Find(std::string_view path) const {
  const auto directory = directories.find(ParentPath(path));
  if (directory == directories.end()) return nullptr;
  const auto file = directory->second->current.find(path.substr(path.rfind('/') + 1));
  return file == directory->second->current.end() ? nullptr : file->second;
}

// Applies a subset of the changes in their order. Other orders need not be tried: a removal affects only the file that
// it removed, so every other order ends in a state that some subset also ends in.
void MemoryFileSystem::State::LosePower(Random* random) {
  const uint64_t persist_of_8 = random != nullptr ? random->Uniform(9) : 0;
  for (auto& [path, names] : directories) {
    for (const MemoryNames::Change& change : names->pending) {
      if (random != nullptr && random->Uniform(8) < persist_of_8) MemoryNames::Apply(change, &names->durable);
    }
    names->pending.clear();
    names->current = names->durable;
  }
  std::set<const MemoryNode*> done;
  for (auto& [path, names] : directories) {
    for (auto& [name, node] : names->current) {
      if (!done.insert(node.get()).second) continue;
      const bool in_order = random != nullptr && !capabilities.outlives_process;
      if (in_order) {
        node->LoseUnsent(random);
        node->Sync();
      }
      node->LosePower(in_order ? nullptr : random);
    }
  }
}

void MemoryFileSystem::State::LoseUnsent(const MemoryClient* client, Random* random) {
  for (auto& [path, names] : directories) {
    for (auto& [name, node] : names->current) {
      if (client != nullptr && node->writer != client) continue;
      node->LoseUnsent(random);
      Recharge(node.get());
    }
  }
}

void MemoryFileSystem::State::Fence(MemoryClient* client, std::string why) {
  LoseUnsent(client, nullptr);
  client->fenced = std::move(why);
  client->fenced_generation = generation;
}

void MemoryFileSystem::KillClient(uint64_t seed) {
  MutexLock lock(&state_->mutex);
  Random random(seed);
  ++client_->life;
  client_->fenced.clear();
  state_->LoseUnsent(client_.get(), &random);
  std::erase_if(state_->locked, [&](const auto& held) { return held.second.client == client_; });
}

void MemoryFileSystem::KeepRemoved(bool keep) { state_->keeps_removed = keep; }

void MemoryFileSystem::ExpireLocks() {
  MutexLock lock(&state_->mutex);
  for (auto& [node, holder] : state_->locked) holder.expired = holder.expired || holder.client == client_;
}

void MemoryFileSystem::Crash(CrashMode mode, uint64_t seed) {
  State& state = *state_;
  MutexLock lock(&state.mutex);
  ++state.generation;
  state.locked.clear();
  Random random(seed);
  switch (mode) {
    case CrashMode::kKillProcess:
      state.LoseUnsent(nullptr, &random);
      break;
    case CrashMode::kLoseUnsynced:
      state.LosePower(nullptr);
      break;
    case CrashMode::kAnySubset:
      state.LosePower(&random);
      break;
  }
  state.ForgetHandles();
}

// Drops files that only open handles kept alive.
void MemoryFileSystem::State::ForgetHandles() {
  used = 0;
  for (auto& [path, names] : directories) {
    for (auto& [name, node] : names->current) {
      node->names = 0;
      node->handles = 0;
      node->writers = 0;
      node->writer = nullptr;
      node->remover = nullptr;
      node->charged_bytes = 0;
      node->mappings.clear();
    }
  }
  for (auto& [path, names] : directories) {
    for (auto& [name, node] : names->current) {
      ++node->names;
      Recharge(node.get());
    }
  }
}

MemoryFileSystem MemoryFileSystem::Clone() const {
  auto clone = std::make_shared<State>(state_->capabilities);
  std::map<const MemoryNode*, MemoryNodePtr> nodes;
  const auto cloned = [&nodes](const MemoryNodePtr& node) {
    MemoryNodePtr& copy = nodes[node.get()];
    if (copy == nullptr) {
      copy = std::make_shared<MemoryNode>(*node);
      copy->Renumber();
    }
    return copy;
  };
  MutexLock lock(&state_->mutex);
  MutexLock clone_lock(&clone->mutex);
  clone->capacity = state_->capacity;
  for (const auto& [path, names] : state_->directories) {
    auto copy = std::make_shared<MemoryNames>();
    for (const auto& [name, node] : names->current) copy->current[name] = cloned(node);
    for (const auto& [name, node] : names->durable) copy->durable[name] = cloned(node);
    for (const MemoryNames::Change& change : names->pending) {
      copy->pending.push_back({change.removed, change.added, cloned(change.node)});
    }
    clone->directories[path] = std::move(copy);
  }
  clone->ForgetHandles();
  return MemoryFileSystem(std::move(clone));
}

uint64_t MemoryFileSystem::Fingerprint() const {
  MutexLock lock(&state_->mutex);
  uint64_t hash = 1;
  for (const auto& [path, names] : state_->directories) {
    hash = Checksum64(path, hash);
    for (const auto& [name, node] : names->current) hash = Checksum64(node->contents(), Checksum64(name, hash));
  }
  return hash;
}

}  // namespace sepal
