// What a repair salvages from tables.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/jobs/range_table.h"
#include "db/act/jobs/table_series.h"
#include "db/decide/visibility/retention.h"
#include "db/decide/visibility/visibility.h"
#include "db/doctor/repair.h"
#include "db/format/file_names.h"
#include "db/format/value_reference.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

constexpr uint64_t kEntriesBetweenProgress = 1 << 16;

// The id of a table salvaged from another one; a later repair recognises it.
uint64_t SalvagedId(uint64_t table_id) { return Mix64(table_id ^ 0x736c766765642131); }

DroppedData WholeTable(const AddedTable& table, const std::string& family, const absl::Status& why) {
  return {.file = TableFileName(table.table.number),
          .column_family = family,
          .first_key = table.table.smallest.user_key,
          .last_key = table.table.largest.user_key,
          .begin_offset = 0,
          .end_offset = table.table.size_bytes,
          .reason = std::string(ToStd(why.message()))};
}

// Describes a table from its own properties. Their keys were checked when they were read.
AddedTable Describe(FileNumber number, const TableReader& reader) {
  const TableProperties& properties = reader.properties();
  AddedTable added;
  added.family = ColumnFamilyId(properties.column_family_id);
  added.table.number = number;
  added.table.size_bytes = reader.file_size();
  added.table.table_id = reader.footer().table_id;
  added.table.highest_sequence = properties.highest_sequence;
  added.table.entries = properties.entries;
  added.table.smallest = InternalKey(*ParseInternalKey(properties.smallest_key));
  added.table.largest = InternalKey(*ParseInternalKey(properties.largest_key));
  return added;
}

// The entries of tables, verified and in order; of equal entries, the one with the highest rank comes first. A table is
// open from its first key to its last, so that only overlapping tables are open at once.
class TablesInOrder {
 public:
  using Open = std::function<absl::StatusOr<std::shared_ptr<TableReader>>(FileNumber)>;
  using Rank = std::function<FileNumber(const TableMetadata&)>;
  TablesInOrder(std::vector<AddedTable> tables, KeyOrder order, Open open, Rank rank)
      : order_(order), open_(std::move(open)), rank_(std::move(rank)), tables_(std::move(tables)) {
    std::sort(tables_.begin(), tables_.end(), [order](const AddedTable& a, const AddedTable& b) {
      return order.Less(a.table.smallest.view(), b.table.smallest.view());
    });
  }

  // Returns an iterator at the next entry, valid until the next call; null at the end.
  absl::StatusOr<const InternalIterator*> Next() {
    if (first_.has_value()) {
      reading_[*first_].entries->Next();
      RETURN_IF_ERROR(DropIfEnded(*first_));
    }
    first_ = First();
    while (reached_ < tables_.size() && (!first_.has_value() || !BeginsBehind(tables_[reached_]))) {
      RETURN_IF_ERROR(Enter(tables_[reached_++].table));
      first_ = First();
    }
    return first_.has_value() ? reading_[*first_].entries.get() : nullptr;
  }
  // The rank of the table whose entry was returned last.
  FileNumber rank() const { return reading_[*first_].rank; }

 private:
  struct Reading {
    FileNumber rank;
    std::unique_ptr<InternalIterator> entries;
  };

  absl::Status Enter(const TableMetadata& table) {
    ASSIGN_OR_RETURN(std::shared_ptr<TableReader> reader, open_(table.number));
    reading_.push_back({rank_(table), TableReader::NewIterator(std::move(reader), TableReader::ReadKind::kCompaction)});
    reading_.back().entries->SeekToFirst();
    return DropIfEnded(reading_.size() - 1);
  }
  absl::Status DropIfEnded(size_t i) {
    if (reading_[i].entries->Valid()) return absl::OkStatus();
    RETURN_IF_ERROR(reading_[i].entries->status());
    reading_.erase(reading_.begin() + static_cast<ptrdiff_t>(i));
    return absl::OkStatus();
  }
  std::optional<size_t> First() const {
    std::optional<size_t> first;
    for (size_t i = 0; i < reading_.size(); ++i) {
      if (!first.has_value() || Before(reading_[i], reading_[*first])) first = i;
    }
    return first;
  }
  bool Before(const Reading& a, const Reading& b) const {
    const int compared = order_.Compare(a.entries->key(), b.entries->key());
    return compared != 0 ? compared < 0 : a.rank > b.rank;
  }
  bool BeginsBehind(const AddedTable& added) const {
    return order_.Less(reading_[*first_].entries->key(), added.table.smallest.view());
  }

