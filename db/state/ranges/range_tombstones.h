// Deletes of ranges of keys, as immutable lists of *fragments*: disjoint ranges in key order, each with the sequence
// numbers of the deletes that cover it, newest first.
//
// A range tombstone covers every update of a key in [begin, end) with a lower sequence number, wherever the update
// lies. It says nothing about updates with higher numbers.
//
// Law: of a fragment's deletes in one *stripe* (between two neighbouring snapshots), readers can see the effect of the
// newest only, so only that one is kept (`Stripes`).
//
// Thread-safety: immutable after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "db/state/ranges/fence_tree.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

// The range [begin, end); without an end, it goes up to the last key.
struct RangeTombstone {
  std::string_view begin;
  std::optional<std::string_view> end;
  SequenceNumber sequence;
};

// A range of keys that all have the same newest covering delete, or none.
struct RangeStretch {
  std::optional<std::string_view> begin;  // unset: from the first key on
  std::optional<std::string_view> end;    // unset: up to the last key
  SequenceNumber newest;
};

// The sequence numbers, ascending, at which readers may read: those of snapshots, and at the end one below which no
// later reader will read. Deletes above the last are all kept.
using Stripes = std::span<const SequenceNumber>;

class RangeTombstones {
 public:
  struct Fragment {
    std::string_view begin;
    std::optional<std::string_view> end;
    std::span<const SequenceNumber> sequences;  // descending, at least one
  };
  // Keeps the bytes of the keys alive.
  using Owner = std::shared_ptr<const void>;

  // Makes a list of one delete. `owner` may be null if the bytes outlive the list.
  static std::shared_ptr<const RangeTombstones> Of(const KeyOrder& order, const RangeTombstone& tombstone, Owner owner);
  // Returns the deletes of both. Cost: linear.
  static std::shared_ptr<const RangeTombstones> Merge(const KeyOrder& order, const RangeTombstones& a,
                                                      const RangeTombstones& b, Stripes stripes);
  // Returns the deletes for which `keep` returns true; null if there are none.
  using Keep = std::function<bool(const Fragment& fragment, SequenceNumber sequence)>;
  static std::shared_ptr<const RangeTombstones> Filter(const KeyOrder& order, const RangeTombstones& all,
                                                       const Keep& keep);
  // Makes a list from the deletes of all fragments of a list, in order, and by descending number within a fragment.
  // Null if there are none, or if they do not form such a list.
  static std::shared_ptr<const RangeTombstones> OfFragments(const KeyOrder& order,
                                                            std::span<const RangeTombstone> deletes, Stripes stripes,
                                                            Owner owner);

  size_t size() const { return begins_.size(); }
  Fragment operator[](size_t i) const;
  // The number of deletes, each counted in every fragment that it covers.
  size_t deletes() const { return sequences_.size(); }
  SequenceNumber lowest_sequence() const { return lowest_; }
  SequenceNumber highest_sequence() const { return highest_; }
  size_t MemoryBytes() const;

  // Returns the newest delete at or below `visible` that covers `key`; 0 if there is none. Cost: a search by 8 bytes.
  SequenceNumber Covering(const KeyOrder& order, std::string_view key, SequenceNumber visible) const;
  // Returns the fragment that `key` lies in, or the stretch between two fragments.
  RangeStretch StretchAt(const KeyOrder& order, std::string_view key, SequenceNumber visible) const;
  // Returns the first fragment that does not end at or before `key`; size() if there is none.
  size_t FindAtOrAfter(const KeyOrder& order, std::string_view key) const;

 private:
  class Builder;
  RangeTombstones() = default;
  void Finish(const KeyOrder& order);
  // The *borders* are the begins and ends of all fragments, in order; an unset end is no border.
  size_t borders() const { return 2 * begins_.size() - (unbounded_ ? 1 : 0); }
  std::string_view border(size_t i) const { return i % 2 == 0 ? begins_[i / 2] : ends_[i / 2]; }
  // Returns how many borders are at or before `key`. If the number is odd, `key` lies in a fragment.
  size_t BordersThrough(const KeyOrder& order, std::string_view key) const;
  // The same among the borders between `from` and `to`.
  size_t BordersThrough(const KeyOrder& order, std::string_view key, size_t from, size_t to) const;

  std::vector<std::string_view> begins_;
  std::vector<std::string_view> ends_;  // the last one is empty if it is unbounded
  bool unbounded_ = false;
  std::vector<uint32_t> first_;  // the index in `sequences_` of each fragment's first number, and the end
  std::vector<SequenceNumber> sequences_;
  std::vector<Owner> owners_;
  // For bytewise orders: the begins' common prefix, and for each border the 8 bytes after it; UINT64_MAX for a border
  // with another prefix, which only the last can have.
  std::string_view prefix_;
  FenceTree fences_;
  SequenceNumber lowest_;
  SequenceNumber highest_;
};

using RangeTombstonesRef = std::shared_ptr<const RangeTombstones>;

// Several lists. Owned by shared pointers.
class RangeTombstoneSet : public std::enable_shared_from_this<RangeTombstoneSet> {
 public:
  explicit RangeTombstoneSet(std::vector<RangeTombstonesRef> lists) : lists_(std::move(lists)) {}

  std::span<const RangeTombstonesRef> lists() const { return lists_; }
  bool empty() const { return lists_.empty(); }
  // Returns all lists as one; null if there are none (MergeAll).
  RangeTombstonesRef Merged(const KeyOrder& order, Stripes stripes) const;

 private:
  std::vector<RangeTombstonesRef> lists_;
};

// A shared empty set.
const std::shared_ptr<const RangeTombstoneSet>& NoRangeTombstones();

// Returns all lists as one; null if there are none. Cost: linear, times the logarithm of the number of lists.
RangeTombstonesRef MergeAll(const KeyOrder& order, std::vector<RangeTombstonesRef> lists, Stripes stripes);

// Passes over the fragments along with ascending keys. Cost of a step: amortised constant.
class RangeTombstoneCursor {
 public:
  // `list` may be null if nothing is covered. It must outlive the cursor.
  RangeTombstoneCursor(KeyOrder order, const RangeTombstones* list) : order_(order), list_(list) {}
  // Returns the deletes that cover `key`, newest first; empty if there are none. Keys must ascend from call to call.
  std::span<const SequenceNumber> Covering(std::string_view key);

 private:
  KeyOrder order_;
  const RangeTombstones* list_;
  size_t at_ = 0;
  bool begun_ = false;
};

// Returns the newest of descending numbers at or below `visible`; 0 if there is none.
SequenceNumber NewestThrough(std::span<const SequenceNumber> descending, SequenceNumber visible);
// Returns the stripe that a number lies in; stripes.size() if it is above the last.
size_t StripeOf(Stripes stripes, SequenceNumber sequence);

}  // namespace sepal
