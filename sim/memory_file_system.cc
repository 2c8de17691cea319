#include "sepal/simulation/memory_file_system.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "sim/memory_state.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/files/paths.h"

namespace sepal {
namespace {

using State = MemoryFileSystem::State;

absl::Status NoSuchFile(std::string_view path, std::string_view operation) {
  return absl::NotFoundError(absl::StrFormat("%s: %s: no such file", path, operation));
}

absl::Status NameIsTaken(std::string_view path, std::string_view operation) {
  return absl::AlreadyExistsError(absl::StrFormat("%s: %s: the name is taken", path, operation));
}

class MemoryLock final : public DirectoryLock {
 public:
  MemoryLock(MemoryLife life, std::shared_ptr<MemoryNames> names, std::string name, std::string path,
             MemoryNodePtr node, uint64_t number)
      : life_(std::move(life)),
        names_(std::move(names)),
        name_(std::move(name)),
        path_(std::move(path)),
        node_(std::move(node)),
        number_(number),
        owner_(::getpid()) {}

  ~MemoryLock() override {
    MutexLock lock(&life_.state->mutex);
    const auto it = life_.state->locked.find(node_.get());
    if (it != life_.state->locked.end() && it->second.number == number_) life_.state->locked.erase(it);
  }

  absl::Status Check() const override {
    MutexLock lock(&life_.state->mutex);
    RETURN_IF_ERROR(life_.CheckMayChange(path_, "check the lock"));
    if (::getpid() != owner_) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: locked by process %d, which forked this one", path_, owner_));
    }
    const auto it = names_->current.find(name_);
    if (it == names_->current.end() || it->second != node_) {
      return absl::FailedPreconditionError(absl::StrFormat("%s: the lock file was removed or replaced", path_));
    }
    return absl::OkStatus();
  }

 private:
  const MemoryLife life_;
  const std::shared_ptr<MemoryNames> names_;
  const std::string name_;
  const std::string path_;
  const MemoryNodePtr node_;
  const uint64_t number_;
  const pid_t owner_;
};

class MemoryDirectory final : public Directory, public UnsyncedLoser {
 public:
  MemoryDirectory(MemoryLife life, std::shared_ptr<MemoryNames> names, std::string path)
      : life_(std::move(life)), state_(life_.state), names_(std::move(names)), path_(std::move(path)) {}

  Capabilities capabilities() const override { return state_->capabilities; }
  const std::string& path() const override { return path_; }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override;
  absl::StatusOr<std::vector<DirectoryEntry>> List() override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override;
  absl::Status Sync() override;
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override;
  absl::StatusOr<uint64_t> FreeBytes() override;
  void LoseUnsynced() override;

 private:
  std::string PathOf(std::string_view name) const { return absl::StrFormat("%s/%s", path_, name); }
  // Returns an error for an invalid name, and after a crash. Requires the state's mutex.
  absl::Status CheckUse(std::string_view operation, std::string_view name) const {
    RETURN_IF_ERROR(CheckFileName(path_, name));
    return CheckAlive(operation);
  }
  absl::Status CheckAlive(std::string_view operation) const { return life_.CheckAlive(path_, operation); }
  // Returns an error, too, once the client is fenced.
  absl::Status CheckChange(std::string_view operation, std::string_view name) const {
    RETURN_IF_ERROR(CheckFileName(path_, name));
    return life_.CheckMayChange(path_, operation);
  }
  MemoryNodePtr Find(std::string_view name) const {
    const auto it = names_->current.find(name);
    return it == names_->current.end() ? nullptr : it->second;
  }
  MemoryNodePtr Create(std::string_view name);
  void Change(MemoryNames::Change change);
  std::unique_ptr<MemoryHandle> MakeHandle(MemoryNodePtr node, std::string_view name) {
    return std::make_unique<MemoryHandle>(life_, std::move(node), PathOf(name));
  }

