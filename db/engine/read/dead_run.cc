#include "db/engine/read/dead_run.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "db/decide/visibility/visibility.h"
#include "util/thread/epoch.h"
#include "util/thread/sync.h"

namespace sepal {

bool DeadRun::Look(std::string_view key) {
  // In a forked child, missing threads may hold the locks.
  if (source_.core->Forked()) return false;
  const DeadRanges& ranges = source_.family->dead_ranges;
  const bool forward = direction_ == Direction::kForward;
  if (ranges.any()) {
    std::optional<KeyPosition> next =
        forward ? ranges.EndFrom(key, source_.complete) : ranges.BeginFrom(key, source_.complete);
    if (next.has_value()) {
      AddLast(key, /*after=*/forward);
      far_ = *std::move(next);
      keys_ = 0;
      begun_ = joins_ = true;
      return true;
    }
  }
  if (!begun_) {
    far_ = {std::string(key), /*after=*/!forward};
    begun_ = true;
  }
  if (keys_ >= kMost && Add({std::string(key), /*after=*/forward})) {
    far_ = {std::string(key), /*after=*/forward};
    keys_ = 0;
    joins_ = true;
  }
  return false;
}

void DeadRun::AddLast(std::string_view key, bool after) {
  if (begun_ && keys_ >= (joins_ ? kFewestToJoin : kFewest)) Add({std::string(key), after});
}

bool DeadRun::Add(KeyPosition near) {
  if (!source_.adds || source_.core->Forked()) return true;
  KeyPosition begin = far_;
  KeyPosition end = std::move(near);
  if (direction_ == Direction::kBackward) std::swap(begin, end);
  // A reader does not wait for the mutex, which a writer may hold for as long as the disk takes.
  if (!source_.core->commit_mutex.TryLock()) return false;
  AddLocked(begin, end);
  source_.core->commit_mutex.Unlock();
  return true;
}

void DeadRun::AddLocked(const KeyPosition& begin, const KeyPosition& end) {
  const EpochDomain::Guard guard(&source_.core->epochs);
  const ReadView* const now = source_.family->view();
  if (now == nullptr || now->active != source_.view->active) return;
  if (AnyNewerValue(*now->active, begin, end)) return;
  source_.family->dead_ranges.Add(begin, end, source_.visible, keys_);
}

bool DeadRun::AnyNewerValue(const MemTable& active, const KeyPosition& begin, const KeyPosition& end) const {
  if (active.empty() || active.LastSequence() <= source_.visible) return false;
  const std::unique_ptr<InternalIterator> entries = active.NewIterator();
  const KeyOrder& order = source_.family->order;
  int left = kMostEntries;
  for (entries->Seek(begin.view()); entries->Valid() && order.Less(entries->key(), end.view()); entries->Next()) {
    if (--left == 0) return true;
    const InternalKeyView& key = entries->key();
    if (key.sequence() > source_.visible && MeaningOf(key.trailer) != Meaning::kAbsent) return true;
  }
  return false;
}

}  // namespace sepal
