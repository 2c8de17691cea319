#include "tools/sepal/tree_watch.h"

#include <filesystem>

#include "util/base/status.h"

namespace sepal::tools {
namespace {

TreeChange StateOf(const Tree& tree) {
  TreeChange state;
  state.flushed_sequence = tree.last_sequence.value();
  for (const auto& [id, family] : tree.families) {
    std::set<std::pair<int, RunNumber>> runs;
    for (const AddedTable& added : family.tables) {
      if (state.levels.size() <= static_cast<size_t>(added.level)) {
        state.levels.resize(static_cast<size_t>(added.level) + 1);
      }
      LevelState& level = state.levels[static_cast<size_t>(added.level)];
      if (runs.emplace(added.level, added.table.run).second) ++level.runs;
      ++level.tables;
      level.bytes += added.table.size_bytes;
      ++state.tables;
      state.bytes += added.table.size_bytes;
    }
  }
  const std::string& directory = tree.place.log_directory.empty() ? tree.place.directory : tree.place.log_directory;
  for (const LogFile& log : tree.logs) {
    // The writer removes logs at any time.
    std::error_code error;
    const uintmax_t bytes = std::filesystem::file_size(std::filesystem::path(directory) / log.name, error);
    if (error) continue;
    ++state.logs;
    state.log_bytes += bytes;
  }
  return state;
}

}  // namespace

absl::StatusOr<TreeChange> TreeWatch::Look() {
  std::vector<VersionEdit> edits;
  ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_, [&](const VersionEdit& edit) {
                     edits.push_back(edit);
                     return absl::OkStatus();
                   }));
  TreeChange change = StateOf(tree);
  if (looked_ && tree.manifest.number == manifest_) {
    TakeNewEdits(edits, &change);
  } else if (looked_) {
    TakeDifference(tree, &change);
  }
  looked_ = true;
  manifest_ = tree.manifest.number;
  edits_seen_ = edits.size();
  tables_.clear();
  for (const AddedTable& added : tree.Tables()) tables_[added.table.number] = added.table.size_bytes;
  return change;
}

void TreeWatch::TakeNewEdits(const std::vector<VersionEdit>& edits, TreeChange* change) const {
  std::map<FileNumber, uint64_t> sizes = tables_;
  for (size_t i = edits_seen_; i < edits.size(); ++i) {
    const VersionEdit& edit = edits[i];
    std::set<FileNumber> added_numbers, removed_numbers;
    for (const AddedTable& added : edit.added_tables) added_numbers.insert(added.table.number);
    for (const RemovedTable& removed : edit.removed_tables) {
      removed_numbers.insert(removed.number);
      if (added_numbers.contains(removed.number)) continue;
      ++change->removed_tables;
      change->removed_bytes += sizes[removed.number];
    }
    for (const AddedTable& added : edit.added_tables) {
      const uint64_t bytes = added.table.size_bytes;
      sizes[added.table.number] = bytes;
      if (removed_numbers.contains(added.table.number)) {
        ++change->moved_tables;
      } else if (edit.removed_tables.empty()) {
        ++change->flushed_tables;
        change->flushed_bytes += bytes;
      } else {
        ++change->compacted_tables;
        change->compacted_bytes += bytes;
      }
    }
  }
}

void TreeWatch::TakeDifference(const Tree& tree, TreeChange* change) const {
  std::set<FileNumber> now;
  for (const AddedTable& added : tree.Tables()) {
    now.insert(added.table.number);
    if (tables_.contains(added.table.number)) continue;
    const bool flushed = added.level == 0;
    ++(flushed ? change->flushed_tables : change->compacted_tables);
    (flushed ? change->flushed_bytes : change->compacted_bytes) += added.table.size_bytes;
  }
  for (const auto& [number, bytes] : tables_) {
    if (now.contains(number)) continue;
    ++change->removed_tables;
    change->removed_bytes += bytes;
  }
}

}  // namespace sepal::tools
