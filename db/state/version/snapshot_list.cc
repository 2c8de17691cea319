#include "db/state/version/snapshot_list.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"

namespace sepal {

std::vector<SequenceNumber> StandingThrough(std::span<const SequenceNumber> snapshots, SequenceNumber last) {
  std::vector<SequenceNumber> standing(snapshots.begin(), std::lower_bound(snapshots.begin(), snapshots.end(), last));
  standing.push_back(last);
  return standing;
}

std::vector<SequenceNumber> SequencesOf(std::span<const KeptSnapshot> snapshots) {
  std::vector<SequenceNumber> sequences;
  sequences.reserve(snapshots.size());
  for (const KeptSnapshot& kept : snapshots) sequences.push_back(kept.sequence);
  std::sort(sequences.begin(), sequences.end());
  sequences.erase(std::unique(sequences.begin(), sequences.end()), sequences.end());
  return sequences;
}

class SnapshotList::Held final : public Snapshot {
 public:
  Held(std::shared_ptr<SnapshotList> list, Key key, std::shared_ptr<const void> owner,
       std::shared_ptr<const JointView> views)
      : list_(std::move(list)), key_(key), owner_(std::move(owner)), views_(std::move(views)) {}
  ~Held() override {
    if (ForkGeneration() != list_->fork_generation_) {
      LeakAfterFork(std::tuple(std::move(list_), std::move(owner_), std::move(views_)));
    } else {
      list_->Release(key_);
    }
  }
  uint64_t sequence() const override { return key_.first.value(); }
  std::optional<ColumnFamilyId> only() const { return key_.second; }
  const void* owner() const { return owner_.get(); }
  const JointView* views() const { return views_.get(); }

 private:
  std::shared_ptr<SnapshotList> list_;
  Key key_;
  std::shared_ptr<const void> owner_;
  // Released before the owner, in whose memory it lies.
  std::shared_ptr<const JointView> views_;
};

std::shared_ptr<const Snapshot> SnapshotList::Take(SequenceNumber sequence, std::shared_ptr<const void> owner,
                                                   std::shared_ptr<const JointView> views,
                                                   std::optional<ColumnFamilyId> only) {
  const Key key(sequence, only);
  if (ForkGeneration() == fork_generation_) {
    MutexLock lock(&mutex_);
    ++held_[key];
  }
  return std::make_shared<Held>(shared_from_this(), key, std::move(owner), std::move(views));
}

std::shared_ptr<const Snapshot> SnapshotList::TakeAgain(const Snapshot& snapshot, std::shared_ptr<const void> owner) {
  const auto& held = static_cast<const Held&>(snapshot);
  return Take(SequenceNumber(held.sequence()), std::move(owner), nullptr, held.only());
}

void SnapshotList::Release(const Key& key) {
  {
    MutexLock lock(&mutex_);
    const auto it = held_.find(key);
    if (--it->second > 0) return;
    const bool was_oldest = it == held_.begin();
    held_.erase(it);
    if (!was_oldest) return;
  }
  MutexLock lock(&listener_mutex_);
  if (listener_) listener_();
}

void SnapshotList::SetListener(std::function<void()> oldest_released) {
  MutexLock lock(&listener_mutex_);
  listener_ = std::move(oldest_released);
}

std::vector<SequenceNumber> SnapshotList::SequencesFor(ColumnFamilyId family) const {
  MutexLock lock(&mutex_);
  std::vector<SequenceNumber> sequences;
  for (const auto& [key, count] : held_) {
    if (key.second.value_or(family) == family && (sequences.empty() || sequences.back() != key.first)) {
      sequences.push_back(key.first);
    }
  }
  return sequences;
}

std::vector<SequenceNumber> SnapshotList::Sequences() const {
  MutexLock lock(&mutex_);
  std::vector<SequenceNumber> sequences;
  for (const auto& [key, count] : held_) {
    if (sequences.empty() || sequences.back() != key.first) sequences.push_back(key.first);
  }
  return sequences;
}

std::optional<SequenceNumber> SnapshotList::Oldest() const {
  MutexLock lock(&mutex_);
  if (held_.empty()) return std::nullopt;
  return held_.begin()->first.first;
}

size_t SnapshotList::count() const {
  MutexLock lock(&mutex_);
  size_t total = 0;
  for (const auto& [key, count] : held_) total += static_cast<size_t>(count);
  return total;
}

std::string SnapshotList::ToString() const {
  MutexLock lock(&mutex_);
  std::string out;
  for (const auto& [key, count] : held_) out += absl::StrFormat("sequence %u: %d held\n", key.first.value(), count);
  return out;
}

const JointView* SnapshotList::ViewsOf(const Snapshot* snapshot) { return static_cast<const Held*>(snapshot)->views(); }

const void* SnapshotList::OwnerOf(const Snapshot* snapshot) { return static_cast<const Held*>(snapshot)->owner(); }

}  // namespace sepal
