// Runs of deleted keys that iterators walk over: a run that an earlier iterator has walked over is skipped, and new
// ones are remembered (db/state/version/dead_ranges.h).
//
// A walk reports each deleted key. It looks for a known range after 1, 2, 4, 8 ... keys, and adds the run that it has
// walked over once that is long enough to justify the commit mutex, which it takes unless a writer holds it. The keys
// of the run are deleted as of the iterator's read point, and everything newer is in the active memtable; so an
// iterator of a snapshot, or one whose active memtable has been switched, adds nothing. The active memtable is checked
// for newer values under the commit mutex.
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
    // `view` has all updates up to here. It may lack visible ones after it, if a memtable was switched between the two
    // loads. A range that was derived from such an update must not be skipped.
    SequenceNumber complete;
    bool adds = false;  // the iterator reads the newest state
  };

  // The pointers in `source` must outlive the run.
  explicit DeadRun(const Source& source) : source_(source) {}

  void Begin(Direction direction) {
    direction_ = direction;
    keys_ = 0;
    begun_ = joins_ = false;
  }
  // Notes that `key` is deleted. Returns true if nothing is visible up to `target`, from where the walk continues.
  bool Pass(std::string_view key) {
    ++keys_;
    if ((keys_ & (keys_ - 1)) != 0) return false;
    if (keys_ < kFirstLook && !source_.family->dead_ranges.any()) return false;
    return Look(key);
  }
  InternalKeyView target() const { return far_.view(); }
  // Ends the walk: nothing is visible up to the place before, or after, all updates of `key`.
  void End(std::string_view key, bool after) {
    if (keys_ >= kFewestToJoin) [[unlikely]]
      AddLast(key, after);
  }

 private:
  // The number of keys after which a new run begins to be remembered, so that short runs cost nothing.
  static constexpr uint64_t kFirstLook = 8;
  // The numbers of keys that justify a new range, and the extension of a known one.
  static constexpr uint64_t kFewest = 64;
  static constexpr uint64_t kFewestToJoin = 16;
  // Powers of two. They limit the keys and entries that are looked at while writers wait.
  static constexpr uint64_t kMost = 128;
  static constexpr int kMostEntries = 1024;

  bool Look(std::string_view key);
  void AddLast(std::string_view key, bool after);
  // Returns false if a writer holds the commit mutex; the walk may try again later.
  bool Add(KeyPosition near);
  void AddLocked(const KeyPosition& begin, const KeyPosition& end);
  bool AnyNewerValue(const MemTable& active, const KeyPosition& begin, const KeyPosition& end) const;

  const Source source_;
  Direction direction_ = Direction::kForward;
  uint64_t keys_ = 0;   // since `far_`
  bool begun_ = false;  // `far_` is known
  bool joins_ = false;  // a known range ends at `far_`
  KeyPosition far_;     // where the run began, or continues
};

}  // namespace sepal
