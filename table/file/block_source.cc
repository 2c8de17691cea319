#include "table/file/block_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "table/block/block.h"
#include "table/file/table_writer.h"
#include "table/filter/filter.h"
#include "util/base/coding.h"
#include "util/base/compression.h"
#include "util/base/status.h"
#include "util/stats/perf_times.h"

namespace sepal {
namespace {

// A unit is read together with its trailer into one buffer; the trailer ends up in the buffer's padding.
static_assert(kUnitTrailerBytes <= BlockBuffer::kPadding);

// Limits properties, which are small, whatever their length field says.
constexpr size_t kMaxPropertiesBytes = size_t{48} << 20;  // two keys are among them
// A unit that would take more than this share of the cache is not kept.
constexpr size_t kLargestShare = 4;

bool MayBeCompressed(UnitKind kind) { return kind == UnitKind::kDataBlock || kind == UnitKind::kProperties; }

}  // namespace

MemoryPart PartOf(UnitKind kind) {
  switch (kind) {
    case UnitKind::kLeafPage:
    case UnitKind::kRoot:
      return MemoryPart::kLeafPages;
    case UnitKind::kGuard:
      return MemoryPart::kGuards;
    case UnitKind::kDataBlock:
    case UnitKind::kProperties:
      break;
  }
  return MemoryPart::kDataBlocks;
}

std::string_view Name(UnitKind kind) {
  switch (kind) {
    case UnitKind::kDataBlock:
      return "data block";
    case UnitKind::kLeafPage:
      return "leaf page";
    case UnitKind::kRoot:
      return "root";
    case UnitKind::kGuard:
      return "guard";
    case UnitKind::kProperties:
      return "properties";
  }
  return "unknown";
}

BlockSource::BlockSource(Context context)
    : context_(std::move(context)), read_around_(context_.file, context_.file_size, context_.read_around) {
  if (context_.cache != nullptr) {
    cache_file_ = context_.cache_file.has_value() ? *context_.cache_file : context_.cache->NewFileId();
  } else {
    pin_budget_ = std::make_unique<MemoryBudget>(0);
    pin_cache_ = std::make_unique<BlockCache>(pin_budget_.get(), kLoneValueBytes);
  }
}

BlockSource::~BlockSource() {
  if (context_.cache != nullptr) context_.cache->NoteGone(cache_file_);
}

// GetCached without a usable hint.
CachePin BlockSource::FindCached(BlockHandle handle, UnitKind kind, HintWord* hint) const {
  if (context_.cache == nullptr) return {};
  CachePin pin = context_.cache->Lookup({cache_file_, handle.offset});
  if (pin && hint != nullptr) hint->store(pin.hint().word, std::memory_order_relaxed);
  Count(kind, static_cast<bool>(pin));
  return pin;
}

void BlockSource::Prefetch(BlockHandle handle, const HintWord* hint) const {
  if (context_.cache == nullptr) return;
  const uint64_t word = hint != nullptr ? hint->load(std::memory_order_relaxed) : 0;
  if (word != 0) {
    context_.cache->Prefetch(FrameHint{word});
  } else {
    context_.cache->Prefetch(CacheKey{cache_file_, handle.offset});
  }
}

void BlockSource::Sight(BlockHandle handle, BlockHint* hint) const {
  if (context_.cache == nullptr) return;
  const CacheSighting seen = context_.cache->Sight({cache_file_, handle.offset});
  hint->frame.store(seen.frame.word, std::memory_order_relaxed);
  hint->end.store(seen.end, std::memory_order_relaxed);
}

bool BlockSource::Keeps(uint64_t bytes) const {
  return context_.budget == nullptr || bytes <= context_.budget->CacheCapacity() / kLargestShare;
}

CachePin BlockSource::Keep(BlockHandle handle, UnitKind kind, BlockBuffer buffer, bool fill_cache,
                           HintWord* hint) const {
  if (context_.cache == nullptr) return pin_cache_->PinUncached(std::move(buffer));
  const bool lone_value = kind == UnitKind::kDataBlock && buffer.size() > kLoneValueBytes;
  if (!fill_cache || lone_value || !Keeps(buffer.size())) return context_.cache->PinUncached(std::move(buffer));
  CachePin pin = context_.cache->Insert({cache_file_, handle.offset}, std::move(buffer), PartOf(kind));
  if (hint != nullptr) hint->store(pin.hint().word, std::memory_order_relaxed);
  return pin;
}

absl::StatusOr<CachePin> BlockSource::Get(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint,
                                          bool* from_disk) const {
  if (CachePin pin = GetCached(handle, kind, hint)) return pin;
  return ReadAndKeep(handle, kind, fill_cache, hint, from_disk);
}

absl::StatusOr<CachePin> BlockSource::ReadAndKeep(BlockHandle handle, UnitKind kind, bool fill_cache, HintWord* hint,
                                                  bool* from_disk) const {
  ASSIGN_OR_RETURN(BlockBuffer buffer, ReadForUser(handle, kind, from_disk));
  return Keep(handle, kind, std::move(buffer), fill_cache, hint);
}

absl::StatusOr<BlockBuffer> BlockSource::Read(BlockHandle handle, UnitKind kind, CompressionKind* stored_as) const {
  return ReadWith(handle, kind, stored_as, nullptr);
}

absl::StatusOr<BlockBuffer> BlockSource::ReadForUser(BlockHandle handle, UnitKind kind, bool* from_disk) const {
  if (from_disk != nullptr) return ReadWith(handle, kind, nullptr, from_disk);
  bool waited = false;
  absl::StatusOr<BlockBuffer> buffer = ReadWith(handle, kind, nullptr, &waited);
  if (waited && buffer.ok()) ReadAroundAfter(handle);
  return buffer;
}

absl::StatusOr<BlockBuffer> BlockSource::ReadWith(BlockHandle handle, UnitKind kind, CompressionKind* stored_as,
                                                  bool* from_disk) const {
  RETURN_IF_ERROR(CheckHandle(handle, kind));
  BlockBuffer buffer(handle.size);
  RETURN_IF_ERROR(ReadExactly(handle, kind, buffer.data(), from_disk));
  absl::StatusOr<CompressionKind> compression = CheckTrailer(handle, kind, buffer.data());
  if (!compression.ok()) {
    // Reads again, because a bit that flipped on the way from the disk does not flip twice.
    RETURN_IF_ERROR(ReadExactly(handle, kind, buffer.data()));
    compression = CheckTrailer(handle, kind, buffer.data());
    RETURN_IF_ERROR(compression.status());
  }
  if (stored_as != nullptr) *stored_as = *compression;
  return Unpack(handle, kind, *compression, std::move(buffer));
}

absl::StatusOr<BlockBuffer> BlockSource::Unpack(BlockHandle handle, UnitKind kind, CompressionKind compression,
                                                BlockBuffer buffer) const {
  if (compression != CompressionKind::kNone) {
    ASSIGN_OR_RETURN(buffer, Expand(handle, kind, compression, buffer.view()));
  }
  RETURN_IF_ERROR(Validate(handle, kind, buffer.view()));
  return buffer;
}

absl::StatusOr<BlockBuffer> BlockSource::DecodeInPlace(BlockHandle handle, UnitKind kind, BlockBuffer buffer) const {
  ASSIGN_OR_RETURN(const CompressionKind compression, CheckTrailer(handle, kind, buffer.data()));
  return Unpack(handle, kind, compression, std::move(buffer));
}

absl::StatusOr<BlockBuffer> BlockSource::Decode(BlockHandle handle, UnitKind kind, std::string_view bytes_and_trailer,
                                                CompressionKind* stored_as) const {
  RETURN_IF_ERROR(CheckHandle(handle, kind));
  if (bytes_and_trailer.size() != handle.size + kUnitTrailerBytes) {
    return Damaged(context_.name, handle.offset, absl::StrFormat("%s is truncated", Name(kind)),
                   std::to_string(handle.size + kUnitTrailerBytes), std::to_string(bytes_and_trailer.size()));
  }
  ASSIGN_OR_RETURN(const CompressionKind compression, CheckTrailer(handle, kind, bytes_and_trailer.data()));
  if (stored_as != nullptr) *stored_as = compression;
  const std::string_view bytes = bytes_and_trailer.substr(0, handle.size);
  BlockBuffer buffer;
  if (compression == CompressionKind::kNone) {
    buffer = BlockBuffer(bytes.size());
    std::memcpy(buffer.data(), bytes.data(), bytes.size());
  } else {
    ASSIGN_OR_RETURN(buffer, Expand(handle, kind, compression, bytes));
  }
  RETURN_IF_ERROR(Validate(handle, kind, buffer.view()));
  return buffer;
}

absl::Status BlockSource::CheckHandle(BlockHandle handle, UnitKind kind) const {
  if (handle.size == 0 || handle.size > kMaxUnitBytes || handle.offset > context_.file_size ||
      context_.file_size - handle.offset < handle.size + kUnitTrailerBytes) {
    return Damaged(context_.name, handle.offset, absl::StrFormat("%s lies outside of the file", Name(kind)),
                   absl::StrFormat("at most %u bytes", context_.file_size), std::to_string(handle.size));
  }
  return absl::OkStatus();
}

void BlockSource::CountRead(size_t bytes) const {
  if (context_.statistics == nullptr) return;
  StatisticsImpl::ThreadCounters counters = context_.statistics->ForThisThread();
  counters.Add(Ticker::kBlockReads);
  counters.Add(Ticker::kBlockReadBytes, bytes);
}

absl::Status BlockSource::ReadExactly(BlockHandle handle, UnitKind kind, char* buffer, bool* from_disk) const {
  const size_t length = handle.size + kUnitTrailerBytes;
  size_t got = 0;
  {
    const PerfTimer timer(PerfPart::kRead);
    ASSIGN_OR_RETURN(got, ReadBytes(handle.offset, length, buffer, from_disk));
  }
  CountRead(length);
  if (got != length) {
    return Damaged(context_.name, handle.offset, absl::StrFormat("%s: the file ends within it", Name(kind)),
                   absl::StrFormat("%u bytes", length), absl::StrFormat("%u", got));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> BlockSource::ReadBytes(uint64_t offset, size_t length, char* buffer, bool* from_disk) const {
  if (from_disk != nullptr) {
    if (read_around_.ReadCached(offset, length, buffer)) return length;
    *from_disk = true;
  }
  return context_.file->Read(offset, length, buffer);
}

absl::StatusOr<CompressionKind> BlockSource::CheckTrailer(BlockHandle handle, UnitKind kind, const char* bytes) const {
  const char* trailer = bytes + handle.size;
  const uint8_t compression = static_cast<uint8_t>(trailer[0]);
  const uint32_t got = DecodeFixed32(trailer + 1);
  const uint32_t expected =
      UnitChecksum({bytes, handle.size}, static_cast<CompressionKind>(compression), context_.table_id, handle.offset);
  if (expected != got) {
    return Damaged(context_.name, handle.offset, absl::StrFormat("checksum of the %s", Name(kind)), Hex32(expected),
                   Hex32(got));
  }
  if (!IsKnownCompression(compression) || (compression != 0 && !MayBeCompressed(kind))) {
    return Damaged(context_.name, handle.offset,
                   absl::StrFormat("%s: compression %u is not supported here", Name(kind), compression));
  }
  return static_cast<CompressionKind>(compression);
}

absl::StatusOr<BlockBuffer> BlockSource::Expand(BlockHandle handle, UnitKind kind, CompressionKind compression,
                                                std::string_view bytes) const {
  const size_t limit = kind == UnitKind::kProperties ? kMaxPropertiesBytes : kMaxUnitBytes;
  const absl::StatusOr<size_t> size = DecompressedSize(compression, bytes, limit);
  if (!size.ok()) {
    return Annotate(size.status(), absl::StrFormat("%s: offset %u: %s", context_.name, handle.offset, Name(kind)));
  }
  BlockBuffer buffer(*size);
  if (absl::Status status = Decompress(compression, bytes, buffer.data(), *size); !status.ok()) {
    return Annotate(status, absl::StrFormat("%s: offset %u: %s", context_.name, handle.offset, Name(kind)));
  }
  return buffer;
}

absl::Status BlockSource::Validate(BlockHandle handle, UnitKind kind, std::string_view bytes) const {
  std::string why;
  bool valid = true;
  switch (kind) {
    case UnitKind::kDataBlock:
      valid = BlockView::Validate(bytes, context_.order, &why);
      break;
    case UnitKind::kLeafPage:
    case UnitKind::kRoot:
      valid = IndexPageView::Validate(bytes, context_.file_size, context_.order, &why);
      if (valid && IndexPageView(bytes).level() != (kind == UnitKind::kRoot ? 1 : 0)) {
        valid = false;
        why = "a page of another level";
      }
      break;
    case UnitKind::kGuard:
      valid = GuardView::Validate(bytes, &why);
      break;
    case UnitKind::kProperties:
      break;
  }
  if (valid) return absl::OkStatus();
  return Damaged(context_.name, handle.offset, absl::StrFormat("%s: %s", Name(kind), why));
}

}  // namespace sepal
