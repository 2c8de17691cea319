// The way of a MultiGet: a group of keys through one view, side by side.
//
// In each place - memtables, then runs from the newest to the oldest - every key that is still looked for takes one
// step, which starts to fetch what its next step touches; so the cache misses of the whole group overlap. A key that
// needs the disk waits while the others go on through all runs; when none can go on, what all of them want is read
// together. Of a store far away, tables that are not open are opened together. What is found is what LookUp finds for
// each key on its own.
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
  // Keys that go together: enough to have a miss under way at all times, few enough to stay in the first cache.
  static constexpr size_t kMostKeys = 64;

  // All must outlive the lookup; `results` as made. The view must be held by the caller's epoch guard.
  // `cover`: of the view; null if the family has no range deletes. `filter`: likewise, or null.
  GroupLookup(const Family& family, const ReadView& view, const RangeCover* cover, const ReadFilter* filter,
              const TableLookupOptions& options, Core* core)
      : family_(family), view_(view), cover_(cover), filter_(filter), options_(options), core_(core) {}

  // Once. At most kMostKeys keys, and as many results and statuses.
  void Run(std::span<const LookupKey> keys, std::span<PointResult> results, std::span<absl::Status> statuses);

 private:
  struct Search {
    // Not constexpr: GCC would fill the 32 KiB of all searches with zeros.
    Search() {}  // NOLINT(modernize-use-equals-default)
    std::optional<TableSearch> search;
    TableHit hit;
  };

  // The newest range tombstone that covers the key, or 0.
  SequenceNumber CoveredBy(size_t i) const {
    return cover_ != nullptr ? cover_->Covering(keys_[i].user_key) : SequenceNumber(0);
  }
  void AskMemTables();
  void ResolveMerges(size_t i);
  void HideRefused();
  void AskRuns();
  // Those of the keys that are wanted and were not there before.
  void AskRun(size_t run);
  // Of a store far away: opens what `keys` need of run `first`, and, as far as that costs no time, of those below it.
  void OpenTogether(size_t first, std::span<const uint8_t> keys);
  // Steps of all that are active, until each has ended or waits for something to be read; those stay active.
  void StepAll();
  // What the active ones want.
  void ReadWanted();
  // Reads for those that wait, and takes them on.
  void GoOnWithWaiting();
  bool Begin(uint8_t i, const TableFile& file, int level);
  // Whether nothing more is to be looked for.
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
  // Keys, by index, that no place searched so far had an answer for, and that wait for nothing.
  std::array<uint8_t, kMostKeys> wanted_;
  size_t wanted_count_ = 0;
  // Keys that wait for something to be read.
  std::array<uint8_t, kMostKeys> waiting_;
  size_t waiting_count_ = 0;
  // The first run that a key has not been in.
  std::array<uint32_t, kMostKeys> next_run_ = {};
  // Of either, those that take steps.
  std::array<uint8_t, kMostKeys> active_;
  size_t active_count_ = 0;
  std::array<LevelFilterStatistics, kMaxLevels> filters_;  // by level
  std::array<Search, kMostKeys> searches_;
};

}  // namespace sepal
