#include "db/state/memtable/memtable_group.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sepal {

MemtableGroup::Member::Member(MemtableGroup* group) : group_(group) {
  MutexLock lock(&group_->mutex_);
  place_ = group_->all_.insert(group_->all_.end(), this);
  group_->members_.fetch_add(1, std::memory_order_relaxed);
}

MemtableGroup::Member::~Member() {
  MutexLock lock(&group_->mutex_);
  group_->Answered(this);
  if (!leaves_) group_->staying_bytes_ -= active_bytes_;
  group_->stuck_bytes_ -= stuck_bytes_;
  group_->all_.erase(place_);
  group_->members_.fetch_sub(1, std::memory_order_relaxed);
}

void MemtableGroup::Member::FlushBy(std::function<void()> flush) {
  MutexLock lock(&group_->mutex_);
  flush_ = std::move(flush);
  if (flush_ == nullptr) group_->Answered(this);
}

void MemtableGroup::Member::Flushed(bool possible) {
  MutexLock lock(&group_->mutex_);
  group_->Answered(this);
  if (possible || stuck_bytes_ >= active_bytes_) return;
  group_->stuck_bytes_ += active_bytes_ - stuck_bytes_;
  stuck_bytes_ = active_bytes_;
}

void MemtableGroup::Member::Switched(size_t active_bytes) {
  MutexLock lock(&group_->mutex_);
  if (!std::exchange(leaves_, false)) group_->staying_bytes_ -= active_bytes_;
  active_bytes_ = active_bytes;
  group_->staying_bytes_ += active_bytes_;
}

bool MemtableGroup::Member::Report(size_t active_bytes) {
  Switched(active_bytes);
  MutexLock lock(&group_->mutex_);
  bool itself = false;
  if (group_->staying_bytes_ > group_->memtable_bytes_) group_->AskLargest(this, &itself);
  return itself;
}

void MemtableGroup::Member::SetStuck(size_t bytes) {
  MutexLock lock(&group_->mutex_);
  group_->stuck_bytes_ = group_->stuck_bytes_ - stuck_bytes_ + bytes;
  stuck_bytes_ = bytes;
}

size_t MemtableGroup::Member::Pressure(size_t own, size_t used, size_t own_limit) const {
  MutexLock lock(&group_->mutex_);
  const size_t all = 2 * group_->memtable_bytes_;
  const bool stuck = stuck_bytes_ > 0;
  if (!stuck && own <= all / (2 * group_->all_.size())) return 0;
  const size_t counted = stuck ? used : used - std::min(used, group_->stuck_bytes_);
  const double part = static_cast<double>(counted) / static_cast<double>(stuck ? all / 2 : all);
  return static_cast<size_t>(static_cast<double>(own_limit) * part);
}

bool MemtableGroup::Member::AskOthers() {
  MutexLock lock(&group_->mutex_);
  bool any = false;
  for (Member* const member : group_->all_) {
    if (member == this || !MayBeAsked(*member)) continue;
    group_->Ask(member);
    any = true;
  }
  return any;
}

void MemtableGroup::AskLargest(const Member* reporter, bool* itself) {
  std::vector<Member*> largest;
  for (Member* const member : all_) {
    if (member == reporter ? member->active_bytes_ > 0 : MayBeAsked(*member)) largest.push_back(member);
  }
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Member* a, const Member* b) { return a->active_bytes_ > b->active_bytes_; });
  for (Member* const member : largest) {
    if (staying_bytes_ <= memtable_bytes_ / 2) break;
    if (member == reporter) {
      *itself = true;
      member->leaves_ = true;
      staying_bytes_ -= member->active_bytes_;
    } else {
      Ask(member);
    }
  }
}

void MemtableGroup::Ask(Member* member) {
  member->leaves_ = true;
  staying_bytes_ -= member->active_bytes_;
  if (!std::exchange(member->asked_, true)) asked_.fetch_add(1);
  member->flush_();
}

void MemtableGroup::Answered(Member* member) {
  if (std::exchange(member->asked_, false)) asked_.fetch_sub(1);
}

}  // namespace sepal
