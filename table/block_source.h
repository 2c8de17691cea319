// Blocks of one file, verified: read, check the checksum, decompress, validate, and keep in the cache. Whatever it
// returns can be read by the views without further checks.
//
// Immutable; safe for concurrent use. The file, cache and budget must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"
#include "table/internal_key.h"
#include "table/table_format.h"
#include "util/cache.h"
#include "util/statistics_impl.h"

namespace sepal {

enum class UnitKind : uint8_t { kDataBlock, kLeafPage, kRoot, kGuard, kProperties };

class BlockSource {
 public:
  struct Context {
    std::string name;  // for errors
    const ReadableFile* file = nullptr;
    uint64_t file_size = 0;
    uint64_t table_id = 0;
    KeyOrder order;
    BlockCache* cache = nullptr;           // may be null: nothing is kept
    MemoryBudget* budget = nullptr;        // may be null
    StatisticsImpl* statistics = nullptr;  // may be null
  };
  explicit BlockSource(Context context);
  ~BlockSource();  // erases the file's blocks from the cache

  // From the cache, else from the file. With `fill_cache` false a block that is not cached yet is not kept.
  absl::StatusOr<CachePin> Get(BlockHandle handle, UnitKind kind, bool fill_cache);
  // From the cache alone; empty if it is not there.
  CachePin GetCached(BlockHandle handle, UnitKind kind);
  // Reads past the cache, with nothing kept: for compactions, verification and opening.
  absl::StatusOr<BlockBuffer> Read(BlockHandle handle, UnitKind kind) const;
  // Verifies and decompresses a unit whose bytes and trailer the caller has read (for read-ahead).
  absl::StatusOr<BlockBuffer> Decode(BlockHandle handle, UnitKind kind, std::string_view bytes_and_trailer) const;

  const Context& context() const { return context_; }

 private:
  Context context_;
  uint64_t cache_file_ = 0;
};

}  // namespace sepal
