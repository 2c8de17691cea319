#include "db/state/version/version_builder.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

namespace {

absl::Status BadEdit(std::string_view what, int level, FileNumber number) {
  return absl::DataLossError(absl::StrFormat("version edit: %s (level %d, table %d)", what, level, number.value()));
}

// Returns whether a table that was removed and added again is the same file.
bool SameFile(TableMetadata a, const TableMetadata& b) {
  a.run = b.run;
  return a == b;
}

// Sorts those that break the ascending order, and merges them into the others.
void SortByKey(const KeyOrder& order, std::vector<TableRef>* tables) {
  const auto less = [&order](const TableRef& a, const TableRef& b) {
    return order.Less(a->metadata().smallest.view(), b->metadata().smallest.view());
  };
  std::vector<TableRef> stragglers;
  size_t kept = 0;
  for (TableRef& table : *tables) {
    if (kept > 0 && less(table, (*tables)[kept - 1])) {
      stragglers.push_back(std::move(table));
    } else {
      TableRef& place = (*tables)[kept++];
      if (&place != &table) place = std::move(table);
    }
  }
  if (stragglers.empty()) return;
  std::sort(stragglers.begin(), stragglers.end(), less);
  std::move(stragglers.begin(), stragglers.end(), tables->begin() + static_cast<ptrdiff_t>(kept));
  std::inplace_merge(tables->begin(), tables->begin() + static_cast<ptrdiff_t>(kept), tables->end(), less);
}

}  // namespace

VersionBuilder::VersionBuilder(VersionRef base, TableFactory factory)
    : base_(std::move(base)), factory_(std::move(factory)) {
  SEPAL_CHECK(base_ != nullptr);
}

VersionBuilder::VersionBuilder(TableFactory factory)
    : VersionBuilder(std::make_shared<const Version>(KeyOrder()), std::move(factory)) {}

void VersionBuilder::OrderBy(KeyOrder order) {
  SEPAL_CHECK(base_->runs().empty());
  base_ = std::make_shared<const Version>(order);
}

bool VersionBuilder::AddedTables::Add(Place place) {
  if (index_.has_value() && !index_->emplace(place.table->number(), places_.size()).second) return false;
  places_.push_back(std::move(place));
  return true;
}

TableRef VersionBuilder::AddedTables::Remove(FileNumber number) {
  if (!index_.has_value() && !MakeIndex()) return nullptr;
  const auto it = index_->find(number);
  if (it == index_->end()) return nullptr;
  TableRef table = std::move(places_[it->second].table);
  index_->erase(it);
  return table;
}

bool VersionBuilder::AddedTables::MakeIndex() {
  index_.emplace();
  index_->reserve(places_.size());
  for (size_t i = 0; i < places_.size(); ++i) {
    if (!index_->emplace(places_[i].table->number(), i).second) return false;
  }
  return true;
}

VersionBuilder::LevelChange& VersionBuilder::Touch(int level) {
  if (!levels_[level].has_value()) levels_[level].emplace();
  return *levels_[level];
}

bool VersionBuilder::StandsInBase(FileNumber number) const {
  return base_->numbers().Find(number) != nullptr && !taken_.contains(number);
}

absl::Status VersionBuilder::Apply(ColumnFamilyId family, const VersionEdit& edit) {
  for (const RemovedTable& removed : edit.removed_tables) {
    if (removed.family == family) RETURN_IF_ERROR(Remove(removed));
  }
  for (const AddedTable& added : edit.added_tables) {
    if (added.family == family) RETURN_IF_ERROR(Add(added));
  }
  return absl::OkStatus();
}

absl::Status VersionBuilder::Remove(const RemovedTable& removed) {
  if (removed.level < 0 || removed.level >= kMaxLevels) return BadEdit("no such level", removed.level, removed.number);
  TableRef table = RemoveRangeTable(removed.number);
  if (table == nullptr) table = RemoveFrom(removed.level, removed.number);
  if (table == nullptr) return BadEdit("removes a table that is not there once", removed.level, removed.number);
  gone_.emplace(removed.number, std::move(table));
  return absl::OkStatus();
}

