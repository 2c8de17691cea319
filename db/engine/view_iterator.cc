#include "db/engine/view_iterator.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "table/merging_iterator.h"

namespace sepal {

namespace {

// The tables of one run, opened when they are reached.
class RunTables final : public ConcatenationSources {
 public:
  RunTables(Core* core, const Run* run, KeyOrder order, bool fill_cache)
      : opener_(core->Opener(order)),
        run_(run),
        order_(order),
        kind_(fill_cache ? TableReader::ReadKind::kUser : TableReader::ReadKind::kUserNoFill) {}

  size_t Count() const override { return run_->tables().size(); }
  size_t Find(InternalKeyView target) const override {
    const size_t i = run_->FirstAtOrAfter(target.user_key);
    // The table's last entry may be a newer version of the very key that is sought.
    const bool before = i < Count() && order_.Less(run_->tables()[i]->metadata().largest.view(), target);
    return before ? i + 1 : i;
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    absl::StatusOr<std::shared_ptr<const TableReader>> reader = run_->tables()[index]->ShareReader(&opener_);
    if (!reader.ok()) return NewEmptyIterator(reader.status());
    return TableReader::NewIterator(std::move(reader).value(), kind_);
  }

 private:
  FamilyTableOpener opener_;
  const Run* const run_;
  const KeyOrder order_;
  const TableReader::ReadKind kind_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewViewIterator(Core* core, const Family& family, const ReadView& view,
                                                  bool fill_cache) {
  std::vector<std::unique_ptr<InternalIterator>> sources;
  if (!view.active->empty()) sources.push_back(view.active->NewIterator());
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) sources.push_back(memtable->NewIterator());
  std::optional<std::string> prefix;
  for (const LevelRun& level_run : view.version->runs()) {
    NarrowToCommonPrefix(level_run.run->tables(), &prefix);
    sources.push_back(
        NewConcatenatingIterator(std::make_unique<RunTables>(core, level_run.run, family.order, fill_cache)));
  }
  return NewMergingIterator(family.order, std::move(sources), prefix.value_or(""));
}

}  // namespace sepal
