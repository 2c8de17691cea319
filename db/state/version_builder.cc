#include "db/state/version_builder.h"

#include <algorithm>
#include <map>

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

}  // namespace

VersionBuilder::VersionBuilder(VersionRef base, TableFactory factory)
    : base_(std::move(base)), factory_(std::move(factory)) {
  SEPAL_CHECK(base_ != nullptr);
}

VersionBuilder::LevelTables& VersionBuilder::Touch(int level) {
  std::optional<LevelTables>& touched = levels_[level];
  if (!touched.has_value()) {
    touched.emplace();
    for (const RunRef& run : base_->level(level)) {
      for (const TableRef& table : run->tables()) touched->emplace(table->number(), Place{run->number(), table});
    }
  }
  return *touched;
}

absl::Status VersionBuilder::Apply(ColumnFamilyId family, const VersionEdit& edit) {
  for (const RemovedTable& removed : edit.removed_tables) {
    if (removed.family != family) continue;
    if (removed.level < 0 || removed.level >= kMaxLevels)
      return BadEdit("no such level", removed.level, removed.number);
    LevelTables& tables = Touch(removed.level);
    const auto it = tables.find(removed.number);
    if (it == tables.end()) return BadEdit("removes a table that is not there", removed.level, removed.number);
    gone_.emplace(removed.number, it->second.table);
    tables.erase(it);
  }
  for (const AddedTable& added : edit.added_tables) {
    if (added.family != family) continue;
    const FileNumber number = added.table.number;
    if (added.level < 0 || added.level >= kMaxLevels) return BadEdit("no such level", added.level, number);
    TableRef table;
    const auto moved = gone_.find(number);
    if (moved == gone_.end()) {
      table = factory_(added.table);
    } else {
      if (!SameFile(moved->second->metadata(), added.table)) {
        return BadEdit("adds a removed table with other contents", added.level, number);
      }
      table = moved->second;
      gone_.erase(moved);
    }
    if (!Touch(added.level).emplace(number, Place{added.table.run, std::move(table)}).second) {
      return BadEdit("adds a table that is there already", added.level, number);
    }
  }
  return absl::OkStatus();
}

std::vector<RunRef> VersionBuilder::BuildLevel(const LevelTables& tables) const {
  const KeyOrder order = base_->order();
  std::map<RunNumber, std::vector<TableRef>, std::greater<>> by_run;
  for (const auto& [number, place] : tables) by_run[place.run].push_back(place.table);
  std::vector<RunRef> runs;
  for (auto& [number, run_tables] : by_run) {
    std::sort(run_tables.begin(), run_tables.end(), [&order](const TableRef& a, const TableRef& b) {
      return order.Less(a->metadata().smallest.view(), b->metadata().smallest.view());
    });
    runs.push_back(std::make_shared<const Run>(number, std::move(run_tables), order));
  }
  return runs;
}

absl::StatusOr<VersionRef> VersionBuilder::Build() {
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
