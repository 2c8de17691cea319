// The compression codecs of blocks.
//
// | kind   | compressed bytes                                        |
// |--------|---------------------------------------------------------|
// | none   | the bytes themselves                                    |
// | Snappy | Snappy's raw format, which begins with the size         |
// | LZ4    | size before compression as varint32, then one LZ4 block |
// | ZSTD   | size before compression as varint32, then ZSTD frames   |
//
// Compressed bytes may be hostile. Whatever they are, the size is bounded before memory is allocated for it, no byte
// outside of the given buffers is touched, and the result is the right bytes or `DataLoss`. Damaged input that happens
// to be well-formed decompresses to wrong bytes, which checksums must catch.
//
// The caller decides whether compression was worth it, and adds the name of a damaged file to the error. Safe for
// concurrent use: each thread has its own working memory for the codecs.
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

// The largest number of bytes that Compress may write for `bytes` bytes; `bytes` is at most kMaxCompressibleBytes.
size_t MaxCompressedSize(CompressionKind kind, size_t bytes);
// Writes to `out`, which must have room for MaxCompressedSize, and returns how many bytes it wrote; this may be more
// than `in` has. InvalidArgument if `in` is longer than kMaxCompressibleBytes.
[[nodiscard]] absl::StatusOr<size_t> Compress(CompressionKind kind, std::string_view in, char* out);

// Returns the size before compression that `bytes` state; DataLoss if they state none, or one above `limit`.
[[nodiscard]] absl::StatusOr<size_t> DecompressedSize(CompressionKind kind, std::string_view bytes, size_t limit);

// Fills out[0, exact_size), where `exact_size` is the result of DecompressedSize; DataLoss if the bytes do not
// decompress to exactly that size. After a failure the contents of `out` are undefined.
[[nodiscard]] absl::Status Decompress(CompressionKind kind, std::string_view bytes, char* out, size_t exact_size);

}  // namespace sepal
