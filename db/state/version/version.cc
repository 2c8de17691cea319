#include "db/state/version/version.h"

#include <optional>

#include "absl/strings/str_format.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

absl::Status Broken(int level, RunNumber run, std::string_view what) {
  return absl::DataLossError(absl::StrFormat("version: level %d, run %d: %s", level, run.value(), what));
}

// Returns nullopt if the table's own figures are consistent.
std::optional<std::string_view> Fault(const KeyOrder& order, const TableMetadata& m) {
  if (order.Compare(m.smallest.view(), m.largest.view()) > 0) return "smallest key after largest";
  if (m.lowest_sequence > m.highest_sequence) return "lowest sequence above highest";
  if (m.highest_sequence > kMaxSequenceNumber) return "sequence number out of range";
  if (m.entries == 0) return "no entries";
  if (m.tombstones > m.entries) return "more tombstones than entries";
  if (m.size_bytes == 0) return "size 0";
  for (const InternalKey* key : {&m.smallest, &m.largest}) {
    const SequenceNumber s = TrailerSequence(key->trailer);
    if (s < m.lowest_sequence || s > m.highest_sequence) return "boundary key's sequence outside the table's range";
  }
  return std::nullopt;
}

absl::Status CheckNeighbours(const KeyOrder& order, int level, const Run& run, const TableFile& left,
                             const TableFile& right) {
  const TableMetadata& l = left.metadata();
  const TableMetadata& r = right.metadata();
  if (order.Less(l.largest.user_key, r.smallest.user_key)) return absl::OkStatus();
  return Broken(level, run.number(),
                absl::StrFormat("table %d does not lie after table %d: %s, then %s", r.number.value(), l.number.value(),
                                ToString(l.largest.view()), ToString(r.smallest.view())));
}

absl::Status CheckChunkSizes(int level, const Run& run) {
  size_t tables = 0;
  TableSums sums;
  for (const TableChunkRef& chunk : run.chunks()) {
    const size_t size = chunk->items().size();
    tables += size;
    sums.Add(chunk->sums());
    if (size > kMostInChunk || (size < kMostInChunk / 2 && run.chunks().size() > 1)) {
      return Broken(level, run.number(), absl::StrFormat("a chunk of %d tables", size));
    }
  }
  if (tables != run.size() || sums != run.sums()) return Broken(level, run.number(), "its sums are not its chunks'");
  return absl::OkStatus();
}

std::shared_ptr<const RangeTombstoneSet> GatherRangeTombstones(std::span<const TableRef> tables) {
  if (tables.empty()) return NoRangeTombstones();
  std::vector<RangeTombstonesRef> lists;
  for (const TableRef& table : tables) {
    if (table->range_tombstones() != nullptr) lists.push_back(table->range_tombstones());
  }
  return std::make_shared<const RangeTombstoneSet>(std::move(lists));
}

std::vector<TableNumbers::Entry> EntriesOf(std::span<const LevelRun> runs, std::span<const TableRef> range_tables) {
  std::vector<TableNumbers::Entry> entries;
  for (const TableRef& table : range_tables) entries.push_back({table->number(), table.get()});
  for (const LevelRun& r : runs) {
    for (const TableRef& table : r.run->tables()) entries.push_back({table->number(), table.get()});
  }
  return entries;
}

}  // namespace

Version::Version(KeyOrder order, std::array<std::vector<RunRef>, kMaxLevels> levels)
    : Version(order, std::move(levels), TableNumbers()) {
  numbers_ = TableNumbers().Edited({}, EntriesOf(runs_, {}));
}

Version::Version(KeyOrder order, std::array<std::vector<RunRef>, kMaxLevels> levels, TableNumbers numbers,
                 std::vector<TableRef> range_tables)
    : order_(order),
      levels_(std::move(levels)),
      numbers_(std::move(numbers)),
      range_tables_(std::move(range_tables)),
      range_tombstones_(GatherRangeTombstones(range_tables_)) {
  for (int level = 0; level < kMaxLevels; ++level) {
    for (const RunRef& run : levels_[level]) runs_.push_back({level, run.get()});
  }
}

std::shared_ptr<const Version> Version::WithRangeTombstones() const {
  return std::make_shared<const Version>(order_, levels_, numbers_, range_tables_);
}

int Version::NumTables(int level) const {
  size_t n = 0;
  for (const RunRef& run : levels_[level]) n += run->size();
  return static_cast<int>(n);
}

int Version::NumTables() const {
  int n = 0;
  for (int level = 0; level < kMaxLevels; ++level) n += NumTables(level);
  return n;
}

uint64_t Version::Bytes(int level) const {
  uint64_t bytes = 0;
  for (const RunRef& run : levels_[level]) bytes += run->bytes();
  return bytes;
}

uint64_t Version::Bytes() const {
  uint64_t bytes = 0;
  for (const LevelRun& r : runs_) bytes += r.run->bytes();
  return bytes;
}

uint64_t Version::ValueBytes() const {
  uint64_t bytes = 0;
  for (const LevelRun& r : runs_) bytes += r.run->sums().totals.value_bytes;
  return bytes;
}

uint64_t Version::Entries(int level) const {
  uint64_t entries = 0;
  for (const RunRef& run : levels_[level]) entries += run->entries();
  return entries;
}

