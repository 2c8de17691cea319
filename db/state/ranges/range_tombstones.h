// Deletes of ranges of keys, as immutable lists of *fragments*: disjoint ranges in key order, each with the sequence
// numbers of the deletes that cover it, the newest first.
//
// A range tombstone covers every update of a key in [begin, end) that has a lower sequence number, wherever the update
// lies. It says nothing about updates with higher numbers.
//
// Law: of the deletes of one fragment that lie in one *stripe* (between two neighbouring snapshots) only the newest can
// be told from none by a reader, so only that one is kept (`Stripes`).
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

// [begin, end); without an end, up to the last key.
struct RangeTombstone {
  std::string_view begin;
  std::optional<std::string_view> end;
  SequenceNumber sequence;
};

// Keys of which all are covered by the same newest delete, or by none.
struct RangeStretch {
  std::optional<std::string_view> begin;  // none: from the first key on
  std::optional<std::string_view> end;    // none: up to the last key
  SequenceNumber newest;
};

// The sequence numbers, ascending, at which readers may stand: those of snapshots, and at the end one that no reader to
// come will stand below. Deletes above the last are all kept.
using Stripes = std::span<const SequenceNumber>;

class RangeTombstones {
 public:
  struct Fragment {
    std::string_view begin;
    std::optional<std::string_view> end;
    std::span<const SequenceNumber> sequences;  // descending, at least one
  };
  // What keeps the bytes of the keys.
  using Owner = std::shared_ptr<const void>;

  // One delete. `owner` may be null if the bytes outlive the list.
  static std::shared_ptr<const RangeTombstones> Of(const KeyOrder& order, const RangeTombstone& tombstone, Owner owner);
  // All of both. Cost: linear.
  static std::shared_ptr<const RangeTombstones> Merge(const KeyOrder& order, const RangeTombstones& a,
                                                      const RangeTombstones& b, Stripes stripes);
  // Those deletes for which `keep` says so; null if none is left.
  using Keep = std::function<bool(const Fragment& fragment, SequenceNumber sequence)>;
  static std::shared_ptr<const RangeTombstones> Filter(const KeyOrder& order, const RangeTombstones& all,
                                                       const Keep& keep);
  // All deletes of all fragments of a list, in order and those of one fragment by falling numbers. Null for none, and
  // if they are not such a list's.
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

  // The newest delete at or below `visible` that covers `key`; 0 if there is none. Cost: a search by 8 bytes.
  SequenceNumber Covering(const KeyOrder& order, std::string_view key, SequenceNumber visible) const;
  // The fragment that `key` lies in, or the stretch between two.
  RangeStretch StretchAt(const KeyOrder& order, std::string_view key, SequenceNumber visible) const;
  // The first fragment that does not end at or before `key`; size() if there is none.
  size_t FindAtOrAfter(const KeyOrder& order, std::string_view key) const;

 private:
  class Builder;
  RangeTombstones() = default;
  void Finish(const KeyOrder& order);
  // The *borders* are the begins and ends of all fragments, in order; an end that is none is no border.
  size_t borders() const { return 2 * begins_.size() - (unbounded_ ? 1 : 0); }
  std::string_view border(size_t i) const { return i % 2 == 0 ? begins_[i / 2] : ends_[i / 2]; }
  // How many are at or before `key`. Where that is odd, `key` lies in a fragment.
  size_t BordersThrough(const KeyOrder& order, std::string_view key) const;
  // The same, of those between two.
  size_t BordersThrough(const KeyOrder& order, std::string_view key, size_t from, size_t to) const;

  std::vector<std::string_view> begins_;
  std::vector<std::string_view> ends_;  // of the last one, nothing if it is unbounded
  bool unbounded_ = false;
  std::vector<uint32_t> first_;  // of each fragment, in `sequences_`; and the end
  std::vector<SequenceNumber> sequences_;
  std::vector<Owner> owners_;
  // Bytewise orders: the begins' common prefix, and of each border the 8 bytes after it; UINT64_MAX for one that has
  // another prefix, which only the last can have.
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
  // All lists as one; null if there are none (MergeAll).
  RangeTombstonesRef Merged(const KeyOrder& order, Stripes stripes) const;

 private:
  std::vector<RangeTombstonesRef> lists_;
};

// One without lists, which all share.
const std::shared_ptr<const RangeTombstoneSet>& NoRangeTombstones();

// All lists as one; null if there are none. Cost: linear, times the logarithm of the lists.
RangeTombstonesRef MergeAll(const KeyOrder& order, std::vector<RangeTombstonesRef> lists, Stripes stripes);

// Goes over the fragments along with ascending keys. Cost of a step: amortised constant.
class RangeTombstoneCursor {
 public:
  // `list` may be null: nothing is covered. It must outlive the cursor.
  RangeTombstoneCursor(KeyOrder order, const RangeTombstones* list) : order_(order), list_(list) {}
  // The deletes that cover `key`, the newest first; empty if none does. Keys must ascend from call to call.
  std::span<const SequenceNumber> Covering(std::string_view key);

 private:
  KeyOrder order_;
  const RangeTombstones* list_;
  size_t at_ = 0;
  bool begun_ = false;
};

// The newest of descending numbers at or below `visible`; 0 if there is none.
SequenceNumber NewestThrough(std::span<const SequenceNumber> descending, SequenceNumber visible);
// Which stripe a number lies in; stripes.size() above the last.
size_t StripeOf(Stripes stripes, SequenceNumber sequence);

}  // namespace sepal
