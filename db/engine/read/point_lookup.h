// The lookup of a Get in one view: memtables, then runs from the newest to the oldest, until an entry is found.
//
// The tables that may hold the key are determined first, and all their guards are prefetched, as are the memtables'
// indexes, so that the cache misses overlap; then they are asked one after another.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/state/version/read_view.h"
#include "table/file/table_reader.h"

namespace sepal {

struct PointResult {
  enum class Kind : uint8_t { kAbsent, kFound, kMaybe, kRefused, kOperand, kExpiring, kReference };
  Kind kind = Kind::kAbsent;
  // The memtable in which the entry was found and its value lies; null if the value is in a cached block of a table.
  const MemTable* memtable = nullptr;
  std::string_view value = {};
  bool refers = false;           // whether a result of kExpiring refers to its value
  uint64_t expiry_millis = 0;    // of what was found, if it expires and nothing was merged into it
  SequenceNumber sequence = {};  // of the entry that was met
  CachePin pin = {};
  CachePeek peek = {};
  // Holds the value if a merge operator made it.
  std::unique_ptr<std::string> made = nullptr;
};

// The value of the key, or that it is absent (or `kMaybe`, or `kRefused`, by the family's filter), its merges resolved
// (merged_lookup.h). With `keeps_reference` it may be kReference, with the reference for a value: the family's filter
// was not asked then. `view` must be held by the caller (an epoch guard, or a reference). `counters`: the calling
// thread's, of the core.
absl::Status LookUp(const Family& family, const ReadView& view, const LookupKey& key, const TableLookupOptions& options,
                    Core* core, StatisticsImpl::ThreadCounters* counters, PointResult* result);

// Makes the result absent if a range tombstone covers it.
inline void HideIfCovered(SequenceNumber covered_by, PointResult* result) {
  const bool met = result->kind != PointResult::Kind::kAbsent && result->kind != PointResult::Kind::kMaybe;
  if (met && result->sequence < covered_by) *result = {};
}

// Prefetches what LookInMemTables touches first.
void PrefetchMemTables(const ReadView& view, const LookupKey& key);
// The parts of LookUp, for other kinds of lookups. Each returns whether the key's newest visible entry was found, or
// cannot be known from memory alone. An operand (`kOperand`) is only the beginning of the answer, and an expiring put
// (`kExpiring`, with its bytes as the value) still needs Expire.
bool LookInMemTables(const ReadView& view, const LookupKey& key, PointResult* result);
bool TakeHit(TableHit* hit, PointResult* result);
// Resolves a result of kExpiring by the current time.
void Expire(Core* core, PointResult* result);
// Opens the table if needed; returns null if only memory may be used and the table is not open.
absl::StatusOr<const TableReader*> ReaderOf(const TableFile& file, const Family& family,
                                            const TableLookupOptions& options, Core* core);

}  // namespace sepal
