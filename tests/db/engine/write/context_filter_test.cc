// Filters with context: what they are asked about, what comes of their answers, and what snapshots see.
#include "sepal/context_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/merge_operator.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using JudgeFunction = std::function<absl::StatusOr<FilterVerdict>(const FilterEntry&)>;

// Asks a function of the test, and notes the keys.
class TestFilterFactory final : public ContextFilterFactory {
 public:
  std::unique_ptr<ContextFilter> Create(const FilterContext& context) const override {
    MutexLock lock(&mutex_);
    contexts_.push_back({std::string(context.column_family), context.output_level, context.last_level, context.manual});
    if (!judge_) return nullptr;
    class Filter final : public ContextFilter {
     public:
      explicit Filter(const TestFilterFactory* factory) : factory_(factory) {}
      absl::StatusOr<FilterVerdict> Judge(const FilterEntry& entry) override {
        MutexLock lock(&factory_->mutex_);
        factory_->asked_.emplace_back(entry.key());
        return factory_->judge_(entry);
      }

     private:
      const TestFilterFactory* const factory_;
    };
    return std::make_unique<Filter>(this);
  }

  struct Context {
    std::string family;
    int output_level;
    bool last_level;
    bool manual;
  };

  void Set(JudgeFunction judge) {
    MutexLock lock(&mutex_);
    judge_ = std::move(judge);
  }
  std::vector<std::string> TakeAsked() {
    MutexLock lock(&mutex_);
    std::sort(asked_.begin(), asked_.end());
    return std::exchange(asked_, {});
  }
  std::vector<Context> TakeContexts() {
    MutexLock lock(&mutex_);
    return std::exchange(contexts_, {});
  }

 private:
  mutable Mutex mutex_;
  JudgeFunction judge_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  mutable std::vector<Context> contexts_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<FilterVerdict> RemoveAll(const FilterEntry&) { return FilterVerdict::Remove(); }
absl::StatusOr<FilterVerdict> KeepAll(const FilterEntry&) { return FilterVerdict::Keep(); }

class ContextFilterTest : public ::testing::Test {
 protected:
  ContextFilterTest() { database.options.family.context_filter = filter; }

  DB* db() { return database.db.get(); }
  std::string Read(std::string_view key, const ReadOptions& options = {}) { return Value(db(), key, options); }
  uint64_t EntriesInTables() { return NumberProperty(db(), "sepal.num-entries"); }
  void PutAll(const std::map<std::string, std::string>& entries) {
    for (const auto& [key, value] : entries) ASSERT_OK(db()->Put(key, value));
  }

  const std::shared_ptr<TestFilterFactory> filter = std::make_shared<TestFilterFactory>();
  TestDatabase database;
};

TEST_F(ContextFilterTest, ReadsFlushesAndMemtablesDoNotAsk) {
  filter->Set(RemoveAll);
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}, {"b", "2"}});
  EXPECT_EQ(Read("a"), "1");
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Read("a"), "1");
  EXPECT_THAT(filter->TakeAsked(), IsEmpty());
}

TEST_F(ContextFilterTest, CompactRangeAsksAboutEachKeyOnce) {
  filter->Set(KeepAll);
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  ASSERT_OK(db()->Flush());
  PutAll({{"a", "new"}});
  ASSERT_OK(db()->Delete("b"));
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(filter->TakeAsked(), ElementsAre("a", "c"));
  // Again, although there is nothing to bring down and nothing to drop.
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(filter->TakeAsked(), ElementsAre("a", "c"));
}

TEST_F(ContextFilterTest, TheContextIsThatOfTheCompaction) {
  filter->Set(KeepAll);
  ASSERT_OK(database.Open());
  const auto family = db()->CreateColumnFamily("own", database.options.family).value();
  ASSERT_OK(db()->Put(*family, "k", "v"));
  ASSERT_OK(db()->CompactRange(*family));
  const std::vector<TestFilterFactory::Context> contexts = filter->TakeContexts();
  ASSERT_FALSE(contexts.empty());
  EXPECT_EQ(contexts.back().family, "own");
  EXPECT_TRUE(contexts.back().manual);
  EXPECT_TRUE(contexts.back().last_level);
  EXPECT_GE(contexts.back().output_level, 1);
}

TEST_F(ContextFilterTest, WhatIsRemovedIsGoneAndItsSpaceToo) {
  filter->Set([](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    return entry.key() == "b" ? FilterVerdict::Remove() : FilterVerdict::Keep();
  });
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Read("b"), "NOT_FOUND");
  EXPECT_EQ(EntriesInTables(), 2u);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Read("a"), "1");
  EXPECT_EQ(Read("b"), "NOT_FOUND");
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(ContextFilterTest, AChangedValueIsReadAndKeepsItsPlaceInHistory) {
  filter->Set([](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    const absl::StatusOr<std::string_view> value = entry.Value();
    if (!value.ok()) return value.status();
    return FilterVerdict::ChangeTo(std::string(*value) + "!");
  });
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}});
  ASSERT_OK(db()->Flush());
  PutAll({{"b", "2"}});
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Read("a"), "1!");
  EXPECT_EQ(Read("b"), "2!");
  ASSERT_OK(db()->Put("a", "3"));
  EXPECT_EQ(Read("a"), "3");
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Read("a"), "3!");
  EXPECT_EQ(Read("b"), "2!!");
}

