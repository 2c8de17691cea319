#include "table/file/table_search.h"

#include <utility>

#include "table/block/block.h"
#include "table/file/prefetch.h"
#include "table/file/table_reader_impl.h"
#include "table/filter/filter.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// The header of a block and the columns before it.
constexpr size_t kFetchedLines = 4;

InternalKeyView TargetOf(const LookupKey& key) { return {key.user_key, SeekTrailer(key.visible)}; }

}  // namespace

TableSearch::TableSearch(const TableReader& table, const LookupKey& key, const TableLookupOptions& options,
                         LevelFilterStatistics* filters, TableHit* hit, bool among_many)
    : table_(table.impl()), key_(key), options_(options), among_many_(among_many), filters_(filters), hit_(hit) {
  if (table_.hashable) {
    hash_ = key.hash_seed == table_.footer.hash_seed ? key.hash : HashKey(key.user_key, table_.footer.hash_seed);
  }
  if (StatisticsImpl* statistics = table_.options.statistics; statistics != nullptr) {
    counters_ = statistics->ForThisThread();
  }
  ++filters_->lookups;
}

void TableSearch::Run() {
  if (stage_ == Stage::kGuard) AskGuard();
  while (stage_ == Stage::kLeaf) {
    OpenLeaf();
    if (stage_ == Stage::kFences) SearchFences();
    while (stage_ == Stage::kLane) {
      AskLane();
      if (stage_ == Stage::kBlock) OpenBlock();
      if (stage_ == Stage::kEntry) SearchBlock();
    }
  }
}

bool TableSearch::Step() {
  switch (stage_) {
    case Stage::kGuard:
      AskGuard();
      break;
    case Stage::kLeaf:
      OpenLeaf();
      break;
    case Stage::kFences:
      SearchFences();
      break;
    case Stage::kLane:
      AskLane();
      break;
    case Stage::kBlock:
      OpenBlock();
      break;
    case Stage::kTags:
      block_view_.emplace(block_bytes_).PrefetchFind(hash_);
      stage_ = Stage::kEntry;
      break;
    case Stage::kEntry:
      SearchBlock();
      break;
    case Stage::kEnded:
      break;
  }
  return stage_ != Stage::kEnded && !waits_;
}

void TableSearch::Provide(absl::StatusOr<CachePin> unit) {
  waits_ = false;
  if (!unit.ok()) return EndWith(std::move(unit).status());
  switch (stage_) {
    case Stage::kGuard:
      return HearGuard(unit->bytes());
    case Stage::kLeaf:
      leaf_pin_ = *std::move(unit);
      leaf_bytes_ = leaf_pin_.bytes();
      return EnterLeaf();
    case Stage::kBlock:
      block_pin_ = *std::move(unit);
      block_bytes_ = block_pin_.bytes();
      return EnterBlock();
    case Stage::kFences:
    case Stage::kLane:
    case Stage::kTags:
    case Stage::kEntry:
    case Stage::kEnded:
      break;  // these steps read nothing
  }
}

void TableSearch::Count(Ticker ticker) {
  if (counters_.has_value()) counters_->Add(ticker);
}

void TableSearch::EndWith(absl::Status status) {
  status_ = std::move(status);
  End();
}

void TableSearch::EndWithMaybe() {
  hit_->kind = TableHit::Kind::kMaybe;
  End();
}

std::string_view TableSearch::Fetch(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint, CachePin* pin) {
  if (options_.cached_only) {
    *pin = table_.source->GetCached(handle, kind, hint);
    if (*pin) return pin->bytes();
    EndWithMaybe();
    return {};
  }
  bool* const from_disk = kind == UnitKind::kDataBlock ? &from_disk_ : nullptr;
  if (among_many_) {
    *pin = table_.source->GetCached(handle, kind, hint);
    if (*pin) return pin->bytes();
    want_ = {&*table_.source, handle, kind, fill_cache, hint, from_disk};
    waits_ = true;
    return {};
  }
  absl::StatusOr<CachePin> got = table_.source->Get(handle, kind, fill_cache, hint, from_disk);
  if (!got.ok()) {
    EndWith(std::move(got).status());
    return {};
  }
  *pin = std::move(got).value();
  return pin->bytes();
}

