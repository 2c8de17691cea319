// Repairs of databases with values that were streamed into files of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "db/format/value_file.h"
#include "tests/db/doctor/repair_fixture.h"
#include "tests/db/engine/write/value_streams_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kStreamedBytes = 3 * kTestChunk + 17;

class RepairStreamsTest : public RepairSalvageTest {
 protected:
  void SetUp() override {
    RepairSalvageTest::SetUp();
    database.tuning.streamed_from = 1000;
    ASSERT_OK(database.Open());
    ASSERT_OK(db()->Put("a", "small"));
    MadeSource source(1, kStreamedBytes);
    ASSERT_OK(db()->PutStream("k", kStreamedBytes, source));
  }
  void Close() {
    ASSERT_OK(db()->Close());
    database.db.reset();
  }
  void FlushAndClose() {
    ASSERT_OK(db()->Flush());
    Close();
  }
  void Flip(uint64_t offset) { ASSERT_OK(database.memory.FlipBit("/db/" + Last(".val"), offset, 3)); }
  void ExpectValueAfterRepair() {
    ASSERT_OK(Repair());
    ASSERT_OK(database.Open());
    EXPECT_TRUE(Value(db(), "k") == Made(1, 0, kStreamedBytes));
    std::string buffer(100, '\0');
    ASSERT_OK(db()->ReadValue("k", 2 * kTestChunk - 50, buffer).status());
    EXPECT_TRUE(buffer == Made(1, 2 * kTestChunk - 50, 100));
    EXPECT_OK(db()->VerifyChecksums({}));
    EXPECT_OK(db()->CheckConsistency());
    ASSERT_OK(db()->Close());
    database.db.reset();
    ASSERT_OK(Repair());
    EXPECT_FALSE(report.changed) << report.ToString();
  }
};

TEST_F(RepairStreamsTest, AWholeDatabaseIsLeftAlone) {
  Kill();
  const std::string file = Last(".val");
  ASSERT_OK(Repair());
  EXPECT_FALSE(report.changed) << report.ToString();
  ASSERT_NO_FATAL_FAILURE(ExpectValueAfterRepair());
  EXPECT_EQ(Last(".val"), file);
}

TEST_F(RepairStreamsTest, ADamagedChunkCostsItsKey) {
  FlushAndClose();
  Flip(kValueFileHeaderBytes + kTestChunk + 5);
  ASSERT_OK(Repair());
  ASSERT_THAT(report.dropped, SizeIs(1));
  EXPECT_EQ(report.dropped[0].first_key, "k");
  EXPECT_EQ(report.dropped[0].begin_offset, kValueFileHeaderBytes);
  EXPECT_EQ(report.dropped[0].end_offset, kValueFileHeaderBytes + kStreamedBytes);
  EXPECT_THAT(report.dropped[0].reason, HasSubstr("checksum of a chunk of a separated value: expected 0x"));
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "a"), "small");
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
}

TEST_F(RepairStreamsTest, ChunkSumsAreMadeAnewFromTheValue) {
  FlushAndClose();
  Flip(kValueFileHeaderBytes + kStreamedBytes + 1);
  ASSERT_NO_FATAL_FAILURE(ExpectValueAfterRepair());
}

TEST_F(RepairStreamsTest, NothingIsLostUnderADamagedHeader) {
  FlushAndClose();
  Flip(20);
  ASSERT_NO_FATAL_FAILURE(ExpectValueAfterRepair());
}

TEST_F(RepairStreamsTest, WithoutAManifestTheDatabaseStillSaysThatItHasChunkedValues) {
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_OK(database.Open());
      ASSERT_OK(db()->Flush());
      Close();
    } else {
      Kill();
    }
    Remove("MANIFEST");
    ASSERT_OK(Repair());
    EXPECT_THAT(Read(Last("MANIFEST")), HasSubstr(std::string("\x18\x01\x60", 3))) << "features 32 and 64";
    ASSERT_NO_FATAL_FAILURE(ExpectValueAfterRepair());
  }
}

}  // namespace
}  // namespace sepal
