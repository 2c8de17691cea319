// Reads one sorted table file.
//
// A point lookup searches in this order: guard (one cache line for the file) -> root fences -> leaf page: fences, lane
// -> data block: tag, key. A filter's "no" ends it; a block is read only if both filters say that it may hold the key.
//
// Law: a filter that cannot be read because it is damaged gives DataLoss, never "absent"; a filter that is not in
// memory when only memory may be used, or that is too large for the cache, says "maybe".
//
// Without a cache every unit is read each time it is needed, and what a lookup pins must not outlive the reader.
//
// Immutable after Open, except for hints; safe for concurrent use; shared ownership. The root, the properties and the
// hints are kept in memory (charged to kTables); leaf pages, guard and data blocks are in the cache and may be evicted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/explanation.h"
#include "sepal/file_system.h"
#include "sepal/statistics.h"
#include "table/file/block_source.h"
#include "table/file/table_format.h"
#include "table/iterate/iterator.h"
#include "util/memory/window_pool.h"

namespace sepal {

struct TableReaderOptions {
  std::string name;  // for errors
  KeyOrder order;
  BlockCache* cache = nullptr;
  MemoryBudget* budget = nullptr;
  StatisticsImpl* statistics = nullptr;
  // From the manifest; checked if set.
  std::optional<uint64_t> expected_size = {};
  std::optional<uint64_t> expected_table_id = {};
  std::optional<uint64_t> expected_footer_checksum = {};
  // The file's number in the cache, which may already hold blocks of this very file (TableWriterOptions::on_unit).
  // Unset: it holds none.
  std::optional<uint64_t> cache_file = {};
  // May be null: reads load only what they need.
  ReadAroundCredit* read_around = nullptr;
  // Where the users' iterators read ahead; if null, they share no limit.
  WindowPool* windows = nullptr;
  // A read takes a round trip (Capabilities::remote), so few large reads are better, and following data is requested
  // ahead.
  bool remote = false;
};

// The user key of a lookup that goes through the levels.
struct LookupKey {
  std::string_view user_key;
  uint64_t hash = 0;  // HashKey(user_key, hash_seed)
  uint64_t hash_seed = 0;
  SequenceNumber visible;
};

struct TableLookupOptions {
  bool fill_cache = true;
  // Use only data in memory; missing data counts as "maybe".
  bool cached_only = false;
  // Leave a separated value in its value file (db/engine/read/point_lookup.h).
  bool keeps_reference = false;
};

struct TableHit {
  enum class Kind : uint8_t {
    kAbsent,  // no entry of the key is visible in this file
    kFound,
    kMaybe,  // cached_only is set, and memory does not decide it
  };
  Kind kind = Kind::kAbsent;
  Trailer trailer = 0;
  // Valid as long as `pin`; if that is empty, as long as the epoch guard under which `peek` was taken.
  std::string_view value = {};
  CachePin pin = {};
  CachePeek peek = {};
};

class TableReader {
 public:
  static absl::StatusOr<std::shared_ptr<TableReader>> Open(TableReaderOptions options,
                                                           std::unique_ptr<ReadableFile> file);
  ~TableReader();
  // Makes the store fetch the part of a remote file of that size that Open reads, without waiting.
  static void AskForOpening(const ReadableFile& file, uint64_t file_bytes);

  // Prefetches the guard's line for the key, if the guard is in memory.
  void PrefetchGuard(const LookupKey& key) const;
  // Returns the guard's answer, if it is in the cache: the first step of a Lookup alone, for callers that search many
  // tables. Counts nothing. Call it inside a guard of the cache's epoch domain.
  enum class GuardAnswer : uint8_t { kAbsent, kMaybe, kNotInMemory };
  GuardAnswer AskGuard(const LookupKey& key) const;
  // Finds the newest visible entry of the key, and counts the filters' answers in `filters` (one lookup). If the cache
  // has an epoch domain, call it only inside a guard of that. `guard_asked`: AskGuard said kMaybe.
  absl::Status Lookup(const LookupKey& key, const TableLookupOptions& options, LevelFilterStatistics* filters,
                      TableHit* hit, bool guard_asked = false) const;