TableRef VersionBuilder::RemoveRangeTable(FileNumber number) {
  const auto is_it = [number](const TableRef& table) { return table->number() == number; };
  const std::vector<TableRef>& base = base_->range_tables();
  if (StandsInBase(number)) {
    const auto it = std::find_if(base.begin(), base.end(), is_it);
    if (it == base.end()) return nullptr;
    if (!range_tables_.has_value()) range_tables_.emplace();
    range_tables_->removed.push_back(number);
    taken_.insert(number);
    return *it;
  }
  if (!range_tables_.has_value()) return nullptr;
  const auto it = std::find_if(range_tables_->added.begin(), range_tables_->added.end(), is_it);
  if (it == range_tables_->added.end()) return nullptr;
  TableRef table = std::move(*it);
  range_tables_->added.erase(it);
  return table;
}

absl::Status VersionBuilder::AddRangeTable(AddedTable added) {
  const FileNumber number = added.table.number;
  if (!range_tables_.has_value()) range_tables_.emplace();
  std::vector<TableRef>& tables = range_tables_->added;
  const bool twice =
      std::any_of(tables.begin(), tables.end(), [number](const TableRef& table) { return table->number() == number; });
  if (twice || StandsInBase(number) || gone_.contains(number)) {
    return BadEdit("adds a table of range tombstones that is there already", added.level, number);
  }
  tables.push_back(factory_(std::move(added.table)));
  return absl::OkStatus();
}

std::vector<TableRef> VersionBuilder::BuildRangeTables() const {
  std::vector<TableRef> tables = base_->range_tables();
  if (!range_tables_.has_value()) return tables;
  std::erase_if(tables, [this](const TableRef& table) {
    const std::vector<FileNumber>& removed = range_tables_->removed;
    return std::find(removed.begin(), removed.end(), table->number()) != removed.end();
  });
  tables.insert(tables.end(), range_tables_->added.begin(), range_tables_->added.end());
  return tables;
}

TableRef VersionBuilder::RemoveFrom(int level, FileNumber number) {
  LevelChange& change = Touch(level);
  if (!StandsInBase(number)) return change.added.Remove(number);
  const TableFile* const table = base_->numbers().Find(number);
  for (const RunRef& run : base_->level(level)) {
    TableRef shared = run->Share(*table);
    if (shared == nullptr) continue;
    taken_.insert(number);
    change.removed.push_back({run->number(), shared});
    return shared;
  }
  return nullptr;
}

absl::Status VersionBuilder::Add(AddedTable added) {
  const FileNumber number = added.table.number;
  if (added.level < 0 || added.level >= kMaxLevels) return BadEdit("no such level", added.level, number);
  if (HoldsRangeTombstones(added.table)) return AddRangeTable(std::move(added));
  const RunNumber run = added.table.run;
  TableRef table;
  const auto moved = gone_.find(number);
  if (moved == gone_.end()) {
    // It was removed from the base, and has been added again.
    if (taken_.contains(number)) return BadEdit("adds a table that is there already", added.level, number);
    table = factory_(std::move(added.table));
  } else {
    if (!SameFile(moved->second->metadata(), added.table)) {
      return BadEdit("adds a removed table with other contents", added.level, number);
    }
    table = moved->second;
    gone_.erase(moved);
  }
  if (StandsInBase(number) || !Touch(added.level).added.Add({run, std::move(table)})) {
    return BadEdit("adds a table that is there already", added.level, number);
  }
  return absl::OkStatus();
}

VersionBuilder::RunChanges VersionBuilder::ChangesOf(const LevelChange& change) const {
  RunChanges changes;
  std::vector<const Place*> places;
  places.reserve(change.added.places().size());
  for (const Place& place : change.added.places()) {
    if (place.table != nullptr) places.push_back(&place);
  }
  const auto newer = [](const Place* a, const Place* b) { return a->run > b->run; };
  if (!std::is_sorted(places.begin(), places.end(), newer)) std::stable_sort(places.begin(), places.end(), newer);
  for (auto begin = places.begin(); begin != places.end();) {
    const RunNumber run = (*begin)->run;
    const auto end = std::find_if(begin, places.end(), [run](const Place* place) { return place->run != run; });
    std::vector<TableRef>& added = changes[run].added;
    added.reserve(static_cast<size_t>(end - begin));
    for (; begin != end; ++begin) added.push_back((*begin)->table);
  }
  for (const Place& place : change.removed) changes[place.run].removed.push_back(place.table);
  for (auto& [run, tables] : changes) {
    SortByKey(base_->order(), &tables.added);
    SortByKey(base_->order(), &tables.removed);
  }
  return changes;
}