  const KeyOrder order_;
  const Open open_;
  const Rank rank_;
  std::vector<AddedTable> tables_;  // by first key
  size_t reached_ = 0;
  std::vector<Reading> reading_;
  std::optional<size_t> first_;  // the one at the entry that was returned last
};

}  // namespace

absl::StatusOr<std::shared_ptr<TableReader>> Repairing::OpenTable(FileNumber number, KeyOrder order,
                                                                  const TableMetadata* expected) const {
  const std::string name = TableFileName(number);
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = directory_->OpenForRead(name);
  if (absl::IsNotFound(file.status())) return absl::DataLossError("the table is missing");
  RETURN_IF_ERROR(file.status());
  TableReaderOptions options;
  options.name = path_ + "/" + name;
  options.order = order;
  if (expected != nullptr) {
    options.expected_size = expected->size_bytes;
    options.expected_table_id = expected->table_id;
    options.expected_footer_checksum = expected->footer_checksum;
  }
  return TableReader::Open(std::move(options), std::move(file).value());
}

// Returns 0 if it is missing.
uint64_t Repairing::FileBytes(FileNumber number) const {
  const auto it = table_files_.find(number);
  return it == table_files_.end() ? 0 : it->second;
}

// Tables that are merged are read twice.
void Repairing::CountTables() {
  for (const auto& [id, family] : families_) {
    for (const auto& [number, added] : family.listed) listed_.insert(number);
  }
  for (const auto& [number, bytes] : table_files_) {
    if (listed_.contains(number) || (!certain_ && !removed_.contains(number))) total_bytes_ += bytes;
  }
  if (!certain_ && !dry_run_) total_bytes_ *= 2;
  for (const auto& [number, bytes] : values_->files()) total_bytes_ += bytes;
}

void Repairing::Advance(uint64_t bytes) {
  done_bytes_ = std::min(done_bytes_ + bytes, total_bytes_);
  if (progress_ != nullptr) progress_(done_bytes_, total_bytes_);
}

absl::Status Repairing::CheckListedTables() {
  for (auto& [id, family] : families_) {
    for (const auto& [number, listed] : family.listed) {
      RETURN_IF_ERROR(CheckTable(&family, listed));
      Advance(FileBytes(number));
    }
  }
  return absl::OkStatus();
}

// Keeps the table, or what can be read of it.
absl::Status Repairing::CheckTable(FamilyState* family, const AddedTable& listed) {
  absl::StatusOr<std::shared_ptr<TableReader>> reader = OpenTable(listed.table.number, family->order, &listed.table);
  if (reader.ok()) {
    NoteTable(listed.table);
    ASSIGN_OR_RETURN(const bool whole, IsWhole(*reader, !listed.table.value_links.empty()));
    if (whole) {
      ++report_->tables_kept;
      // A merge uses only what was verified.
      family->tables.push_back(certain_ ? listed : Describe(listed.table.number, **reader));
      return absl::OkStatus();
    }
    damaged_tables_.insert(TableFileName(listed.table.number));
    return Rewrite(family, listed, **reader);
  }
  if (!absl::IsDataLoss(reader.status())) return reader.status();
  if (table_files_.contains(listed.table.number)) damaged_tables_.insert(TableFileName(listed.table.number));
  Drop(WholeTable(listed, family->creation.name, reader.status()));
  return absl::OkStatus();
}

// Writes a new table in place of the old one. Its entries are a subset of the old one's, so all laws of levels and runs
// still hold.
absl::Status Repairing::Rewrite(FamilyState* family, const AddedTable& listed, const TableReader& damaged) {
  std::unique_ptr<TableOutput> output;
  bool any = false;
  lost_of_table_ = 0;
  TableOutputContext context = OutputContext(*family);
  if (!certain_) context.new_table_id = [id = listed.table.table_id] { return SalvagedId(id); };
  const std::string name = TableFileName(listed.table.number);
  RETURN_IF_ERROR(damaged.Salvage(
      [&](const InternalKeyView& key, std::string_view value) -> absl::Status {
        std::string settled;
        if (IsReference(key.kind())) {
          ASSIGN_OR_RETURN(const bool there,
                           SettleReference(*family, key.kind(), key.user_key, name, &value, &settled));
          if (!there) return absl::OkStatus();
        }
        any = true;
        if (dry_run_) return absl::OkStatus();
        if (output == nullptr) {
          ASSIGN_OR_RETURN(output, TableOutput::Create(context, listed.level));
        }
        return output->Add(key, value);
      },
      [&](const TableReader::Gap& gap) {
        DroppedData dropped{.file = name,
                            .column_family = family->creation.name,
                            .begin_offset = gap.handle.offset,
                            .end_offset = gap.handle.offset + gap.handle.size,
                            .reason = std::string(ToStd(gap.status.message()))};
        if (gap.after.has_value()) dropped.first_key = gap.after->user_key;
        if (gap.through.has_value()) dropped.last_key = gap.through->user_key;
        Drop(std::move(dropped));
      }));
  if (!any) return absl::OkStatus();
  ++report_->tables_rewritten;
  if (dry_run_) {
    family->tables.push_back(listed);
    return absl::OkStatus();
  }
  AddedTable rewritten = listed;
  ASSIGN_OR_RETURN(rewritten.table, output->Finish(listed.table.run));
  family->tables.push_back(std::move(rewritten));
  return absl::OkStatus();
}

