#include "db/act/jobs/range_table.h"

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/visibility/visibility.h"
#include "db/format/range_end.h"
#include "util/base/status.h"
#include "util/memory/arena.h"

namespace sepal {

namespace {

absl::Status BadEntry(InternalKeyView key) {
  return absl::DataLossError(absl::StrFormat("a table of range tombstones holds %s, which is none", ToString(key)));
}

// Returns a copy with its own keys, as the bytes of the given ones may lie in memtables.
RangeTombstonesRef WithOwnKeys(const KeyOrder& order, const RangeTombstones& ranges) {
  const auto keys = std::make_shared<Arena>();
  std::vector<RangeTombstone> deletes;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const RangeTombstones::Fragment fragment = ranges[i];
    RangeTombstone own{.begin = keys->Copy(fragment.begin), .end = std::nullopt, .sequence = {}};
    if (fragment.end.has_value()) own.end = keys->Copy(*fragment.end);
    for (const SequenceNumber sequence : fragment.sequences) {
      own.sequence = sequence;
      deletes.push_back(own);
    }
  }
  return RangeTombstones::OfFragments(order, deletes, {}, keys);
}

}  // namespace

absl::StatusOr<TableMetadata> WriteRangeTable(const TableOutputContext& context, const RangeTombstonesRef& ranges) {
  ColumnFamilyOptions options = *context.options;
  options.filter_policy = FilterPolicy::None();  // lookups ask for keys between the stored ones
  TableOutputContext own = context;
  own.options = &options;
  own.guard_bits_per_key.reset();
  own.cache = nullptr;
  ASSIGN_OR_RETURN(const std::unique_ptr<TableOutput> output, TableOutput::Create(own, /*level=*/0));
  for (size_t i = 0; i < ranges->size(); ++i) {
    const RangeTombstones::Fragment fragment = (*ranges)[i];
    const std::string end = EncodeRangeEnd(fragment.end);
    for (const SequenceNumber sequence : fragment.sequences) {
      RETURN_IF_ERROR(output->Add({fragment.begin, PackTrailer(sequence, ValueKind::kRangeDelete)}, end));
    }
  }
  ASSIGN_OR_RETURN(TableMetadata table, output->Finish(RunNumber(0)));
  table.run = RunNumber(table.number.value());
  table.range_tombstones = WithOwnKeys(context.order, *ranges);
  return table;
}

absl::StatusOr<RangeTombstonesRef> ReadRangeTable(const KeyOrder& order, std::shared_ptr<const TableReader> reader) {
  const auto keys = std::make_shared<Arena>();
  std::vector<RangeTombstone> tombstones;
  const std::unique_ptr<InternalIterator> entries =
      TableReader::NewIterator(std::move(reader), TableReader::ReadKind::kUserNoFill);
  for (entries->SeekToFirst(); entries->Valid(); entries->Advance()) {
    const std::optional<RangeEnd> end = DecodeRangeEnd(entries->value());
    if (entries->key().kind() != ValueKind::kRangeDelete || !end.has_value()) return BadEntry(entries->key());
    RangeTombstone tombstone{
        .begin = keys->Copy(entries->key().user_key), .end = std::nullopt, .sequence = entries->key().sequence()};
    if (end->key.has_value()) tombstone.end = keys->Copy(*end->key);
    if (tombstone.end.has_value() && !order.Less(tombstone.begin, *tombstone.end)) return BadEntry(entries->key());
    tombstones.push_back(tombstone);
  }
  RETURN_IF_ERROR(entries->status());
  RangeTombstonesRef all = RangeTombstones::OfFragments(order, tombstones, {}, keys);
  if (all == nullptr) return absl::DataLossError("a table of range tombstones holds none, or such as overlap");
  return all;
}

RangeTombstonesRef RangesOf(const KeyOrder& order, std::span<const std::shared_ptr<const MemTable>> memtables,
                            Stripes stripes) {
  std::vector<RangeTombstonesRef> lists;
  for (const std::shared_ptr<const MemTable>& memtable : memtables) {
    if (const RangeTombstoneMap* const map = memtable->range_tombstones(); map != nullptr)
      lists.push_back(map->ToList(stripes));
  }
  return MergeAll(order, std::move(lists), stripes);
}

absl::StatusOr<std::vector<TableMetadata>> FlushMemTablesAndRanges(FlushInput input) {
  const RangeTombstonesRef ranges = RangesOf(input.context.order, input.memtables, input.snapshots);
  input.ranges = ranges.get();
  ASSIGN_OR_RETURN(std::vector<TableMetadata> tables, FlushMemTables(input));
  if (ranges == nullptr) return tables;
  absl::StatusOr<TableMetadata> written = WriteRangeTable(input.context, ranges);
  if (!written.ok()) {
    RemoveTables(input.context.directory, nullptr, tables);
    return written.status();
  }
  tables.push_back(*std::move(written));
  return tables;
}

}  // namespace sepal
