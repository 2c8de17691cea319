// What a transaction needs to find unchanged when it commits: keys, and ranges of keys.
//
// Backward validation (Kung and Robinson, "On Optimistic Methods for Concurrency Control", 1981): a transaction commits
// if no update that came after its snapshot touches its set. Ranges are what was asked, from where a seek began to
// where the reader stopped, so that keys which were not there count too (phantoms).
//
// Pure, apart from what was added.
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
  std::optional<std::string> begin;  // inclusive; none: from the first key
  std::optional<std::string> end;    // none: up to the last key
  bool end_inclusive = true;
};

class ConflictSet {
 public:
  struct Part {
    ColumnFamilyId family;
    KeyOrder order;
    absl::flat_hash_set<std::string> keys;
    std::vector<ConflictRange> ranges;
    size_t join_at = 64;  // so many ranges
    // Of the keys, once they are sealed; none: there are none.
    std::optional<std::string> smallest = {};
    std::optional<std::string> largest = {};
  };

  void AddKey(ColumnFamilyId family, const KeyOrder& order, std::string_view key);
  // Ranges that overlap are joined now and then, so that the same one takes memory a few times at most. One of a single
  // key is that key, if the order knows keys by their bytes.
  void AddRange(ColumnFamilyId family, const KeyOrder& order, ConflictRange range);
  void Add(const ConflictSet& other);
  // Sorts the ranges, and joins those that overlap. To be called after the last addition, and before Touched.
  void Seal();

  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }
  // About what it takes.
  size_t MemoryBytes() const { return bytes_; }

  // The key, or the begin of the range, by which an update touches the set. It lives as long as both.
  std::optional<std::string_view> Touched(const BatchEntry& entry) const;

 private:
  Part& PartOf(ColumnFamilyId family, const KeyOrder& order);
  void Join(Part* part);

  std::vector<Part> parts_;
  size_t bytes_ = 0;
};

// What a delete of a range deletes.
ConflictRange RangeOf(const BatchEntry& range_delete);
// Whether `key` is before the range's begin, or behind its end.
bool IsBefore(const KeyOrder& order, std::string_view key, const ConflictRange& range);
bool IsBehind(const KeyOrder& order, std::string_view key, const ConflictRange& range);
// Whether all keys of `inner` are in `outer`.
bool Contains(const KeyOrder& order, const ConflictRange& outer, const ConflictRange& inner);

}  // namespace sepal