// --- without a whole manifest ---

// Numbers tell which of two tables is newer, except that a salvaged table is as old as its original.
void Repairing::NoteTable(const TableMetadata& table) {
  salvaged_ranks_.emplace(SalvagedId(table.table_id), RankOf(table));
}

FileNumber Repairing::RankOf(const TableMetadata& table) const {
  const auto it = salvaged_ranks_.find(table.table_id);
  return it == salvaged_ranks_.end() ? table.number : it->second;
}

absl::Status Repairing::FindTables() {
  for (auto& [id, family] : families_) {
    for (const auto& [number, listed] : family.listed) {
      // A missing table was removed by an edit that is lost, or is itself lost.
      RETURN_IF_ERROR(CheckTable(&family, listed));
      Advance(FileBytes(number));
    }
  }
  for (const auto& [number, bytes] : table_files_) {
    if (listed_.contains(number) || removed_.contains(number)) continue;
    RETURN_IF_ERROR(FindTable(number));
    Advance(bytes);
  }
  return absl::OkStatus();
}

// Takes a table that no readable edit names.
absl::Status Repairing::FindTable(FileNumber number) {
  std::vector<const Comparator*> comparators = {options_.family.comparator, BytewiseComparator()};
  for (const ColumnFamilyDescriptor& descriptor : options_.column_families) {
    comparators.push_back(descriptor.options.comparator);
  }
  absl::StatusOr<std::shared_ptr<TableReader>> reader = absl::UnknownError("");
  for (const Comparator* comparator : comparators) {
    reader = OpenTable(number, KeyOrder(comparator), nullptr);
    if (!absl::IsInvalidArgument(reader.status())) break;
  }
  if (!reader.ok()) {
    if (!absl::IsDataLoss(reader.status())) return reader.status();
    damaged_tables_.insert(TableFileName(number));
    Drop({.file = TableFileName(number), .reason = std::string(ToStd(reader.status().message()))});
    return absl::OkStatus();
  }
  const TableProperties& properties = (*reader)->properties();
  if (database_id_ == 0) database_id_ = properties.database_id;
  if (manifest_.hash_seed == 0) manifest_.hash_seed = (*reader)->footer().hash_seed;
  if (properties.database_id != database_id_) {
    damaged_tables_.insert(TableFileName(number));
    Drop({.file = TableFileName(number), .reason = "a table of another database"});
    return absl::OkStatus();
  }
  const AddedTable found = Describe(number, **reader);
  if (!families_.contains(found.family) && !dropped_.contains(found.family)) {
    const ColumnFamilyCreation creation{.id = found.family,
                                        .name = properties.column_family_name,
                                        .comparator_name = properties.comparator_name,
                                        .equal_means_identical = (*reader)->footer().hashable};
    if (GetsName(creation)) {
      AddFamily(creation);
      RETURN_IF_ERROR(Resolve(&families_.at(found.family)));
    }
  }
  if (!families_.contains(found.family)) {
    if (namesakes_.contains(found.family)) TellOfNamesake(number, properties.column_family_name);
    return absl::OkStatus();
  }
  FamilyState& family = families_.at(found.family);
  if (properties.comparator_name != family.creation.comparator_name)
    return MadeWith(properties.comparator_name, family);
  NoteTable(found.table);
  ASSIGN_OR_RETURN(const bool whole, IsWhole(*reader, /*refers=*/true));
  if (whole) {
    ++report_->tables_kept;
    family.tables.push_back(found);
    return absl::OkStatus();
  }
  damaged_tables_.insert(TableFileName(number));
  return Rewrite(&family, found, **reader);
}

