// The deleted keys that an iterator walks over one after the other: they are skipped where another iterator has walked
// before, and remembered for those to come (db/state/version/dead_ranges.h).
//
// A walk is told of each deleted key. It looks for a range after 1, 2, 4, 8 ... keys, and adds what it has walked over
// once that is long enough to be worth the commit mutex, which it takes for that unless a writer has it. What is walked
// over is deleted as of the iterator's read point, and all that is newer lies in the active memtable: an iterator of a
// snapshot, or one whose active memtable is another by now, adds nothing. Its values are looked for under the commit
// mutex.
#pragma once

#include <cstdint>
#include <string_view>

#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/state/version/dead_ranges.h"

namespace sepal {

class DeadRun {
 public:
  enum class Direction : uint8_t { kForward, kBackward };
  struct Source {
    Core* core = nullptr;
    Family* family = nullptr;
    const ReadView* view = nullptr;
    SequenceNumber visible;
    // `view` has all updates up to here. It may lack those behind it, even if they are visible: a memtable that began
    // between the two loads has them. A range that follows from such an update must not be skipped.
    SequenceNumber complete;
    bool adds = false;  // the iterator reads the newest state
  };

  // What `source` names must outlive the run.
  explicit DeadRun(const Source& source) : source_(source) {}

  void Begin(Direction direction) {
    direction_ = direction;
    keys_ = 0;
    begun_ = joins_ = false;
  }
  // `key` is deleted. True: nothing is visible up to `target`, where the walk goes on.
  bool Pass(std::string_view key) {
    ++keys_;
    if ((keys_ & (keys_ - 1)) != 0) return false;
    if (keys_ < kFirstLook && !source_.family->dead_ranges.any()) return false;
    return Look(key);
  }
  InternalKeyView target() const { return far_.view(); }
  // The walk is over: nothing is visible up to the place before, or after, all updates of `key`.
  void End(std::string_view key, bool after) {
    if (keys_ >= kFewestToJoin) [[unlikely]]
      AddLast(key, after);
  }

 private:
  // A run of which nothing is known begins to be remembered here, so that short ones cost nothing.
  static constexpr uint64_t kFirstLook = 8;
  // Keys that are worth a range of their own, or a longer one.
  static constexpr uint64_t kFewest = 64;
  static constexpr uint64_t kFewestToJoin = 16;
  // Powers of two; writers wait while so many keys, or entries, are looked at.
  static constexpr uint64_t kMost = 128;
  static constexpr int kMostEntries = 1024;

  bool Look(std::string_view key);
  void AddLast(std::string_view key, bool after);
  // False: a writer holds the commit mutex, and the walk may try again further on.
  bool Add(KeyPosition near);
  void AddLocked(const KeyPosition& begin, const KeyPosition& end);
  bool AnyNewerValue(const MemTable& active, const KeyPosition& begin, const KeyPosition& end) const;

  const Source source_;
  Direction direction_ = Direction::kForward;
  uint64_t keys_ = 0;   // since `far_`
  bool begun_ = false;  // `far_` is known
  bool joins_ = false;  // a range ends at `far_`
  KeyPosition far_;     // where the run began, or goes on
};

}  // namespace sepal
