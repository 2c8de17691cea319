#include "tools/sst_dump/sst_dump.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sepal/file_system.h"
#include "table/file/table_writer.h"
#include "tests/tools/full_disk.h"
#include "tests/tools/temporary_directory.h"
#include "tools/db_bench/workload.h"
#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

constexpr uint64_t kEntries = 2000;

class SstDumpTest : public testing::Test {
 protected:
  SstDumpTest() : path_(directory_.File("000007.sst")) {}

  void SetUp() override {
    auto directory = FileSystem::Posix()->OpenDirectory(directory_.path(), false);
    ASSERT_TRUE(directory.ok());
    auto file = (*directory)->OpenForWrite("000007.sst", WriteMode::kCreateNew);
    ASSERT_TRUE(file.ok());
    TableWriterOptions options;
    options.hash_seed = 42;
    options.table_id = 4711;
    options.block_bytes = 1024;
    TableWriter writer(options, file->get());
    KeyBuffer key(16);
    ValueGenerator values(0.5, 1, 100);
    for (uint64_t i = 0; i < kEntries; ++i) {
      ASSERT_TRUE(
          writer.Add({key.Format(i), PackTrailer(SequenceNumber(i + 1), ValueKind::kPut)}, values.Next(100)).ok());
    }
    ASSERT_TRUE(writer.Finish().ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  static Outcome RunSstDump(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sst_dump");
    std::vector<const char*> argv;
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    std::ostringstream out, err;
    Outcome outcome;
    outcome.exit = SstDumpMain(static_cast<int>(argv.size()), argv.data(), out, err);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }

  void FlipByte(uint64_t offset) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x10));
  }

  static size_t Lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  TemporaryDirectory directory_;
  const std::string path_;
};

TEST_F(SstDumpTest, CheckCountsTheEntries) {
  const Outcome outcome = RunSstDump({"--file=" + path_});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("2000 entries"), std::string::npos) << outcome.out;
}

