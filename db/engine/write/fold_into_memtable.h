// What goes into a memtable for a merge, so that a reader meets few operands of a key however many were written.
//
//   - Over a small value, or a deleted key, the value that comes of it, as a put. Older entries stay, so that no reader
//     of a snapshot can tell; the log has the operand.
//   - Over an operand, a folded merge (db/decide/visibility/operands.h). Operands are folded as a binary counter
//   carries:
//     with the next older one while that is not much longer. So a key has a number of operands that grows with the
//     logarithm of what was appended to it, and a byte is copied as often. Short ones, as of counters, always become
//     one. None grows beyond some KiB.
//   - Else the operand as it is; so it is over a value that expires, and also where the operator fails, which readers
//   are told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "db/state/memtable/memtable.h"
#include "sepal/merge_operator.h"

namespace sepal {

struct FoldedWrite {
  ValueKind kind = ValueKind::kMerge;
  std::optional<std::string> made = {};  // none: the operand itself
  SequenceNumber oldest = {};            // of a folded merge: the oldest update that it stands for
};

// For the memtable's writer; the memtable's entries are older than `sequence`. `merge` may be null. `covered_by`: the
// newest of the memtable's range tombstones that covers the key, or 0; what is older is absent.
FoldedWrite FoldIntoMemTable(const MemTable& memtable, const MergeOperator* merge, SequenceNumber sequence,
                             std::string_view key, std::string_view operand, uint64_t hash,
                             SequenceNumber covered_by = {});

}  // namespace sepal
