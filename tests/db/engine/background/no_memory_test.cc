// The system has no memory for a read or write of a job: that passes, or ends writing, but is not waited for for ever.
#include "util/base/no_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "db/engine/background/job_slots.h"
#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/status.h"
#include "util/files/posix_status.h"

namespace sepal {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class ErrorRecorder final : public EventListener {
 public:
  void OnError(std::string_view context, const absl::Status& status) override {
    contexts.push_back(absl::StrFormat("%s: %s", context, status.ToString()));
  }
  std::vector<std::string> contexts;
};

class NoMemoryTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.listeners = {recorder};
    EngineTest::SetUp();
    Fill(0, 100);
    ASSERT_OK(db()->Flush());
    Fill(50, 150);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
    ASSERT_OK(database.Reopen());
  }
  const std::shared_ptr<ErrorRecorder> recorder = std::make_shared<ErrorRecorder>();
};

TEST_F(NoMemoryTest, AReadThatNeverGetsMemoryEndsWritingAfterSomeTries) {
  Fill(0, 150);
  ASSERT_OK(db()->Flush());
  database.files.Inject({.fault = Fault::kNoMemory, .op = FileOp::kRead, .name_contains = ".sst", .sticky = true});
  const absl::Status compacted = db()->CompactRange();
  EXPECT_FALSE(compacted.ok());
  EXPECT_FALSE(absl::IsResourceExhausted(compacted)) << compacted;
  EXPECT_THAT(compacted.ToString(), HasSubstr("no memory in 20 tries"));
  ASSERT_THAT(recorder->contexts, SizeIs(JobSlots::kMostTriesForMemory));
  EXPECT_THAT(recorder->contexts, Each(Not(HasSubstr("space"))));
  EXPECT_THAT(recorder->contexts.front(), HasSubstr("background work waits for memory"));
  EXPECT_THAT(recorder->contexts.back(), HasSubstr("compaction"));
  EXPECT_FALSE(db()->Put("k", "v").ok());
  database.files.Clear();
  EXPECT_NE(Value(db(), NumberedKey(1)), "NOT_FOUND");
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->CompactRange());
}

TEST_F(NoMemoryTest, AFlushThatLacksMemoryForAWhileIsDoneThen) {
  uint64_t failures = 0;
  database.files.SetDecider([&](const FileCall& call) {
    const bool fails = call.op == FileOp::kOpenWrite && call.name.ends_with(".sst") && failures < 5;
    if (fails) ++failures;
    return fails ? Fault::kNoMemory : Fault::kNone;
  });
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(failures, 5u);
  EXPECT_THAT(recorder->contexts, SizeIs(5));
  EXPECT_THAT(recorder->contexts, Each(HasSubstr("background work waits for memory")));
  ASSERT_OK(db()->Put("k", "w"));
}

TEST_F(NoMemoryTest, TheLogAndTheManifestSayWhatTheyLack) {
  database.files.Inject({.fault = Fault::kNoMemory, .op = FileOp::kAllocate, .name_contains = ".log", .sticky = true});
  absl::Status status;
  for (uint64_t i = 0; status.ok() && i < 1000; ++i) status = db()->Put(NumberedKey(i), std::string(1000, 'v'));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.ToString(), Not(HasSubstr("space")));
  database.files.Clear();
  ASSERT_OK(db()->Put("k", "v"));
}

TEST(NoMemoryStatusTest, WantOfMemoryIsToldFromWantOfSpace) {
  const absl::Status memory = PosixError(ENOMEM, "/f", "read");
  const absl::Status space = PosixError(ENOSPC, "/f", "read");
  EXPECT_EQ(memory.code(), space.code());
  EXPECT_TRUE(IsNoMemory(memory));
  EXPECT_TRUE(IsNoMemory(Annotate(memory, "context")));
  EXPECT_FALSE(IsNoMemory(space));
  EXPECT_FALSE(IsNoMemory(absl::OkStatus()));
}

}  // namespace
}  // namespace sepal
