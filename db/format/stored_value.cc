#include "db/format/stored_value.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "util/base/compression.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

// Of what a thread keeps.
constexpr size_t kKeptBytes = size_t{128} << 10;

std::unique_ptr<char[]>& KeptByThread() {
  static thread_local std::unique_ptr<char[]> kept;
  return kept;
}

}  // namespace

ValueReference ReferenceTo(FileNumber file, uint64_t offset, const StoredValue& stored) {
  ValueReference reference = ReferenceTo(file, offset, stored.bytes);
  reference.codec = stored.codec;
  reference.uncompressed_bytes = stored.uncompressed_bytes;
  return reference;
}

CompressedValue::CompressedValue(CompressionKind codec, std::string_view value) : stored_{.bytes = value} {
  if (codec == CompressionKind::kNone || value.size() >= kStoredAsTheyAreFrom) return;
  char* const room = Room(MaxCompressedSize(codec, value.size()));
  const absl::StatusOr<size_t> size = Compress(codec, value, room);
  // A value that a codec fails to compress is stored as it is, too.
  if (size.ok() && *size <= value.size() - value.size() / 8 && *size < value.size()) {
    stored_ = {{room, *size}, codec, value.size()};
  }
}

CompressedValue::~CompressedValue() {
  if (kept_ != nullptr) KeptByThread() = std::move(kept_);
}

// While this one is in use, a file system of the caller may write to another database.
char* CompressedValue::Room(size_t bytes) {
  if (bytes > kKeptBytes) {
    large_ = BlockBuffer(bytes);
    return large_.data();
  }
  kept_ = std::move(KeptByThread());
  if (kept_ == nullptr) kept_ = std::make_unique_for_overwrite<char[]>(kKeptBytes);
  return kept_.get();
}

absl::Status CheckUncompressedSize(std::string_view path, const ValueReference& reference, std::string_view stored) {
  const absl::StatusOr<size_t> size = DecompressedSize(reference.codec, stored, kMaxValueBytes);
  if (size.ok() && *size == reference.value_bytes()) [[likely]]
    return absl::OkStatus();
  return Damaged(path, reference.offset, "size of a compressed separated value",
                 absl::StrFormat("%u bytes", reference.value_bytes()),
                 size.ok() ? absl::StrFormat("%u", *size) : std::string(ToStd(size.status().message())));
}

absl::Status DecompressValue(std::string_view path, const ValueReference& reference, std::string_view stored,
                             char* value) {
  const absl::Status status = Decompress(reference.codec, stored, value, reference.value_bytes());
  if (status.ok()) [[likely]]
    return status;
  return Damaged(path, reference.offset, "compressed separated value",
                 absl::StrFormat("%u bytes of %s", reference.value_bytes(), Name(reference.codec)),
                 ToStd(status.message()));
}

}  // namespace sepal