uint64_t Version::Entries() const {
  uint64_t entries = 0;
  for (const LevelRun& r : runs_) entries += r.run->entries();
  return entries;
}

KeySums Version::Keys() const {
  KeySums sums;
  for (const LevelRun& r : runs_) r.run->AddKeys(&sums);
  return sums;
}

int Version::DeepestLevel() const { return runs_.empty() ? -1 : runs_.back().level; }

const Run* Version::FindRun(int level, RunNumber number) const {
  for (const RunRef& run : levels_[level]) {
    if (run->number() == number) return run.get();
  }
  return nullptr;
}

std::vector<TableRef> Version::Tables() const {
  std::vector<TableRef> tables;
  tables.reserve(numbers_.size());
  for (const LevelRun& r : runs_) {
    for (const TableRef& table : r.run->tables()) tables.push_back(table);
  }
  tables.insert(tables.end(), range_tables_.begin(), range_tables_.end());
  return tables;
}

std::vector<AddedTable> Version::Contents(ColumnFamilyId family) const {
  std::vector<AddedTable> contents;
  for (const LevelRun& r : runs_) {
    for (const TableRef& table : r.run->tables()) contents.push_back({family, r.level, r.run->MetadataOf(*table)});
  }
  for (const TableRef& table : range_tables_) contents.push_back({family, 0, table->metadata()});
  return contents;
}

absl::Status Version::Check() const {
  for (const LevelRun& r : runs_) {
    for (size_t i = 0; i < r.run->chunks().size(); ++i) RETURN_IF_ERROR(CheckChunk(order_, r.level, *r.run, i));
    RETURN_IF_ERROR(CheckChunkSizes(r.level, *r.run));
  }
  const TableNumbers numbers = TableNumbers().Edited({}, EntriesOf(runs_, range_tables_));
  RETURN_IF_ERROR(CheckNumbers(numbers));
  if (numbers.Entries() != numbers_.Entries()) return absl::DataLossError("version: the numbers are not the tables'");
  return CheckRuns();
}

absl::Status Version::CheckRuns() const {
  for (int level = 0; level < kMaxLevels; ++level) {
    for (size_t i = 1; i < levels_[level].size(); ++i) {
      const Run& newer = *levels_[level][i - 1];
      const Run& older = *levels_[level][i];
      if (newer.number() <= older.number()) {
        return Broken(level, older.number(), absl::StrFormat("stands behind run %d", newer.number().value()));
      }
      if (level == 0 && newer.lowest_sequence() <= older.highest_sequence()) {
        return Broken(
            level, newer.number(),
            absl::StrFormat("sequences from %d, but older run %d goes up to %d", newer.lowest_sequence().value(),
                            older.number().value(), older.highest_sequence().value()));
      }
    }
  }
  const std::vector<RunRef>& last = levels_[kMaxLevels - 1];
  if (last.size() > 1) return Broken(kMaxLevels - 1, last.front()->number(), "not the only run of the last level");
  return absl::OkStatus();
}

absl::Status CheckChunk(const KeyOrder& order, int level, const Run& run, size_t chunk) {
  const std::span<const TableChunkRef> chunks = run.chunks();
  const TableFile* previous = chunk > 0 ? chunks[chunk - 1]->items().back().get() : nullptr;
  for (const TableRef& table : chunks[chunk]->items()) {
    const TableMetadata& m = table->metadata();
    if (const std::optional<std::string_view> fault = Fault(order, m)) {
      return Broken(level, run.number(), absl::StrFormat("table %d: %s", m.number.value(), *fault));
    }
    if (previous != nullptr) RETURN_IF_ERROR(CheckNeighbours(order, level, run, *previous, *table));
    previous = table.get();
  }
  if (chunk + 1 == chunks.size()) return absl::OkStatus();
  return CheckNeighbours(order, level, run, *previous, *chunks[chunk + 1]->items().front());
}

absl::Status CheckNumbers(const TableNumbers& numbers) {
  const std::optional<FileNumber> twice = numbers.Twice();
  if (!twice.has_value()) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat("version: table %d occurs twice", twice->value()));
}

std::string Version::ToString() const {
  std::string text;
  for (const LevelRun& r : runs_) {
    absl::StrAppendFormat(&text, "L%d run %d:", r.level, r.run->number().value());
    for (const TableRef& table : r.run->tables()) {
      const TableMetadata& m = table->metadata();
      absl::StrAppendFormat(&text, " %d[%s..%s]", m.number.value(), Printable(m.smallest.user_key),
                            Printable(m.largest.user_key));
    }
    text += '\n';
  }
  for (const TableRef& table : range_tables_) {
    const TableMetadata& m = table->metadata();
    absl::StrAppendFormat(&text, "range tombstones: %d[%s..%s]\n", m.number.value(), Printable(m.smallest.user_key),
                          Printable(m.largest.user_key));
  }
  return text;
}

std::string Version::TablesPerLevel() const {
  std::string text;
  for (int level = 0; level <= DeepestLevel(); ++level) {
    if (level > 0) text += ',';
    if (levels_[level].empty()) text += '0';
    for (size_t i = 0; i < levels_[level].size(); ++i) {
      absl::StrAppendFormat(&text, "%s%d", i == 0 ? "" : "+", levels_[level][i]->size());
    }
  }
  return text;
}

}  // namespace sepal
