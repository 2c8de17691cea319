// What the public interface promises beside its results: which mistakes do not compile, which are refused, and what the
// shorter forms of calls have in common with the longer ones.
#include <gmock/gmock.h>

#include <functional>

#include "sepal/comparator.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- what does not compile ---

template <class Value>
concept TakesValue = requires(DB& db, Value value) {
  db.Get("k", value);
};
template <class Family>
concept TakesFamily = requires(DB& db, WriteBatch& batch, Family family) {
  db.Put(family, "k", "v");
  batch.Put(family, "k", "v");
};
template <class Batch>
concept TakesBatch = requires(DB& db, Batch batch) {
  db.Write(batch);
};

static_assert(TakesValue<PinnedValue&> && !TakesValue<PinnedValue*>);
static_assert(TakesFamily<const ColumnFamily&> && !TakesFamily<const ColumnFamily*>);
static_assert(TakesBatch<const WriteBatch&> && !TakesBatch<const WriteBatch*>);
// A view as a bound could outlive its bytes.
static_assert(!std::is_convertible_v<std::string_view, decltype(ReadOptions::upper_bound)>);
static_assert(std::is_convertible_v<std::optional<std::string>, decltype(ReadOptions::upper_bound)>);

class InterfaceTest : public EngineTest {
 protected:
  Entries ScanAll(const ReadOptions& options) {
    Entries entries;
    ScanRange range = db()->Scan(options);
    for (const auto [key, value] : range) entries.emplace_back(key, value);
    EXPECT_OK(range.status());
    return entries;
  }
};

TEST_F(InterfaceTest, EmptyBracesAreOptions) {
  ASSERT_OK(db()->Put("k", "v"));
  EXPECT_EQ(db()->Get("k", {}).value(), "v");
}

// --- prefix and bounds ---

TEST_F(InterfaceTest, OptionsOutliveTheStringsThatTheyWereMadeFrom) {
  for (const char* key : {"a", "user:1", "user:2", "user;"}) ASSERT_OK(db()->Put(key, "v"));
  const ReadOptions options{.lower_bound = std::string("us") + "er:", .upper_bound = EndOfPrefix("user:")};
  const std::string other(1000, 'z');
  EXPECT_EQ(ScanAll(options), (Entries{{"user:1", "v"}, {"user:2", "v"}}));
}

TEST_F(InterfaceTest, PrefixAndBoundsShowTheKeysThatAreWithinAll) {
  const std::vector<std::string> keys = {"a",   "a\xff", "a\xff\xff", "ab",       "aba",
                                         "abb", "b",     "\xff",      "\xff\xff", "\xff\xff\x01"};
  for (const std::string& key : keys) ASSERT_OK(db()->Put(key, key));
  std::vector<std::optional<std::string>> bounds(keys.begin(), keys.end());
  bounds.push_back(std::nullopt);
  bounds.push_back("");
  bounds.push_back("c");
  for (const std::string& prefix : {std::string(), std::string("a"), std::string("ab"), std::string("a\xff"),
                                    std::string("\xff"), std::string("c"), std::string("abba")}) {
    for (const auto& lower : bounds) {
      for (const auto& upper : bounds) {
        Entries expected;
        for (const std::string& key : keys) {
          if (!key.starts_with(prefix) || (lower && key < *lower) || (upper && key >= *upper)) continue;
          expected.emplace_back(key, key);
        }
        std::sort(expected.begin(), expected.end());
        const ReadOptions options{.prefix = prefix, .lower_bound = lower, .upper_bound = upper};
        ASSERT_EQ(ScanAll(options), expected) << prefix << " " << lower.value_or("-") << " " << upper.value_or("-");
        const std::unique_ptr<Iterator> it = db()->NewIterator(options);
        Entries backward;
        for (it->SeekToLast(); it->Valid(); it->Prev()) backward.emplace_back(it->key(), it->value());
        std::reverse(backward.begin(), backward.end());
        ASSERT_EQ(backward, expected);
      }
    }
  }
}

class ReverseOrder final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.reverse"; }
};

