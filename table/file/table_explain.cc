// A point lookup that reports what it does. It takes the steps of table_search.cc, without its optimisations.
#include "table/block/block.h"
#include "table/file/table_reader.h"
#include "table/file/table_reader_impl.h"
#include "table/filter/filter.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {
namespace {

using Answer = ExplainedSource::Answer;

// The bytes of a unit, from the cache or read past it.
struct Unit {
  CachePin pin;
  BlockBuffer buffer;
  std::string_view bytes() const { return pin ? pin.bytes() : buffer.view(); }
};

absl::StatusOr<Unit> Fetch(const TableReader::Impl& table, BlockHandle handle, UnitKind kind, ExplainedSource* source,
                           bool* cached) {
  Unit unit;
  unit.pin = table.source->GetCached(handle, kind);
  *cached = static_cast<bool>(unit.pin);
  if (unit.pin) return unit;
  ASSIGN_OR_RETURN(unit.buffer, table.source->Read(handle, kind));
  source->bytes_read += handle.size + kUnitTrailerBytes;
  return unit;
}

absl::Status ExplainGuard(const TableReader::Impl& table, uint64_t hash, ExplainedSource* source) {
  source->has_guard = table.hashable && table.has_guard();
  if (!source->has_guard) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Unit guard, Fetch(table, table.footer.guard, UnitKind::kGuard, source, &source->guard_cached));
  source->guard_admits = GuardView(guard.bytes()).MayContain(hash);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<Trailer>> TableReader::Explain(const LookupKey& key, ExplainedSource* source) const {
  const Impl& table = *impl_;
  const KeyOrder order = table.options.order;
  const uint64_t seed = table.footer.hash_seed;
  const uint64_t hash = key.hash_seed == seed || !table.hashable ? key.hash : HashKey(key.user_key, seed);
  RETURN_IF_ERROR(ExplainGuard(table, hash, source));
  if (!source->guard_admits) {
    source->answer = Answer::kGuardSaysNo;
    return std::nullopt;
  }
  const InternalKeyView target{key.user_key, SeekTrailer(key.visible)};
  const uint32_t first_page = table.root->Find(target, order);
  for (uint32_t page = first_page; page < table.root->count(); ++page) {
    bool page_cached = false;
    ASSIGN_OR_RETURN(const Unit leaf_unit,
                     Fetch(table, table.root->handle(page), UnitKind::kLeafPage, source, &page_cached));
    const IndexPageView leaf(leaf_unit.bytes());
    for (uint32_t i = page == first_page ? leaf.Find(target, order) : 0; i < leaf.count(); ++i) {
      const BlockHandle handle = leaf.handle(i);
      ExplainedBlock& block =
          source->blocks.emplace_back(ExplainedBlock{.offset = handle.offset,
                                                     .stored_bytes = handle.size,
                                                     .leaf_page = page,
                                                     .leaf_page_cached = page_cached,
                                                     .fence = i,
                                                     .fences = leaf.count(),
                                                     .has_lane = table.hashable && !leaf.lane(i).empty()});
      block.lane_admits = !block.has_lane || leaf.LaneMayContain(i, hash);
      if (!block.lane_admits) {
        source->answer = Answer::kLaneSaysNo;
        return std::nullopt;
      }
      ASSIGN_OR_RETURN(const Unit data, Fetch(table, handle, UnitKind::kDataBlock, source, &block.cached));
      const BlockView::Hit hit = BlockView(data.bytes()).Find(key.user_key, hash, key.visible, order);
      block.key_present = hit.found || hit.key_present;
      if (hit.found) {
        source->value_bytes = hit.value.size();
        return hit.trailer;
      }
      const Separator separator = leaf.separator(i);
      const bool goes_on = separator.has_trailer && order.Equal(separator.user_key, key.user_key);
      if (!block.key_present || !goes_on) return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace sepal
