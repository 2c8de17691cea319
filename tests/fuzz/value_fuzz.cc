// Any bytes as a reference to a value, and as the header of a value file: decoded and the same again, or refused. The
// second time the header's checksum is made right, so that what stands behind it is reached.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "db/format/stored_value.h"
#include "db/format/value_file.h"
#include "db/format/value_reference.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/hash.h"

namespace {

using namespace sepal;

void TakeHeader(const std::string& bytes) {
  const absl::StatusOr<ValueFileHeader> header = ValueFileHeader::Decode(bytes, "file");
  if (!header.ok()) {
    SEPAL_CHECK(absl::IsDataLoss(header.status()) || absl::IsFailedPrecondition(header.status()));
    return;
  }
  const absl::StatusOr<ValueFileHeader> again = ValueFileHeader::Decode(header->Encode(), "file");
  SEPAL_CHECK(again.ok() && *again == *header);
}

// Whatever it is, it is a value that its chunk sums name.
void TakeChunked(const std::string& bytes) {
  std::string sums;
  AppendChunkSums(FileNumber(3), kValueFileHeaderBytes, bytes, &sums);
  const ValueReference made = ReferenceToChunked(FileNumber(3), kValueFileHeaderBytes, bytes.size(), sums);
  SEPAL_CHECK(IsStoredOf(made, bytes) && AreSumsOf(made, sums));
  SEPAL_CHECK(bytes.empty() || ParseValueReference(EncodeValueReference(made)) == made);
}

// Whatever it is: stored as each codec stores it, it is the same again; and as what a codec has stored, it is the value
// that it says or damage.
void TakeStored(const std::string& bytes) {
  for (const CompressionKind codec :
       {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    const CompressedValue compressed(codec, bytes);
    const ValueReference made = ReferenceTo(FileNumber(3), kValueFileHeaderBytes, compressed.stored());
    SEPAL_CHECK(made.value_bytes() == bytes.size() && IsStoredOf(made, compressed.stored().bytes));
    SEPAL_CHECK(bytes.empty() || ParseValueReference(EncodeValueReference(made)) == made);
    if (made.compressed()) {
      std::string again(made.value_bytes(), '\0');
      SEPAL_CHECK(CheckUncompressedSize("file", made, compressed.stored().bytes).ok());
      SEPAL_CHECK(DecompressValue("file", made, compressed.stored().bytes, again.data()).ok());
      SEPAL_CHECK(again == bytes);
    }
    ValueReference claimed = made;
    claimed.codec = codec;
    claimed.uncompressed_bytes = bytes.empty() ? 1 : static_cast<uint8_t>(bytes[0]) * uint64_t{17};
    if (!claimed.compressed() || !CheckUncompressedSize("file", claimed, bytes).ok()) continue;
    std::string value(claimed.value_bytes(), '\0');
    const absl::Status status = DecompressValue("file", claimed, bytes, value.data());
    SEPAL_CHECK(status.ok() || absl::IsDataLoss(status));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const std::optional<ValueReference> reference = ParseValueReference(bytes)) {
    SEPAL_CHECK(ParseValueReference(EncodeValueReference(*reference)) == reference);
  }
  TakeHeader(bytes);
  TakeChunked(bytes);
  TakeStored(bytes);
  if (size < kValueFileHeaderBytes) return 0;
  EncodeFixed64(bytes.data(), kValueFileMagic);
  EncodeFixed64(bytes.data() + 56, Checksum64(std::string_view(bytes).substr(0, 56), 0));
  TakeHeader(bytes);
  return 0;
}
