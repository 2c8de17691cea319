// A ring that was cut short: by a loss of power, which its header excludes, or by somebody.
#include <gtest/gtest.h>

#include <string>

#include "tests/db/act/log/log_ring_fixture.h"

namespace sepal {
namespace {

using LogRingLengthTest = LogRingFixture;

constexpr uint64_t kRingFileBytes = kRingHeaderBytes + 8192;

TEST_F(LogRingLengthTest, ARingThatWasCutShortAfterTheProcessDiedIsDataLoss) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{40}, uint64_t{kRingHeaderBytes}, kRingFileBytes - 1}) {
    SCOPED_TRACE(bytes);
    Create();
    AppendMany(1, 10);
    Die();
    const std::string ring = Contents(kRingFile);
    ASSERT_EQ(ring.size(), kRingFileBytes);
    ASSERT_TRUE(memory_.WriteFileContents(kRingFile, ring.substr(0, bytes)).ok());
    const absl::Status status = Recover().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(status.message().find("000001.ring"), absl::string_view::npos) << status;
    ASSERT_TRUE(memory_.WriteFileContents(kRingFile, ring).ok());
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
    RemoveAll();
    appended_.clear();
  }
}

TEST_F(LogRingLengthTest, WhereItsLengthWasNotDurableItPassesForALossOfPower) {
  Create();
  AppendAndSync(1, "in the file");
  Append(2, "in the ring");
  Die();
  // As version 0.1.0 writes it.
  const std::string log = Contents(kFirstFile);
  LogHeader header = *LogHeader::Decode(log, kFirstFile);
  EXPECT_TRUE(header.ring.length_is_durable);
  header.ring.length_is_durable = false;
  ASSERT_TRUE(memory_.WriteFileContents(kFirstFile, header.Encode() + log.substr(kLogHeaderBytes)).ok());
  ASSERT_TRUE(memory_.WriteFileContents(kRingFile, Contents(kRingFile).substr(0, 5000)).ok());
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, std::vector<std::string>{appended_.front()});
}

TEST_F(LogRingLengthTest, NoLossOfPowerMakesItShorter) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Create();
    AppendAndSync(1, "synced");
    Append(2, "not synced");
    Die(CrashMode::kAnySubset, seed);
    EXPECT_EQ(Contents(kRingFile).size(), kRingFileBytes) << seed;
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << seed << ": " << recovery.status();
    EXPECT_EQ(delivered_.front(), appended_.front()) << seed;
    RemoveAll();
    appended_.clear();
  }
}

TEST_F(LogRingLengthTest, WhereItsLengthCannotBeSyncedThereIsNoRing) {
  faults_.Inject({.op = FileOp::kSync, .name_contains = ".ring"});
  Create();
  EXPECT_EQ(log_->RingNumber(), FileNumber(0));
  Append(1, "text");
  ExpectAllAfterTheProcessDied();
}

}  // namespace
}  // namespace sepal
