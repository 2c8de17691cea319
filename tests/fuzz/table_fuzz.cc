// libFuzzer entry: the input changes the bytes of a valid table, whose checksums are then made right again, so that
// what stands behind the checksums is reached.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/table/file/table_exercise.h"
#include "tests/table/file/table_fixture.h"

namespace sepal {
namespace {

struct Subject {
  std::string contents;
  std::vector<BlockHandle> units;
  std::vector<std::string> keys;
};

Subject MakeSubject() {
  Subject subject;
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 256;
  options.blocks_per_leaf_page = 2;
  const std::vector<TestEntry> entries = EvenEntries(40, 15);
  for (const TestEntry& entry : entries) {
    subject.keys.push_back(entry.user_key);
    subject.keys.push_back(entry.user_key + "x");
  }
  subject.contents = WriteTable(options, entries);
  const auto reader = MustOpenTable(subject.contents, nullptr);
  const absl::Status status = reader->ForEachBlock([&](const TableReader::BlockInfo& block) {
    subject.units.push_back(block.handle);
    return absl::OkStatus();
  });
  SEPAL_CHECK(status.ok());
  subject.units.push_back(reader->footer().root);
  subject.units.push_back(reader->footer().guard);
  subject.units.push_back(reader->footer().properties);
  return subject;
}

// Triples of (place low, place high, byte) change the table.
std::string Changed(const Subject& subject, const uint8_t* data, size_t size) {
  std::string contents = subject.contents;
  for (; size >= 3; data += 3, size -= 3) {
    const size_t place = (data[0] | data[1] << 8) % (contents.size() - kFooterBytes);
    contents[place] = static_cast<char>(data[2]);
  }
  for (const BlockHandle& unit : subject.units) {
    char* trailer = contents.data() + unit.offset + unit.size;
    EncodeFixed32(trailer + 1, UnitChecksum({contents.data() + unit.offset, unit.size},
                                            static_cast<CompressionKind>(trailer[0]), kTestTableId, unit.offset));
  }
  return contents;
}

}  // namespace
}  // namespace sepal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const sepal::Subject subject = sepal::MakeSubject();
  const auto reader =
      sepal::OpenTable(std::make_shared<const std::string>(sepal::Changed(subject, data, size)), nullptr);
  if (!reader.ok()) return 0;
  sepal::ExerciseTable(*reader, nullptr, subject.keys);
  (void)(*reader)->Verify();
  SEPAL_CHECK(!testing::Test::HasFailure());
  return 0;
}
