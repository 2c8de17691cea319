#include "db/engine/point_lookup.h"

#include <array>

#include "util/status.h"

namespace sepal {

namespace {

struct Candidate {
  const TableFile* file;
  const TableReader* reader;  // null: not open yet
  int level;
};
// More runs than this are asked in several rounds.
constexpr size_t kRound = 32;

void Take(Trailer trailer, std::string_view value, PointResult* result) {
  if (TrailerKind(trailer) == ValueKind::kPut) {
    result->kind = PointResult::Kind::kFound;
    result->value = value;
  } else {
    result->kind = PointResult::Kind::kAbsent;
  }
}

bool LookInMemTable(const MemTable& memtable, const LookupKey& key, PointResult* result) {
  const std::optional<MemTable::Found> found = memtable.Lookup(key.user_key, key.hash, key.visible);
  if (!found.has_value()) return false;
  result->in_memtable = true;
  Take(found->trailer, found->value, result);
  return true;
}

// Sets `*done` when the key's newest visible entry was met, or cannot be told from memory alone.
absl::Status LookInTable(const Candidate& candidate, const Family& family, const LookupKey& key,
                         const TableLookupOptions& options, Core* core, PointResult* result, bool* done) {
  const TableReader* reader = candidate.reader;
  if (reader == nullptr) {
    if (options.cached_only) {
      result->kind = PointResult::Kind::kMaybe;
      *done = true;
      return absl::OkStatus();
    }
    FamilyTableOpener opener = core->Opener(family.order);
    ASSIGN_OR_RETURN(reader, candidate.file->OpenReader(&opener));
  }
  LevelFilterStatistics filters;
  TableHit hit;
  const absl::Status status = reader->Lookup(key, options, &filters, &hit);
  core->statistics.AddFilter(candidate.level, filters);
  RETURN_IF_ERROR(status);
  switch (hit.kind) {
    case TableHit::Kind::kAbsent:
      return absl::OkStatus();
    case TableHit::Kind::kMaybe:
      result->kind = PointResult::Kind::kMaybe;
      break;
    case TableHit::Kind::kFound:
      Take(hit.trailer, hit.value, result);
      result->pin = std::move(hit.pin);
      break;
  }
  *done = true;
  return absl::OkStatus();
}

}  // namespace

absl::Status LookUp(const Family& family, const ReadView& view, const LookupKey& key, const TableLookupOptions& options,
                    Core* core, PointResult* result) {
  if (LookInMemTable(*view.active, key, result)) return absl::OkStatus();
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) {
    if (LookInMemTable(*memtable, key, result)) return absl::OkStatus();
  }
  const std::span<const LevelRun> runs = view.version->runs();
  std::array<Candidate, kRound> candidates;
  bool done = false;
  for (size_t next = 0; next < runs.size() && !done;) {
    size_t count = 0;
    for (; next < runs.size() && count < kRound; ++next) {
      const TableFile* file = runs[next].run->Find(key.user_key);
      if (file == nullptr) continue;
      const TableReader* reader = file->reader();
      if (reader != nullptr) reader->PrefetchGuard(key);
      candidates[count++] = {file, reader, runs[next].level};
    }
    for (size_t i = 0; i < count && !done; ++i) {
      RETURN_IF_ERROR(LookInTable(candidates[i], family, key, options, core, result, &done));
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal
