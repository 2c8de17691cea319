// A value in the form that a value file stores: plain or compressed.
//
// It is compressed before any lock is taken. It is moved, copied and checked in its stored form, and decompressed only
// for a reader.
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

// The bytes at the place that the reference names.
inline StoredValue StoredAs(const ValueReference& reference, std::string_view stored) {
  return {stored, reference.codec, reference.uncompressed_bytes};
}
// The reference to these bytes, once they are stored at that place.
ValueReference ReferenceTo(FileNumber file, uint64_t offset, const StoredValue& stored);

// Values of at least so many bytes are stored uncompressed: compressing one takes as much memory, which is not counted,
// and a part of it could not be read separately.
inline constexpr size_t kStoredAsTheyAreFrom = size_t{1} << 20;

// Chooses the stored form of a value: compressed if that saves an eighth of it, otherwise plain.
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
  std::unique_ptr<char[]> kept_;  // the thread's buffer, taken out while in use
  BlockBuffer large_;
};

// Checks, before memory is allocated, that stored bytes whose checksum was right state the same size as the reference.
// DataLoss, with file and offset, if not. `path` names the file in errors.
absl::Status CheckUncompressedSize(std::string_view path, const ValueReference& reference, std::string_view stored);
// Fills `value`, which has that size. DataLoss if the bytes are not the output of a codec.
absl::Status DecompressValue(std::string_view path, const ValueReference& reference, std::string_view stored,
                             char* value);

}  // namespace sepal
