#include "util/thread/epoch.h"

#include <algorithm>
#include <utility>

namespace sepal {

uint64_t EpochGroup::OldestReader() const {
  uint64_t oldest = UINT64_MAX;
  MutexLock lock(&mutex_);
  for (const EpochDomain* const domain : domains_) oldest = std::min(oldest, domain->OldestReader());
  return oldest;
}

void EpochGroup::Join(const EpochDomain* domain) {
  MutexLock lock(&mutex_);
  domains_.push_back(domain);
}

void EpochGroup::Leave(const EpochDomain* domain) {
  MutexLock lock(&mutex_);
  std::erase(domains_, domain);
}

EpochDomain::~EpochDomain() {
  group_->Leave(this);
  for (Retired& retired : retired_) retired.free();
}

uint64_t EpochDomain::EnterShared() {
  MutexLock lock(&shared_mutex_);
  const uint64_t epoch = global_.load(std::memory_order_acquire);
  if (shared_epochs_.empty()) slots_[kSharedThreadSlot].epoch.store(epoch, std::memory_order_seq_cst);
  shared_epochs_.push_back(epoch);
  return epoch;
}

void EpochDomain::LeaveShared(uint64_t epoch) {
  MutexLock lock(&shared_mutex_);
  shared_epochs_.erase(std::lower_bound(shared_epochs_.begin(), shared_epochs_.end(), epoch));
  const uint64_t oldest = shared_epochs_.empty() ? 0 : shared_epochs_.front();
  slots_[kSharedThreadSlot].epoch.store(oldest, std::memory_order_release);
}

uint64_t EpochDomain::OldestReader() const {
  uint64_t oldest = UINT64_MAX;
  for (const Slot& s : slots_) {
    const uint64_t epoch = s.epoch.load(std::memory_order_seq_cst);
    if (epoch != 0) oldest = std::min(oldest, epoch);
  }
  return oldest;
}

void EpochDomain::Defer(std::function<void()> free) {
  const uint64_t epoch = Stamp();
  MutexLock lock(&retired_mutex_);
  retired_.push_back({epoch, std::move(free)});
  newest_retired_.store(std::max(newest_retired_.load(std::memory_order_relaxed), epoch), std::memory_order_relaxed);
}

void EpochDomain::Retire(std::function<void()> free) {
  Defer(std::move(free));
  Collect();
}

bool EpochDomain::AnyRetired() const {
  MutexLock lock(&retired_mutex_);
  return !retired_.empty() || freeing_ > 0;
}

void EpochDomain::Collect() {
  std::vector<Retired> safe;
  {
    MutexLock lock(&retired_mutex_);
    const uint64_t oldest = OldestReader();
    const auto kept = std::stable_partition(retired_.begin(), retired_.end(),
                                            [&](const Retired& retired) { return retired.epoch >= oldest; });
    safe.assign(std::make_move_iterator(kept), std::make_move_iterator(retired_.end()));
    retired_.erase(kept, retired_.end());
    uint64_t newest = 0;
    for (const Retired& retired : retired_) newest = std::max(newest, retired.epoch);
    if (newest != newest_retired_.load(std::memory_order_relaxed)) {
      newest_retired_.store(newest, std::memory_order_relaxed);
    }
    if (safe.empty()) return;
    ++freeing_;
  }
  for (Retired& retired : safe) retired.free();
  MutexLock lock(&retired_mutex_);
  --freeing_;
}

}  // namespace sepal
