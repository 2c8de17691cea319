// Calls of a database that was closed, and ones that were given what is another's.
#include <gtest/gtest.h>

#include <cctype>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/c/c_types.h"
#include "sepal/c.h"
#include "sepal/comparator.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/read/counting_comparator.h"

namespace sepal {
namespace {

class RefusedCallTest : public EngineTest {
 protected:
  absl::Status MultiGet(const ColumnFamily& family, const ReadOptions& options = {}) {
    const std::vector<std::string_view> keys = {"a", "b"};
    std::vector<PinnedValue> values(2);
    std::vector<absl::Status> statuses(2);
    const absl::Status status = db()->MultiGet(family, keys, values, statuses, options);
    for (const absl::Status& one : statuses) EXPECT_EQ(one, status);
    for (const auto& copy : db()->MultiGet(family, keys, options)) EXPECT_EQ(copy.status(), status);
    return status;
  }
  absl::Status Sizes(const ColumnFamily& family) {
    const std::vector<Range> ranges = {{.begin = "a", .end = "z"}};
    return db()->GetApproximateSizes(family, ranges).status();
  }
  const ColumnFamily& Default() { return db()->DefaultColumnFamily(); }
};

TEST_F(RefusedCallTest, EveryReadOfAClosedDatabaseSaysThatItIsClosed) {
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Close());
  for (const absl::Status& status :
       {MultiGet(Default()), Sizes(Default()), db()->GetProperties().status(), db()->ExplainGet("a").status(),
        db()->Get("a").status(), db()->NewIterator()->status()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
  EXPECT_TRUE(db()->KeyMayExist("a"));  // It cannot be ruled out.
}

TEST_F(RefusedCallTest, ASnapshotOfAnotherDatabaseIsRefusedByEveryRead) {
  auto other = Engine::Open(database.options, database.tuning, "/other");
  ASSERT_OK(other.status());
  const std::shared_ptr<const Snapshot> foreign = (*other)->GetSnapshot();
  EXPECT_TRUE(absl::IsInvalidArgument(MultiGet(Default(), {.snapshot = foreign.get()})));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Get("a", {.snapshot = foreign.get()}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->NewIterator({.snapshot = foreign.get()})->status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->ExplainGet("a", {.snapshot = foreign.get()}).status()));
  EXPECT_FALSE(db()->KeyMayExist("a"));
  EXPECT_TRUE(db()->KeyMayExist("a", {.snapshot = foreign.get()}));
  const std::shared_ptr<ColumnFamily> family = (*other)->CreateColumnFamily("f").value();
  EXPECT_FALSE(Sizes(*family).ok());
  EXPECT_FALSE(MultiGet(*family).ok());
}

TEST_F(RefusedCallTest, EveryMoveOfAnIteratorWhoseDatabaseWasClosedSinceSaysSo) {
  Fill(0, 100);
  const std::vector<std::function<void(Iterator*)>> moves = {
      [](Iterator* it) { it->Next(); },        [](Iterator* it) { it->Prev(); },
      [](Iterator* it) { it->Seek("a"); },     [](Iterator* it) { it->SeekForPrev("z"); },
      [](Iterator* it) { it->SeekToFirst(); }, [](Iterator* it) { it->SeekToLast(); }};
  ASSERT_OK(db()->CompactRange());  // steps within a merged block ask nothing else
  for (const auto& move : moves) {
    ASSERT_OK(database.Open());
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    it->Seek(NumberedKey(50));
    ASSERT_TRUE(it->Valid());
    ASSERT_OK(db()->Close());
    move(it.get());
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(absl::IsFailedPrecondition(it->status())) << it->status();
  }
}

// Which may be gone with the database.
TEST(ClosedIteratorTest, AnIteratorOfAClosedDatabaseAsksNeitherComparatorNorClock) {
  class CountingClock final : public Clock {
   public:
    explicit CountingClock(Clock* base) : base_(base) {}
    uint64_t MonotonicMicros() override { return ++calls, base_->MonotonicMicros(); }
    uint64_t UnixMicros() override { return ++calls, base_->UnixMicros(); }
    void SleepMicros(uint64_t micros) override { base_->SleepMicros(micros); }
    int calls = 0;

   private:
    Clock* const base_;
  };
  TestDatabase world;
  const CountingComparator comparator;
  CountingClock clock(world.world.get());
  Options options = world.options;
  options.family.comparator = &comparator;
  options.env.clock = &clock;
  options.slow_call_micros = 1;
  std::unique_ptr<DB> db = Engine::Open(options, world.tuning, "/db").value();
  ASSERT_OK(db->Put("k", "v"));
  const std::unique_ptr<Iterator> it = db->NewIterator({.lower_bound = "a", .upper_bound = "z"});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  ASSERT_OK(db->Close());
  db.reset();
  const uint64_t compared = comparator.calls;
  const int asked = clock.calls;
  it->Seek("0");
  it->Seek("l");
  it->SeekForPrev("zz");
  it->SeekForPrev("l");
  it->SeekToFirst();
  it->SeekToLast();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(absl::IsFailedPrecondition(it->status())) << it->status();
  EXPECT_EQ(comparator.calls, compared);
  EXPECT_EQ(clock.calls, asked);
}

TEST_F(RefusedCallTest, ARefusedMultiGetLeavesNoEarlierValue) {
  ASSERT_OK(db()->Put("a", "1"));
  const std::shared_ptr<ColumnFamily> gone = db()->CreateColumnFamily("gone").value();
  ASSERT_OK(db()->DropColumnFamily(*gone));
  const std::vector<std::string_view> keys = {"a"};
  std::vector<PinnedValue> values(1);
  std::vector<absl::Status> statuses(1);
  db()->MultiGet(keys, values, statuses, {}).IgnoreError();
  EXPECT_EQ(values[0].value(), "1");
  db()->MultiGet(*gone, keys, values, statuses, {}).IgnoreError();
  EXPECT_TRUE(absl::IsFailedPrecondition(statuses[0])) << statuses[0];
  EXPECT_EQ(values[0].value(), "");
}

// There is nothing behind the one byte.
TEST_F(RefusedCallTest, WhatIsTooLargeIsRefusedBeforeItIsRead) {
  const char byte = 'x';
  for (const size_t size : {kMaxValueBytes + 1, database.options.memory_limit / 4 + 1}) {
    const absl::Status status = db()->Put("k", std::string_view(&byte, size));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  const absl::Status status = db()->Delete(std::string_view(&byte, size_t{1} << 40));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

// A value that is the next key: chains are followed in one PinnedValue.
TEST_F(RefusedCallTest, TheKeyOfAGetMayLieInTheValueThatItReplaces) {
  const std::string next(600, 'n');
  for (const bool flushed : {false, true}) {
    ASSERT_OK(db()->Put("first", next));
    ASSERT_OK(db()->Put(next, "last"));
    PinnedValue value;
    ASSERT_OK(db()->Get("first", value));
    // The pin is now the last that holds the memtable.
    if (flushed) ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Get(value.value(), value));
    EXPECT_EQ(value.value(), "last");
    EXPECT_TRUE(absl::IsNotFound(db()->Get(value.value(), value)));
    EXPECT_EQ(value.value(), "");
  }
}

// Letters of either case are the same.
class EitherCase final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return Lower(a).compare(Lower(b)); }
  std::string_view Name() const override { return "test.either-case"; }
  bool EqualMeansIdentical() const override { return false; }

