#include "db/engine/catalog/manifest_contents.h"

#include <utility>

namespace sepal {

namespace {

constexpr size_t kTablesPerEdit = 4096;
constexpr size_t kKeyBytesPerEdit = size_t{1} << 20;

}  // namespace

ManifestContents::ManifestContents(VersionEdit head, std::vector<Family> families)
    : head_(std::move(head)), families_(std::move(families)) {
  EnterFamily(0);
}

const VersionEdit* ManifestContents::Next() {
  if (!std::exchange(head_taken_, true)) return &head_;
  if (family_ == families_.size()) return nullptr;
  Family& family = families_[family_];
  std::vector<AddedTable> used = std::move(edit_.added_tables);
  edit_ = std::exchange(family.description, {});
  edit_.added_tables = std::move(used);
  TakeTables(family);
  if (!HasMore(family)) EnterFamily(family_ + 1);
  return &edit_;
}

void ManifestContents::EnterFamily(size_t family) {
  family_ = family;
  beside_ = 0;
  if (family_ < families_.size()) EnterRun(0);
}

void ManifestContents::EnterRun(size_t run) {
  run_ = run;
  const std::span<const LevelRun> runs = families_[family_].version->runs();
  if (run_ < runs.size()) table_ = runs[run_].run->tables().begin();
}

// The keys reuse the memory of the previous edit's keys.
void ManifestContents::TakeTables(const Family& family) {
  std::vector<AddedTable>& tables = edit_.added_tables;
  size_t taken = 0;
  size_t key_bytes = 0;
  while (taken < kTablesPerEdit && key_bytes < kKeyBytesPerEdit && HasMore(family)) {
    if (taken == tables.size()) tables.emplace_back();
    AddedTable& added = tables[taken++];
    TakeTable(family, &added);
    key_bytes += added.table.smallest.user_key.size() + added.table.largest.user_key.size();
  }
  tables.resize(taken);
}

void ManifestContents::TakeTable(const Family& family, AddedTable* table) {
  const std::span<const LevelRun> runs = family.version->runs();
  if (run_ == runs.size()) {
    const std::vector<TableRef>& range_tables = family.version->range_tables();
    if (beside_ < range_tables.size()) {
      *table = {.family = family.id, .level = 0, .table = range_tables[beside_]->metadata()};
    } else {
      *table = family.tables[beside_ - range_tables.size()];
    }
    ++beside_;
    return;
  }
  table->family = family.id;
  table->level = runs[run_].level;
  table->table = (*table_)->metadata();
  table->table.run = runs[run_].run->number();
  if (++table_ == runs[run_].run->tables().end()) EnterRun(run_ + 1);
}

}  // namespace sepal
