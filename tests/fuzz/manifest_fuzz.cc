// A manifest of any bytes is recovered or refused. The input is taken once as it is, and once as commands from which a
// manifest with good checksums is made, so that what lies behind the checksums is reached.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "db/act/manifest/manifest_recovery.h"
#include "db/format/manifest_format.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/coding.h"

namespace {

using namespace sepal;

void Recover(const std::string& bytes) {
  MemoryFileSystem memory;
  auto directory = memory.OpenDirectory("db", true);
  SEPAL_CHECK(directory.ok() && memory.WriteFileContents("db/MANIFEST-000001", bytes).ok());
  for (const bool other_files : {false, true}) {
    const auto recovery =
        RecoverManifest(directory->get(), {}, other_files, [](const VersionEdit&) { return absl::OkStatus(); });
    if (!recovery.ok()) {
      SEPAL_CHECK(absl::IsDataLoss(recovery.status()) || absl::IsFailedPrecondition(recovery.status()));
    } else if (recovery->found) {
      SEPAL_CHECK(recovery->length_bytes <= bytes.size());
    }
  }
}

// Commands: a kind, a length, that many bytes of payload; of control records the value only.
std::string Build(std::string_view commands) {
  std::string bytes = ManifestHeader{FileNumber(1), 1}.Encode();
  const uint64_t header_checksum = ManifestHeaderChecksum(bytes);
  uint64_t checksum = header_checksum;
  uint64_t records = 0;
  Decoder in(commands);
  while (!in.empty()) {
    const auto kind = static_cast<ManifestRecordKind>(in.Byte() % 6);
    const uint8_t length = in.Byte();
    const std::string_view rest = in.Bytes(std::min<uint64_t>(length, in.remaining()));
    std::string payload(rest);
    if (kind == ManifestRecordKind::kSeal && length % 4 != 0) payload = EncodeManifestSeal(records, checksum);
    if (kind == ManifestRecordKind::kContinuedIn || kind == ManifestRecordKind::kSynced) {
      const uint64_t value = length % 4 == 0 ? bytes.size() : length;
      payload = EncodeManifestControl(kind, value, bytes.size(), header_checksum);
    }
    checksum = AppendManifestRecord(&bytes, kind, payload, checksum);
    ++records;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  Recover(std::string(input));
  Recover(Build(input));
  // And with one byte of the good one changed.
  if (size >= 3) {
    std::string bytes = Build(input);
    bytes[(data[0] + 256u * data[1]) % bytes.size()] ^= static_cast<char>(data[2]);
    Recover(bytes);
  }
  return 0;
}
