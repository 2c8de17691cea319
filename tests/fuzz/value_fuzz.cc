// Any bytes as a reference to a value, and as the header of a value file: decoded and the same again, or refused. The
// second time the header's checksum is made right, so that what stands behind it is reached.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

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
  SEPAL_CHECK(IsValueOf(made, bytes) && AreSumsOf(made, sums));
  SEPAL_CHECK(bytes.empty() || ParseValueReference(EncodeValueReference(made)) == made);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const std::optional<ValueReference> reference = ParseValueReference(bytes)) {
    SEPAL_CHECK(ParseValueReference(EncodeValueReference(*reference)) == reference);
  }
  TakeHeader(bytes);
  TakeChunked(bytes);
  if (size < kValueFileHeaderBytes) return 0;
  EncodeFixed64(bytes.data(), kValueFileMagic);
  EncodeFixed64(bytes.data() + 56, Checksum64(std::string_view(bytes).substr(0, 56), 0));
  TakeHeader(bytes);
  return 0;
}
