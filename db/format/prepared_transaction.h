// A prepared transaction, as the value of a row of the system family (system_row.h).
//
// | offset | size   | meaning                                                                            |
// |--------|--------|------------------------------------------------------------------------------------|
// | 0      | 1      | version: 2 if a put among the updates expires, else 1                              |
// | 1      | varint | when it was prepared, in milliseconds since 1970                                   |
// |        | varint | number of locks: those beside the exclusive ones of what its updates write         |
// |        |        | the locks, without gaps:                                                           |
// |        | varint | column family id, at most 32 bits                                                  |
// |        | 1      | 1: exclusive, else shared; 2: of a range, else of a key; of a range 4: it has a    |
// |        |        | begin, 8: it has an end, 16: which belongs to it                                   |
// |        |        | the key; or the begin and the end that it has: each length as varint, bytes        |
// |        |        | the rest: its updates, as a batch (batch_format.h) without references or rows of   |
// |        |        | the system family                                                                  |
//
// Values of any size lie in the row: they go to value files when the transaction is committed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "util/base/numbers.h"

namespace sepal {

// A lock of a transaction, of a key or of a range of keys.
struct HeldLock {
  ColumnFamilyId family;
  bool exclusive = true;
  bool range = false;
  std::optional<std::string> begin = {};  // the key; of a range: inclusive, none: from the first key on
  std::optional<std::string> end = {};    // of a range; none: up to the last key
  bool end_inclusive = false;
  friend auto operator<=>(const HeldLock&, const HeldLock&) = default;
};

struct PreparedRow {
  uint64_t prepared_millis = 0;
  std::vector<HeldLock> locks = {};
  std::string_view batch = {};  // of a row that was decoded: in its bytes

  std::string Encode() const;
  // FailedPrecondition for a version that only a newer library knows; DataLoss for bytes that are no such row.
  static absl::StatusOr<PreparedRow> Decode(std::string_view bytes);
  friend bool operator==(const PreparedRow&, const PreparedRow&) = default;
};

// Returns the exclusive locks for the updates of a batch, in order, each once: one for each key, and for each range
// that it deletes.
std::vector<HeldLock> LocksOfWrites(std::string_view batch);

}  // namespace sepal
