#include "db/format/value_file.h"

#include "absl/strings/str_format.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr size_t kValueFileSummedBytes = kValueFileHeaderBytes - 8;

}  // namespace

std::string ValueFileHeader::Encode() const {
  std::string bytes;
  PutFixed64(&bytes, kValueFileMagic);
  PutFixed32(&bytes, kValueFileVersion);
  PutFixed32(&bytes, 0);
  PutFixed64(&bytes, database_id);
  PutFixed64(&bytes, number.value());
  PutFixed64(&bytes, file_id);
  bytes.resize(kValueFileSummedBytes, '\0');
  PutFixed64(&bytes, Checksum64(bytes, 0));
  return bytes;
}

absl::StatusOr<ValueFileHeader> ValueFileHeader::Decode(std::string_view bytes, std::string_view file) {
  if (bytes.size() < kValueFileHeaderBytes) {
    return Damaged(file, 0, "value file header", absl::StrFormat("%u bytes", kValueFileHeaderBytes),
                   absl::StrFormat("%u", bytes.size()));
  }
  const uint64_t magic = DecodeFixed64(bytes.data());
  if (magic != kValueFileMagic) return Damaged(file, 0, "value file magic", Hex64(kValueFileMagic), Hex64(magic));
  const uint64_t stored = DecodeFixed64(bytes.data() + kValueFileSummedBytes);
  const uint64_t computed = Checksum64(bytes.substr(0, kValueFileSummedBytes), 0);
  if (stored != computed) return Damaged(file, 0, "checksum of the value file header", Hex64(stored), Hex64(computed));
  const uint32_t version = DecodeFixed32(bytes.data() + 8);
  if (version != kValueFileVersion) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s: value file format version %u; this library supports %u: use a newer version of Sepal",
                        file, version, kValueFileVersion));
  }
  return ValueFileHeader{DecodeFixed64(bytes.data() + 16), FileNumber(DecodeFixed64(bytes.data() + 24)),
                         DecodeFixed64(bytes.data() + 32)};
}

}  // namespace sepal