  // The same lookup, with a report of what it finds; nothing that it reads is kept in the cache. Returns the trailer of
  // the newest visible entry, if there is one; the caller decides what that means. Call it inside a guard, as Lookup.
  absl::StatusOr<std::optional<Trailer>> Explain(const LookupKey& key, ExplainedSource* source) const;

  enum class ReadKind : uint8_t {
    kUser,        // through the cache, kept there
    kUserNoFill,  // through the cache, but blocks that were not cached are not kept
    // For a caller that replaces the table. Reads ahead, and uses cached blocks, which then leave the cache unless
    // another reader has found them lately.
    kCompaction,
  };
  // The iterator holds `self`. It reads ahead at most `window_bytes`, or one block.
  static std::unique_ptr<InternalIterator> NewIterator(std::shared_ptr<const TableReader> self, ReadKind kind,
                                                       uint64_t window_bytes = UINT64_MAX);

  // Estimates the position of the key in the file's data, in bytes from 0 to data_bytes. Reads at most one leaf page.
  absl::StatusOr<uint64_t> ApproximateOffset(std::string_view user_key) const;

  // Returns at most `most` user keys, ascending, that cut the entries into pieces of about equal bytes: each key is at
  // or after all keys of its piece. Reads nothing; the cuts are only as fine as leaf pages.
  std::vector<std::string> EvenCuts(size_t most) const;

  // Reads and checks every unit except those that opening has read (footer, properties, root), and checks that entries,
  // order, separators, lanes and guard agree with each other and with the properties: no filter may deny a key of the
  // table.
  absl::Status Verify() const;

  // A part of the file that cannot be read: the entries after `after` (unset: from the first) up to and including
  // `through` (unset: to the last).
  struct Gap {
    BlockHandle handle;
    std::optional<InternalKey> after;
    std::optional<InternalKey> through;
    absl::Status status;
  };
  // Passes on, in order, every entry that can be read and is where the index has it, and reports what is damaged. Stops
  // at the first error of `entry`, and at a read that fails for a reason other than damage, which says nothing about
  // the table.
  absl::Status Salvage(const std::function<absl::Status(InternalKeyView key, std::string_view value)>& entry,
                       const std::function<void(const Gap&)>& gap) const;
  // Reads every unit past the cache, checks it, and reports each that is damaged or cannot be read; damage of the guard
  // affects every key. Before each unit it calls `go_on` with the bytes that it will read; false ends it with
  // Cancelled.
  absl::Status Scrub(const std::function<bool(uint64_t bytes)>& go_on,
                     const std::function<void(const Gap&)>& gap) const;

  // A data block's description, for tools; blocks come in order.
  struct BlockInfo {
    BlockHandle handle;
    uint32_t entries = 0;
    uint32_t keys = 0;
    size_t raw_bytes = 0;
    CompressionKind compression = CompressionKind::kNone;
    size_t lane_bits = 0;
    int lane_probes = 0;
    double lane_fill = 0;
    bool continuation = false;
    uint8_t dead = 0;
    Separator separator;
  };
  absl::Status ForEachBlock(const std::function<absl::Status(const BlockInfo&)>& visit) const;
  struct GuardInfo {
    uint64_t bits = 0;
    uint64_t keys = 0;
    int probes = 0;
    double fill = 0;
  };
  // nullopt if there is no guard.
  absl::StatusOr<std::optional<GuardInfo>> ReadGuardInfo() const;

  const TableProperties& properties() const;
  const Footer& footer() const;
  uint64_t file_size() const;
  // The memory that is held regardless of the cache.
  size_t MemoryBytes() const;

  struct Impl;  // table/file/table_reader_impl.h, for the files of this folder
  const Impl& impl() const { return *impl_; }

 private:
  explicit TableReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
