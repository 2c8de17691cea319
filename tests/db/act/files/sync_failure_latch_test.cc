// A directory whose first failed sync is its last word.
#include "db/act/files/sync_failure_latch.h"

#include <gtest/gtest.h>

#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"

namespace sepal {
namespace {

class LatchingDirectoryTest : public ::testing::Test {
 protected:
  MemoryFileSystem memory;
  FaultFileSystem files{&memory};
  SyncFailureLatchDirectory directory{files.OpenDirectory("/d", /*create=*/true).value()};
};

TEST_F(LatchingDirectoryTest, ASyncThatSucceedsIsPassedOn) {
  EXPECT_TRUE(directory.Sync().ok());
  EXPECT_TRUE(directory.Sync().ok());
}

TEST_F(LatchingDirectoryTest, AfterAFailedSyncNoLaterOneSucceeds) {
  files.Inject({.fault = Fault::kIoError, .op = FileOp::kDirectorySync});
  const absl::Status first = directory.Sync();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(directory.Sync(), first);
}

TEST_F(LatchingDirectoryTest, AFailureForWantOfSpaceIsNotSaidToPassWithSpace) {
  files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kDirectorySync});
  EXPECT_TRUE(absl::IsInternal(directory.Sync()));
}

TEST_F(LatchingDirectoryTest, OtherCallsGoOnAfterAFailedSync) {
  files.Inject({.fault = Fault::kIoError, .op = FileOp::kDirectorySync});
  EXPECT_FALSE(directory.Sync().ok());
  EXPECT_TRUE(directory.OpenForWrite("f", WriteMode::kCreateNew, {}).ok());
  EXPECT_EQ(directory.List().value().size(), 1u);
}

}  // namespace
}  // namespace sepal