// Takes the tables of range tombstones out of `tables`.
absl::StatusOr<std::vector<Repairing::RangeTable>> Repairing::TakeRanges(const FamilyState& family,
                                                                         std::vector<AddedTable>* tables) {
  std::vector<RangeTable> ranges;
  for (const AddedTable& added : *tables) {
    if (!HoldsRangeTombstones(added.table)) continue;
    ASSIGN_OR_RETURN(std::shared_ptr<TableReader> reader, OpenTable(added.table.number, family.order, nullptr));
    ASSIGN_OR_RETURN(RangeTombstonesRef tombstones, ReadRangeTable(family.order, std::move(reader)));
    ranges.push_back({RankOf(added.table), std::move(tombstones)});
  }
  std::erase_if(*tables, [](const AddedTable& added) { return HoldsRangeTombstones(added.table); });
  return ranges;
}

// Returns whether a range tombstone hides the entry, which is in `table`. A sequence number is set to 0 only if no
// range tombstone in a table covers the key, so one in a table with a greater number came later. One in an older table
// may have been removed by then, and its file found again; the entry is kept.
bool Repairing::IsCovered(const std::vector<RangeTable>& ranges, const KeyOrder& order, const InternalKeyView& key,
                          FileNumber table) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const RangeTable& range) {
    if (key.sequence() == SequenceNumber(0) && range.number < table) return false;
    return range.tombstones->Covering(order, key.user_key, kMaxSequenceNumber) > key.sequence();
  });
}

void Repairing::NoteFeaturesOf(const InternalKeyView& key) {
  if (Expires(key.kind())) manifest_.features |= Feature::kExpiry;
  if (IsReference(key.kind())) manifest_.features |= Feature::kValueFiles;
  if (key.user_key.size() > kMaxShortKeyBytes) manifest_.features |= Feature::kLongKeys;
}

// Merges all tables, and those written from the logs, into one run of the last level, by sequence number. Of equal
// entries, that of the newest table counts. Entries that range tombstones cover are left out, and then so are the
// tombstones.
absl::Status Repairing::MergeTables(FamilyState* family) {
  SequenceNumber highest = family->flushed_through;
  uint64_t bytes = 0, entries = 0, seen = 0;
  for (const AddedTable& input : family->tables) {
    bytes += input.table.size_bytes;
    entries += input.table.entries;
    highest = std::max(highest, input.table.highest_sequence);
  }
  family->flushed_through = highest;
  family->schema.history_floor = family->schema.history_begun = std::max(family->schema.history_floor, highest);
  ASSIGN_OR_RETURN(const std::vector<RangeTable> ranges, TakeRanges(*family, &family->tables));
  TablesInOrder inputs(
      std::exchange(family->tables, {}), family->order,
      [&](FileNumber number) { return OpenTable(number, family->order, nullptr); },
      [&](const TableMetadata& table) { return RankOf(table); });
  Retention retention({.order = family->order, .snapshots = {highest}, .bottommost = true});
  const TableOutputContext context = OutputContext(*family);
  constexpr int kLastLevel = kMaxLevels - 1;
  TableSeries series(context, kLastLevel, RunNumber(0));
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool first_of_key) -> absl::Status {
    if (first_of_key && series.EstimatedBytes() >= tuning_.table_bytes) RETURN_IF_ERROR(series.EndTable());
    return series.Add(key, value);
  };
  std::optional<InternalKey> last;
  std::optional<std::string> covered_key;
  while (true) {
    ASSIGN_OR_RETURN(const InternalIterator* const first, inputs.Next());
    if (first == nullptr) break;
    // Entries of the key that are older than a covered one are covered too, even if their numbers have become 0.
    const bool covered = (covered_key.has_value() && family->order.Equal(*covered_key, first->key().user_key)) ||
                         IsCovered(ranges, family->order, first->key(), inputs.rank());
    if (covered) covered_key = first->key().user_key;
    if (!covered && (!last.has_value() || family->order.Less(last->view(), first->key()))) {
      NoteFeaturesOf(first->key());
      RETURN_IF_ERROR(retention.Add(first->key(), first->value(), emit));
      last = InternalKey(first->key());
    }
    if (++seen % kEntriesBetweenProgress == 0)
      Advance(bytes / std::max<uint64_t>(entries, 1) * kEntriesBetweenProgress);
  }
  RETURN_IF_ERROR(retention.Finish(emit));
  RETURN_IF_ERROR(series.EndTable());
  for (TableMetadata& table : series.TakeTables()) {
    table.run = RunNumber(family->tables.empty() ? table.number.value() : family->tables.front().table.run.value());
    family->tables.push_back({.family = family->creation.id, .level = kLastLevel, .table = std::move(table)});
  }
  return absl::OkStatus();
}

}  // namespace sepal
