// The command line tools on a database that keeps large values in files of their own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class ValueFilesVerbsTest : public SepalCommandTest {
 protected:
  void SetUp() override {
    Options options{.create_if_missing = true, .memory_limit = size_t{8} << 20};
    options.family.separate_from = 100;
    options.family.compression = CompressionKind::kNone;
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    ASSERT_TRUE(db->Put("small", "s").ok());
    ASSERT_TRUE(db->Put("flushed", large_).ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Put("logged", large_).ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const std::string large_ = std::string(300, 'v');
};

TEST_F(ValueFilesVerbsTest, TheLogIsSaidToReferToThem) {
  const Outcome dump = RunSepal({"wal", "dump", db_, "--values"});
  EXPECT_EQ(dump.exit, kExitOk) << dump.err;
  EXPECT_TRUE(Has(dump.out, "type:reference 'logged' (300 bytes at 364 of ")) << dump.out;
  const Outcome json = RunSepal({"wal", "dump", db_, "--values", "--json"});
  EXPECT_TRUE(Has(json.out, "\"value_bytes\":300")) << json.out;
  EXPECT_TRUE(Has(json.out, "\"value_offset\":364")) << json.out;
}

TEST_F(ValueFilesVerbsTest, OfACompressedOneBothSizesAreShown) {
  Options options{.memory_limit = size_t{8} << 20};
  options.family.separate_from = 100;
  options.family.compression = CompressionKind::kLz4;
  {
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    ASSERT_TRUE(db->Put("packed", large_).ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const Outcome dump = RunSepal({"wal", "dump", db_});
  EXPECT_TRUE(Has(dump.out, "type:reference 'packed' (300 bytes, 14 as lz4, at 64 of ")) << dump.out;
  const Outcome json = RunSepal({"wal", "dump", db_, "--json"});
  EXPECT_TRUE(Has(json.out, "\"value_bytes\":300")) << json.out;
  EXPECT_TRUE(Has(json.out, "\"value_stored_bytes\":14")) << json.out;
  EXPECT_TRUE(Has(json.out, "\"value_compression\":\"lz4\"")) << json.out;
  EXPECT_EQ(RunSepal({"db", "get", db_, "packed"}).out, large_);
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
  const Outcome manifest = RunSepal({"manifest", "dump", db_});
  EXPECT_TRUE(Has(manifest.out, "uses compressed values in value files")) << manifest.out;
}

TEST_F(ValueFilesVerbsTest, TheyAreReadVerifiedAndBackedUp) {
  for (const char* key : {"flushed", "logged"}) {
    EXPECT_EQ(RunSepal({"db", "get", db_, key}).out, large_);
  }
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
  const std::string backups = directory_.File("backups");
  const Outcome backup = RunSepal({"db", "backup", db_, backups});
  EXPECT_EQ(backup.exit, kExitOk) << backup.err;
  const std::string copy = directory_.File("copy");
  ASSERT_EQ(RunSepal({"db", "checkpoint", db_, copy}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", copy, "logged"}).out, large_);
  // What the commands write is kept as the database keeps it.
  EXPECT_EQ(RunSepal({"db", "put", db_, "new", large_}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", db_, "new"}).out, large_);
}

TEST_F(ValueFilesVerbsTest, DamageOfAValueIsFoundAndRepairedAndItsKeyIsNamed) {
  const Outcome whole = RunSepal({"db", "verify", db_});
  EXPECT_TRUE(Has(whole.out, "the logs and 1 table with 1 value in value files of ")) << whole.out;
  EXPECT_TRUE(Has(RunSepal({"db", "repair", db_, "--yes"}).out, "nothing was wrong")) << "nothing is changed";
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(db_)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".val") && (file.empty() || path < file)) file = path;
  }
  std::string bytes = Slurp(file);
  bytes[70] ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  const std::string words = "the value of key \"flushed\": " + file + ": offset 64: checksum of a separated value";
  const Outcome verify = RunSepal({"db", "verify", db_});
  EXPECT_EQ(verify.exit, kExitDamage);
  EXPECT_TRUE(Has(verify.err, words)) << verify.err;
  EXPECT_TRUE(Has(verify.err, "1 of 1 table is damaged")) << verify.err;
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::string dropped =
      "dropped: " + name + ", bytes 64 to 364, column family \"default\", key \"flushed\": " + file + ": offset 64: ";
  const Outcome dry = RunSepal({"db", "repair", db_, "--dry-run"});
  EXPECT_EQ(dry.exit, kExitDamage);
  EXPECT_TRUE(Has(dry.out, dropped)) << dry.out;
  const Outcome repair = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_EQ(repair.exit, kExitDamage);
  EXPECT_TRUE(Has(repair.out, dropped)) << repair.out;
  EXPECT_EQ(RunSepal({"db", "verify", db_}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", db_, "logged"}).out, large_);
  EXPECT_EQ(RunSepal({"db", "get", db_, "small"}).out, "s");
  EXPECT_EQ(RunSepal({"db", "get", db_, "flushed"}).exit, kExitError);
}

}  // namespace
}  // namespace sepal::tools