  const MemoryLife life_;
  const std::shared_ptr<State> state_;
  const std::shared_ptr<MemoryNames> names_;
  const std::string path_;
};

void MemoryDirectory::Change(MemoryNames::Change change) {
  state_->mutex.AssertHeld();
  MemoryNames::Apply(change, &names_->current);
  MemoryNode* node = change.node.get();
  node->names += (change.added.empty() ? 0 : 1) - (change.removed.empty() ? 0 : 1);
  if (node->names == 0) node->remover = life_.client.get();
  state_->Recharge(node);
  names_->pending.push_back(std::move(change));
}

MemoryNodePtr MemoryDirectory::Create(std::string_view name) {
  auto node = std::make_shared<MemoryNode>();
  Change({.removed = {}, .added = std::string(name), .node = node});
  return node;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> MemoryDirectory::OpenForRead(std::string_view name, ReadMode mode) {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckUse("open", name));
  if (mode == ReadMode::kDirect && !state_->capabilities.direct_reads) {
    return absl::UnimplementedError(absl::StrFormat("%s: open: no direct reads on this file system", PathOf(name)));
  }
  MemoryNodePtr node = Find(name);
  if (node == nullptr) return NoSuchFile(PathOf(name), "open");
  return MakeMemoryReadableFile(MakeHandle(std::move(node), name));
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryDirectory::OpenForWrite(std::string_view name, WriteMode mode,
                                                                            FileUse) {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckChange("open", name));
  MemoryNodePtr node = Find(name);
  if (mode == WriteMode::kCreateNew) {
    if (node != nullptr) return NameIsTaken(PathOf(name), "create");
    node = Create(name);
  }
  if (node == nullptr) return NoSuchFile(PathOf(name), "open");
  if (mode == WriteMode::kOpenExisting) node->Renumber();
  const uint64_t size = node->size();
  return MakeMemoryWritableFile(MakeHandle(std::move(node), name), size);
}

absl::StatusOr<std::vector<DirectoryEntry>> MemoryDirectory::List() {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckAlive("list"));
  std::vector<DirectoryEntry> entries;
  entries.reserve(names_->current.size());
  for (const auto& [name, node] : names_->current) entries.push_back({.name = name, .size_bytes = node->size()});
  return entries;
}

absl::Status MemoryDirectory::Remove(std::string_view name) {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckChange("remove", name));
  MemoryNodePtr node = Find(name);
  if (node == nullptr) return NoSuchFile(PathOf(name), "remove");
  Change({.removed = std::string(name), .added = {}, .node = std::move(node)});
  return absl::OkStatus();
}

absl::Status MemoryDirectory::Rename(std::string_view from, std::string_view to) {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckChange("rename", from));
  RETURN_IF_ERROR(CheckChange("rename", to));
  MemoryNodePtr node = Find(from);
  if (node == nullptr) return NoSuchFile(PathOf(from), "rename");
  if (Find(to) != nullptr) return NameIsTaken(PathOf(to), "rename");
  Change({.removed = std::string(from), .added = std::string(to), .node = std::move(node)});
  return absl::OkStatus();
}

absl::Status MemoryDirectory::Link(std::string_view name, Directory& target, std::string_view new_name) {
  auto* memory_target = dynamic_cast<MemoryDirectory*>(&target);
  if (memory_target == nullptr || memory_target->state_ != state_ || !state_->capabilities.hard_link) {
    return Directory::Link(name, target, new_name);
  }
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckChange("link", name));
  RETURN_IF_ERROR(memory_target->CheckChange("link", new_name));
  MemoryNodePtr node = Find(name);
  if (node == nullptr) return NoSuchFile(PathOf(name), "link");
  if (memory_target->Find(new_name) != nullptr) return NameIsTaken(memory_target->PathOf(new_name), "link");
  memory_target->Change({.removed = {}, .added = std::string(new_name), .node = std::move(node)});
  return absl::OkStatus();
}

absl::Status MemoryDirectory::Sync() {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(life_.CheckMayChange(path_, "sync directory"));
  names_->Sync();
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> MemoryDirectory::Lock(std::string_view name, LockRequest mode) {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckChange("lock", name));
  if (mode == LockRequest::kTakeOver && !state_->capabilities.fences) {
    return absl::UnimplementedError(absl::StrFormat("%s: lock: this file system cannot fence", PathOf(name)));
  }
  MemoryNodePtr node = Find(name);
  if (node == nullptr) node = Create(name);
  if (const auto it = state_->locked.find(node.get()); it != state_->locked.end()) {
    const State::Holder holder = it->second;
    const bool others = holder.client != life_.client;
    if (!holder.expired && !(others && mode == LockRequest::kTakeOver)) {
      return absl::UnavailableError(
          absl::StrFormat("%s: the directory %s is in use by process %d; close the database there first, or open it "
                          "read-only",
                          PathOf(name), path_, ::getpid()));
    }
    if (others) state_->Fence(holder.client.get(), "this client was fenced: another has taken the lock over");
  }
  const uint64_t number = ++state_->locks_taken;
  state_->locked[node.get()] = {.client = life_.client, .number = number, .expired = false};
  return std::make_unique<MemoryLock>(life_, names_, std::string(name), PathOf(name), std::move(node), number);
}