TEST_F(InterfaceTest, APrefixNeedsTheBytewiseOrder) {
  const ReverseOrder reverse;
  const std::shared_ptr<ColumnFamily> family =
      db()->CreateColumnFamily("f", {.comparator = &reverse, .block_bytes = 256}).value();
  ASSERT_OK(db()->Put(*family, "user:1", "v"));
  const ReadOptions options{.prefix = "user:"};
  EXPECT_EQ(db()->Get(*family, "user:1", options).value(), "v");
  ScanRange range = db()->Scan(*family, options);
  for ([[maybe_unused]] const ScanEntry& entry : range) ADD_FAILURE();
  EXPECT_TRUE(absl::IsInvalidArgument(range.status())) << range.status();
  EXPECT_THAT(range.status().ToString(), HasSubstr("test.reverse"));
  database.db.reset();  // before the order
}

// --- MultiGet ---

TEST_F(InterfaceTest, AMultiGetOfUnequalSpansIsRefusedAndFillsNothing) {
  ASSERT_OK(db()->Put("a", "1"));
  const std::vector<std::string_view> keys = {"a", "b"};
  for (const auto& [values, statuses] : {std::pair(1, 2), std::pair(2, 1), std::pair(3, 2), std::pair(0, 0)}) {
    std::vector<PinnedValue> some(static_cast<size_t>(values));
    std::vector<absl::Status> told(static_cast<size_t>(statuses));
    const absl::Status refused = db()->MultiGet(keys, some, told);
    EXPECT_TRUE(absl::IsInvalidArgument(refused));
    EXPECT_EQ(refused.message(), "MultiGet needs a value and a status for each key: 2 keys, " + std::to_string(values) +
                                     " values, " + std::to_string(statuses) + " statuses");
    for (const PinnedValue& value : some) EXPECT_EQ(value.value(), "");
    EXPECT_THAT(told, ::testing::Each(absl::OkStatus()));
  }
}

TEST_F(InterfaceTest, AMultiGetReturnsTheFirstErrorThatIsNotAnAbsentKey) {
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  const std::string first = NumberedKey(0), last = NumberedKey(299);
  const std::vector<std::string_view> keys = {"absent", first, last};
  std::vector<PinnedValue> values(3);
  std::vector<absl::Status> statuses(3);
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .name_contains = ".sst", .sticky = true});
  const absl::Status status = db()->MultiGet(keys, values, statuses);
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_THAT(statuses, ::testing::Contains(status));
  database.files.Clear();
  EXPECT_OK(db()->MultiGet(keys, values, statuses));
  EXPECT_TRUE(absl::IsNotFound(statuses[0]));
  EXPECT_EQ(values[1].value(), db()->Get(first).value());
}

TEST_F(InterfaceTest, AMultiGetOfCopiesSaysOfEachKeyWhatGetSays) {
  Fill(0, 300, 200);
  ASSERT_OK(db()->Flush());
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 150; ++i) names.push_back(NumberedKey(3 * i));  // more than a group, the last ones absent
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const std::vector<absl::StatusOr<std::string>> results = db()->MultiGet(keys);
  ASSERT_EQ(results.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const absl::StatusOr<std::string> one = db()->Get(keys[i]);
    EXPECT_EQ(results[i].status(), one.status());
    EXPECT_EQ(results[i].value_or(""), one.value_or(""));
  }
  EXPECT_TRUE(db()->MultiGet(std::span<const std::string_view>()).empty());
}

// --- scans ---

TEST_F(InterfaceTest, AScanShowsTheSameEntriesInEachLoop) {
  for (const char* key : {"a", "b", "c"}) ASSERT_OK(db()->Put(key, key));
  ScanRange range = db()->Scan({.lower_bound = "b"});
  ASSERT_OK(db()->Put("d", "later"));
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> seen;
    for (auto [key, value] : range) {
      seen.emplace_back(key);
      EXPECT_EQ(key, value);
    }
    EXPECT_THAT(seen, ElementsAre("b", "c"));
    EXPECT_OK(range.status());
  }
  for (auto [key, value] : range) {
    if (key == "b") break;
  }
  EXPECT_OK(range.status());
}

// What is said on standard error while `work` runs.
std::string SaidBy(const std::function<void()>& work) {
  ::testing::internal::CaptureStderr();
  work();
  return ::testing::internal::GetCapturedStderr();
}

TEST_F(InterfaceTest, AnErrorThatEndsAScanAndIsNotReadIsReported) {
  Fill(0, 300);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  const auto scan = [&](bool read_status) {
    database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .name_contains = ".sst", .sticky = true});
    {
      ScanRange range = db()->Scan({.fill_cache = false});
      for ([[maybe_unused]] const ScanEntry& entry : range) {
      }
      if (read_status) {
        EXPECT_TRUE(absl::IsInternal(range.status()));
      }
    }
    database.files.Clear();
  };
