// Blocks of one file, verified: read, check the checksum, decompress, validate, and keep in the cache. Whatever it
// returns can be read by the views without further checks.
//
// Immutable, but for the note that users had to read the file; safe for concurrent use. The file, cache and budget must
// outlive it.
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
// What a cached unit of the kind is charged to.
MemoryPart PartOf(UnitKind kind);

// Where a data block was last seen.
struct BlockHint {
  HintWord frame{0};
  // Behind its bytes. Only ever prefetched, so that it does not matter if they are gone.
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

  // From the cache, else from the file. With `fill_cache` false a block that is not cached yet is not kept.
  absl::StatusOr<CachePin> Get(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint = nullptr,
                               bool* from_disk = nullptr) const;
  // From the cache alone; empty if it is not there.
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
  // Where Sight saw the block, if it is still there. Does not count, and is no use of the block: for compactions.
  CachePin GetSighted(BlockHandle handle, const HintWord* hint) const {
    if (context_.cache == nullptr) return {};
    return context_.cache->LookupUnused(FrameHint{hint->load(std::memory_order_relaxed)}, {cache_file_, handle.offset});
  }
  // Gives back what GetSighted gave. The block goes if nobody else wants it: what replaces it may have its memory.
  void ReleaseReplaced(CachePin pin) const { context_.cache->ReleaseReplaced(std::move(pin)); }
  // What Get does where GetCached found nothing.
  absl::StatusOr<CachePin> ReadAndKeep(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint,
                                       bool* from_disk = nullptr) const;
  // From the cache alone, without a reference; empty if it is not there. Only inside a guard of the cache's epoch
  // domain, if it has one (else nothing is ever found). Callers count it as a hit themselves.
  CachePeek Peek(BlockHandle handle, HintWord* hint) const {
    return context_.cache == nullptr ? CachePeek() : context_.cache->Peek({cache_file_, handle.offset}, hint);
  }
  // Starts to fetch what Peek will look at first.
  void Prefetch(BlockHandle handle, const HintWord* hint) const;
  // The same where only a hint would do.
  void PrefetchFrame(const HintWord& hint) const {
    if (context_.cache != nullptr) context_.cache->Prefetch(FrameHint{hint.load(std::memory_order_relaxed)});
  }
  // Where the block lies in the cache, if it does. Its frame should be on its way (Prefetch).
  void Sight(BlockHandle handle, BlockHint* hint) const;
  // Puts a unit that a user had read into the cache, or pins it alone where it is not to be kept.
  CachePin Keep(BlockHandle handle, UnitKind kind, BlockBuffer buffer, bool fill_cache, HintWord* hint = nullptr) const;
  // Whether a unit of that many bytes is worth keeping at all: a filter that would push out everything else is not
  // worth reading for one lookup.
  bool Keeps(uint64_t bytes) const;

  // Reads past the cache, with nothing kept: for compactions, verification and opening. A unit whose checksum does not
  // match is read once more before it is called damaged. `stored_as` gets how it was compressed.
  absl::StatusOr<BlockBuffer> Read(BlockHandle handle, UnitKind kind, CompressionKind* stored_as = nullptr) const;
  // The same for lookups and iterators. `*from_disk` becomes true where the system did not have the bytes in memory;
  // the reader calls ReadAroundAfter then if it finds there what it looks for. With null, that is done for it.
  absl::StatusOr<BlockBuffer> ReadForUser(BlockHandle handle, UnitKind kind, bool* from_disk = nullptr) const;
  // Verifies and decompresses a unit whose bytes and trailer the caller has read (for read-ahead).
  absl::StatusOr<BlockBuffer> Decode(BlockHandle handle, UnitKind kind, std::string_view bytes_and_trailer) const;

  // The same where the caller has read them into the buffer, whose padding the trailer reaches into.
  absl::StatusOr<BlockBuffer> DecodeInPlace(BlockHandle handle, UnitKind kind, BlockBuffer buffer) const;

  // For callers who read the bytes themselves: whether the handle may be read at all; that it has been.
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
  // Without a cache, pins come from this one.
  std::unique_ptr<MemoryBudget> pin_budget_;
  std::unique_ptr<BlockCache> pin_cache_;
};

}  // namespace sepal
