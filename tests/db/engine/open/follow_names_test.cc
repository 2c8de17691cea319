// A reader beside a writer that is naming a snapshot.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>

#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// The writer deletes a range before and after the snapshot's moment, and the reader has read both deletes before it
// hears of the name, which was another snapshot's before or is new.
class FollowNamesTest : public ::testing::TestWithParam<bool> {};

TEST_P(FollowNamesTest, ANameThatComesLateShowsNoKeyThatItDoesNotSee) {
  TestDatabase database(Threads::kReal);
  database.tuning.manifest_limit_bytes = uint64_t{1} << 20;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  ASSERT_OK(db->DeleteRange("x", "y"));  // the feature is in the manifest
  if (GetParam()) {
    ASSERT_OK(db->CreateSnapshot("name", {.expires_after = std::chrono::milliseconds(1)}).status());
  }
  ASSERT_OK(db->Put("key", "old"));
  ASSERT_OK(db->DeleteRange("a", "z"));
  const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  Thread::SleepMicros(10'000);  // what expires has done so
  std::atomic<bool> held{false};
  std::atomic<bool> go{false};
  database.files.SetHold([&](const FileCall& call) {
    const bool appends = call.op == FileOp::kAppend || call.op == FileOp::kWriteAt;
    if (!appends || call.name.find("MANIFEST") == std::string::npos) return;
    held = true;
    while (!go) Thread::SleepMicros(1000);
  });
  absl::Status named;
  Thread naming([&] { named = db->CreateSnapshot("name").status(); });
  while (!held) Thread::SleepMicros(1000);
  EXPECT_OK(db->DeleteRange("a", "z"));
  EXPECT_OK((*reader)->CatchUp());
  go = true;
  naming.Join();
  database.files.Clear();
  ASSERT_OK(named);
  ASSERT_OK((*reader)->CatchUp());
  for (DB* const each : {db, reader->get()}) {
    const auto snapshot = each->FindSnapshot("name");
    ASSERT_OK(snapshot.status());
    EXPECT_EQ(Value(each, "key", {.snapshot = snapshot->get()}), "NOT_FOUND") << (each == db ? "writer" : "reader");
    const std::unique_ptr<Iterator> it = each->NewIterator({.snapshot = snapshot->get()});
    it->SeekToFirst();
    EXPECT_FALSE(it->Valid());
    EXPECT_OK(it->status());
  }
}

INSTANTIATE_TEST_SUITE_P(OfAnother, FollowNamesTest, ::testing::Bool());

}  // namespace
}  // namespace sepal
