// The lookups of a MultiGet: a group of keys in one view, side by side.
//
// In each place - memtables, then runs from the newest to the oldest - every key that is not found yet makes one step,
// which prefetches what its next step needs; so the cache misses of the whole group overlap. A key that needs the disk
// waits while the others go on through all runs; when none can go on, everything they want is read together. On a
// remote store, unopened tables are opened together. The results are those of LookUp for each key alone.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "db/engine/read/point_lookup.h"
#include "db/engine/read/range_cover.h"
#include "db/engine/read/read_filter.h"
#include "table/file/table_search.h"

namespace sepal {

class GroupLookup {
 public:
  // Enough keys to keep cache misses overlapping, and few enough for the first-level cache.
  static constexpr size_t kMostKeys = 64;

  // All arguments must outlive the lookup. The caller's epoch guard must hold the view. `cover` belongs to the view;
  // null if the family has no range deletes. `filter`: likewise, or null.
  GroupLookup(const Family& family, const ReadView& view, const RangeCover* cover, const ReadFilter* filter,
              const TableLookupOptions& options, Core* core)
      : family_(family), view_(view), cover_(cover), filter_(filter), options_(options), core_(core) {}

  // Called once, with at most kMostKeys keys, as many newly made results, and as many statuses.
  void Run(std::span<const LookupKey> keys, std::span<PointResult> results, std::span<absl::Status> statuses);

 private:
  struct Search {
    // Not constexpr, because GCC would zero the 32 KiB of all searches.
    Search() {}  // NOLINT(modernize-use-equals-default)
    std::optional<TableSearch> search;
    TableHit hit;
  };

  // Returns the newest range tombstone that covers the key, or 0.
  SequenceNumber CoveredBy(size_t i) const {
    return cover_ != nullptr ? cover_->Covering(keys_[i].user_key) : SequenceNumber(0);
  }
  void AskMemTables();
  void ResolveMerges(size_t i);
  void HideRefused();
  void AskRuns();
  // Asks a run about the wanted keys that have not been in it.
  void AskRun(size_t run);
  // On a remote store, opens the tables that `keys` need in run `first`, and in older runs as far as that takes no
  // extra time.
  void OpenTogether(size_t first, std::span<const uint8_t> keys);
  // Steps all active searches until each has ended or waits for a read; the waiting ones stay active.
  void StepAll();
  // Reads the units that the active searches wait for.
  void ReadWanted();
  // Reads for the waiting keys, and continues their searches.
  void GoOnWithWaiting();
  bool Begin(uint8_t i, const TableFile& file, int level);
  // Returns whether the search for the key is over.
  bool Settle(uint8_t i);

  const Family& family_;
  const ReadView& view_;
  const RangeCover* const cover_;
  const ReadFilter* const filter_;
  const TableLookupOptions options_;
  Core* const core_;
  std::span<const LookupKey> keys_;
  std::span<PointResult> results_;
  std::span<absl::Status> statuses_;
  // Indexes of keys that no place searched so far has, and that wait for no read.
  std::array<uint8_t, kMostKeys> wanted_;
  size_t wanted_count_ = 0;
  // Indexes of keys that wait for a read.
  std::array<uint8_t, kMostKeys> waiting_;
  size_t waiting_count_ = 0;
  // The first run that a key has not been looked for in.
  std::array<uint32_t, kMostKeys> next_run_ = {};
  // Those of either list that make steps.
  std::array<uint8_t, kMostKeys> active_;
  size_t active_count_ = 0;
  std::array<LevelFilterStatistics, kMaxLevels> filters_;  // by level
  std::array<Search, kMostKeys> searches_;
};

}  // namespace sepal
