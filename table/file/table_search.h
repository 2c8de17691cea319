// One point lookup in one table, taken in steps: guard -> leaf page -> fences -> lane -> block -> entry. Each step ends
// by prefetching what the next one touches, so that a caller with many lookups under way, which takes a step of each in
// turn, waits for their cache misses together.
//
// A search among many does not read: it requests parts of the file (`want`), and continues when they are provided. Such
// a search can also be watched between its steps (table_explain.cc), which costs the others nothing.
//
// Cached blocks are read under the caller's epoch guard (BlockCache), without a reference.
//
// Not safe for concurrent use. The table, the key and the guard must outlive the search and its result.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "table/file/batched_reads.h"
#include "table/file/table_reader.h"
#include "table/index/index_page.h"

namespace sepal {

class TableSearch {
 public:
  // `hit` must be newly made. It and `filters`, in which the search counts the filters' answers, must outlive the
  // search. `among_many`: between two steps of this search the caller takes steps of others, and it reads for all of
  // them.
  TableSearch(const TableReader& table, const LookupKey& key, const TableLookupOptions& options,
              LevelFilterStatistics* filters, TableHit* hit, bool among_many);

  // Call before the first step, if the guard was already asked and said "maybe".
  void PassGuard() { FindLeaf(); }
  // Takes one step. Returns false when the search needs something from the file, or has ended; `status` and, if that is
  // ok, the hit then have the result.
  bool Step();
  // The part of the file that the search waits for; null if none.
  const UnitWant* want() const { return waits_ ? &want_ : nullptr; }
  // Provides that part. Afterwards the search continues or has ended.
  void Provide(absl::StatusOr<CachePin> unit);
  // Takes all steps at once.
  void Run();
  const absl::Status& status() const { return status_; }

  // The next step.
  enum class Stage : uint8_t { kGuard, kLeaf, kFences, kLane, kBlock, kTags, kEntry, kEnded };
  Stage stage() const { return stage_; }
  // Where the search is, from stage kLane on: a leaf page by its number, and a block by its place in that page.
  uint32_t page() const { return page_; }
  const IndexPageView& leaf() const { return *leaf_; }
  uint32_t block() const { return block_; }

 private:
  void AskGuard();
  void AskForLeafAhead() const;
  void HearGuard(std::string_view bytes);
  void FindLeaf();
  void GoToLeaf(uint32_t page);
  void OpenLeaf();
  void EnterLeaf();
  void SearchFences();
  void GoToBlock();
  void AskLane();
  void OpenBlock();
  void EnterBlock();
  void SearchBlock();
  void End() { stage_ = Stage::kEnded; }
  void EndWith(absl::Status status);
  void EndWithMaybe();
  bool GoesOn() const;
  // At the end of a block.
  size_t FetchedLines() const;
  BlockHint& HintOfBlock() { return hints_ != nullptr ? hints_[block_] : no_hint_; }
  void Count(Ticker ticker);
  // Returns the unit's bytes, pinned by `*pin`. Empty: the search has ended, or waits.
  std::string_view Fetch(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint, CachePin* pin);

  const TableReader::Impl& table_;
  const LookupKey& key_;
  const TableLookupOptions options_;
  const bool among_many_;
  std::optional<StatisticsImpl::ThreadCounters> counters_;
  LevelFilterStatistics* const filters_;
  TableHit* const hit_;
  uint64_t hash_ = 0;
  Stage stage_ = Stage::kGuard;
  // Whether the page is the first one; later pages are searched from their first block on.
  bool first_page_ = true;
  uint32_t page_ = 0;
  uint32_t block_ = 0;
  BlockHandle page_handle_;
  BlockHandle block_handle_;
  std::string_view leaf_bytes_;
  CachePin leaf_pin_;
  std::optional<IndexPageView> leaf_;
  BlockHint* hints_ = nullptr;  // of the page's blocks; null if there is no memory for them
  BlockHint no_hint_;
  CachePeek block_peek_;
  std::string_view block_bytes_;
  std::optional<BlockView> block_view_;
  CachePin block_pin_;
  bool from_disk_ = false;  // whether the last block was read from the disk
  bool waits_ = false;
  UnitWant want_;
  absl::Status status_;
};

}  // namespace sepal