TEST_F(ContextFilterTest, OneAnswerRemovesAllThroughAKey) {
  filter->Set([](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    return entry.key() == "b" ? FilterVerdict::RemoveThrough("d") : FilterVerdict::Keep();
  });
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}});
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(filter->TakeAsked(), ElementsAre("a", "b", "e"));
  EXPECT_EQ(Read("c"), "NOT_FOUND");
  EXPECT_EQ(Read("d"), "NOT_FOUND");
  EXPECT_EQ(Read("e"), "5");
}

TEST_F(ContextFilterTest, WhatASnapshotSeesIsNotAskedAbout) {
  filter->Set(RemoveAll);
  ASSERT_OK(database.Open());
  PutAll({{"old", "1"}, {"both", "1"}});
  auto snapshot = db()->GetSnapshot();
  PutAll({{"new", "2"}, {"both", "2"}});
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(filter->TakeAsked(), ElementsAre("both", "new"));
  const ReadOptions then{.snapshot = snapshot.get()};
  EXPECT_EQ(Read("old", then), "1");
  EXPECT_EQ(Read("both", then), "1");
  EXPECT_EQ(Read("old"), "1");
  EXPECT_EQ(Read("both"), "NOT_FOUND") << "the older version stays hidden";
  EXPECT_EQ(Read("new"), "NOT_FOUND");
  snapshot.reset();
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Read("old"), "NOT_FOUND");
  EXPECT_EQ(EntriesInTables(), 0u);
}

TEST_F(ContextFilterTest, ASnapshotOfTheNewestUpdateProtectsIt) {
  filter->Set(RemoveAll);
  ASSERT_OK(database.Open());
  PutAll({{"k", "v"}});
  const auto snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(filter->TakeAsked(), IsEmpty());
  EXPECT_EQ(Read("k", {.snapshot = snapshot.get()}), "v");
}

TEST_F(ContextFilterTest, AnIteratorGoesOnWithWhatItSaw) {
  filter->Set(RemoveAll);
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}, {"b", "2"}});
  const std::unique_ptr<Iterator> iterator = db()->NewIterator();
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(ReadAll(iterator.get()), ElementsAre(std::pair("a", "1"), std::pair("b", "2")));
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), IsEmpty());
}

// In the upper levels an older version may lie below, and must not come back.
TEST_F(ContextFilterTest, WhatIsRemovedAboveOlderVersionsHidesThem) {
  filter->Set(nullptr);
  ASSERT_OK(database.Open());
  for (uint64_t i = 0; i < 400; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "old"));
  ASSERT_OK(db()->CompactRange());
  filter->Set([](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    const absl::StatusOr<std::string_view> value = entry.Value();
    return value.ok() && *value == "new" ? FilterVerdict::Remove() : FilterVerdict::Keep();
  });
  // Compactions of the upper levels come by themselves.
  for (int round = 0; round < 12; ++round) {
    for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "new"));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
    for (uint64_t i = 0; i < 100; ++i) EXPECT_NE(Read(NumberedKey(i)), "old") << i;
  }
  EXPECT_THAT(filter->TakeAsked(), testing::Not(IsEmpty()));
  ASSERT_OK(db()->CompactRange());
  for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(Read(NumberedKey(i)), "NOT_FOUND");
  EXPECT_EQ(EntriesInTables(), 300u);
}

TEST_F(ContextFilterTest, AFailureKeepsTheEntriesIsToldAndReturnedByCompactRange) {
  filter->Set([](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    if (entry.key() == "b") return absl::UnavailableError("the directory of sessions does not answer");
    return FilterVerdict::Remove();
  });
  ASSERT_OK(database.Open());
  PutAll({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  const absl::Status failed = db()->CompactRange();
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()), HasSubstr("does not answer"));
  EXPECT_EQ(Read("a"), "NOT_FOUND");
  EXPECT_EQ(Read("b"), "2");
  EXPECT_EQ(Read("c"), "3") << "the rest of the part passes as it is";
  ASSERT_OK(db()->Put("d", "writes go on"));
  filter->Set(RemoveAll);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(EntriesInTables(), 0u);
}

