#include "db/engine/read/view_iterator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/engine/read/covered_source.h"
#include "table/iterate/merging_iterator.h"
#include "table/key/compare_bytes.h"

namespace sepal {

namespace {

// The open tables that an iterator keeps per run, for seeks back and forth. Each takes less than 1 KiB.
constexpr size_t kTablesKept = 32;

// Neighbouring tables of one run, opened when they are reached.
class RunTables final : public ConcatenationSources {
 public:
  // `tables`: some tables of the run.
  RunTables(Core* core, const Run* run, TableRange tables, KeyOrder order, const RangeCover* cover, bool fill_cache)
      : opener_(core->Opener(order)),
        cover_(cover),
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
  bool Ask(size_t index) override { return tables_[index]->Ask(&opener_); }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    absl::StatusOr<std::shared_ptr<const TableReader>> reader = tables_[index]->ShareReader(&opener_);
    if (!reader.ok()) return NewEmptyIterator(reader.status());
    std::unique_ptr<InternalIterator> entries = TableReader::NewIterator(std::move(reader).value(), kind_);
    const TableMetadata& m = tables_[index]->metadata();
    if (!MayBeCovered(m)) return entries;
    return WithoutCovered(cover_, order_, m.highest_sequence, std::move(entries));
  }

 private:
  bool MayBeCovered(const TableMetadata& m) const {
    if (cover_ == nullptr) return false;
    const SequenceNumber bare = std::max(m.lowest_sequence, m.swept_through);
    return bare < cover_->newest() && cover_->MayCoverAny(m.smallest.user_key, m.largest.user_key, bare);
  }
  // Called for a table that does not end before the target's user key. If it ends with that key, its last entry may be
  // a newer version.
  bool EndsBefore(const TableFile& table, InternalKeyView target) const {
    const InternalKeyView largest = table.metadata().largest.view();
    if (order_.hashable() && !EqualBytes(largest.user_key, target.user_key)) return false;
    return order_.Less(largest, target);
  }

  FamilyTableOpener opener_;
  const RangeCover* const cover_;
  const Run* const run_;
  const TableRange tables_;
  const KeyOrder order_;
  const TableReader::ReadKind kind_;
};

// `visible`: unset to show all entries of memtables.
std::unique_ptr<InternalIterator> NewIteratorOf(Core* core, const Family& family, const ReadView& view,
                                                std::optional<SequenceNumber> visible, const RangeCover* cover,
                                                const KeyRange& bounds, bool fill_cache, SequenceNumber after) {
  std::vector<std::unique_ptr<InternalIterator>> sources;
  const auto add_memtable = [&](const MemTable& memtable) {
    if (memtable.empty() || (after > SequenceNumber() && memtable.LastSequence() <= after)) return;
    std::unique_ptr<InternalIterator> entries =
        visible.has_value() ? memtable.NewIterator(*visible) : memtable.NewIterator();
    const bool may_be_covered = cover != nullptr && memtable.FirstSequence() < cover->newest();
    sources.push_back(may_be_covered ? WithoutCovered(cover, family.order, memtable.LastSequence(), std::move(entries))
                                     : std::move(entries));
  };
  add_memtable(*view.active);
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) add_memtable(*memtable);
  std::optional<std::string> prefix;
  for (const LevelRun& level_run : view.version->runs()) {
    if (after > SequenceNumber() && level_run.run->highest_sequence() <= after) continue;
    const TableRange tables = level_run.run->Overlapping(bounds);
    if (tables.empty()) continue;
    NarrowToCommonPrefix(*tables.front(), *tables.back(), &prefix);
    sources.push_back(NewConcatenatingIterator(
        std::make_unique<RunTables>(core, level_run.run, tables, family.order, cover, fill_cache), kTablesKept));
  }
  return NewMergingIterator(family.order, std::move(sources), prefix.value_or(""));
}

}  // namespace

std::unique_ptr<InternalIterator> NewViewIterator(Core* core, const Family& family, const ReadView& view,
                                                  SequenceNumber visible, const RangeCover* cover,
                                                  const KeyRange& bounds, bool fill_cache, SequenceNumber after) {
  return NewIteratorOf(core, family, view, visible, cover, bounds, fill_cache, after);
}

std::unique_ptr<InternalIterator> NewVersionsIterator(Core* core, const Family& family, const ReadView& view,
                                                      const KeyRange& bounds, bool fill_cache) {
  return NewIteratorOf(core, family, view, std::nullopt, nullptr, bounds, fill_cache, SequenceNumber());
}

}  // namespace sepal