absl::StatusOr<uint64_t> MemoryDirectory::FreeBytes() {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(CheckAlive("free bytes"));
  return state_->FreeBytes();
}

void MemoryDirectory::LoseUnsynced() {
  MutexLock lock(&state_->mutex);
  names_->pending.clear();
}

}  // namespace

MemoryFileSystem::MemoryFileSystem(Capabilities capabilities)
    : MemoryFileSystem(std::make_shared<State>(capabilities)) {}
MemoryFileSystem::MemoryFileSystem(std::shared_ptr<State> state)
    : state_(std::move(state)), client_(std::make_shared<MemoryClient>()) {}
MemoryFileSystem::~MemoryFileSystem() = default;
MemoryFileSystem MemoryFileSystem::AnotherClient() const { return MemoryFileSystem(state_); }

absl::StatusOr<std::unique_ptr<Directory>> MemoryFileSystem::OpenDirectory(std::string_view path, bool create) {
  ASSIGN_OR_RETURN(std::string cleaned, CleanPath(path));
  MutexLock lock(&state_->mutex);
  if (state_->Find(cleaned) != nullptr) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: not a directory", cleaned));
  }
  if (create && !state_->directories.contains(cleaned)) {
    RETURN_IF_ERROR(MemoryLife(state_, client_).CheckMayChange(cleaned, "create directory"));
  }
  if (create) state_->MakeDirectories(cleaned);
  const auto it = state_->directories.find(cleaned);
  if (it == state_->directories.end()) {
    return absl::NotFoundError(absl::StrFormat("%s: open directory: no such directory", cleaned));
  }
  return std::make_unique<MemoryDirectory>(MemoryLife(state_, client_), it->second, std::move(cleaned));
}

absl::Status MemoryFileSystem::RemoveDirectory(std::string_view path) {
  ASSIGN_OR_RETURN(const std::string cleaned, CleanPath(path));
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(MemoryLife(state_, client_).CheckMayChange(cleaned, "remove directory"));
  const auto it = state_->directories.find(cleaned);
  if (it == state_->directories.end()) {
    return absl::NotFoundError(absl::StrFormat("%s: remove directory: no such directory", cleaned));
  }
  bool empty = it->second->current.empty();
  for (const auto& [other, names] : state_->directories)
    empty = empty && (other == "/" || ParentPath(other) != cleaned);
  if (!empty) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: remove directory: it is not empty", cleaned));
  }
  state_->directories.erase(it);
  return absl::OkStatus();
}

void MemoryFileSystem::SetCapacity(uint64_t bytes) {
  MutexLock lock(&state_->mutex);
  state_->capacity = bytes;
}

uint64_t MemoryFileSystem::UsedBytes() const {
  MutexLock lock(&state_->mutex);
  return state_->used;
}

absl::StatusOr<std::string> MemoryFileSystem::ReadFileContents(std::string_view path) const {
  MutexLock lock(&state_->mutex);
  const MemoryNodePtr node = state_->Find(path);
  if (node == nullptr) return NoSuchFile(path, "read");
  return node->contents();
}

absl::Status MemoryFileSystem::WriteFileContents(std::string_view path, std::string_view contents) {
  MutexLock lock(&state_->mutex);
  const std::string name(path.substr(path.rfind('/') + 1));
  RETURN_IF_ERROR(CheckFileName(path, name));
  MemoryNames* names = state_->MakeDirectories(ParentPath(path));
  MemoryNodePtr node = state_->Find(path);
  if (node == nullptr) {
    node = std::make_shared<MemoryNode>();
    ++node->names;
    const MemoryNames::Change change = {.removed = {}, .added = name, .node = node};
    MemoryNames::Apply(change, &names->current);
  }
  // Does not go through `pending`, so that other changes of names stay unsynced.
  names->durable[name] = node;
  node->Resize(0);
  node->Write(0, contents);
  node->Sync();
  node->Renumber();
  state_->Recharge(node.get());
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::FlipBit(std::string_view path, uint64_t offset, int bit) {
  SEPAL_CHECK(bit >= 0 && bit < 8);
  MutexLock lock(&state_->mutex);
  const MemoryNodePtr node = state_->Find(path);
  if (node == nullptr) return NoSuchFile(path, "flip a bit");
  if (offset >= node->size()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: flip a bit at %u: the file has %u bytes", path, offset, node->size()));
  }
  node->FlipBit(offset, bit);
  return absl::OkStatus();
}

}  // namespace sepal
