// The `LOG`: what a failure costs.
#include "db/act/files/info_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/format/file_names.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/manual_clock.h"
#include "sepal/simulation/memory_file_system.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InfoLogTest : public ::testing::Test {
 protected:
  InfoLogTest() : faults_(&memory_), directory_(faults_.OpenDirectory("/db", /*create=*/true).value()) {
    log_.Start(directory_.get(), &clock_, /*limit_bytes=*/1000);
  }
  std::string Text(std::string_view name = kInfoLogFileName) {
    return memory_.ReadFileContents("/db/" + std::string(name)).value_or("none");
  }

  MemoryFileSystem memory_;
  FaultFileSystem faults_;
  ManualClock clock_;
  const std::unique_ptr<Directory> directory_;
  InfoLog log_;
};

TEST_F(InfoLogTest, AFullDiskCostsTheLinesOfThatTime) {
  log_.Write("before");
  memory_.SetCapacity(memory_.UsedBytes());
  for (int i = 0; i < 1000; ++i) log_.Write("meanwhile");
  memory_.SetCapacity(UINT64_MAX);
  log_.Write("after");
  EXPECT_THAT(Text(), HasSubstr(" before\n"));
  EXPECT_THAT(Text(), HasSubstr(" after\n"));
}

TEST_F(InfoLogTest, ALineThatIsTornIsWrittenOver) {
  log_.Write("before");
  faults_.Inject({.fault = Fault::kShortWrite, .op = FileOp::kAppend});
  log_.Write("torn, and longer than the next");
  log_.Write("after");
  EXPECT_THAT(Text(), HasSubstr(" before\n1970"));
  EXPECT_THAT(Text(), Not(HasSubstr("torn")));
  EXPECT_THAT(Text(), HasSubstr(" after\n"));
}

TEST_F(InfoLogTest, ARotationThatFailsIsTriedAgainOnceASecondAndKeepsTheOldLog) {
  log_.Write("old");
  faults_.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kOpenWrite, .sticky = true});
  for (int i = 0; i < 100; ++i) log_.Write(std::string(100, 'x'));
  EXPECT_EQ(faults_.FaultCount(), 1u);
  clock_.Advance(1'000'000);
  log_.Write("lost");
  EXPECT_EQ(faults_.FaultCount(), 2u);
  faults_.Clear();
  log_.Write("lost, too");
  clock_.Advance(1'000'000);
  log_.Write("after");
  EXPECT_THAT(Text(), HasSubstr(" after\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("lost")));
  EXPECT_THAT(Text(kOldInfoLogFileName), HasSubstr(" old\n"));
}

TEST_F(InfoLogTest, AnInfoLogThatCannotBePutAsideStaysAndIsTriedAgain) {
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kRename, .sticky = true});
  for (int i = 0; i < 100; ++i) log_.Write(std::string(100, 'x'));
  EXPECT_LE(Text().size(), 1000u);
  faults_.Clear();
  clock_.Advance(1'000'000);
  log_.Write("after");
  EXPECT_THAT(Text(), HasSubstr(" after\n"));
  EXPECT_THAT(Text(kOldInfoLogFileName), HasSubstr("xxx"));
}

}  // namespace
}  // namespace sepal
