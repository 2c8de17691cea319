// A point lookup that reports what it does: a search (table_search.h) that is watched between its steps.
#include "table/file/table_reader.h"
#include "table/file/table_reader_impl.h"
#include "table/file/table_search.h"
#include "util/base/status.h"

namespace sepal {
namespace {

using Answer = ExplainedSource::Answer;
using Stage = TableSearch::Stage;

class WatchedSearch {
 public:
  WatchedSearch(const TableReader& reader, const LookupKey& key, ExplainedSource* source)
      : table_(reader.impl()),
        source_(source),
        search_(reader, key, {.fill_cache = false}, &filters_, &hit_, /*among_many=*/true) {}

  absl::StatusOr<std::optional<Trailer>> Run() {
    LookAtGuard();
    while (search_.stage() != Stage::kEnded) {
      const Stage step = search_.stage();
      search_.Step();
      const bool cached = search_.want() == nullptr;
      if (!cached) Read(*search_.want());
      if (search_.status().ok()) Report(step, cached);
    }
    RETURN_IF_ERROR(search_.status());
    if (hit_.kind != TableHit::Kind::kFound) return std::nullopt;
    source_->value_bytes = hit_.value.size();
    return hit_.trailer;
  }

 private:
  // A guard that is not worth its space in the cache is not asked.
  void LookAtGuard() {
    const BlockHandle guard = table_.footer.guard;
    source_->has_guard = table_.hashable && table_.has_guard() &&
                         (table_.source->Keeps(guard.size) || table_.source->GetCached(guard, UnitKind::kGuard));
  }

  // Reads past the cache.
  void Read(const UnitWant& want) {
    absl::StatusOr<BlockBuffer> buffer = want.source->Read(want.handle, want.kind);
    if (!buffer.ok()) return search_.Provide(buffer.status());
    source_->bytes_read += want.handle.size + kUnitTrailerBytes;
    search_.Provide(want.source->Keep(want.handle, want.kind, *std::move(buffer), /*fill_cache=*/false));
  }

  // Reports what the step has found. `cached`: it read nothing.
  void Report(Stage step, bool cached) {
    switch (step) {
      case Stage::kGuard:
        source_->guard_cached = source_->has_guard && cached;
        source_->guard_admits = filters_.guard_rejections == 0;
        if (!source_->guard_admits) source_->answer = Answer::kGuardSaysNo;
        break;
      case Stage::kLeaf:
        leaf_page_cached_ = cached;
        break;
      case Stage::kLane:
        ReportLane();
        break;
      case Stage::kBlock:
        source_->blocks.back().cached = cached;
        break;
      case Stage::kEntry:
        source_->blocks.back().key_present = filters_.false_positives == 0;
        break;
      case Stage::kFences:
      case Stage::kTags:
      case Stage::kEnded:
        break;
    }
  }

  // Called while the search is still at the block.
  void ReportLane() {
    const IndexPageView& leaf = search_.leaf();
    const BlockHandle handle = leaf.handle(search_.block());
    source_->blocks.push_back({.offset = handle.offset,
                               .stored_bytes = handle.size,
                               .leaf_page = search_.page(),
                               .leaf_page_cached = leaf_page_cached_,
                               .fence = search_.block(),
                               .fences = leaf.count(),
                               .has_lane = table_.hashable && !leaf.lane(search_.block()).empty(),
                               .lane_admits = filters_.lane_rejections == 0});
    if (filters_.lane_rejections > 0) source_->answer = Answer::kLaneSaysNo;
  }

  const TableReader::Impl& table_;
  ExplainedSource* const source_;
  LevelFilterStatistics filters_;
  TableHit hit_;
  TableSearch search_;
  bool leaf_page_cached_ = false;
};

}  // namespace

absl::StatusOr<std::optional<Trailer>> TableReader::Explain(const LookupKey& key, ExplainedSource* source) const {
  return WatchedSearch(*this, key, source).Run();
}

}  // namespace sepal
