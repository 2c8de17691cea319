// Merges: updates that describe a change of a value, and need no read when they are written.
//
//   sepal::Options options;
//   options.family.merge_operator = sepal::MergeOperators::Add64();
//   ...
//   db->Merge("visits", sepal::MergeOperators::EncodeInt64(1));
//
// DB::Merge writes an *operand*. A read of the key applies the operator to the last value that was put (the *base*, if
// there is one) and to all operands after it, oldest first. The engine folds operands, in memory and in compactions, so
// that a read meets few of them however many were written.
//
// The name of the operator belongs to the column family for good, like that of its comparator: it is stored when the
// family is first created or opened with an operator, and later openings must give one of that name, or none. Built-in
// operators are then found by their names; without any other the family opens, but reads of keys with operands fail
// with FailedPrecondition. Versions of the library without merges refuse to open a database that has a family with an
// operator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/export.h"

namespace sepal {

// Must be safe for concurrent use, and deterministic: the same arguments give the same result in every process that
// ever opens the database. It is called by reads, by background threads and by writers, also while other writers wait
// for the call: it must neither block nor call the database. Builds without NDEBUG fold twice, in two ways, and abort
// the process with a message if the results differ.
class SEPAL_EXPORT MergeOperator {
 public:
  virtual ~MergeOperator() = default;

  virtual std::string_view Name() const = 0;

  // Sets `*value`, which is empty, to the value of `key` after `operands` (at least one, oldest first) were merged into
  // `base`; nullopt: there was no value. An error, whose message reaches the reader, fails the read of this key and no
  // other: the operands stay as they are, also in compactions. A value of more than kMaxValueBytes (sepal/db.h) is such
  // an error.
  virtual absl::Status Merge(std::string_view key, std::optional<std::string_view> base,
                             std::span<const std::string_view> operands, std::string* value) const = 0;

  // Sets `*operand`, which is empty, to one operand that has the same effect on any base as `operands` (at least two,
  // oldest first) one after the other, and returns true. False: there is none; they stay as they are, and a read meets
  // all of them. An error means the same, and is not reported.
  virtual absl::StatusOr<bool> Combine(std::string_view key, std::span<const std::string_view> operands,
                                       std::string* operand) const;
};

// The operators that come with the library. Each call returns a new object; operators of the same name are equivalent.
struct SEPAL_EXPORT MergeOperators {
  // Adds signed 64-bit numbers, 8 bytes little-endian each; an absent value is 0. Sums wrap around. InvalidArgument for
  // values and operands of another size. Name: "sepal.Add64".
  static std::shared_ptr<const MergeOperator> Add64();
  // Appends each operand, with `separator` between it and what is there. Name: "sepal.Append:" and the separator.
  static std::shared_ptr<const MergeOperator> Append(std::string_view separator = ",");
  // The largest, or smallest, of the value and all operands in bytewise order. Names: "sepal.Max", "sepal.Min".
  static std::shared_ptr<const MergeOperator> Max();
  static std::shared_ptr<const MergeOperator> Min();
  // The value is a JSON text, and operands are JSON merge patches (RFC 7386). InvalidArgument for bytes that are no
  // JSON text, are nested deeper than 256 levels, or have a number beyond the range of a double. Numbers keep all of
  // their digits, strings may change their escapes, and members of objects are sorted by name. Name:
  // "sepal.JsonMergePatch".
  static std::shared_ptr<const MergeOperator> JsonMergePatch();

  // Returns the operator above that has this name; null if none has it.
  static std::shared_ptr<const MergeOperator> ByName(std::string_view name);

  // For Add64.
  static std::string EncodeInt64(int64_t number);
  // InvalidArgument unless `bytes` are 8.
  static absl::StatusOr<int64_t> DecodeInt64(std::string_view bytes);
};

}  // namespace sepal
