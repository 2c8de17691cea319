// The operands of one key's merges: taken newest first until a value or an absence ends them, then combined into a
// value by the operator.
//
// A folded merge, which only memtables have, is an operand (its own) together with all older ones down to a sequence
// number (`oldest`), as one operand: a reader that takes it goes on below that number. The entries that it stands for
// stay in the memtable, for readers of snapshots between. Its payload:
//
// | size   | meaning                                                                                  |
// |--------|------------------------------------------------------------------------------------------|
// | varint | its sequence number less `oldest`                                                        |
// | varint | bytes of the next older operand, folded or not, of the memtable; 0: not known or none     |
// | varint | bytes of its own operand                                                                 |
// |        | its own operand                                                                          |
// |        | the operand that stands for all                                                          |
//
// Pure, apart from what a chain has taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "db/decide/visibility/visibility.h"
#include "sepal/merge_operator.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

struct Operand {
  SequenceNumber oldest;          // it replaces the key's updates from here up to its own sequence number
  std::string_view own;           // the operand of its own sequence number
  std::string_view all;           // the operand that stands for all
  uint64_t next_older_bytes = 0;  // see above
};

// Reads an operand, folded or not.
Operand OperandOf(Trailer trailer, std::string_view payload);
// The payload of a folded merge with that sequence number.
std::string FoldedPayload(SequenceNumber sequence, const Operand& operand);

class OperandChain {
 public:
  // `clock` is asked if an expiring put lies below operands, or is the newest update.
  explicit OperandChain(ReadClock* clock) : clock_(clock) {}

  // Takes the newest update of the key at or below the last bound. Returns the bound of the next one needed; nullopt if
  // no more is needed. `payload` is copied.
  std::optional<SequenceNumber> Take(Trailer trailer, std::string_view payload);
  // Forgets everything.
  void Clear();

  bool empty() const { return operands_.empty(); }
  size_t size() const { return operands_.size(); }
  // Returns the reference below the operands, if there is one. Its value must replace it before Resolve.
  std::optional<std::string_view> reference() const {
    return base_is_reference_ ? std::optional<std::string_view>(*base_) : std::nullopt;
  }
  void SetReferenced(std::string value) {
    base_ = std::move(value);
    base_is_reference_ = false;
  }
  // Returns the value after all updates; nullopt if there is none. Errors are the operator's.
  absl::StatusOr<std::optional<std::string>> Resolve(const MergeOperator& merge, std::string_view key);

 private:
  ReadClock* const clock_;
  absl::InlinedVector<std::string, 2> operands_;  // newest first
  std::optional<std::string> base_;
  bool base_is_reference_ = false;
};

}  // namespace sepal
