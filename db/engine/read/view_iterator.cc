#include "db/engine/read/view_iterator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "table/iterate/merging_iterator.h"
#include "table/key/compare_bytes.h"

namespace sepal {

namespace {

// Of a run, for an iterator that seeks here and there. One takes less than 1 KiB.
constexpr size_t kTablesKept = 32;

// Neighbouring tables of one run, opened when they are reached.
class RunTables final : public ConcatenationSources {
 public:
  // `tables`: some of the run's.
  RunTables(Core* core, const Run* run, TableRange tables, KeyOrder order, bool fill_cache)
      : opener_(core->Opener(order)),
        run_(run),
        tables_(tables),
        order_(order),
        kind_(fill_cache ? TableReader::ReadKind::kUser : TableReader::ReadKind::kUserNoFill) {}

  size_t Count() const override { return tables_.size(); }
  size_t Find(InternalKeyView target) const override {
    const size_t first = tables_.first();
    const size_t i = std::clamp(run_->FirstAtOrAfter(target.user_key), first, first + Count()) - first;
    return i < Count() && EndsBefore(*tables_[i], target) ? i + 1 : i;
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    absl::StatusOr<std::shared_ptr<const TableReader>> reader = tables_[index]->ShareReader(&opener_);
    if (!reader.ok()) return NewEmptyIterator(reader.status());
    return TableReader::NewIterator(std::move(reader).value(), kind_);
  }

 private:
  // Of a table that does not end before the target's user key: its last entry may be a newer version of that very key.
  bool EndsBefore(const TableFile& table, InternalKeyView target) const {
    const InternalKeyView largest = table.metadata().largest.view();
    if (order_.hashable() && !EqualBytes(largest.user_key, target.user_key)) return false;
    return order_.Less(largest, target);
  }

  FamilyTableOpener opener_;
  const Run* const run_;
  const TableRange tables_;
  const KeyOrder order_;
  const TableReader::ReadKind kind_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewViewIterator(Core* core, const Family& family, const ReadView& view,
                                                  const KeyRange& bounds, bool fill_cache) {
  std::vector<std::unique_ptr<InternalIterator>> sources;
  if (!view.active->empty()) sources.push_back(view.active->NewIterator());
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) sources.push_back(memtable->NewIterator());
  std::optional<std::string> prefix;
  for (const LevelRun& level_run : view.version->runs()) {
    const TableRange tables = level_run.run->Overlapping(bounds);
    if (tables.empty()) continue;
    NarrowToCommonPrefix(*tables.front(), *tables.back(), &prefix);
    sources.push_back(NewConcatenatingIterator(
        std::make_unique<RunTables>(core, level_run.run, tables, family.order, fill_cache), kTablesKept));
  }
  return NewMergingIterator(family.order, std::move(sources), prefix.value_or(""));
}

}  // namespace sepal
