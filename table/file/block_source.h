// Reads, verifies, decompresses and validates the blocks of one file, and keeps them in the cache. Every block that it
// returns can be read by the views without further checks.
//
// Immutable, except for the count of what was loaded around reads (warm_up.h); safe for concurrent use. The file, cache
// and budget must outlive it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"
#include "table/file/table_format.h"
#include "table/file/warm_up.h"
#include "table/key/internal_key.h"
#include "util/cache/block_cache.h"
#include "util/stats/statistics_impl.h"

namespace sepal {

enum class UnitKind : uint8_t { kDataBlock, kLeafPage, kRoot, kGuard, kProperties };

std::string_view Name(UnitKind kind);
// The part of the memory budget to which a cached unit of the kind is charged.
MemoryPart PartOf(UnitKind kind);

// The place where a data block was last found.
struct BlockHint {
  HintWord frame{0};
  // The end of its bytes. Only ever prefetched, so that it does not matter if they were freed.
  std::atomic<const char*> end{nullptr};
};

class BlockSource {
 public:
  struct Context {
    std::string name;  // for errors
    const ReadableFile* file = nullptr;
    uint64_t file_size = 0;
    uint64_t table_id = 0;
    // The file's number in the cache's keys; unset: a new one.
    std::optional<uint64_t> cache_file = {};
    KeyOrder order;
    BlockCache* cache = nullptr;              // may be null: nothing is kept, and no pin outlives the source
    MemoryBudget* budget = nullptr;           // may be null
    StatisticsImpl* statistics = nullptr;     // may be null
    ReadAroundCredit* read_around = nullptr;  // may be null
  };
  explicit BlockSource(Context context);
  ~BlockSource();  // notes that the file is gone from the cache (BlockCache::NoteGone)

  // Returns the block from the cache, otherwise from the file. If `fill_cache` is false, a block that was not cached is
  // not kept.
  absl::StatusOr<CachePin> Get(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint = nullptr,
                               bool* from_disk = nullptr) const;
  // Returns the block from the cache only; empty if it is not there.
  CachePin GetCached(BlockHandle handle, UnitKind kind, HintWord* hint = nullptr) const {
    if (hint != nullptr && context_.cache != nullptr) [[likely]] {
      const FrameHint frame{hint->load(std::memory_order_relaxed)};
      if (CachePin pin = context_.cache->Lookup(frame, {cache_file_, handle.offset})) [[likely]] {
        Count(kind, true);
        return pin;
      }
    }
    return FindCached(handle, kind, hint);
  }
  // Returns the block that Sight found, if it is still there. It is not counted and does not mark the block as used:
  // for compactions.
  CachePin GetSighted(BlockHandle handle, const HintWord* hint) const {
    if (context_.cache == nullptr) return {};
    return context_.cache->LookupUnused(FrameHint{hint->load(std::memory_order_relaxed)}, {cache_file_, handle.offset});
  }
  // Returns what GetSighted gave. The block is evicted if nothing else uses it, so that its replacement may have its
  // memory.
  void ReleaseReplaced(CachePin pin) const { context_.cache->ReleaseReplaced(std::move(pin)); }
  // What Get does if GetCached found nothing.
  absl::StatusOr<CachePin> ReadAndKeep(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint,
                                       bool* from_disk = nullptr) const;
  // Looks up the block in the cache without taking a reference; empty if it is not there. Only inside a guard of the
  // cache's epoch domain, if it has one (otherwise nothing is ever found). Callers count the hit themselves.
  CachePeek Peek(BlockHandle handle, HintWord* hint) const {
    return context_.cache == nullptr ? CachePeek() : context_.cache->Peek({cache_file_, handle.offset}, hint);
  }
  // Prefetches what Peek will read first.
  void Prefetch(BlockHandle handle, const HintWord* hint) const;
  // The same, if only a hint would help.
  void PrefetchFrame(const HintWord& hint) const {
    if (context_.cache != nullptr) context_.cache->Prefetch(FrameHint{hint.load(std::memory_order_relaxed)});
  }
  // Notes where the block is in the cache, if it is there. Its frame should have been prefetched (Prefetch).
  void Sight(BlockHandle handle, BlockHint* hint) const;
  // Puts a unit that a user had read into the cache, or only pins it if it is not to be kept.
  CachePin Keep(BlockHandle handle, UnitKind kind, BlockBuffer buffer, bool fill_cache, HintWord* hint = nullptr) const;
  // Whether a unit of this size should be kept at all: a filter that would push out everything else is not worth
  // reading for one lookup.
  bool Keeps(uint64_t bytes) const;

