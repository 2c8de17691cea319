#include "db/engine/write/fold_into_memtable.h"

#include <array>
#include <utility>

#include "db/decide/merge/fold.h"
#include "db/decide/visibility/operands.h"
#include "db/decide/visibility/visibility.h"

namespace sepal {

namespace {

// A value or operand up to this size is rebuilt for each update.
constexpr size_t kSmallBytes = 256;
// The largest operand that stands for others.
constexpr size_t kMostBytes = size_t{8} << 10;

FoldedWrite FoldIntoValue(const MergeOperator& merge, std::string_view key, std::optional<std::string_view> base,
                          std::string_view operand) {
  if (base.value_or("").size() > kSmallBytes || operand.size() > kSmallBytes) return {};
  std::string value;
  const bool made = MergeValue(merge, key, base, {&operand, 1}, &value).ok() && value.size() <= kSmallBytes;
  return made ? FoldedWrite{.kind = ValueKind::kPut, .made = std::move(value)} : FoldedWrite();
}

bool Carries(uint64_t older_bytes, uint64_t newer_bytes) {
  if (older_bytes + newer_bytes <= kSmallBytes) return true;
  return older_bytes <= 2 * newer_bytes && older_bytes + newer_bytes <= kMostBytes;
}

FoldedWrite FoldIntoOperands(const MergeOperator& merge, SequenceNumber sequence, std::string_view key,
                             std::string_view operand, const MemTable::Found& newest, SequenceNumber covered_by) {
  Operand older = OperandOf(newest.trailer, newest.value);
  Operand folded{.oldest = sequence, .own = operand, .all = operand, .next_older_bytes = older.all.size()};
  std::string all;
  while (folded.next_older_bytes > 0 && Carries(folded.next_older_bytes, folded.all.size())) {
    std::string combined;
    const std::array<std::string_view, 2> pair = {older.all, folded.all};
    if (!CombineOperands(merge, key, pair, &combined)) break;
    all = std::move(combined);
    folded = {.oldest = older.oldest, .own = operand, .all = all, .next_older_bytes = older.next_older_bytes};
    if (folded.next_older_bytes == 0) break;
    const std::optional<MemTable::Found> next =
        MemTable::LookupOlder(newest, SequenceNumber(folded.oldest.value() - 1));
    if (!next.has_value() || MeaningOf(next->trailer) != Meaning::kOperand) break;
    if (TrailerSequence(next->trailer) < covered_by) break;
    older = OperandOf(next->trailer, next->value);
  }
  return {.kind = ValueKind::kFoldedMerge, .made = FoldedPayload(sequence, folded), .oldest = folded.oldest};
}

}  // namespace

FoldedWrite FoldIntoMemTable(const MemTable& memtable, const MergeOperator* merge, SequenceNumber sequence,
                             std::string_view key, std::string_view operand, uint64_t hash, SequenceNumber covered_by) {
  if (merge == nullptr || operand.size() > kMostBytes) return {};
  const std::optional<MemTable::Found> newest = memtable.Lookup(key, hash, sequence);
  const bool all_covered = !newest.has_value() || TrailerSequence(newest->trailer) < covered_by;
  if (all_covered && covered_by > SequenceNumber(0)) return FoldIntoValue(*merge, key, std::nullopt, operand);
  if (!newest.has_value()) return {};
  switch (MeaningOf(newest->trailer)) {
    case Meaning::kValue:
      return FoldIntoValue(*merge, key, newest->value, operand);
    case Meaning::kExpiring:
      return {};  // the operand outlives the value
    case Meaning::kAbsent:
      return FoldIntoValue(*merge, key, std::nullopt, operand);
    case Meaning::kOperand:
      return FoldIntoOperands(*merge, sequence, key, operand, *newest, covered_by);
    case Meaning::kReference:
      return {};  // the value is not available
  }
  return {};
}

}  // namespace sepal
