// The command line tools on a database that keeps large values in files of their own.
#include <gtest/gtest.h>

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

TEST_F(ValueFilesVerbsTest, ARepairIsRefusedAndSaysWhatToDo) {
  const Outcome repair = RunSepal({"db", "repair", db_, "--yes"});
  EXPECT_NE(repair.exit, kExitOk);
  EXPECT_TRUE(Has(repair.err, "value files")) << repair.err;
  EXPECT_EQ(RunSepal({"db", "get", db_, "flushed"}).out, large_);
}

}  // namespace
}  // namespace sepal::tools
