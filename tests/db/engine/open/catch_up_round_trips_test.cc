// How often a reader that follows a writer waits for a store that is far away.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

// Calls that take a round trip where nothing is known of other clients' files; reads that go together take one.
class CatchUpRoundTripsTest : public testing::Test {
 protected:
  static constexpr Capabilities kFarAway = {.remote = true, .outlives_process = false, .fences = true};
  CatchUpRoundTripsTest()
      : database_(Threads::kSimulated, {.seed = 1, .switch_one_in = 1000}, MemoryFileSystem(kFarAway)) {
    database_.options.memory_limit = size_t{256} << 20;
    database_.tuning = Tuning::From(database_.options);
  }
  void SetUp() override {
    ASSERT_OK(database_.Open());
    Put(0, 100);
    absl::StatusOr<std::unique_ptr<DB>> opened = database_.OpenReadOnly();
    ASSERT_OK(opened.status());
    reader_ = *std::move(opened);
    CatchUp();
  }
  void Put(int begin, int end) {
    for (int i = begin; i < end; ++i) {
      ASSERT_OK(database_.db->Put(NumberedKey(i), std::to_string(i) + std::string(100, 'v')));
    }
    database_.world->RunUntilIdle();
  }
  struct Waits {
    int all = 0, opens = 0, lists = 0;
  };
  Waits CatchUp() {
    Waits waits;
    std::set<uint64_t> groups;
    database_.files.SetDecider([&](const FileCall& call) {
      waits.opens += call.op == FileOp::kOpenRead ? 1 : 0;
      waits.lists += call.op == FileOp::kList ? 1 : 0;
      const bool read = call.op == FileOp::kRead && (call.together == 0 || groups.insert(call.together).second);
      waits.all += read || call.op == FileOp::kOpenRead || call.op == FileOp::kList ? 1 : 0;
      return Fault::kNone;
    });
    EXPECT_OK(reader_->CatchUp());
    database_.files.Clear();
    return waits;
  }
  std::string Shown(int key) { return reader_->Get(NumberedKey(key)).value_or("NONE").substr(0, 6); }

  TestDatabase database_;
  std::unique_ptr<DB> reader_;
};

// The manifest, the log, the one that was made ahead, and one reading of what these have.
TEST_F(CatchUpRoundTripsTest, ACallTakesFour) {
  EXPECT_LE(CatchUp().all, 4);
  Put(0, 20'000);  // 2.9 MB of log
  const Waits waits = CatchUp();
  EXPECT_LE(waits.all, 4);
  EXPECT_EQ(waits.lists, 0);
  EXPECT_EQ(Shown(12345), "12345v");
}

// The manifest twice, the listing, two logs and the reading of their headers; then the table and the log anew.
TEST_F(CatchUpRoundTripsTest, OneBehindAFlushTakesTen) {
  for (int round = 0; round < 3; ++round) {
    Put(0, 1000 + round);
    ASSERT_OK(database_.db->Flush());
    Put(1000, 1100);
    const Waits waits = CatchUp();
    EXPECT_LE(waits.all, 10);
    EXPECT_EQ(waits.lists, 1);
    EXPECT_EQ(Shown(1099), "1099vv");
    EXPECT_LE(CatchUp().all, 4);
  }
}

// The log that was listed as the next one is removed by the new writer, whose own has its number or a later one.
TEST_F(CatchUpRoundTripsTest, WhatANewWriterBeginsIsFound) {
  for (int round = 0; round < 5; ++round) {
    CatchUp();
    CatchUp();
    ASSERT_OK(database_.Reopen());
    ASSERT_OK(database_.db->Put("round", std::to_string(round)));
    database_.world->RunUntilIdle();
    CatchUp();
    EXPECT_EQ(reader_->Get("round").value_or("NONE"), std::to_string(round));
    Put(100 * round, 100 * round + 50);
    CatchUp();
    EXPECT_EQ(Shown(100 * round + 49), std::to_string(100 * round + 49).append(6, 'v').substr(0, 6));
  }
}

}  // namespace
}  // namespace sepal
