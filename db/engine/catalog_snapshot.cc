#include "db/engine/catalog_snapshot.h"

#include <utility>

namespace sepal {

namespace {

// So that the memory that a manifest's writer and reader need does not grow with the database.
constexpr size_t kTablesPerEdit = 4096;

}  // namespace

CatalogSnapshot::CatalogSnapshot(VersionEdit head, std::vector<Family> families)
    : head_(std::move(head)), families_(std::move(families)) {
  EnterFamily(0);
}

const VersionEdit* CatalogSnapshot::Next() {
  if (!std::exchange(head_taken_, true)) return &head_;
  if (family_ == families_.size()) return nullptr;
  Family& family = families_[family_];
  std::vector<AddedTable> used = std::move(edit_.added_tables);
  edit_ = std::exchange(family.description, {});
  edit_.added_tables = std::move(used);
  TakeTables(family);
  if (run_ == family.version->runs().size()) EnterFamily(family_ + 1);
  return &edit_;
}

void CatalogSnapshot::EnterFamily(size_t family) {
  family_ = family;
  if (family_ < families_.size()) EnterRun(0);
}

void CatalogSnapshot::EnterRun(size_t run) {
  run_ = run;
  const std::span<const LevelRun> runs = families_[family_].version->runs();
  if (run_ < runs.size()) table_ = runs[run_].run->tables().begin();
}

// The keys go where those of the edit before were.
void CatalogSnapshot::TakeTables(const Family& family) {
  const std::span<const LevelRun> runs = family.version->runs();
  std::vector<AddedTable>& tables = edit_.added_tables;
  size_t taken = 0;
  for (; taken < kTablesPerEdit && run_ < runs.size(); ++taken) {
    if (taken == tables.size()) tables.emplace_back();
    AddedTable& added = tables[taken];
    added.family = family.id;
    added.level = runs[run_].level;
    added.table = (*table_)->metadata();
    added.table.run = runs[run_].run->number();
    if (++table_ == runs[run_].run->tables().end()) EnterRun(run_ + 1);
  }
  tables.resize(taken);
}

}  // namespace sepal
