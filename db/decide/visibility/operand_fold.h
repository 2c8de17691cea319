// The operands of one key within one stripe of history (retention.h), on their way into a table: collected newest
// first, folded as far as the operator can.
//
// Memory is bounded: many operands, or long ones, are combined; if that is impossible, or the result is still long, the
// fold is full, and they go into the table as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/merge_operator.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

class OperandFold {
 public:
  struct Entry {
    Trailer trailer;  // of a merge
    std::string operand;
  };

  // If `merge` is null, nothing is folded.
  explicit OperandFold(const MergeOperator* merge) : merge_(merge) {}

  // Adds the next older operand. A folded merge stands for all of its operands if they are in the stripe, which begins
  // at `stripe_begin`; otherwise for its own operand only.
  void Add(std::string_view key, Trailer trailer, std::string_view payload, SequenceNumber stripe_begin);
  // Returns whether the update with that number, older than all that were added, is part of an added folded merge.
  bool Covers(SequenceNumber sequence) const { return sequence >= covered_from_; }
  bool IsFull() const { return bytes_ > kMostBytes; }

  // Makes one value from the operands and the put or delete below them. Returns false, and changes nothing, if that is
  // impossible. That is so over an expiring put, because its value disappears at its time while the operands stay; and
  // over a reference, because its value was not read.

  bool Resolve(std::string_view key, Trailer trailer, std::string_view payload);
  // The same with nothing below them.
  bool ResolveWithoutBase(std::string_view key);
  std::string_view value() const { return value_; }
  // Combines the operands into as few as the operator can.
  void Combine(std::string_view key);

  bool empty() const { return entries_.empty(); }
  // The number of operands added since the last Clear; `entries` has as many, or fewer.
  size_t added() const { return added_; }
  SequenceNumber newest() const { return TrailerSequence(entries_.front().trailer); }
  // Newest first.
  const std::vector<Entry>& entries() const { return entries_; }
  // Keeps the answers of Covers.
  void Clear();

 private:
  static constexpr size_t kManyOperands = 64;
  static constexpr size_t kManyBytes = size_t{1} << 20;
  static constexpr size_t kMostBytes = size_t{16} << 20;

  bool Resolve(std::string_view key, std::optional<std::string_view> base);
  std::vector<std::string_view> OldestFirst() const;

  const MergeOperator* const merge_;
  std::vector<Entry> entries_;
  size_t added_ = 0;
  size_t bytes_ = 0;           // of memory
  size_t bytes_combined_ = 0;  // when combining was last tried
  SequenceNumber covered_from_ = kMaxSequenceNumber;
  std::string value_;
};

}  // namespace sepal
