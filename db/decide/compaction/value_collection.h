// Which value files are to be emptied, and how hard writers are held back meanwhile. Pure.
//
// A value that is overwritten or deleted stays in its file until the last of that file goes. Files of which much is
// such garbage are *emptied*: compactions that rewrite tables move the values that these still refer to into other
// files (db/act/jobs/value_mover.h), until no table refers to the file. No update is written for it, and nothing is
// decided about what memtables refer to.
//
// Laws, with a = max_space_amplification, and as far as what memtables refer to is left aside:
// - What tables refer to holds no more than about `1 + (a - 1) / 10` times what is live, beyond one memtable's worth:
//   level_targets.h (ShadowsValues). Tables of references are small beside the values, so that this costs little.
// - Files are emptied from `1 + 0.55 (a - 1)` times what tables refer to on, those of most garbage first, until they
//   would take `1 + 0.45 (a - 1)` times that.
// - From there on writers are slowed, and at `a / (1 + (a - 1) / 10)` they are as slow as they ever get; the product of
//   this and the first is a.
//
// Expected cost, of overwrites at random and a = 2: the files that are emptied are live to about 0.38 (the fixed point
// of `u = (v - 1) / ln v` for a log of utilization u = 1 / 1.55; Rosenblum and Ousterhout, "The Design and
// Implementation of a Log-Structured File System", TOCS 1992, and Desnoyers, "Analytic Modeling of SSD Write
// Performance", SYSTOR 2012), so that 1 / (1 - 0.38) = 1.6 bytes are written for each of the user's.
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
  uint64_t bytes = 0;       // behind its header, which no compaction gives back
  uint64_t live_bytes = 0;  // to which tables refer; more than 0
};

struct ValueCollection {
  // The files to be emptied, ascending.
  std::vector<FileNumber> files = {};
  // Of all files together.
  uint64_t bytes = 0;
  uint64_t live_bytes = 0;
  // Of `bytes`: where writers begin to be slowed, and where they are slowest.
  uint64_t soft_bytes = UINT64_MAX;
  uint64_t hard_bytes = UINT64_MAX;

  bool Empties(FileNumber number) const;
  // Of values in those files, to which the table refers.
  uint64_t BytesToMove(const TableMetadata& table) const;
  friend bool operator==(const ValueCollection&, const ValueCollection&) = default;
};

using ValueCollectionRef = std::shared_ptr<const ValueCollection>;

// `file_bytes`: of a file that is full; a few of them are no reason to do anything.
ValueCollection PlanValueCollection(std::vector<ValueFileFacts> files, double max_space_amplification,
                                    uint64_t file_bytes);

// Of what tables refer to, how much more there may be than is live, as a part of that.
double MostShadowed(double max_space_amplification);

}  // namespace sepal
