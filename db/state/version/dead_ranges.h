// Ranges of keys of one column family in which nothing is visible, so that iterators can skip many tombstones at once.
//
// A range states: as of sequence number S every key in it is deleted or absent, and no value has been put in it since.
// So a reader whose view has all updates up to S may skip it, whatever memtables and tables the tombstones are in; an
// older reader must not, nor one that reads as of S or later but whose view was loaded before those updates. Iterators
// add the ranges that they have walked over (db/engine/read/dead_run.h); a put of a key cuts the range around it.
// Nothing is on disk: a newly opened database knows no ranges.
//
// Ranges do not overlap. Two adjoining ranges are merged once twice as many keys lie in younger ranges beside them; the
// merged range is as young as the younger of the two. So where deleted keys grow at one end, as at the head of a queue,
// a reader that is n keys behind must walk over about 3n, and a range consists of about as many parts as its number of
// keys has digits.
//
// `Add`, `Cut` and `Forget` require the commit mutex: when a range is added no update is on its way, and a put cuts
// before it is visible, so that a reader that could see the put no longer finds the range. The other functions may be
// called by any thread at any time. Cost: a reader or writer of a family without ranges pays one relaxed load;
// otherwise a lock and a binary search.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"
#include "util/thread/sync.h"

namespace sepal {

// A place between keys: before all updates of `key`, or after them.
struct KeyPosition {
  std::string key = {};
  bool after = false;

  // For Seek and SeekBefore of an internal iterator.
  InternalKeyView view() const { return {key, after ? kLastTrailer : kFirstTrailer}; }
  friend bool operator==(const KeyPosition&, const KeyPosition&) = default;
};

class DeadRanges {
 public:
  static constexpr size_t kMostRanges = 256;
  static constexpr size_t kMostKeyBytes = 256;  // ranges with longer ends are not kept

  explicit DeadRanges(KeyOrder order) : order_(order) {}
  DeadRanges(const DeadRanges&) = delete;
  DeadRanges& operator=(const DeadRanges&) = delete;

  // Returns false if there are no ranges. Exact with the commit mutex held.
  bool any() const { return count_.load(std::memory_order_relaxed) > 0; }

  // Return the end, or the beginning, of what a reader at `visible` may skip around `key`: its range and adjoining
  // ones. Unset if the key lies in no such range.
  std::optional<KeyPosition> EndFrom(std::string_view key, SequenceNumber visible) const;
  std::optional<KeyPosition> BeginFrom(std::string_view key, SequenceNumber visible) const;

  // Adds a range: nothing in [begin, end) is visible as of `as_of`, and no value was put there since. It has about
  // `keys` deleted keys; if there are too many ranges, the smallest is forgotten.
  void Add(const KeyPosition& begin, const KeyPosition& end, SequenceNumber as_of, uint64_t keys);
  // Called when a value of `key` is about to become visible.
  void Cut(std::string_view key);
  // Called when values of unknown keys are.
  void Forget();

  size_t size() const { return count_.load(std::memory_order_relaxed); }
  // Verifies order and disjointness.
  absl::Status Check() const;

 private:
  struct Range {
    KeyPosition begin;
    KeyPosition end;
    SequenceNumber as_of;
    uint64_t keys = 0;
  };

  bool Less(const KeyPosition& a, const KeyPosition& b) const;
  // Returns the index of the range that `key` lies in.
  std::optional<size_t> Find(std::string_view key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes [begin, end) from all ranges; returns the index for a range that begins there.
  size_t Clear(const KeyPosition& begin, const KeyPosition& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Adjoins(size_t left) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Merges the range at `at` with adjoining ones, if that is due.
  void MergeAround(size_t at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Merges range `left` with the next one.
  void Merge(size_t left) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const KeyOrder order_;
  std::atomic<size_t> count_{0};
  mutable Mutex mutex_;
  std::vector<Range> ranges_ ABSL_GUARDED_BY(mutex_);  // in order
};

}  // namespace sepal
