// What users are told on bad days of value files, word for word.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "db/format/manifest_format.h"
#include "db/format/value_file.h"
#include "tests/db/engine/write/separated_values_fixture.h"

namespace sepal {
namespace {

class ValueBadDaysTest : public SeparatedValuesTest {
 protected:
  // Two files: one with "a", one with "b".
  void MakeFiles() {
    ASSERT_OK(db()->Put("a", Large("a", 9000)));
    ASSERT_OK(db()->Put("b", Large("b", 9000)));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Close());
    names = Files(FileKind::kValues);
    ASSERT_EQ(names.size(), 2u);
    contents = database.memory.ReadFileContents("/db/" + names[0]).value();
    other = database.memory.ReadFileContents("/db/" + names[1]).value();
  }
  // Checksums and ids as "0x...".
  static std::string Words(const absl::Status& status) {
    return std::regex_replace(status.ToString(absl::StatusToStringMode::kWithNoExtraData), std::regex("0x[0-9a-f]+"),
                              "0x...");
  }
  // Of the read of "a"; "b" is read as before.
  std::string WordsWith(std::string_view bytes) {
    EXPECT_OK(database.memory.WriteFileContents("/db/" + names[0], bytes));
    EXPECT_OK(database.Open());
    const std::string words = Words(db()->Get("a").status());
    EXPECT_EQ(Value(db(), "b"), Large("b", 9000));
    EXPECT_OK(db()->Close());
    return words;
  }

  std::vector<std::string> names;
  std::string contents, other;
};

TEST_F(ValueBadDaysTest, AFileIsMissing) {
  MakeFiles();
  ASSERT_OK(database.memory.OpenDirectory("/db", false).value()->Remove(names[0]));
  const std::string table = Files(FileKind::kTable).front();
  EXPECT_EQ(Words(database.Open()), "DATA_LOSS: /db/" + names[0] + ": offset 0: a value file that " + table +
                                        " refers to: expected a file, got none; restore it from a backup");
}

TEST_F(ValueBadDaysTest, AFileGoesWhileTheDatabaseIsOpen) {
  MakeFiles();
  ASSERT_OK(database.Open());
  ASSERT_OK(database.memory.OpenDirectory("/db", false).value()->Remove(names[0]));
  EXPECT_EQ(Words(db()->Get("a").status()),
            "DATA_LOSS: the value of key \"a\": /db/" + names[0] +
                ": offset 0: a value file of the database: expected a file, got none; restore it from a backup");
}

TEST_F(ValueBadDaysTest, AFileIsCutSwappedDamagedOrOfAnotherDatabase) {
  MakeFiles();
  const std::string before = "DATA_LOSS: the value of key \"a\": /db/" + names[0] + ": ";
  EXPECT_EQ(WordsWith(contents.substr(0, 1000)), before + "offset 64: separated value: expected 9000 bytes, got 936");
  EXPECT_EQ(WordsWith(contents.substr(0, 10)), before + "offset 0: value file header: expected 64 bytes, got 10");
  EXPECT_EQ(WordsWith(""), before + "offset 0: value file header: expected 64 bytes, got 0");
  const std::string number = std::to_string(std::stoul(names[0])), got = std::to_string(std::stoul(names[1]));
  EXPECT_EQ(WordsWith(other), before + "offset 24: number of the value file: expected " + number + ", got " + got);
  std::string flipped = contents;
  flipped[5000] ^= 1;
  EXPECT_EQ(WordsWith(flipped), before + "offset 64: checksum of a separated value: expected 0x..., got 0x...");
  flipped = contents;
  flipped[30] ^= 1;
  EXPECT_EQ(WordsWith(flipped), before + "offset 0: checksum of the value file header: expected 0x..., got 0x...");
  flipped = contents;
  flipped[0] ^= 1;
  EXPECT_EQ(WordsWith(flipped), before + "offset 0: value file magic: expected 0x..., got 0x...");
  ValueFileHeader header = ValueFileHeader::Decode(contents, "").value();
  header.database_id ^= 1;
  EXPECT_EQ(WordsWith(header.Encode() + contents.substr(kValueFileHeaderBytes)),
            before + "offset 16: database id of the value file: expected 0x..., got 0x...");
}

TEST_F(ValueBadDaysTest, TheDiskIsFullWhileValuesAreWritten) {
  for (const FileOp op : {FileOp::kOpenWrite, FileOp::kAllocate, FileOp::kWriteAt}) {
    database.files.Inject({.fault = Fault::kNoSpace, .op = op, .name_contains = ".val", .sticky = true});
    const std::string words = Words(db()->Put("b", Large("b", 100'000)));
    EXPECT_EQ(words.find("RESOURCE_EXHAUSTED: "), 0u) << words;
    EXPECT_NE(words.find(".val"), std::string::npos) << words;
    database.files.Clear();
    EXPECT_EQ(Value(db(), "b"), "NOT_FOUND");
    ASSERT_OK(db()->Put("c", "small"));
  }
  ASSERT_OK(db()->Put("b", Large("b", 100'000)));
  EXPECT_EQ(Value(db(), "b"), Large("b", 100'000));
}

TEST_F(ValueBadDaysTest, ALimitThatIsTooLowIsRefusedAndOneThatChangesIsNot) {
  MakeFiles();
  database.options.family.separate_from = 63;
  EXPECT_EQ(Words(database.Open()).find("INVALID_ARGUMENT: "), 0u);
  for (const size_t from : {size_t{0}, size_t{64}, size_t{100'000}}) {
    database.options.family.separate_from = from;
    ASSERT_OK(database.Open());
    EXPECT_EQ(Value(db(), "a"), Large("a", 9000));
    ASSERT_OK(db()->Put("c", Large("c", 500)));
    EXPECT_EQ(Value(db(), "c"), Large("c", 500));
    EXPECT_OK(db()->VerifyChecksums({}));
    ASSERT_OK(db()->Close());
  }
}

// What a library that knows fewer features than this one says of a database that has them, this one says of the next.
TEST_F(ValueBadDaysTest, AFeatureThatTheLibraryDoesNotKnowRefusesTheDatabase) {
  MakeFiles();
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", false).value();
  std::string manifest;
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.starts_with("MANIFEST")) manifest += database.memory.ReadFileContents("/db/" + name).value();
    if (!name.ends_with(".val")) ASSERT_OK(directory->Remove(name));
  }
  EXPECT_NE(manifest.find(std::string("\x18\x01\x20", 3)), std::string::npos) << "the feature of value files";
  std::string later = ManifestHeader{.number = FileNumber(1), .database_id = 7}.Encode();
  uint64_t checksum = ManifestHeaderChecksum(later);
  checksum = AppendManifestRecord(&later, ManifestRecordKind::kEdit, std::string("\x18\x03\xe0\x80\x40", 5), checksum);
  checksum = AppendManifestRecord(&later, ManifestRecordKind::kSeal, EncodeManifestSeal(1, checksum), checksum);
  ASSERT_OK(database.memory.WriteFileContents("/db/MANIFEST-000001", later));
  const std::string words = Words(database.Open());
  EXPECT_EQ(
      words,
      "FAILED_PRECONDITION: /db/MANIFEST-000001: offset 40: the database uses feature 20, which this version of the "
      "library does not know: open it with a newer version");
  EXPECT_EQ(Words(RepairTo(nullptr, database.options, "/db", {.logs_lost = true})), words);
  EXPECT_EQ(Files(FileKind::kValues), names);
}

}  // namespace
}  // namespace sepal
