// What a transaction needs to find unchanged when it commits: keys, and ranges of keys.
//
// Backward validation (Kung and Robinson, "On Optimistic Methods for Concurrency Control", 1981): a transaction commits
// if no update after its snapshot touches its set. Ranges are what was read, from where a seek began to where the
// reader stopped, so that absent keys count too (phantoms).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "db/format/batch_format.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

struct ConflictRange {
  std::optional<std::string> begin;  // inclusive; unset: from the first key
  std::optional<std::string> end;    // exclusive, unless `end_inclusive`; unset: up to the last key
  bool end_inclusive = true;
};

class ConflictSet {
 public:
  struct Part {
    ColumnFamilyId family;
    KeyOrder order;
    absl::flat_hash_set<std::string> keys;
    std::vector<ConflictRange> ranges;
    size_t join_at = 64;  // the number of ranges at which overlapping ones are joined
    // The bounds of the keys, once sealed; unset if there are no keys.
    std::optional<std::string> smallest = {};
    std::optional<std::string> largest = {};
  };

  void AddKey(ColumnFamilyId family, const KeyOrder& order, std::string_view key);
  // Overlapping ranges are joined from time to time, so that a repeated range takes memory only a few times. A range of
  // a single key becomes that key, if the order compares keys by their bytes.
  void AddRange(ColumnFamilyId family, const KeyOrder& order, ConflictRange range);
  void Add(const ConflictSet& other);
  // Sorts the ranges, and joins overlapping ones. To be called after the last addition, and before Touched.
  void Seal();

  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  // Returns about how much memory it takes.
  size_t MemoryBytes() const { return bytes_; }

  // Returns the key, or the beginning of the range, by which an update touches the set. It lives as long as both.
  std::optional<std::string_view> Touched(const BatchEntry& entry) const;

 private:
  Part& PartOf(ColumnFamilyId family, const KeyOrder& order);
  void Join(Part* part);

  std::vector<Part> parts_;
  size_t bytes_ = 0;
};

// Returns the range that a range delete deletes.
ConflictRange RangeOf(const BatchEntry& range_delete);
// Return whether `key` is before the range's begin, or after its end.
bool IsBefore(const KeyOrder& order, std::string_view key, const ConflictRange& range);
bool IsBehind(const KeyOrder& order, std::string_view key, const ConflictRange& range);
// Returns whether all keys of `inner` are in `outer`.
bool Contains(const KeyOrder& order, const ConflictRange& outer, const ConflictRange& inner);

}  // namespace sepal
