#include "db/state/version_builder.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "util/check.h"
#include "util/status.h"

namespace sepal {

namespace {

absl::Status BadEdit(std::string_view what, int level, FileNumber number) {
  return absl::DataLossError(absl::StrFormat("version edit: %s (level %d, table %d)", what, level, number.value()));
}

// Whether a table that was removed and is added again is the same file.
bool SameFile(TableMetadata a, const TableMetadata& b) {
  a.run = b.run;
  return a == b;
}

// Those that do not continue an ascending order are sorted, and merged into the others.
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

bool VersionBuilder::LevelTables::Add(Place place) {
  if (index_.has_value() && !index_->emplace(place.table->number(), places_.size()).second) return false;
  places_.push_back(std::move(place));
  return true;
}

TableRef VersionBuilder::LevelTables::Remove(FileNumber number) {
  if (!index_.has_value() && !MakeIndex()) return nullptr;
  const auto it = index_->find(number);
  if (it == index_->end()) return nullptr;
  TableRef table = std::move(places_[it->second].table);
  index_->erase(it);
  return table;
}

bool VersionBuilder::LevelTables::MakeIndex() {
  index_.emplace();
  index_->reserve(places_.size());
  for (size_t i = 0; i < places_.size(); ++i) {
    if (!index_->emplace(places_[i].table->number(), i).second) return false;
  }
  return true;
}

VersionBuilder::LevelTables& VersionBuilder::Touch(int level) {
  std::optional<LevelTables>& touched = levels_[level];
  if (!touched.has_value()) {
    touched.emplace();
    size_t tables = 0;
    for (const RunRef& run : base_->level(level)) tables += run->tables().size();
    touched->Reserve(tables);
    for (const RunRef& run : base_->level(level)) {
      for (const TableRef& table : run->tables()) touched->Add({run->number(), table});
    }
  }
  return *touched;
}

absl::Status VersionBuilder::Apply(ColumnFamilyId family, const VersionEdit& edit) {
  RETURN_IF_ERROR(Remove(family, edit.removed_tables));
  return Add(family, &edit.added_tables);
}

absl::Status VersionBuilder::Apply(ColumnFamilyId family, VersionEdit&& edit) {
  RETURN_IF_ERROR(Remove(family, edit.removed_tables));
  return Add(family, &edit.added_tables);
}

absl::Status VersionBuilder::Remove(ColumnFamilyId family, const std::vector<RemovedTable>& removed_tables) {
  for (const RemovedTable& removed : removed_tables) {
    if (removed.family != family) continue;
    if (removed.level < 0 || removed.level >= kMaxLevels)
      return BadEdit("no such level", removed.level, removed.number);
    TableRef table = Touch(removed.level).Remove(removed.number);
    if (table == nullptr) return BadEdit("removes a table that is not there once", removed.level, removed.number);
    gone_.emplace(removed.number, std::move(table));
  }
  return absl::OkStatus();
}

template <class Added>
absl::Status VersionBuilder::Add(ColumnFamilyId family, Added* added_tables) {
  for (auto& added : *added_tables) {
    if (added.family != family) continue;
    const FileNumber number = added.table.number;
    if (added.level < 0 || added.level >= kMaxLevels) return BadEdit("no such level", added.level, number);
    const RunNumber run = added.table.run;
    TableRef table;
    const auto moved = gone_.find(number);
    if (moved == gone_.end()) {
      table = factory_(std::move(added.table));
    } else {
      if (!SameFile(moved->second->metadata(), added.table)) {
        return BadEdit("adds a removed table with other contents", added.level, number);
      }
      table = moved->second;
      gone_.erase(moved);
    }
    if (!Touch(added.level).Add({run, std::move(table)})) {
      return BadEdit("adds a table that is there already", added.level, number);
    }
  }
  return absl::OkStatus();
}

std::vector<RunRef> VersionBuilder::BuildLevel(const LevelTables& tables) const {
  std::vector<const Place*> places;
  places.reserve(tables.places().size());
  for (const Place& place : tables.places()) {
    if (place.table != nullptr) places.push_back(&place);
  }
  const auto newer = [](const Place* a, const Place* b) { return a->run > b->run; };
  if (!std::is_sorted(places.begin(), places.end(), newer)) std::stable_sort(places.begin(), places.end(), newer);
  std::vector<RunRef> runs;
  for (auto begin = places.begin(); begin != places.end();) {
    const RunNumber run = (*begin)->run;
    const auto end = std::find_if(begin, places.end(), [run](const Place* place) { return place->run != run; });
    std::vector<TableRef> in_order;
    in_order.reserve(static_cast<size_t>(end - begin));
    for (; begin != end; ++begin) in_order.push_back((*begin)->table);
    SortByKey(base_->order(), &in_order);
    runs.push_back(std::make_shared<const Run>(run, std::move(in_order), base_->order()));
  }
  return runs;
}

absl::StatusOr<VersionRef> VersionBuilder::Build() {
  if (std::none_of(levels_.begin(), levels_.end(), [](const auto& level) { return level.has_value(); })) return base_;
  std::array<std::vector<RunRef>, kMaxLevels> levels;
  for (int level = 0; level < kMaxLevels; ++level) {
    levels[level] = levels_[level].has_value() ? BuildLevel(*levels_[level]) : base_->level(level);
  }
  VersionRef version = std::make_shared<const Version>(base_->order(), std::move(levels));
  RETURN_IF_ERROR(version->Check());
  return version;
}

std::vector<TableRef> VersionBuilder::RemovedTables() const {
  std::vector<TableRef> tables;
  for (const auto& [number, table] : gone_) tables.push_back(table);
  return tables;
}

}  // namespace sepal