  // Reads past the cache and keeps nothing: for compactions, verification and opening. A unit whose checksum does not
  // match is read once more before it is reported as damaged. `stored_as` receives how it was compressed.
  absl::StatusOr<BlockBuffer> Read(BlockHandle handle, UnitKind kind, CompressionKind* stored_as = nullptr) const;
  // The same for lookups and iterators. Sets `*from_disk` if the system did not have the bytes in memory; the reader
  // then calls ReadAroundAfter if it finds in the block what it is looking for. If `from_disk` is null, that is done
  // here.
  absl::StatusOr<BlockBuffer> ReadForUser(BlockHandle handle, UnitKind kind, bool* from_disk = nullptr) const;
  // Verifies and decompresses a unit whose bytes and trailer the caller has read (for read-ahead).
  absl::StatusOr<BlockBuffer> Decode(BlockHandle handle, UnitKind kind, std::string_view bytes_and_trailer,
                                     CompressionKind* stored_as = nullptr) const;

  // The same for a caller that has read them into the buffer, with the trailer in its padding.
  absl::StatusOr<BlockBuffer> DecodeInPlace(BlockHandle handle, UnitKind kind, BlockBuffer buffer) const;

  // For callers that read the bytes themselves: checks that the handle may be read, and counts the read.
  absl::Status CheckHandle(BlockHandle handle, UnitKind kind) const;
  void CountRead(size_t bytes) const;
  const ReadAround& read_around() const { return read_around_; }
  void ReadAroundAfter(BlockHandle handle) const { read_around_.After(handle.offset, handle.size); }

  const Context& context() const { return context_; }

 private:
  absl::StatusOr<BlockBuffer> ReadWith(BlockHandle handle, UnitKind kind, CompressionKind* stored_as,
                                       bool* from_disk) const;
  absl::Status ReadExactly(BlockHandle handle, UnitKind kind, char* buffer, bool* from_disk = nullptr) const;
  absl::StatusOr<size_t> ReadBytes(uint64_t offset, size_t length, char* buffer, bool* from_disk) const;
  absl::StatusOr<CompressionKind> CheckTrailer(BlockHandle handle, UnitKind kind, const char* bytes) const;
  absl::StatusOr<BlockBuffer> Unpack(BlockHandle handle, UnitKind kind, CompressionKind compression,
                                     BlockBuffer buffer) const;
  absl::StatusOr<BlockBuffer> Expand(BlockHandle handle, UnitKind kind, CompressionKind compression,
                                     std::string_view bytes) const;
  absl::Status Validate(BlockHandle handle, UnitKind kind, std::string_view bytes) const;
  CachePin FindCached(BlockHandle handle, UnitKind kind, HintWord* hint) const;
  void Count(UnitKind kind, bool hit) const {
    if (context_.statistics == nullptr) return;
    if (kind == UnitKind::kDataBlock) {
      context_.statistics->Add(hit ? Ticker::kBlockCacheHits : Ticker::kBlockCacheMisses);
    } else {
      context_.statistics->Add(hit ? Ticker::kMetadataCacheHits : Ticker::kMetadataCacheMisses);
    }
  }

  Context context_;
  ReadAround read_around_;
  uint64_t cache_file_ = 0;
  // Used for pins if there is no cache.
  std::unique_ptr<MemoryBudget> pin_budget_;
  std::unique_ptr<BlockCache> pin_cache_;
};

}  // namespace sepal