absl::StatusOr<RunRef> VersionBuilder::BuildRun(int level, RunNumber number, const Run* base, RunChange change) const {
  const KeyOrder order = base_->order();
  ChunkList<TableChunk> list = base == nullptr ? PackTables(std::move(change.added), order)
                                               : EditTables(base->chunks(), change.removed, change.added, order);
  if (list.chunks.empty()) return nullptr;
  auto run = std::make_shared<const Run>(number, std::move(list.chunks), order);
  for (const size_t fresh : list.fresh) RETURN_IF_ERROR(CheckChunk(order, level, *run, fresh));
  return run;
}

absl::StatusOr<std::vector<RunRef>> VersionBuilder::BuildLevel(int level) const {
  if (!levels_[level].has_value()) return base_->level(level);
  RunChanges changes = ChangesOf(*levels_[level]);
  std::vector<RunRef> runs;
  for (const RunRef& run : base_->level(level)) {
    const auto change = changes.find(run->number());
    if (change == changes.end()) {
      runs.push_back(run);
      continue;
    }
    ASSIGN_OR_RETURN(RunRef edited, BuildRun(level, run->number(), run.get(), std::move(change->second)));
    if (edited != nullptr) runs.push_back(std::move(edited));
    changes.erase(change);
  }
  for (auto& [number, change] : changes) {
    ASSIGN_OR_RETURN(RunRef made, BuildRun(level, number, nullptr, std::move(change)));
    runs.push_back(std::move(made));
  }
  std::sort(runs.begin(), runs.end(), [](const RunRef& a, const RunRef& b) { return a->number() > b->number(); });
  return runs;
}

absl::StatusOr<TableNumbers> VersionBuilder::BuildNumbers() const {
  std::vector<TableNumbers::Entry> added;
  absl::flat_hash_set<FileNumber> left = taken_;
  for (const std::optional<LevelChange>& level : levels_) {
    if (!level.has_value()) continue;
    for (const Place& place : level->added.places()) {
      if (place.table == nullptr) continue;
      const bool moved = left.erase(place.table->number()) > 0;
      if (moved) continue;
      added.push_back({place.table->number(), place.table.get()});
    }
  }
  if (range_tables_.has_value()) {
    for (const TableRef& table : range_tables_->added) added.push_back({table->number(), table.get()});
  }
  std::vector<TableNumbers::Entry> removed;
  for (const FileNumber number : left) removed.push_back({number, base_->numbers().Find(number)});
  TableNumbers numbers = base_->numbers().Edited(std::move(removed), std::move(added));
  RETURN_IF_ERROR(CheckNumbers(numbers));
  return numbers;
}

absl::StatusOr<VersionRef> VersionBuilder::Build() {
  const bool any_level =
      std::any_of(levels_.begin(), levels_.end(), [](const auto& level) { return level.has_value(); });
  if (!any_level && !range_tables_.has_value()) return base_;
  std::array<std::vector<RunRef>, kMaxLevels> levels;
  for (int level = 0; level < kMaxLevels; ++level) {
    ASSIGN_OR_RETURN(levels[level], BuildLevel(level));
  }
  ASSIGN_OR_RETURN(TableNumbers numbers, BuildNumbers());
  auto version =
      std::make_shared<const Version>(base_->order(), std::move(levels), std::move(numbers), BuildRangeTables());
  RETURN_IF_ERROR(version->CheckRuns());
  SEPAL_DCHECK(version->Check().ok());
  return version;
}

std::vector<AddedTable> VersionBuilder::Added(ColumnFamilyId family) const {
  std::vector<AddedTable> all;
  for (int level = 0; level < kMaxLevels; ++level) {
    if (!levels_[level].has_value()) continue;
    for (const Place& place : levels_[level]->added.places()) {
      if (place.table == nullptr) continue;
      all.push_back({.family = family, .level = level, .table = place.table->metadata()});
      all.back().table.run = place.run;
    }
  }
  if (range_tables_.has_value()) {
    for (const TableRef& table : range_tables_->added) all.push_back({.family = family, .table = table->metadata()});
  }
  return all;
}

std::vector<TableRef> VersionBuilder::RemovedTables() const {
  std::vector<TableRef> tables;
  for (const auto& [number, table] : gone_) tables.push_back(table);
  return tables;
}

}  // namespace sepal