void TableSearch::AskGuard() {
  const BlockHandle handle = table_.footer.guard;
  if (!table_.hashable || !table_.has_guard()) return FindLeaf();
  std::string_view bytes = table_.source->Peek(handle, &table_.guard_hint).bytes;
  if (!bytes.empty()) Count(Ticker::kMetadataCacheHits);
  CachePin pin;
  if (bytes.empty() && table_.source->Keeps(handle.size)) {
    if (options_.cached_only) {
      pin = table_.source->GetCached(handle, UnitKind::kGuard, &table_.guard_hint);
      if (pin) bytes = pin.bytes();  // otherwise it says "maybe"
    } else {
      if (table_.options.remote && !among_many_) AskForLeafAhead();
      bytes = Fetch(handle, UnitKind::kGuard, /*fill_cache=*/true, &table_.guard_hint, &pin);
      if (bytes.empty()) return;
    }
  }
  if (bytes.empty()) return FindLeaf();
  HearGuard(bytes);
}

// Requested ahead, so that the leaf page arrives with the guard.
void TableSearch::AskForLeafAhead() const {
  const uint32_t page = table_.root->Find(TargetOf(key_), table_.options.order);
  if (page < table_.root->count()) table_.AskAhead(table_.root->handle(page));
}

void TableSearch::HearGuard(std::string_view bytes) {
  table_.guard_lines.store(bytes.data() + kGuardLineBytes, std::memory_order_relaxed);
  if (!GuardView(bytes).MayContain(hash_)) {
    ++filters_->guard_rejections;
    return End();
  }
  FindLeaf();
}

void TableSearch::FindLeaf() { GoToLeaf(table_.root->Find(TargetOf(key_), table_.options.order)); }

void TableSearch::GoToLeaf(uint32_t page) {
  if (page == table_.root->count()) return End();
  page_ = page;
  page_handle_ = table_.root->handle(page);
  table_.source->Prefetch(page_handle_, &table_.leaf_hints[page]);
  table_.PrefetchLeaf(page);
  // If many searches are under way, the one hint that is needed arrives while others take their steps.
  if (!among_many_) table_.PrefetchBlockHints(page);
  stage_ = Stage::kLeaf;
}

void TableSearch::OpenLeaf() {
  HintWord* const hint = &table_.leaf_hints[page_];
  leaf_bytes_ = table_.source->Peek(page_handle_, hint).bytes;
  if (!leaf_bytes_.empty()) [[likely]] {
    Count(Ticker::kMetadataCacheHits);
  } else {
    leaf_bytes_ = Fetch(page_handle_, UnitKind::kLeafPage, /*fill_cache=*/true, hint, &leaf_pin_);
    if (leaf_bytes_.empty()) return;
  }
  EnterLeaf();
}

void TableSearch::EnterLeaf() {
  table_.NoteLeaf(page_, leaf_bytes_.data());
  stage_ = Stage::kFences;
}

void TableSearch::SearchFences() {
  leaf_.emplace(leaf_bytes_);
  hints_ = table_.BlockHints(page_, *leaf_);
  block_ = first_page_ ? leaf_->Find(TargetOf(key_), table_.options.order) : 0;
  if (block_ >= leaf_->count()) {
    return EndWith(
        Damaged(table_.options.name, page_handle_.offset, "leaf page: it ends before the root says it does"));
  }
  GoToBlock();
}

void TableSearch::GoToBlock() {
  leaf_->PrefetchBlock(block_);
  __builtin_prefetch(&HintOfBlock());
  stage_ = Stage::kLane;
}

size_t TableSearch::FetchedLines() const { return leaf_->BlocksHaveFewEntries() ? kLinesOfFewEntries : kFetchedLines; }

