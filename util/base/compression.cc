#include "util/base/compression.h"

#include <lz4.h>
#include <snappy.h>
#include <zstd.h>

#include <cstring>
#include <memory>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {
namespace {

static_assert(kMaxCompressibleBytes <= LZ4_MAX_INPUT_SIZE);

// Blocks are a few KiB. Higher levels would take twice the time to save one or two percent of space.
constexpr int kZstdLevel = 1;

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_CCtx* ZstdCompressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeZstd> context(ZSTD_createCCtx());
  SEPAL_CHECK(context != nullptr);
  return context.get();
}

ZSTD_DCtx* ZstdDecompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeZstd> context(ZSTD_createDCtx());
  SEPAL_CHECK(context != nullptr);
  return context.get();
}

size_t CompressSnappy(std::string_view in, char* out) {
  size_t size = 0;
  snappy::RawCompress(in.data(), in.size(), out, &size);
  return size;
}

// LZ4 and ZSTD output is preceded by the size of `in` as a varint32.
absl::StatusOr<size_t> CompressLz4(std::string_view in, char* out) {
  char* const p = EncodeVarint32(out, static_cast<uint32_t>(in.size()));
  const int capacity = LZ4_compressBound(static_cast<int>(in.size()));
  const int size = LZ4_compress_default(in.data(), p, static_cast<int>(in.size()), capacity);
  if (size <= 0) return absl::InternalError("LZ4 failed to compress");
  return static_cast<size_t>(p - out) + static_cast<size_t>(size);
}

absl::StatusOr<size_t> CompressZstd(std::string_view in, char* out) {
  char* const p = EncodeVarint32(out, static_cast<uint32_t>(in.size()));
  const size_t capacity = ZSTD_compressBound(in.size());
  const size_t size = ZSTD_compressCCtx(ZstdCompressor(), p, capacity, in.data(), in.size(), kZstdLevel);
  if (ZSTD_isError(size)) {
    return absl::InternalError(absl::StrFormat("ZSTD failed to compress: %s", ZSTD_getErrorName(size)));
  }
  return static_cast<size_t>(p - out) + size;
}

absl::Status Malformed(CompressionKind kind) {
  return absl::DataLossError(absl::StrFormat("bytes are not %s-compressed as they should be", Name(kind)));
}

}  // namespace

std::string_view Name(CompressionKind kind) {
  switch (kind) {
    case CompressionKind::kNone:
      return "none";
    case CompressionKind::kSnappy:
      return "snappy";
    case CompressionKind::kLz4:
      return "lz4";
    case CompressionKind::kZstd:
      return "zstd";
  }
  return "unknown";
}

std::optional<CompressionKind> CompressionFromName(std::string_view name) {
  for (uint8_t byte = 0; IsKnownCompression(byte); ++byte) {
    if (Name(static_cast<CompressionKind>(byte)) == name) return static_cast<CompressionKind>(byte);
  }
  return std::nullopt;
}

bool IsKnownCompression(uint8_t byte) { return byte <= static_cast<uint8_t>(CompressionKind::kZstd); }

size_t MaxCompressedSize(CompressionKind kind, size_t bytes) {
  switch (kind) {
    case CompressionKind::kNone:
      return bytes;
    case CompressionKind::kSnappy:
      return snappy::MaxCompressedLength(bytes);
    case CompressionKind::kLz4:
      return kMaxVarint32Bytes + static_cast<size_t>(LZ4_compressBound(static_cast<int>(bytes)));
    case CompressionKind::kZstd:
      return kMaxVarint32Bytes + ZSTD_compressBound(bytes);
  }
  return bytes;
}

absl::StatusOr<size_t> Compress(CompressionKind kind, std::string_view in, char* out) {
  if (in.size() > kMaxCompressibleBytes) {
    return absl::InvalidArgumentError(absl::StrFormat("%d bytes are too many to compress as one piece", in.size()));
  }
  switch (kind) {
    case CompressionKind::kNone:
      if (!in.empty()) std::memcpy(out, in.data(), in.size());
      return in.size();
    case CompressionKind::kSnappy:
      return CompressSnappy(in, out);
    case CompressionKind::kLz4:
      return CompressLz4(in, out);
    case CompressionKind::kZstd:
      return CompressZstd(in, out);
  }
  return absl::InvalidArgumentError("unknown compression kind");
}

absl::StatusOr<size_t> DecompressedSize(CompressionKind kind, std::string_view bytes, size_t limit) {
  size_t size = 0;
  switch (kind) {
    case CompressionKind::kNone:
      size = bytes.size();
      break;
    case CompressionKind::kSnappy:
      if (!snappy::GetUncompressedLength(bytes.data(), bytes.size(), &size)) return Malformed(kind);
      break;
    case CompressionKind::kLz4:
    case CompressionKind::kZstd: {
      Decoder decoder(bytes);
      size = decoder.Varint32();
      if (!decoder.ok()) return Malformed(kind);
      break;
    }
  }
  if (size > limit || size > kMaxCompressibleBytes) {
    return absl::DataLossError(
        absl::StrFormat("size before compression: expected at most %d, got %d (%s)", limit, size, Name(kind)));
  }
  return size;
}

absl::Status Decompress(CompressionKind kind, std::string_view bytes, char* out, size_t exact_size) {
  ASSIGN_OR_RETURN(const size_t said, DecompressedSize(kind, bytes, exact_size));
  if (said != exact_size) return Malformed(kind);
  Decoder decoder(bytes);
  switch (kind) {
    case CompressionKind::kNone:
      if (exact_size > 0) std::memcpy(out, bytes.data(), exact_size);
      return absl::OkStatus();
    case CompressionKind::kSnappy:
      return snappy::RawUncompress(bytes.data(), bytes.size(), out) ? absl::OkStatus() : Malformed(kind);
    case CompressionKind::kLz4: {
      decoder.Varint32();
      const std::string_view block = decoder.rest();
      if (block.size() > static_cast<size_t>(LZ4_COMPRESSBOUND(kMaxCompressibleBytes))) return Malformed(kind);
      const int size =
          LZ4_decompress_safe(block.data(), out, static_cast<int>(block.size()), static_cast<int>(exact_size));
      return size >= 0 && static_cast<size_t>(size) == exact_size ? absl::OkStatus() : Malformed(kind);
    }
    case CompressionKind::kZstd: {
      decoder.Varint32();
      const std::string_view frames = decoder.rest();
      const size_t size = ZSTD_decompressDCtx(ZstdDecompressor(), out, exact_size, frames.data(), frames.size());
      return !ZSTD_isError(size) && size == exact_size ? absl::OkStatus() : Malformed(kind);
    }
  }
  return Malformed(kind);
}

}  // namespace sepal
