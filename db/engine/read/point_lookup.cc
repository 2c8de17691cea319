#include "db/engine/read/point_lookup.h"

#include <array>
#include <utility>

#include "absl/base/attributes.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/read/merged_lookup.h"
#include "db/engine/read/range_cover.h"
#include "db/engine/read/read_filter.h"
#include "db/engine/read/separated_value.h"
#include "util/base/status.h"

namespace sepal {

namespace {

struct Candidate {
  const TableFile* file;
  const TableReader* reader;  // null: not open yet
  const LevelRun* run;
};
// The number of runs that one round asks; further runs are asked in later rounds.
constexpr size_t kRound = 32;

void TakeOther(Trailer trailer, std::string_view value, PointResult* result) {
  switch (MeaningOf(trailer)) {
    case Meaning::kValue:
    case Meaning::kAbsent:
      result->kind = PointResult::Kind::kAbsent;
      break;
    case Meaning::kOperand:
      result->kind = PointResult::Kind::kOperand;
      break;
    case Meaning::kExpiring:
      result->kind = PointResult::Kind::kExpiring;
      result->refers = MeaningUntilExpiry(trailer) == Meaning::kReference;
      result->value = value;
      break;
    case Meaning::kReference:
      result->kind = PointResult::Kind::kReference;
      result->value = value;
      break;
  }
}

// Takes the key's newest visible update into the result.
void Take(Trailer trailer, std::string_view value, PointResult* result) {
  const Meaning meaning = MeaningOf(trailer);
  result->sequence = TrailerSequence(trailer);
  if (meaning == Meaning::kValue) [[likely]] {
    result->kind = PointResult::Kind::kFound;
    result->value = value;
  } else {
    TakeOther(trailer, value, result);
  }
}

bool LookInMemTable(const MemTable& memtable, const LookupKey& key, PointResult* result) {
  if (memtable.empty()) return false;
  const std::optional<MemTable::Found> found = memtable.Lookup(key.user_key, key.hash, key.visible);
  if (!found.has_value()) return false;
  result->memtable = &memtable;
  Take(found->trailer, found->value, result);
  return true;
}

}  // namespace

void PrefetchMemTables(const ReadView& view, const LookupKey& key) {
  if (!view.active->empty()) view.active->PrefetchLookup(key.hash);
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) memtable->PrefetchLookup(key.hash);
}

bool LookInMemTables(const ReadView& view, const LookupKey& key, PointResult* result) {
  if (LookInMemTable(*view.active, key, result)) return true;
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) {
    if (LookInMemTable(*memtable, key, result)) return true;
  }
  return false;
}

absl::StatusOr<const TableReader*> ReaderOf(const TableFile& file, const Family& family,
                                            const TableLookupOptions& options, Core* core) {
  const TableReader* reader = file.reader();
  if (reader != nullptr || options.cached_only) return reader;
  FamilyTableOpener opener = core->Opener(family.order);
  return file.OpenReader(&opener);
}

bool TakeHit(TableHit* hit, PointResult* result) {
  switch (hit->kind) {
    case TableHit::Kind::kAbsent:
      return false;
    case TableHit::Kind::kMaybe:
      result->kind = PointResult::Kind::kMaybe;
      return true;
    case TableHit::Kind::kFound:
      break;
  }
  Take(hit->trailer, hit->value, result);
  result->pin = std::move(hit->pin);
  result->peek = hit->peek;
  return true;
}

void Expire(Core* core, PointResult* result) {
  const ExpiringValue expiring = ParseExpiringValue(result->value);
  const bool there = core->expiry.NowMillis() < expiring.expiry_millis;
  const PointResult::Kind until = result->refers ? PointResult::Kind::kReference : PointResult::Kind::kFound;
  result->kind = there ? until : PointResult::Kind::kAbsent;
  result->value = there ? expiring.value : std::string_view();
  result->expiry_millis = there ? expiring.expiry_millis : 0;
}

namespace {

// Finds the tables from `runs[*next]` on that may hold the key, up to one round, and prefetches their guards.
size_t FindCandidates(std::span<const LevelRun> runs, const LookupKey& key, size_t* next,
                      std::array<Candidate, kRound>* candidates) {
  size_t count = 0;
  for (; *next < runs.size() && count < kRound; ++*next) {
    const LevelRun& run = runs[*next];
    const TableFile* file = run.run->Find(key.user_key);
    if (file == nullptr) continue;
    const TableReader* reader = file->reader();
    if (reader != nullptr) reader->PrefetchGuard(key);
    (*candidates)[count++] = {file, reader, &run};
  }
  return count;
}

// Returns true if the key's newest visible entry was found, or cannot be known from memory alone. Inlined, which saves
// 30 instructions per lookup.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::StatusOr<bool> LookInTable(const Candidate& candidate, bool guard_asked,
                                                                     const Family& family, const LookupKey& key,
                                                                     const TableLookupOptions& options, Core* core,
                                                                     StatisticsImpl::ThreadCounters* counters,
                                                                     PointResult* result) {
  const TableReader* reader = candidate.reader;
  if (reader == nullptr) {
    ASSIGN_OR_RETURN(reader, ReaderOf(*candidate.file, family, options, core));
  }
  if (reader == nullptr) {
    result->kind = PointResult::Kind::kMaybe;
    return true;
  }
  LevelFilterStatistics filters;
  TableHit hit;
  const absl::Status status = reader->Lookup(key, options, &filters, &hit, guard_asked);
  counters->AddFilter(candidate.run->level, filters);
  RETURN_IF_ERROR(status);
  return TakeHit(&hit, result);
}

