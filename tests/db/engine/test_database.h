// A whole small database in memory: some kilobytes fill a level, so that a test meets every part of the engine.
//
// The file system can lose power and fail calls; threads are simulated from a seed, or real. Handles of the database
// (iterators, snapshots, families, pins) may be kept by the test while the database is closed and opened again.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/engine/face/engine.h"
#include "db/state/version/tuning.h"
#include "sepal/db.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "sepal/simulation/simulated_world.h"
#include "tests/db/engine/jumping_clock.h"
#include "tests/db/engine/test_metrics.h"

namespace sepal {

enum class Threads : uint8_t { kSimulated, kReal };

inline Tuning SmallTuning() {
  Tuning tuning;
  tuning.memtable_bytes = size_t{16} << 10;
  tuning.memtable_limit_bytes = size_t{64} << 10;
  tuning.early_flushes = false;
  tuning.table_bytes = size_t{8} << 10;
  tuning.blocks_per_leaf_page = 4;
  tuning.write_buffer_bytes = size_t{1} << 10;
  tuning.range_keys = 8;
  tuning.runs_per_level = 3;
  tuning.unread_runs = 0;
  tuning.fanout = 3;
  tuning.compaction_threads = 2;
  tuning.part_bytes = uint64_t{4} << 10;
  tuning.log_limit_bytes = uint64_t{64} << 10;
  tuning.log_allocation_bytes = uint64_t{16} << 10;
  tuning.log_ring_bytes = uint64_t{8} << 10;
  tuning.value_file_bytes = uint64_t{8} << 10;
  tuning.manifest_limit_bytes = uint64_t{2} << 10;
  tuning.info_log_bytes = uint64_t{4} << 10;
  tuning.space_retry_micros = 1000;
  tuning.copy_value_bytes = 32;
  return tuning;
}

class TestDatabase {
 public:
  // Simulated threads hand over at one point in `switch_one_in`.
  explicit TestDatabase(Threads threads = Threads::kSimulated, uint64_t seed = 1, uint32_t switch_one_in = 8)
      : TestDatabase(threads, {.seed = seed, .switch_one_in = switch_one_in}, MemoryFileSystem()) {}
  // On a disk that may hold something.
  TestDatabase(Threads threads, SimulationOptions simulation, MemoryFileSystem disk)
      : memory(std::move(disk)), files(&memory) {
    if (threads == Threads::kSimulated) {
      world = std::make_unique<SimulatedWorld>(simulation);
      clock = std::make_unique<JumpingClock>(world.get());
    }
    options.create_if_missing = true;
    options.memory_limit = size_t{8} << 20;
    options.family.block_bytes = 256;
    options.env = {
        .file_system = &files, .clock = clock.get(), .executor = world.get(), .random_seed = simulation.seed};
  }
  ~TestDatabase() { db.reset(); }

  absl::Status Open() {
    db.reset();
    absl::StatusOr<std::unique_ptr<DB>> opened = Engine::Open(options, tuning, path);
    if (opened.ok()) db = std::move(opened).value();
    return opened.status();
  }
  // Closes and opens; the first error of the two.
  absl::Status Reopen() {
    const absl::Status closed = db->Close();
    const absl::Status opened = Open();
    return closed.ok() ? opened : closed;
  }
  absl::Status CrashAndReopen(CrashMode mode, uint64_t seed = 0) {
    memory.Crash(mode, seed);
    return Open();
  }
  // A second view of the same files, with its own options.
  absl::StatusOr<std::unique_ptr<DB>> OpenReadOnly() const { return OpenReadOnly(path); }
  absl::StatusOr<std::unique_ptr<DB>> OpenReadOnly(std::string_view directory) const {
    Options read_only = options;
    read_only.create_if_missing = false;
    read_only.read_only = true;
    return Engine::Open(read_only, tuning, directory);
  }

  TestMetrics Metrics() const { return TestMetrics(db->GetProperty("sepal.prometheus").value()); }

  MemoryFileSystem memory;
  FaultFileSystem files;
  std::unique_ptr<SimulatedWorld> world;  // null with real threads
  std::unique_ptr<JumpingClock> clock;    // likewise
  Options options;
  Tuning tuning = SmallTuning();
  const std::string path = "/db";
  std::unique_ptr<DB> db;
};

// Null: the default one.
inline const ColumnFamily& FamilyOrDefault(DB* db, const ColumnFamily* family) {
  return family == nullptr ? db->DefaultColumnFamily() : *family;
}

// Repairs, and leaves the report in `*report`, if that is not null and there is one.
inline absl::Status RepairTo(RepairReport* report, const Options& options, std::string_view directory,
                             const RepairOptions& repair = {}) {
  absl::StatusOr<RepairReport> repaired = DB::Repair(options, directory, repair);
  if (repaired.ok() && report != nullptr) *report = *std::move(repaired);
  return repaired.status();
}

// The tables of each level up to the last with any, by commas: "2,0,3".
inline std::string FilesPerLevel(DB* db, const ColumnFamily* family = nullptr) {
  std::string all;
  size_t last_used = 0;
  for (int level = 0; level < kMaxLevels; ++level) {
    const std::string count =
        db->GetProperty(FamilyOrDefault(db, family), "sepal.num-files-at-level" + std::to_string(level)).value_or("?");
    if (level > 0) all += ",";
    all += count;
    if (count != "0") last_used = all.size();
  }
  all.resize(last_used);
  return all;
}

inline uint64_t NumberProperty(DB* db, std::string_view name, const ColumnFamily* family = nullptr) {
  const std::optional<std::string> text = db->GetProperty(FamilyOrDefault(db, family), name);
  return text.has_value() ? std::stoull(*text) : UINT64_MAX;
}

// The names of all files in a directory.
inline std::vector<std::string> FilesIn(FileSystem* files, std::string_view path) {
  std::vector<std::string> names;
  absl::StatusOr<std::unique_ptr<Directory>> directory = files->OpenDirectory(path, /*create=*/false);
  if (!directory.ok()) return names;
  absl::StatusOr<std::vector<DirectoryEntry>> listing = (*directory)->List();
  if (!listing.ok()) return names;
  for (const DirectoryEntry& entry : *listing) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

inline Entries ReadAll(Iterator* iterator) {
  Entries entries;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    entries.emplace_back(iterator->key(), iterator->value());
  }
  return entries;
}

inline std::string Value(DB* db, std::string_view key, const ReadOptions& options = {}) {
  const absl::StatusOr<std::string> value = db->Get(key, options);
  return value.ok() ? *value : std::string(absl::StatusCodeToString(value.status().code()));
}

inline std::string NumberedKey(uint64_t number) {
  std::string digits = std::to_string(number);
  return "key" + std::string(6 - std::min<size_t>(6, digits.size()), '0') + digits;
}

}  // namespace sepal
