// Decides what a merge adds to a memtable, so that a reader finds few operands of a key however many were written.
//
//   - Over a small value, or a deleted key, the resulting value, as a put. Older entries stay, so that readers at
//     snapshots see no difference; the log has the operand.
//   - Over an operand, a folded merge (db/decide/visibility/operands.h). Operands are folded as a binary counter
//     carries: with the next older one if that is not much longer. So the number of a key's operands grows with the
//     logarithm of what was appended to it, and so does the number of times that a byte is copied. Short ones, such as
//     counters', always become one. None grows beyond some KiB.
//   - Otherwise the operand as it is; this includes values that expire, and operators that fail, whose errors readers
//     get.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "db/state/memtable/memtable.h"
#include "sepal/merge_operator.h"

namespace sepal {

struct FoldedWrite {
  ValueKind kind = ValueKind::kMerge;
  std::optional<std::string> made = {};  // unset if the operand itself is to be added
  SequenceNumber oldest = {};            // the oldest update that a folded merge stands for
};

// Called by the memtable's writer; the memtable's entries are older than `sequence`. `merge` may be null. `covered_by`:
// the newest of the memtable's range tombstones that covers the key, or 0; entries older than it are deleted.
FoldedWrite FoldIntoMemTable(const MemTable& memtable, const MergeOperator* merge, SequenceNumber sequence,
                             std::string_view key, std::string_view operand, uint64_t hash,
                             SequenceNumber covered_by = {});

}  // namespace sepal