void TableSearch::AskLane() {
  block_handle_ = leaf_->handle(block_);
  // Most lookups that come here continue to the block.
  const BlockHint& hint = HintOfBlock();
  table_.source->Prefetch(block_handle_, &hint.frame);
  if (const char* end = hint.end.load(std::memory_order_relaxed); end != nullptr) {
    PrefetchBeforeEnd(end, FetchedLines());
  }
  // A key that continues in the next block is in the lanes of both, so this "no" holds for all following blocks too.
  if (table_.hashable && !leaf_->LaneMayContain(block_, hash_)) {
    ++filters_->lane_rejections;
    return End();
  }
  stage_ = Stage::kBlock;
}

void TableSearch::OpenBlock() {
  block_pin_.Reset();  // of the previous block, if versions of the key continue
  from_disk_ = false;
  BlockHint& hint = HintOfBlock();
  block_peek_ = table_.source->Peek(block_handle_, &hint.frame);
  block_bytes_ = block_peek_.bytes;
  if (!block_bytes_.empty()) [[likely]] {
    Count(Ticker::kBlockCacheHits);
  } else {
    block_bytes_ = Fetch(block_handle_, UnitKind::kDataBlock, options_.fill_cache, &hint.frame, &block_pin_);
    if (block_bytes_.empty()) return;
  }
  EnterBlock();
}

void TableSearch::EnterBlock() {
  BlockHint& hint = HintOfBlock();
  if (const char* end = block_bytes_.data() + block_bytes_.size(); hint.end.load(std::memory_order_relaxed) != end) {
    PrefetchBlockEnd(block_bytes_, FetchedLines());
    hint.end.store(end, std::memory_order_relaxed);
  }
  block_view_.reset();
  stage_ = among_many_ && table_.hashable ? Stage::kTags : Stage::kEntry;
}

void TableSearch::SearchBlock() {
  ++filters_->blocks_searched;
  if (!block_view_.has_value()) block_view_.emplace(block_bytes_);
  const BlockView::Hit found = block_view_->Find(key_.user_key, hash_, key_.visible, table_.options.order);
  // A block that a filter let through by mistake says nothing about what is read next.
  if (from_disk_ && (found.key_present || !table_.has_filters())) table_.source->ReadAroundAfter(block_handle_);
  if (found.found) {
    *hit_ = {.kind = TableHit::Kind::kFound,
             .trailer = found.trailer,
             .value = found.value,
             .pin = std::move(block_pin_),
             .peek = block_peek_};
    return End();
  }
  if (!found.key_present) ++filters_->false_positives;
  if (!found.key_present || !GoesOn()) return End();
  if (++block_ < leaf_->count()) return GoToBlock();
  first_page_ = false;
  GoToLeaf(page_ + 1);
}

// Whether versions of the key may continue after the block: its separator is then an internal key of that user key.
bool TableSearch::GoesOn() const {
  const Separator separator = leaf_->separator(block_);
  return separator.has_trailer && table_.options.order.Equal(separator.user_key, key_.user_key);
}

void TableReader::PrefetchGuard(const LookupKey& key) const {
  const char* lines = impl_->guard_lines.load(std::memory_order_relaxed);
  if (lines == nullptr || key.hash_seed != impl_->footer.hash_seed) return;
  const uint64_t count = impl_->footer.guard.size / kGuardLineBytes - 1;
  __builtin_prefetch(lines + ReduceRange(key.hash, count) * kGuardLineBytes);
}

TableReader::GuardAnswer TableReader::AskGuard(const LookupKey& key) const {
  if (!impl_->hashable || !impl_->has_guard()) return GuardAnswer::kMaybe;
  if (key.hash_seed != impl_->footer.hash_seed) return GuardAnswer::kNotInMemory;
  const std::string_view bytes = impl_->source->Peek(impl_->footer.guard, &impl_->guard_hint).bytes;
  if (bytes.empty()) return GuardAnswer::kNotInMemory;
  return GuardView(bytes).MayContain(key.hash) ? GuardAnswer::kMaybe : GuardAnswer::kAbsent;
}

absl::Status TableReader::Lookup(const LookupKey& key, const TableLookupOptions& options,
                                 LevelFilterStatistics* filters, TableHit* hit, bool guard_asked) const {
  *hit = {};
  TableSearch search(*this, key, options, filters, hit, /*among_many=*/false);
  if (guard_asked) search.PassGuard();
  search.Run();
  return search.status();
}

}  // namespace sepal
