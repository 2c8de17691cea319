#include "db/state/version.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "util/status.h"
#include "util/strings.h"

namespace sepal {

namespace {

absl::Status Broken(int level, RunNumber run, std::string_view what) {
  return absl::DataLossError(absl::StrFormat("version: level %d, run %d: %s", level, run.value(), what));
}

// nullopt where the table's own figures agree.
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

absl::Status CheckRun(const KeyOrder& order, int level, const Run& run) {
  const TableMetadata* previous = nullptr;
  for (const TableRef& table : run.tables()) {
    const TableMetadata& m = table->metadata();
    if (const std::optional<std::string_view> fault = Fault(order, m)) {
      return Broken(level, run.number(), absl::StrFormat("table %d: %s", m.number.value(), *fault));
    }
    if (previous != nullptr && !order.Less(previous->largest.user_key, m.smallest.user_key)) {
      return Broken(
          level, run.number(),
          absl::StrFormat("table %d does not lie after table %d: %s, then %s", m.number.value(),
                          previous->number.value(), ToString(previous->largest.view()), ToString(m.smallest.view())));
    }
    previous = &m;
  }
  return absl::OkStatus();
}

struct SequenceRange {
  SequenceNumber lowest = kMaxSequenceNumber;
  SequenceNumber highest;
};

SequenceRange SequencesOf(const Run& run) {
  SequenceRange range;
  for (const TableRef& table : run.tables()) {
    range.lowest = std::min(range.lowest, table->metadata().lowest_sequence);
    range.highest = std::max(range.highest, table->metadata().highest_sequence);
  }
  return range;
}

}  // namespace

Version::Version(KeyOrder order, std::array<std::vector<RunRef>, kMaxLevels> levels)
    : order_(order), levels_(std::move(levels)) {
  for (int level = 0; level < kMaxLevels; ++level) {
    for (const RunRef& run : levels_[level]) runs_.push_back({level, run.get()});
  }
}

int Version::NumTables(int level) const {
  size_t n = 0;
  for (const RunRef& run : levels_[level]) n += run->tables().size();
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

uint64_t Version::Entries() const {
  uint64_t entries = 0;
  for (const LevelRun& r : runs_) entries += r.run->entries();
  return entries;
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
  for (const LevelRun& r : runs_) tables.insert(tables.end(), r.run->tables().begin(), r.run->tables().end());
  return tables;
}

std::vector<AddedTable> Version::Contents(ColumnFamilyId family) const {
  std::vector<AddedTable> contents;
  for (const LevelRun& r : runs_) {
    for (const TableRef& table : r.run->tables()) contents.push_back({family, r.level, r.run->MetadataOf(*table)});
  }
  return contents;
}

absl::Status Version::Check() const {
  absl::flat_hash_set<FileNumber> numbers;
  numbers.reserve(static_cast<size_t>(NumTables()));
  for (const LevelRun& r : runs_) {
    RETURN_IF_ERROR(CheckRun(order_, r.level, *r.run));
    for (const TableRef& table : r.run->tables()) {
      if (numbers.insert(table->number()).second) continue;
      return Broken(r.level, r.run->number(), absl::StrFormat("table %d occurs twice", table->number().value()));
    }
  }
  for (int level = 0; level < kMaxLevels; ++level) {
    for (size_t i = 1; i < levels_[level].size(); ++i) {
      const Run& newer = *levels_[level][i - 1];
      const Run& older = *levels_[level][i];
      if (newer.number() <= older.number()) {
        return Broken(level, older.number(), absl::StrFormat("stands behind run %d", newer.number().value()));
      }
      if (level == 0 && SequencesOf(newer).lowest <= SequencesOf(older).highest) {
        return Broken(
            level, newer.number(),
            absl::StrFormat("sequences from %d, but older run %d goes up to %d", SequencesOf(newer).lowest.value(),
                            older.number().value(), SequencesOf(older).highest.value()));
      }
    }
  }
  const std::vector<RunRef>& last = levels_[kMaxLevels - 1];
  if (last.size() > 1) return Broken(kMaxLevels - 1, last.front()->number(), "not the only run of the last level");
  return absl::OkStatus();
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
  return text;
}

std::string Version::TablesPerLevel() const {
  std::string text;
  for (int level = 0; level <= DeepestLevel(); ++level) {
    if (level > 0) text += ',';
    if (levels_[level].empty()) text += '0';
    for (size_t i = 0; i < levels_[level].size(); ++i) {
      absl::StrAppendFormat(&text, "%s%d", i == 0 ? "" : "+", levels_[level][i]->tables().size());
    }
  }
  return text;
}

}  // namespace sepal