TEST_F(ContextFilterTest, AnExpiringEntryTellsItsTimeAndKeepsItWhenItIsChanged) {
  std::optional<std::chrono::system_clock::time_point> told;
  filter->Set([&](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    told = entry.expires_at();
    EXPECT_EQ(entry.Value().value(), "v");
    EXPECT_EQ(entry.value_bytes(), 1u);
    return FilterVerdict::ChangeTo("w");
  });
  ASSERT_OK(database.Open());
  const std::chrono::system_clock::time_point then{std::chrono::milliseconds(1'700'000'000'000 + 60'000)};
  ASSERT_OK(db()->Put("k", "v", {.expires_at = then}));
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(told, then);
  EXPECT_EQ(Read("k"), "w");
  database.clock->Jump(60'000);
  EXPECT_EQ(Read("k"), "NOT_FOUND");
}

TEST_F(ContextFilterTest, ATimeBeyondWhatTheClockCanShowIsTheLastThatItCan) {
  std::optional<std::chrono::system_clock::time_point> told;
  filter->Set([&](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    told = entry.expires_at();
    return FilterVerdict::Keep();
  });
  ASSERT_OK(database.Open());
  constexpr int64_t kYearMillis = int64_t{365} * 24 * 3'600'000;
  ASSERT_OK(db()->Put("k", "v", {.ttl = std::chrono::milliseconds(7000 * kYearMillis)}));
  ASSERT_OK(db()->CompactRange());
  ASSERT_TRUE(told.has_value());
  EXPECT_GT(*told, std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'000)));
  EXPECT_EQ(told, db()->ExplainGet("k")->expires_at);
}

TEST_F(ContextFilterTest, OperandsAndWhatTheyBuildOnAreNotAskedAbout) {
  filter->Set(RemoveAll);
  database.options.family.merge_operator = MergeOperators::Append();
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "1"));
  ASSERT_OK(db()->Flush());
  const auto snapshot = db()->GetSnapshot();  // so that the operand is not folded into the value
  ASSERT_OK(db()->Merge("k", "2"));
  ASSERT_OK(db()->CompactRange());
  EXPECT_THAT(filter->TakeAsked(), IsEmpty());
  EXPECT_EQ(Read("k"), "1,2");
}

TEST_F(ContextFilterTest, ValuesInValueFilesAreReadWhereTheyAreAskedFor) {
  database.options.family.separate_from = 64;
  ASSERT_OK(database.Open());
  const std::string large(1000, 'v');
  PutAll({{"changed", large}, {"kept", large}, {"removed", large}});
  filter->Set([&](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
    EXPECT_EQ(entry.value_bytes(), large.size());
    if (entry.key() == "removed") return FilterVerdict::Remove();
    if (entry.key() == "kept") return FilterVerdict::Keep();
    EXPECT_EQ(entry.Value().value(), large);
    return FilterVerdict::ChangeTo(std::string(2000, 'w'));
  });
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Read("changed"), std::string(2000, 'w'));
  EXPECT_EQ(Read("kept"), large);
  EXPECT_EQ(Read("removed"), "NOT_FOUND");
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Read("changed"), std::string(2000, 'w'));
  EXPECT_EQ(Read("kept"), large);
}

// A filter that changes nothing that can be read, beside snapshots, range deletes, expiry and merges: what is read is
// what a map has, in many random histories.
TEST_F(ContextFilterTest, HistoriesAreReadAsWithoutOneThatKeepsOrRewritesValues) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TestDatabase own(Threads::kSimulated, seed);
    const auto rewriting = std::make_shared<TestFilterFactory>();
    rewriting->Set([](const FilterEntry& entry) -> absl::StatusOr<FilterVerdict> {
      const absl::StatusOr<std::string_view> value = entry.Value();
      if (!value.ok()) return value.status();
      return value->size() % 2 == 0 ? FilterVerdict::Keep() : FilterVerdict::ChangeTo(std::string(*value));
    });
    own.options.family.context_filter = rewriting;
    own.options.family.separate_from = seed % 2 == 0 ? 64 : 0;
    ASSERT_OK(own.Open());
    Random random(seed);
    std::map<std::string, std::string> expected;
    std::map<std::string, std::string> at_snapshot;
    std::shared_ptr<const Snapshot> snapshot;
    for (int step = 0; step < 3000; ++step) {
      const std::string key = NumberedKey(random.Uniform(200));
      const uint64_t what = random.Uniform(100);
      if (what < 70) {
        const std::string value(1 + random.Uniform(100), static_cast<char>('a' + random.Uniform(26)));
        ASSERT_OK(own.db->Put(key, value));
        expected[key] = value;
      } else if (what < 90) {
        ASSERT_OK(own.db->Delete(key));
        expected.erase(key);
      } else if (what < 92) {
        const std::string end = NumberedKey(random.Uniform(200));
        if (key < end) {
          ASSERT_OK(own.db->DeleteRange(key, end));
          expected.erase(expected.lower_bound(key), expected.lower_bound(end));
        }
      } else if (what < 94) {
        snapshot = own.db->GetSnapshot();
        at_snapshot = expected;
      } else if (what < 95) {
        ASSERT_OK(own.db->CompactRange());
      }
    }
    const Entries now(expected.begin(), expected.end());
    EXPECT_EQ(ReadAll(own.db->NewIterator().get()), now);
    if (snapshot != nullptr) {
      EXPECT_EQ(ReadAll(own.db->NewIterator({.snapshot = snapshot.get()}).get()),
                Entries(at_snapshot.begin(), at_snapshot.end()));
    }
    EXPECT_OK(own.db->CheckConsistency());
  }
}

}  // namespace
}  // namespace sepal
