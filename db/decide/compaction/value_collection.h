// Decides which value files are to be emptied, and how much writers are slowed meanwhile. Pure.
//
// An overwritten or deleted value stays in its file until the last value of that file is gone. Files with much such
// garbage are *emptied*: compactions that rewrite tables move the values that the tables still refer to into other
// files (db/act/jobs/value_mover.h), until no table refers to the file. No update is written for that, and values that
// memtables refer to are not considered.
//
// Laws, with a = max_space_amplification, and not counting what memtables refer to:
// - What tables refer to is at most about `1 + (a - 1) / 10` times the live values, plus one memtable's worth:
//   level_targets.h (ShadowsValues). Tables of references are small compared to the values, so that this costs little.
// - Files are emptied when they take more than `1 + 0.55 (a - 1)` times what tables refer to, those with the most
//   garbage first, until they would take `1 + 0.45 (a - 1)` times that.
// - From there on writers are slowed; at `a / (1 + (a - 1) / 10)` they are slowest. The product of this and the first
//   factor is a.
//
// Expected cost for random overwrites and a = 2: emptied files are live to about 0.38 (the fixed point of `u = (v - 1)
// / ln v` for a log of utilization u = 1 / 1.55; Rosenblum and Ousterhout, "The Design and Implementation of a
// Log-Structured File System", TOCS 1992, and Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012), so
// 1 / (1 - 0.38) = 1.6 bytes are written for each byte of the user's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "db/format/table_metadata.h"
#include "util/base/numbers.h"

namespace sepal {

// A file that gets no more values, and to which no memtable refers.
struct ValueFileFacts {
  FileNumber number;
  uint64_t bytes = 0;       // after its header, which no compaction gives back
  uint64_t live_bytes = 0;  // bytes that tables refer to; more than 0
};

struct ValueCollection {
  // The files to be emptied, ascending.
  std::vector<FileNumber> files = {};
  // The bytes of all files together.
  uint64_t bytes = 0;
  uint64_t live_bytes = 0;
  // The values of `bytes` at which writers begin to be slowed, and at which they are slowest.
  uint64_t soft_bytes = UINT64_MAX;
  uint64_t hard_bytes = UINT64_MAX;

  bool Empties(FileNumber number) const;
  // Returns the bytes of values in those files that the table refers to.
  uint64_t BytesToMove(const TableMetadata& table) const;
  friend bool operator==(const ValueCollection&, const ValueCollection&) = default;
};

using ValueCollectionRef = std::shared_ptr<const ValueCollection>;

// `file_bytes`: the size of a full file; a few of them are no reason to do anything.
ValueCollection PlanValueCollection(std::vector<ValueFileFacts> files, double max_space_amplification,
                                    uint64_t file_bytes);

// Returns how much more than the live values tables may refer to, as a part of the live values.
double MostShadowed(double max_space_amplification);

}  // namespace sepal
