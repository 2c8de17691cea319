// The codecs of blocks: bytes in, bytes out.
//
// | kind   | compressed bytes                                        |
// |--------|---------------------------------------------------------|
// | none   | the bytes themselves                                    |
// | Snappy | Snappy's raw format, which begins with the size         |
// | LZ4    | size before compression as varint32, then one LZ4 block |
// | ZSTD   | size before compression as varint32, then ZSTD frames   |
//
// Compressed bytes may be hostile: whatever they are, the size is bounded before anything is allocated for it, nothing
// outside of the given buffers is touched, and the answer is the right bytes or `DataLoss`. Which bytes come out of a
// damaged input that happens to be well-formed is for checksums to catch.
//
// Whether compressing was worth it, and a name for the file that was damaged, are the caller's. Safe for concurrent
// use: the codecs' working memory belongs to the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// The largest size that one compressed piece may have before compression.
inline constexpr size_t kMaxCompressibleBytes = size_t{0x7E000000};

// "none", "snappy", "lz4", "zstd".
std::string_view Name(CompressionKind kind);
std::optional<CompressionKind> CompressionFromName(std::string_view name);
// Whether this byte from a file is a CompressionKind.
bool IsKnownCompression(uint8_t byte);

// The most bytes that Compress may write for `bytes` bytes, at most kMaxCompressibleBytes.
size_t MaxCompressedSize(CompressionKind kind, size_t bytes);
// Writes to `out`, which has room for MaxCompressedSize; returns how many bytes. InvalidArgument if `in` is longer than
// kMaxCompressibleBytes. There may be more than `in` has.
[[nodiscard]] absl::StatusOr<size_t> Compress(CompressionKind kind, std::string_view in, char* out);

// The size that `bytes` say they have before compression; DataLoss if they do not say it or it is above `limit`.
[[nodiscard]] absl::StatusOr<size_t> DecompressedSize(CompressionKind kind, std::string_view bytes, size_t limit);

// Fills out[0, exact_size), where `exact_size` is what DecompressedSize gave; DataLoss if the bytes do not decompress
// to just that size. After a failure the contents of `out` are undefined.
[[nodiscard]] absl::Status Decompress(CompressionKind kind, std::string_view bytes, char* out, size_t exact_size);

}  // namespace sepal