 private:
  static std::string Lower(std::string_view s) {
    std::string lower(s);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
  }
};

TEST_F(RefusedCallTest, AnOrderInWhichEqualKeysDifferInBytesWorksWithBatchesOfAnySizeAndExplains) {
  static const EitherCase order;
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {.comparator = &order}).value();
  WriteBatch batch;
  for (uint64_t i = 0; i < 1000; ++i) batch.Put(*family, "Key" + std::to_string(i), std::to_string(i));
  ASSERT_OK(db()->Write(batch));
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_OK(db()->Flush(*family));
    EXPECT_EQ(db()->Get(*family, "kEY777").value(), "777");
    const absl::StatusOr<GetExplanation> explanation = db()->ExplainGet(*family, "keY999");
    ASSERT_OK(explanation.status());
    EXPECT_NE(explanation->ToString().find("999"), std::string::npos) << explanation->ToString();
    EXPECT_EQ(db()->Get(*family, "key1000").status().code(), absl::StatusCode::kNotFound);
  }
}

// The C interface's reads, each of which gives its error to the caller.
TEST_F(RefusedCallTest, EveryReadThroughCGivesTheErrorOfAClosedDatabase) {
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Close());
  sepal_t c_db{.rep = std::move(database.db)};
  sepal_readoptions_t* const options = sepal_readoptions_create();
  char* error = nullptr;
  size_t length = 7;
  const auto refused = [&](const void* result) {
    EXPECT_EQ(result, nullptr);
    ASSERT_NE(error, nullptr);
    EXPECT_NE(std::string_view(error).find("FAILED_PRECONDITION"), std::string_view::npos) << error;
    sepal_free(error);
    error = nullptr;
  };
  refused(sepal_get(&c_db, options, "a", 1, &length, &error));
  EXPECT_EQ(length, 0u);
  refused(sepal_get_pinned(&c_db, options, nullptr, "a", 1, &error));
  refused(sepal_explain_get(&c_db, options, nullptr, "a", 1, &error));
  refused(sepal_explanation_create(&c_db, options, nullptr, "a", 1, &error));
  sepal_verify_checksums_with_progress(&c_db, nullptr, nullptr, nullptr, &error);
  refused(nullptr);
  sepal_options_t* const nowhere = sepal_options_create();
  EXPECT_EQ(sepal_list_column_families(nowhere, "/sepal_none/db", &length, &error), nullptr);
  EXPECT_NE(std::string_view(error).find("NOT_FOUND"), std::string_view::npos) << error;
  sepal_free(error);
  sepal_options_destroy(nowhere);
  sepal_readoptions_destroy(options);
}

}  // namespace
}  // namespace sepal
