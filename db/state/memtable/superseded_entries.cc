#include "db/state/memtable/superseded_entries.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "util/memory/forbidden_bytes.h"

namespace sepal {

SupersededEntries::~SupersededEntries() {
  // The arena's memory goes on to other users.
  for (size_t size = 0; size < free_.size(); ++size) {
    while (free_[size] != nullptr) TakeFrom(size);
  }
  if (budget_ != nullptr) budget_->Release(MemoryPart::kMemtables, charged_);
}

bool SupersededEntries::MakeRoomToAdd() {
  if (begin_ > newer_.size() / 2) {
    newer_.erase(newer_.begin(), newer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  } else {
    if (newer_.size() >= kMostWaiting) return false;
    newer_.reserve(std::max<size_t>(64, 2 * newer_.size()));
    Charge();
  }
  return true;
}

void SupersededEntries::Drop(const MemTableEntry* entry) {
  if (Class(entry->bytes_used()) > Class(kMostBytes)) return;  // its memory stays as it is until the memtable goes
  dropped_.push_back(entry);
  Charge();
}

void SupersededEntries::SetViews(uint64_t oldest, uint64_t replaced) {
  if (!leaving_.empty() && oldest <= leaving_view_) return;
  const bool pinned = value_pins_->load(std::memory_order_acquire) > 0;
  for (size_t i = 0; i < leaving_.size(); ++i) {
    if (i + 2 * kAhead < leaving_.size()) leaving_[i + 2 * kAhead]->Prefetch();
    const MemTableEntry* const entry = leaving_[i];
    if (pinned && entry->value().size() > copied_bytes_) {
      dropped_.push_back(entry);
    } else {
      Free(entry);
    }
  }
  leaving_.clear();
  std::swap(leaving_, dropped_);
  leaving_view_ = replaced;
  Charge();
}

char* SupersededEntries::TakeFrom(size_t size) {
  char* const piece = free_[size];
  Allow(piece, size * 8);
  std::memcpy(&free_[size], piece, sizeof(char*));
  return piece;
}

void SupersededEntries::Free(const MemTableEntry* entry) {
  if (free_.empty()) free_.resize(Class(kMostBytes) + 1);
  const size_t size = Class(entry->bytes_used());
  auto* const piece = reinterpret_cast<char*>(const_cast<MemTableEntry*>(entry));
  std::memcpy(piece, &free_[size], sizeof(char*));
  free_[size] = piece;
  Forbid(piece, size * 8);
}

void SupersededEntries::Charge() {
  const size_t bytes =
      (newer_.capacity() + dropped_.capacity() + leaving_.capacity() + free_.capacity()) * sizeof(char*);
  if (bytes == charged_) return;
  if (budget_ != nullptr) {
    bytes > charged_ ? budget_->Charge(MemoryPart::kMemtables, bytes - charged_)
                     : budget_->Release(MemoryPart::kMemtables, charged_ - bytes);
  }
  charged_ = bytes;
}

}  // namespace sepal
