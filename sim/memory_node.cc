#include "sim/memory_node.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace sepal {
namespace {

// Puts the sector's durable bytes into `image`. Where the disk never held any, they are zeros or garbage.
void PutSector(std::string* image, uint64_t number, const std::string& durable, Random* garbage) {
  const uint64_t begin = number * MemoryNode::kSectorBytes;
  if (begin >= image->size()) return;
  const uint64_t room = std::min<uint64_t>(MemoryNode::kSectorBytes, image->size() - begin);
  for (uint64_t i = 0; i < room; ++i) {
    char byte = '\0';
    if (i < durable.size()) {
      byte = durable[i];
    } else if (garbage != nullptr) {
      byte = static_cast<char>(garbage->Next());
    }
    (*image)[begin + i] = byte;
  }
}

}  // namespace

uint64_t MemoryNode::NextNumber() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void MemoryNode::Renumber() { number_ = NextNumber(); }

void MemoryNode::Touch(uint64_t offset, uint64_t length) {
  if (length == 0) return;
  const uint64_t last = (offset + length - 1) / kSectorBytes;
  for (uint64_t number = offset / kSectorBytes; number <= last; ++number) {
    if (unsynced_.contains(number)) continue;
    if (auto lost = lost_.extract(number)) {
      unsynced_.insert(std::move(lost));
      continue;
    }
    const uint64_t begin = number * kSectorBytes;
    unsynced_.emplace(number, begin < size() ? contents_.substr(begin, kSectorBytes) : std::string());
  }
}

void MemoryNode::Remember(uint64_t offset, uint64_t length) {
  if (!remembers_unsent_) return;
  unsent_.push_back({offset, offset < size() ? contents_.substr(offset, length) : std::string(), size()});
}

void MemoryNode::LoseUnsent(Random* random) {
  const size_t kept = random != nullptr ? random->Uniform(unsent_.size() + 1) : 0;
  if (kept < unsent_.size()) Renumber();
  for (size_t i = unsent_.size(); i > kept; --i) {
    const Replaced& replaced = unsent_[i - 1];
    contents_.resize(std::max<uint64_t>(replaced.size, replaced.offset + replaced.bytes.size()));
    contents_.replace(replaced.offset, replaced.bytes.size(), replaced.bytes);
    contents_.resize(replaced.size);
  }
  unsent_.clear();
}

void MemoryNode::Write(uint64_t offset, std::string_view bytes) {
  if (bytes.empty()) return;
  Remember(offset, bytes.size());
  Touch(offset, bytes.size());
  if (offset + bytes.size() > size()) contents_.resize(offset + bytes.size());
  contents_.replace(offset, bytes.size(), bytes);
  for (MemoryMapping* mapping : mappings) mapping->Show(offset, bytes);
}

void MemoryNode::Resize(uint64_t size) {
  Remember(size, contents_.size() > size ? contents_.size() - size : 0);
  if (size < contents_.size()) Touch(size, contents_.size() - size);
  if (size <= contents_.size()) reserved_end_ = std::min(reserved_end_, size);
  contents_.resize(size);
}

void MemoryNode::Reserve(uint64_t end) { reserved_end_ = std::max(reserved_end_, end); }

uint64_t MemoryNode::SpaceTaken() const { return std::max(size(), reserved_end_); }

void MemoryNode::FlipBit(uint64_t offset, int bit) {
  contents_[offset] = static_cast<char>(contents_[offset] ^ (1 << bit));
}

void MemoryNode::Sync() {
  unsynced_.clear();
  unsent_.clear();
  durable_size_ = size();
  durable_reserved_end_ = reserved_end_;
}

void MemoryNode::LoseUnsynced() { lost_.merge(std::exchange(unsynced_, {})); }

uint64_t MemoryNode::PickSize(Random* random) const {
  if (random == nullptr || random->OneIn(4)) return durable_size_;
  if (random->OneIn(3)) return size();
  const uint64_t low = std::min(durable_size_, size());
  return low + random->Uniform(std::max(durable_size_, size()) - low + 1);
}

void MemoryNode::LosePower(Random* random) {
  if (!unsynced_.empty() || !lost_.empty() || size() != durable_size_) Renumber();
  const uint64_t new_size = PickSize(random);
  std::string image = contents_;
  image.resize(std::max(durable_size_, size()));
  for (const auto& [number, durable] : lost_) PutSector(&image, number, durable, nullptr);
  // From hardly any of the unsynced sectors to nearly all of them.
  const uint64_t persist_of_8 = random != nullptr ? random->Uniform(9) : 0;
  for (const auto& [number, durable] : unsynced_) {
    if (random != nullptr && random->Uniform(8) < persist_of_8) continue;
    PutSector(&image, number, durable, random != nullptr && random->OneIn(2) ? random : nullptr);
  }
  image.resize(new_size);
  contents_ = std::move(image);
  reserved_end_ = durable_reserved_end_;
  lost_.clear();
  Sync();
}

}  // namespace sepal
