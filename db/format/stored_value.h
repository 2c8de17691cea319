// A value as a value file has it: as it is, or compressed.
//
// It is compressed before any lock is taken. It is moved, copied and checked as it is stored, and only what shows it
// decompresses it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "db/format/value_reference.h"
#include "sepal/options.h"
#include "util/memory/block_buffer.h"

namespace sepal {

struct StoredValue {
  std::string_view bytes;
  CompressionKind codec = CompressionKind::kNone;
  uint64_t uncompressed_bytes = 0;  // as in ValueReference
  bool compressed() const { return codec != CompressionKind::kNone; }
};

// What lies in the place of the reference.
inline StoredValue StoredAs(const ValueReference& reference, std::string_view stored) {
  return {stored, reference.codec, reference.uncompressed_bytes};
}
// To what is to be stored in that place.
ValueReference ReferenceTo(FileNumber file, uint64_t offset, const StoredValue& stored);

// Values from so many bytes on are stored as they are: to compress one takes as much memory, which nobody counts, and a
// part of it could not be read by itself.
inline constexpr size_t kStoredAsTheyAreFrom = size_t{1} << 20;

// How a value is to be stored: compressed where that saves an eighth of it, else as it is.
//
// Values up to about 100 KiB are compressed in memory that the thread keeps. `value` must outlive it. The codecs
// see early that a value does not compress, so that to try a part first would save nothing (decision 0044).
class CompressedValue {
 public:
  CompressedValue(CompressionKind codec, std::string_view value);
  ~CompressedValue();
  CompressedValue(const CompressedValue&) = delete;
  CompressedValue& operator=(const CompressedValue&) = delete;
  const StoredValue& stored() const { return stored_; }

 private:
  char* Room(size_t bytes);

  StoredValue stored_;
  std::unique_ptr<char[]> kept_;  // what the thread keeps, taken out while in use
  BlockBuffer large_;
};

// Whether what is stored, and has been checked, says that it has so many bytes as the reference: before memory is taken
// for them. DataLoss, with file and offset: it does not. `path` is what errors call the file.
absl::Status CheckUncompressedSize(std::string_view path, const ValueReference& reference, std::string_view stored);
// Fills `value`, of as many bytes as that. DataLoss: they are not what a codec writes.
absl::Status DecompressValue(std::string_view path, const ValueReference& reference, std::string_view stored,
                             char* value);

}  // namespace sepal
