// Point lookups in one table.
#include <utility>

#include "absl/strings/str_format.h"
#include "table/block.h"
#include "table/filter.h"
#include "table/table_reader.h"
#include "table/table_reader_impl.h"
#include "util/status.h"

namespace sepal {
namespace {

// Whether versions of `user_key` may go on behind block `i`: its separator is then an internal key of that user key.
bool GoesOn(const IndexPageView& leaf, uint32_t i, std::string_view user_key, KeyOrder order) {
  const Separator separator = leaf.separator(i);
  return separator.has_trailer && order.Equal(separator.user_key, user_key);
}

// One lookup on its way through root, leaf pages and blocks. Its steps say with kAbsent that the next one is to be
// taken.
class Search {
 public:
  Search(const TableReader::Impl& table, const LookupKey& key, const TableLookupOptions& options,
         LevelFilterStatistics* filters)
      : table_(table), key_(key), options_(options), filters_(filters), order_(table.options.order) {
    if (table_.hashable) {
      hash_ = key.hash_seed == table.footer.hash_seed ? key.hash : HashKey(key.user_key, table.footer.hash_seed);
    }
  }

  absl::Status Run(TableHit* hit) {
    ++filters_->lookups;
    ASSIGN_OR_RETURN(const bool admitted, GuardAdmits());
    if (!admitted) return absl::OkStatus();
    const InternalKeyView target{key_.user_key, SeekTrailer(key_.visible)};
    uint32_t page = table_.root->Find(target, order_);
    for (bool first = true, more = true; more && page < table_.root->count(); ++page, first = false) {
      ASSIGN_OR_RETURN(const CachePin pin, Leaf(page));
      if (!pin) {
        hit->kind = TableHit::Kind::kMaybe;
        return absl::OkStatus();
      }
      const IndexPageView leaf(pin.bytes());
      const uint32_t block = first ? leaf.Find(target, order_) : 0;
      if (block >= leaf.count()) {
        return Damaged(table_.options.name, table_.root->handle(page).offset,
                       "leaf page: it ends before the root says it does");
      }
      ASSIGN_OR_RETURN(more, SearchLeaf(leaf, block, hit));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<bool> GuardAdmits() {
    const BlockHandle handle = table_.footer.guard;
    if (!table_.hashable || !table_.has_guard() || !table_.source->Keeps(handle.size)) return true;
    CachePin pin = table_.source->GetCached(handle, UnitKind::kGuard, &table_.guard_hint);
    if (!pin) {
      if (options_.cached_only) return true;
      ASSIGN_OR_RETURN(BlockBuffer buffer, table_.source->Read(handle, UnitKind::kGuard));
      pin = table_.source->Keep(handle, UnitKind::kGuard, std::move(buffer), true, &table_.guard_hint);
    }
    const std::string_view bytes = pin.bytes();
    table_.guard_lines.store(bytes.data() + kGuardLineBytes, std::memory_order_relaxed);
    if (GuardView(bytes).MayContain(hash_)) return true;
    ++filters_->guard_rejections;
    return false;
  }

  absl::StatusOr<CachePin> Leaf(uint32_t page) const {
    if (options_.cached_only) return table_.CachedLeaf(page);
    return table_.Leaf(page);
  }

  // Searches the blocks of `leaf` from `block` on. True if the key may go on in the next page.
  absl::StatusOr<bool> SearchLeaf(const IndexPageView& leaf, uint32_t block, TableHit* hit) {
    for (; block < leaf.count(); ++block) {
      // A key that goes on in the next block is in the lanes of both, so this "no" is for all blocks behind, too.
      if (table_.hashable && !leaf.LaneMayContain(block, hash_)) {
        ++filters_->lane_rejections;
        return false;
      }
      ASSIGN_OR_RETURN(CachePin pin, Block(leaf.handle(block)));
      if (!pin) {
        hit->kind = TableHit::Kind::kMaybe;
        return false;
      }
      PrefetchBlockEnd(pin.bytes(), 4);
      ++filters_->blocks_searched;
      const BlockView::Hit found = BlockView(pin.bytes()).Find(key_.user_key, hash_, key_.visible, order_);
      if (found.found) {
        hit->kind = TableHit::Kind::kFound;
        hit->trailer = found.trailer;
        hit->value = found.value;
        hit->pin = std::move(pin);
        return false;
      }
      if (!found.key_present) ++filters_->false_positives;
      if (!found.key_present || !GoesOn(leaf, block, key_.user_key, order_)) return false;
    }
    return true;
  }

  absl::StatusOr<CachePin> Block(BlockHandle handle) const {
    if (options_.cached_only) return table_.source->GetCached(handle, UnitKind::kDataBlock);
    return table_.source->Get(handle, UnitKind::kDataBlock, options_.fill_cache);
  }

  const TableReader::Impl& table_;
  const LookupKey& key_;
  const TableLookupOptions& options_;
  LevelFilterStatistics* filters_;
  const KeyOrder order_;
  uint64_t hash_ = 0;
};

}  // namespace

void TableReader::PrefetchGuard(const LookupKey& key) const {
  const char* lines = impl_->guard_lines.load(std::memory_order_relaxed);
  if (lines == nullptr || key.hash_seed != impl_->footer.hash_seed) return;
  const uint64_t count = impl_->footer.guard.size / kGuardLineBytes - 1;
  __builtin_prefetch(lines + ReduceRange(key.hash, count) * kGuardLineBytes);
}

absl::Status TableReader::Lookup(const LookupKey& key, const TableLookupOptions& options,
                                 LevelFilterStatistics* filters, TableHit* hit) const {
  hit->kind = TableHit::Kind::kAbsent;
  hit->value = {};
  hit->pin.Reset();
  return Search(*impl_, key, options, filters).Run(hit);
}

}  // namespace sepal
