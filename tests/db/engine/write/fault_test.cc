// File calls that fail: what is acknowledged stays, nothing wrong is returned, and nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "table/file/table_format.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

using FaultTest = EngineTest;

TEST_F(FaultTest, AFailedMarkInTheManifestEndsWritingWithAReason) {
  for (const Fault fault : {Fault::kIoError, Fault::kNoSpace, Fault::kShortWrite}) {
    ASSERT_OK(db()->Put("k", "1"));
    // The append after the edit's own.
    database.files.Inject({.fault = fault, .op = FileOp::kAppend, .name_contains = "MANIFEST", .skip = 1});
    db()->Flush().IgnoreError();
    // The next edit, of this flush or of a compaction before it, meets the failure.
    db()->Put("k", "2").IgnoreError();
    EXPECT_TRUE(absl::IsInternal(db()->Flush()));
    EXPECT_TRUE(absl::IsInternal(db()->Put("k", "3")));
    EXPECT_THAT(db()->GetProperty("sepal.background-error").value(), HasSubstr("MANIFEST"));
    const std::string value = Value(db(), "k");
    database.files.Clear();
    ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
    EXPECT_EQ(Value(db(), "k"), value);
  }
}

// Frees the disk once background work was heard to wait for it `tries` times.
class FreesTheDisk : public EventListener {
 public:
  FreesTheDisk(FaultFileSystem* files, int tries) : files_(files), left_(tries) {}
  void OnError(std::string_view, const absl::Status& status) override {
    if (absl::IsResourceExhausted(status) && --left_ == 0) files_->Clear();
  }
  int left() const { return left_; }

 private:
  FaultFileSystem* const files_;
  int left_;
};

TEST(QuotaTest, AFlushWaitsAsLongAsItsQuotaIsFullThoughTheDiskHasSpace) {
  TestDatabase database;
  const auto listener = std::make_shared<FreesTheDisk>(&database.files, 100);
  database.options.listeners = {listener};
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v"));
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAppend, .name_contains = ".sst", .sticky = true});
  ASSERT_OK(database.db->Flush());
  EXPECT_EQ(listener->left(), 0);
  ASSERT_OK(database.db->Put("k", "w"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(database.db.get(), "k"), "w");
}

TEST(ManifestSpaceTest, ADiskThatIsFullWhenTheManifestNeedsSpaceDelaysAFlushAndEndsNothing) {
  TestDatabase database;
  database.tuning.manifest_limit_bytes = uint64_t{1} << 30;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAllocate, .name_contains = "MANIFEST"});
  const uint64_t before = database.files.FaultCount();
  for (int i = 0; i < 3000 && database.files.FaultCount() == before; ++i) {
    ASSERT_OK(db->Put("key" + std::to_string(i % 10), std::to_string(i)));
    ASSERT_OK(db->Flush());
  }
  ASSERT_GT(database.files.FaultCount(), before);
  EXPECT_EQ(db->GetProperty("sepal.background-error"), "OK");
  ASSERT_OK(db->Put("after", "1"));
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->CheckConsistency());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(database.db.get(), "after"), "1");
}

// Of an open table these are in memory.
TEST_F(FaultTest, AVerificationReadsTheLastUnitsOfATableThatIsOpenToo) {
  Fill(0, 60);
  ASSERT_OK(db()->Flush());
  std::string table;
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    if (name.ends_with(".sst")) table = "/db/" + name;
  }
  ASSERT_OK(db()->Get(NumberedKey(7)).status());
  const std::string bytes = database.memory.ReadFileContents(table).value();
  const Footer footer = Footer::Decode(bytes, table, bytes.size()).value();
  for (const uint64_t offset :
       {footer.root.offset, footer.guard.offset, footer.properties.offset, bytes.size() - kFooterBytes}) {
    ASSERT_OK(database.memory.FlipBit(table, offset, 2));
    EXPECT_TRUE(absl::IsDataLoss(db()->VerifyChecksums())) << "offset " << offset;
    ASSERT_OK(database.memory.FlipBit(table, offset, 2));
  }
  EXPECT_OK(db()->VerifyChecksums());
}

}  // namespace
}  // namespace sepal
