#include "db/engine/write/insert_entry.h"

#include <optional>

#include "db/engine/write/fold_into_memtable.h"
#include "db/format/value_reference.h"
#include "util/base/check.h"

namespace sepal {

void AddOperand(const Family& family, MemTable* memtable, SequenceNumber sequence, const BatchEntry& entry,
                uint64_t hash, const InsertHint& hint) {
  const RangeTombstoneMap* const ranges = memtable->range_tombstones();
  const SequenceNumber covered_by = ranges != nullptr ? ranges->Covering(entry.key, sequence) : SequenceNumber();
  const FoldedWrite write = FoldIntoMemTable(*memtable, family.options.merge_operator.get(), sequence, entry.key,
                                             entry.value, hash, covered_by);
  memtable->Add(sequence, write.kind, entry.key, write.made.has_value() ? *write.made : entry.value, hash, hint,
                write.oldest);
}

ValueReference AddReference(ValueStore* values, MemTable* memtable, SequenceNumber sequence, const BatchEntry& entry,
                            uint64_t hash, const InsertHint& hint) {
  const std::optional<ValueReference> reference = ReferenceOf(entry.kind, entry.value);
  SEPAL_CHECK(reference.has_value());  // the batch was checked
  values->HoldFor(memtable, *reference);
  memtable->Add(sequence, entry.kind, entry.key, entry.value, hash, hint);
  return *reference;
}

}  // namespace sepal