#ifndef NDEBUG
  EXPECT_THAT(SaidBy([&] { scan(false); }), HasSubstr("a scan ended with an error that was not read"));
#endif
  EXPECT_EQ(SaidBy([&] { scan(true); }), "");
  EXPECT_EQ(SaidBy([&] {
              for ([[maybe_unused]] const ScanEntry& entry : db()->Scan()) {
              }
            }),
            "")
      << "where there is no error, nothing is reported";
}

TEST_F(InterfaceTest, ALoopThatWasLeftIsNoError) {
  Fill(0, 10);
  EXPECT_EQ(SaidBy([&] {
              ScanRange range = db()->Scan();
              for ([[maybe_unused]] const ScanEntry& entry : range) break;
              ASSERT_OK(db()->Close());
            }),
            "");
}

// --- batches and families of other databases ---

TEST_F(InterfaceTest, ABatchOfAnotherDatabaseIsRefusedByName) {
  const std::unique_ptr<DB> other = Engine::Open(database.options, database.tuning, "/other").value();
  const std::shared_ptr<ColumnFamily> foreign = other->CreateColumnFamily("f").value();
  const std::shared_ptr<ColumnFamily> own = db()->CreateColumnFamily("f").value();
  ASSERT_EQ(foreign->id(), own->id());
  WriteBatch batch;
  batch.Put(*foreign, "k", "v");
  const absl::Status refused = db()->Write(batch);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("/other"));
  EXPECT_THAT(refused.ToString(), HasSubstr("/db"));
  EXPECT_TRUE(absl::IsNotFound(db()->Get(*own, "k").status()));
  EXPECT_OK(other->Write(batch));
  batch.Put(*own, "k", "v");
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(batch)));
  EXPECT_TRUE(absl::IsInvalidArgument(other->Write(batch)));
  batch.Clear();
  batch.Put(other->DefaultColumnFamily(), "k", "v");
  EXPECT_TRUE(absl::IsInvalidArgument(db()->Write(batch)));
  batch.Clear();
  batch.Put("k", "v");
  EXPECT_OK(db()->Write(batch));
  EXPECT_OK(other->Write(batch));
}

TEST_F(InterfaceTest, ABatchMayBeWrittenAfterItsDatabaseWasOpenedAgain) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f").value();
  WriteBatch batch;
  batch.Put(*family, "k", "v");
  ASSERT_OK(database.Reopen());
  EXPECT_OK(db()->Write(batch));
  EXPECT_EQ(db()->Get(*db()->FindColumnFamily("f").value(), "k").value(), "v");
}

// --- properties ---

TEST_F(InterfaceTest, TypedPropertiesAreThoseInText) {
  Fill(0, 500);
  ASSERT_OK(db()->Flush());
  Fill(500, 520);
  for (uint64_t i = 0; i < 40; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
  ASSERT_OK(db()->WaitForBackgroundWork());
  const Properties properties = db()->GetProperties().value();
  const auto number = [&](const char* name) { return NumberProperty(db(), name); };
  EXPECT_EQ(properties.runs, number("sepal.num-runs"));
  EXPECT_EQ(properties.entries, number("sepal.num-entries"));
  EXPECT_EQ(properties.table_bytes, number("sepal.total-table-bytes"));
  EXPECT_EQ(properties.live_bytes, number("sepal.estimated-live-bytes"));
  EXPECT_EQ(properties.memtable_bytes, number("sepal.memtable-bytes"));
  EXPECT_EQ(properties.compaction_debt_bytes, number("sepal.compaction-debt-bytes"));
  EXPECT_EQ(properties.block_cache_bytes, number("sepal.block-cache-bytes"));
  EXPECT_EQ(properties.last_sequence, number("sepal.last-sequence"));
  EXPECT_OK(properties.background_error);
  uint64_t bytes = 0, runs = 0;
  for (int level = 0; level < kMaxLevels; ++level) {
    const LevelProperties& at = properties.levels[static_cast<size_t>(level)];
    EXPECT_EQ(at.tables, NumberProperty(db(), "sepal.num-files-at-level" + std::to_string(level)));
    bytes += at.bytes;
    runs += at.runs;
  }
  EXPECT_EQ(bytes, properties.table_bytes);
  EXPECT_EQ(runs, properties.runs);
  EXPECT_GT(properties.table_bytes, 0u);
}

}  // namespace
}  // namespace sepal
