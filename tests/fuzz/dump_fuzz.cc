// Any bytes are a dump that is read to its end, and the same when it is written again in either form, or an error of
// the kinds that are promised.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tools/sepal/dump_format.h"
#include "util/base/check.h"

namespace {

using namespace sepal;
using namespace sepal::tools;

struct Contents {
  std::vector<std::string> strings;  // "F" and a name, or a key and its value
  std::vector<uint64_t> times;       // of each entry
  absl::Status status;

  bool operator==(const Contents& other) const {
    return strings == other.strings && times == other.times && status == other.status;
  }
};

Contents Read(const std::string& bytes) {
  std::istringstream in(bytes);
  DumpReader reader(in);
  Contents contents;
  contents.status = reader.Open();
  while (contents.status.ok()) {
    const absl::StatusOr<DumpPart> part = reader.Next();
    contents.status = part.status();
    if (!part.ok() || *part == DumpPart::kEnd) break;
    if (*part == DumpPart::kFamily) contents.strings.push_back("F" + reader.family());
    if (*part == DumpPart::kEntry) {
      contents.strings.push_back("K" + reader.key());
      contents.times.push_back(reader.expires_at_millis());
      contents.strings.push_back(reader.value());
    }
  }
  return contents;
}

std::string Write(const Contents& contents, DumpFormat format) {
  std::ostringstream out;
  DumpWriter writer(format, out);
  size_t entry = 0;
  for (size_t i = 0; i < contents.strings.size(); ++i) {
    const std::string& first = contents.strings[i];
    if (first[0] == 'F') {
      writer.Family(first.substr(1));
    } else {
      writer.Entry(first.substr(1), contents.strings[++i], contents.times[entry++]);
    }
  }
  writer.End();
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Contents contents = Read({reinterpret_cast<const char*>(data), size});
  if (!contents.status.ok()) {
    SEPAL_CHECK(absl::IsDataLoss(contents.status) || absl::IsInvalidArgument(contents.status) ||
                absl::IsFailedPrecondition(contents.status));
    return 0;
  }
  SEPAL_CHECK(Read(Write(contents, DumpFormat::kText)) == contents);
  SEPAL_CHECK(Read(Write(contents, DumpFormat::kBinary)) == contents);
  return 0;
}