// Completes the result, as the key's newest visible entry was found; an operand needs older ones too.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status Finish(const Family& family, const ReadView& view,
                                                        const LookupKey& key, SequenceNumber covered_by,
                                                        const TableLookupOptions& options, Core* core,
                                                        StatisticsImpl::ThreadCounters* counters, PointResult* result) {
  HideIfCovered(covered_by, result);
  if (result->kind >= PointResult::Kind::kOperand) [[unlikely]] {
    if (result->kind == PointResult::Kind::kOperand) {
      return LookUpMerged(family, view, key, covered_by, options, core, counters, result);
    }
    if (result->kind == PointResult::Kind::kExpiring) Expire(core, result);
    if (result->kind == PointResult::Kind::kReference && !options.keeps_reference) {
      return FetchResult(core, key.user_key, options, result);
    }
  }
  return absl::OkStatus();
}

// With `kCovered`, range tombstones and the filter are asked. For an update in a memtable only newer range tombstones
// matter, and usually there are none; what an operand stands on must be checked against all of them. The data that
// tables and memtables need is prefetched first.
template <bool kCovered>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status LookUpIn(const Family& family, const ReadView& view,
                                                          const LookupKey& key, const TableLookupOptions& options,
                                                          Core* core, StatisticsImpl::ThreadCounters* counters,
                                                          PointResult* result) {
  PrefetchMemTables(view, key);
  const std::span<const LevelRun> runs = view.version->runs();
  std::array<Candidate, kRound> candidates;
  size_t next = 0;
  size_t count = FindCandidates(runs, key, &next, &candidates);
  const bool met = LookInMemTables(view, key, result);
  SequenceNumber covered_by;
  if constexpr (kCovered) {
    const bool ends = met && result->kind != PointResult::Kind::kOperand;
    const SequenceNumber known = ends ? result->sequence : SequenceNumber(0);
    covered_by = CoveringIn(view, family.order, key.user_key, key.visible, known);
  }
  if (met) return Finish(family, view, key, covered_by, options, core, counters, result);
  for (; count > 0; count = FindCandidates(runs, key, &next, &candidates)) {
    for (size_t i = 0; i < count; ++i) {
      const Candidate& candidate = candidates[i];
      if (kCovered && candidate.run->run->highest_sequence() < covered_by) continue;
      bool guard_asked = false;
      if (candidate.reader != nullptr) {
        const TableReader::GuardAnswer answer = candidate.reader->AskGuard(key);
        if (answer == TableReader::GuardAnswer::kAbsent) {
          counters->Add(Ticker::kMetadataCacheHits);
          counters->AddFilter(candidate.run->level, {.lookups = 1, .guard_rejections = 1});
          continue;
        }
        guard_asked = answer == TableReader::GuardAnswer::kMaybe;
      }
      ASSIGN_OR_RETURN(const bool done,
                       LookInTable(candidate, guard_asked, family, key, options, core, counters, result));
      if (done) return Finish(family, view, key, covered_by, options, core, counters, result);
    }
  }
  return absl::OkStatus();
}

ABSL_ATTRIBUTE_NOINLINE absl::Status LookUpFully(const Family& family, const ReadView& view, const LookupKey& key,
                                                 const TableLookupOptions& options, Core* core,
                                                 StatisticsImpl::ThreadCounters* counters, PointResult* result) {
  RETURN_IF_ERROR(LookUpIn<true>(family, view, key, options, core, counters, result));
  return HideIfRefused(family, key.user_key, key.visible, result);
}

}  // namespace

absl::Status LookUp(const Family& family, const ReadView& view, const LookupKey& key, const TableLookupOptions& options,
                    Core* core, StatisticsImpl::ThreadCounters* counters, PointResult* result) {
  if (family.reads_ask_more()) [[unlikely]]
    return LookUpFully(family, view, key, options, core, counters, result);
  return LookUpIn<false>(family, view, key, options, core, counters, result);
}

}  // namespace sepal