TEST_F(SstDumpTest, ADirectoryStandsForItsTables) {
  const Outcome outcome = RunSstDump({directory_.path(), "--command=verify"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("000007.sst: ok"), std::string::npos) << outcome.out;
}

TEST_F(SstDumpTest, ScanPrintsTheEntriesOfTheRangeAskedFor) {
  const Outcome whole = RunSstDump({path_, "--command=scan"});
  EXPECT_EQ(whole.exit, kExitOk) << whole.err;
  EXPECT_EQ(Lines(whole.out), kEntries);
  const Outcome part = RunSstDump({path_, "--command=scan", "--from=0000000000000010", "--to=0000000000000013"});
  EXPECT_EQ(Lines(part.out), 3u);
  EXPECT_EQ(part.out.rfind("'0000000000000010' seq:11, type:put => '", 0), 0u) << part.out;
  EXPECT_EQ(Lines(RunSstDump({path_, "--command=scan", "--prefix=00000000000019"}).out), 100u);
  EXPECT_EQ(Lines(RunSstDump({path_, "--command=scan", "--read_num=7"}).out), 7u);
}

TEST_F(SstDumpTest, KeysCanBeGivenAndPrintedInHexadecimal) {
  const Outcome outcome = RunSstDump({path_, "--command=scan", "--input_key_hex", "--output_hex", "--read_num=1",
                                      "--from=0x30303030303030303030303030303131"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_EQ(outcome.out.rfind("'30303030303030303030303030303131' seq:12", 0), 0u) << outcome.out;
}

TEST_F(SstDumpTest, JsonLinesParse) {
  for (const char* command : {"check", "scan", "verify", "recompress", "identify", "filters"}) {
    const Outcome outcome = RunSstDump({path_, std::string("--command=") + command, "--json", "--show_properties"});
    EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
    std::istringstream lines(outcome.out);
    nlohmann::json last;
    for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
    EXPECT_EQ(last.at("properties").at("entries"), kEntries) << command;
    EXPECT_EQ(last.at("schema_version"), 1);
  }
}

TEST_F(SstDumpTest, PropertiesAreShown) {
  const Outcome outcome = RunSstDump({path_, "--command=none", "--show_properties"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  for (const char* expected :
       {"entries: 2000", "distinct_keys: 2000", "largest_key: '0000000000001999'", "highest_sequence: 2000",
        "metadata_bits_per_key: ", "compression: snappy", "block_bytes: 1024"}) {
    EXPECT_NE(outcome.out.find(expected), std::string::npos) << expected << "\n" << outcome.out;
  }
}

TEST_F(SstDumpTest, FiltersAreListedForEachBlockWithTotals) {
  const Outcome outcome = RunSstDump({path_, "--command=filters"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("block     0 at"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(" 2000 keys"), std::string::npos);
  EXPECT_NE(outcome.out.find("guard: 2000 keys"), std::string::npos);
}

TEST_F(SstDumpTest, RecompressNamesTheSizeForEachCodec) {
  const Outcome outcome = RunSstDump({path_, "--command=recompress", "--compression_types=none,zstd"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("none"), std::string::npos);
  EXPECT_NE(outcome.out.find("zstd"), std::string::npos);
  EXPECT_EQ(outcome.out.find("lz4"), std::string::npos);
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

TEST_F(SstDumpTest, CheckOfARangeAsksForNoNumberOfEntries) {
  for (const char* part :
       {"--from=0000000000000010", "--to=0000000000000010", "--prefix=000000000000001", "--read_num=5"}) {
    const Outcome outcome = RunSstDump({path_, part});
    EXPECT_EQ(outcome.exit, kExitOk) << part << outcome.err;
    EXPECT_EQ(outcome.out.find("2000 entries"), std::string::npos) << outcome.out;
  }
  const Outcome both = RunSstDump({path_, "--command=scan", "--prefix=000000000000001", "--from=00000000000000190"});
  EXPECT_EQ(Lines(both.out), 0u) << both.out;
}

TEST_F(SstDumpTest, RawWritesADumpBesideOrSaysThatItCannot) {
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

TEST_F(SstDumpTest, ATableOfANewerVersionIsAnErrorAndNoDamage) {
  FlipByte(std::filesystem::file_size(path_) - kFooterBytes + 95);
  const Outcome outcome = RunSstDump({path_, "--command=verify"});
  EXPECT_EQ(outcome.exit, kExitError);
  EXPECT_NE(outcome.err.find("version"), std::string::npos) << outcome.err;
}

TEST_F(SstDumpTest, CheckFindsDamageInADataBlock) {
  FlipByte(std::filesystem::file_size(path_) / 4);
  EXPECT_EQ(RunSstDump({path_}).exit, kExitDamage);
}

TEST_F(SstDumpTest, TheWorstOfSeveralFilesDecides) {
  EXPECT_EQ(RunSstDump({path_, directory_.File("none.sst")}).exit, kExitError);
  EXPECT_EQ(RunSstDump({directory_.File("none.sst"), path_}).exit, kExitError);
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

TEST_F(SstDumpTest, ALinkAndADirectoryThatIsNoneAreRefused) {
  std::filesystem::create_symlink(path_, directory_.File("link.sst"));
  EXPECT_EQ(RunSstDump({directory_.File("link.sst")}).exit, kExitError);
  EXPECT_EQ(RunSstDump({path_ + "/x.sst"}).exit, kExitError);
}

TEST_F(SstDumpTest, AFileThatIsNoTableIsRefused) {
  const std::string text = directory_.File("text.sst");
  std::ofstream(text) << std::string(1000, 'x');
  EXPECT_NE(RunSstDump({text, "--command=identify"}).exit, kExitOk);
  EXPECT_EQ(RunSstDump({path_, "--command=identify"}).exit, kExitOk);
}

TEST_F(SstDumpTest, AListEndsWithItsArgument) {
  const Outcome outcome = RunSstDump({"--command=recompress", "--compression_types", "none,zstd", path_});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_EQ(RunSstDump({"--command=recompress", "--compression_types=none", path_}).exit, kExitOk);
  EXPECT_EQ(RunSstDump({"--file", path_ + "," + path_, "--command=check", path_}).exit, kExitOk);
}

TEST_F(SstDumpTest, HelpThatCannotBeWrittenIsAnError) {
  FullDisk full;
  std::ostream out(&full);
  std::ostringstream err;
  const char* argv[] = {"sst_dump", "--help"};
  EXPECT_EQ(SstDumpMain(2, argv, out, err), kExitError);
}

TEST_F(SstDumpTest, MistakesAreUsageErrors) {
  EXPECT_EQ(RunSstDump({}).exit, kExitUsage);
  EXPECT_EQ(RunSstDump({path_, "--command=chekc"}).exit, kExitUsage);
  EXPECT_EQ(RunSstDump({path_, "--input_key_hex", "--from=xyz"}).exit, kExitUsage);
  EXPECT_EQ(RunSstDump({path_, "--input_key_hex", "--to=xyz"}).exit, kExitUsage);
  EXPECT_EQ(RunSstDump({path_, "--input_key_hex", "--prefix=0"}).exit, kExitUsage);
  EXPECT_EQ(RunSstDump({path_, "--compression_types=rle"}).exit, kExitUsage);
  EXPECT_EQ(RunSstDump({path_, "--commnd=scan"}).exit, kExitUsage);
  for (const char* size : {"0", "255", "1048577", "15EiB"}) {
    const Outcome refused = RunSstDump({path_, "--command=recompress", std::string("--block_size=") + size});
    EXPECT_EQ(refused.exit, kExitUsage) << size;
    EXPECT_NE(refused.err.find("out of range: 256 to 1048576"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(RunSstDump({path_, "--command=recompress", "--block_size=1MiB"}).exit, kExitOk);
  EXPECT_EQ(RunSstDump({"--help"}).exit, kExitOk);
}

}  // namespace
}  // namespace sepal::tools
