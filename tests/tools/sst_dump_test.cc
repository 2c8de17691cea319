#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/tools/full_disk.h"
#include "tests/tools/sst_dump_fixture.h"
#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

class SstDumpTest : public testing::Test {
 protected:
  SstDumpTest() : path_(directory_.File("000007.sst")) { MakeDumpedTable(directory_.path()); }

  void FlipByte(uint64_t offset) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x10));
  }

  TemporaryDirectory directory_;
  const std::string path_;
};

TEST_F(SstDumpTest, JsonLinesParse) {
  for (const char* command : {"check", "scan", "verify", "recompress", "identify", "filters"}) {
    const Outcome outcome = RunSstDump({path_, std::string("--command=") + command, "--json", "--show_properties"});
    EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
    std::istringstream lines(outcome.out);
    nlohmann::json last;
    for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
    EXPECT_EQ(last.at("properties").at("entries"), kDumpedEntries) << command;
    EXPECT_EQ(last.at("schema_version"), 1);
  }
}

TEST_F(SstDumpTest, AFlippedByteAnywhereIsFoundWithExitStatusThree) {
  const uint64_t size = std::filesystem::file_size(path_);
  // The format version is asked before the checksum; see the next test.
  const uint64_t version = size - kFooterBytes + 92;
  for (uint64_t offset = 3; offset < size; offset += size / 37) {
    if (offset >= version && offset < version + 4) continue;
    FlipByte(offset);
    const Outcome outcome = RunSstDump({path_, "--command=verify"});
    EXPECT_EQ(outcome.exit, kExitDamage) << "offset " << offset << " of " << size << "\n" << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find("000007.sst"), std::string::npos);
    FlipByte(offset);
  }
  EXPECT_EQ(RunSstDump({path_, "--command=verify"}).exit, kExitOk);
}

TEST_F(SstDumpTest, EveryCommandFindsDamageInWhatItReads) {
  FlipByte(std::filesystem::file_size(path_) / 4);
  for (const char* command : {"check", "scan", "verify", "recompress"}) {
    for (const bool json : {false, true}) {
      const Outcome outcome =
          RunSstDump({path_, std::string("--command=") + command, json ? "--json" : "--output_hex"});
      EXPECT_EQ(outcome.exit, kExitDamage) << command;
      EXPECT_NE(outcome.err.find("sepal db repair DIR --dry-run"), std::string::npos) << outcome.err;
      if (json) {
        EXPECT_NE(outcome.out.find("\"exit_code\":3"), std::string::npos) << command << outcome.out;
      }
    }
  }
  // Those of a part of it that is whole do not.
  for (const char* command : {"identify", "none"}) {
    EXPECT_EQ(RunSstDump({path_, std::string("--command=") + command}).exit, kExitOk);
  }
}

TEST_F(SstDumpTest, SstDumpRawWritesADumpBesideTheTableOrSaysThatItCannot) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const Outcome outcome = RunSstDump({"000007.sst", "--command=raw"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  std::ifstream dump("000007_dump.txt");
  std::ostringstream text;
  text << dump.rdbuf();
  EXPECT_NE(text.str().find("Footer:"), std::string::npos);
  EXPECT_NE(text.str().find("'0000000000001999' seq:2000"), std::string::npos);
  const nlohmann::json line = nlohmann::json::parse(RunSstDump({"000007.sst", "--command=raw", "--json"}).out);
  EXPECT_EQ(line.at("written_to"), "000007_dump.txt");
  EXPECT_EQ(line.at("file"), "000007.sst");
  EXPECT_NE(RunSstDump({"000007.sst", "--command=layout"}).out.find("Data blocks:"), std::string::npos);
  // A directory has its name; then a full disk.
  std::filesystem::remove("000007_dump.txt");
  std::filesystem::create_directory("000007_dump.txt");
  EXPECT_EQ(RunSstDump({path_, "--command=raw"}).exit, kExitError);
  std::filesystem::remove("000007_dump.txt");
  std::filesystem::create_symlink("/dev/full", "000007_dump.txt");
  const Outcome full = RunSstDump({path_, "--command=raw"});
  EXPECT_EQ(full.exit, kExitError);
  EXPECT_NE(full.err.find("was removed; free some space"), std::string::npos) << full.err;
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status("000007_dump.txt")));
  std::filesystem::current_path(before);
}

TEST_F(SstDumpTest, AKeyWhoseVersionsGoOnInAnotherBlockIsSaidToGoOn) {
  const std::unique_ptr<Directory> directory = FileSystem::Posix()->OpenDirectory(directory_.path(), false).value();
  const std::unique_ptr<WritableFile> file = directory->OpenForWrite("versions.sst", WriteMode::kCreateNew).value();
  TableWriterOptions options;
  options.block_bytes = 1024;
  TableWriter writer(options, file.get());
  for (uint64_t i = 500; i > 0; --i) {
    ASSERT_TRUE(writer.Add({"key", PackTrailer(SequenceNumber(i), ValueKind::kPut)}, std::string(50, 'v')).ok());
  }
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE(file->Close().ok());
  const Outcome layout = RunSstDump({directory_.File("versions.sst"), "--command=layout"});
  EXPECT_EQ(layout.exit, kExitOk) << layout.err;
  EXPECT_NE(layout.out.find(", continuation"), std::string::npos) << layout.out;
  EXPECT_EQ(RunSstDump({directory_.File("versions.sst"), "--command=filters"}).exit, kExitOk);
}

TEST_F(SstDumpTest, HelpThatCannotBeWrittenIsAnError) {
  FullDisk full;
  std::ostream out(&full);
  std::ostringstream err;
  const char* argv[] = {"sst_dump", "--help"};
  EXPECT_EQ(SstDumpMain(2, argv, out, err), kExitError);
}

}  // namespace
}  // namespace sepal::tools
