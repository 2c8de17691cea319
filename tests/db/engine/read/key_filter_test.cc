// Reads that ask a filter of the caller about each key, filters of a database's keys, and how many keys there are.
#include "sepal/key_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/engine/read/key_sieve.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

// Exactly a set of keys, and how often it was asked.
class WantedKeys final : public KeyFilter {
 public:
  bool MayContain(std::string_view key) const override {
    ++asked;
    return keys.contains(std::string(key));
  }
  std::set<std::string> keys;
  mutable uint64_t asked = 0;
};

TEST(KeySieveTest, AFilterThatLeavesOutManyIsAskedAboutEachKey) {
  WantedKeys wanted;
  for (int i = 0; i < 10'000; i += 10) wanted.keys.insert(std::to_string(i));
  KeySieve sieve(&wanted);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(sieve.Passes(std::to_string(i)), i % 10 == 0);
  EXPECT_EQ(wanted.asked, 10'000u);
}

TEST(KeySieveTest, ManyKeysAtOnceHaveTheAnswersOfEach) {
  const filters::BloomFilter bloom = [] {
    filters::BloomFilter filter = filters::BloomFilter::ForKeys(1000, 0.3).value();
    for (int i = 0; i < 1000; ++i) filter.Add(std::to_string(i));
    return filter;
  }();
  WantedKeys wanted;
  for (int i = 0; i < 2000; i += 7) wanted.keys.insert(std::to_string(i));
  const KeyFilterOf<filters::BloomFilter> of_bloom(bloom);
  for (const KeyFilter* const filter :
       {static_cast<const KeyFilter*>(&of_bloom), static_cast<const KeyFilter*>(&wanted)}) {
    KeySieve sieve(filter);
    for (size_t count = 1; count <= KeySieve::kMany; ++count) {
      std::vector<std::string> names;
      for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(900 + count + i * 13));
      const std::vector<std::string_view> keys(names.begin(), names.end());
      const uint64_t passing = sieve.PassMany(keys);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ((passing >> i & 1) != 0, filter->MayContain(keys[i])) << keys[i];
      EXPECT_EQ(count == KeySieve::kMany ? 0 : passing >> count, 0u);
    }
  }
}

TEST(KeySieveTest, AFilterThatLeavesOutNothingIsAskedSeldomAndHeardAgain) {
  WantedKeys wanted;
  for (int i = 0; i < 50'000; ++i) wanted.keys.insert(std::to_string(i));
  KeySieve sieve(&wanted);
  for (int i = 0; i < 50'000; ++i) EXPECT_TRUE(sieve.Passes(std::to_string(i)));
  EXPECT_LT(wanted.asked, 50'000u / 200);
  EXPECT_GT(wanted.asked, 50'000u / 300);
  // From here on it leaves out all of them.
  uint64_t passed = 0;
  for (int i = 50'000; i < 70'000; ++i) passed += sieve.Passes(std::to_string(i)) ? 1 : 0;
  EXPECT_LE(passed, KeySieve::kUnasked);
}

class KeyFilterTest : public EngineTest {
 protected:
  // Half in tables of two levels, half in the memtable; every third key deleted.
  void FillSome(uint64_t count) {
    Fill(0, count / 2);
    ASSERT_OK(db()->CompactRange());
    Fill(count / 4, count * 3 / 4);
    ASSERT_OK(db()->Flush());
    Fill(count * 3 / 4, count);
    for (uint64_t i = 0; i < count; i += 3) ASSERT_OK(db()->Delete(NumberedKey(i)));
  }
  std::map<std::string, std::string> Shown(const ReadOptions& options, bool backward = false) {
    std::map<std::string, std::string> shown;
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    for (backward ? it->SeekToLast() : it->SeekToFirst(); it->Valid(); backward ? it->Prev() : it->Next()) {
      EXPECT_TRUE(shown.emplace(it->key(), it->value()).second);
    }
    EXPECT_OK(it->status());
    return shown;
  }
};

TEST_F(KeyFilterTest, ScansShowWhatItWantsBothWaysAndWithinBounds) {
  ASSERT_NO_FATAL_FAILURE(FillSome(2000));
  WantedKeys wanted;
  for (uint64_t i = 0; i < 2500; i += 7) wanted.keys.insert(NumberedKey(i));
  for (const bool bounded : {false, true}) {
    ReadOptions options;
    if (bounded) {
      options.lower_bound = NumberedKey(300);
      options.upper_bound = NumberedKey(1700);
    }
    std::map<std::string, std::string> expected = Shown(options);
    std::erase_if(expected, [&](const auto& entry) { return !wanted.keys.contains(entry.first); });
    EXPECT_GT(expected.size(), 100u);
    options.key_filter = &wanted;
    EXPECT_EQ(Shown(options), expected);
    EXPECT_EQ(Shown(options, /*backward=*/true), expected);
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    it->Seek(NumberedKey(701));
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), expected.lower_bound(NumberedKey(701))->first);
    it->Prev();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), std::prev(expected.lower_bound(NumberedKey(701)))->first);
    it->SeekForPrev(NumberedKey(701));
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), std::prev(expected.lower_bound(NumberedKey(701)))->first);
  }
}

// Walks at random from a random key, beside the entries that are to be shown. A filter that is asked less where it
// leaves out little may show more.
void WalkBeside(Iterator* it, const std::map<std::string, std::string>& expected, Random* random) {
  const std::string start = NumberedKey(random->Uniform(4000));
  it->Seek(start);
  auto at = expected.lower_bound(start);
  for (int step = 0; step < 60; ++step) {
    ASSERT_EQ(it->Valid(), at != expected.end());
    if (at == expected.end()) break;
    ASSERT_EQ(it->key(), at->first);
    ASSERT_EQ(it->value(), at->second);
    if (random->Uniform(5) > 0) {
      it->Next();
      ++at;
    } else if (at == expected.begin()) {
      it->Prev();
      at = expected.end();
    } else {
      it->Prev();
      --at;
    }
  }
  ASSERT_OK(it->status());
}

// Of one run of plain blocks, which are asked about by many keys at once, and of a few updates over it.
TEST_F(KeyFilterTest, CompactedTablesAreSievedAsAnyOthers) {
  Random random(3);
  Fill(0, 4000);
  ASSERT_OK(db()->CompactRange());
  for (const bool updated : {false, true}) {
    for (uint64_t i = 500; updated && i < 4000; i += 401) {
      ASSERT_OK(i % 2 == 0 ? db()->Delete(NumberedKey(i)) : db()->Put(NumberedKey(i), "new"));
    }
    const std::map<std::string, std::string> all = Shown({});
    for (const uint64_t one_in : {2, 3, 10, 63, 64, 65, 500, 10'000}) {
      WantedKeys wanted;
      for (uint64_t i = random.Uniform(one_in); i < 4000; i += 1 + random.Uniform(2 * one_in - 1)) {
        wanted.keys.insert(NumberedKey(i));
      }
      ReadOptions options{.key_filter = &wanted};
      if (random.Uniform(2) == 0) options.lower_bound = NumberedKey(random.Uniform(1000));
      if (random.Uniform(2) == 0) options.upper_bound = NumberedKey(1000 + random.Uniform(3000));
      std::map<std::string, std::string> expected;
      for (const auto& [key, value] : all) {
        const bool within =
            key >= options.lower_bound.value_or("") && (!options.upper_bound.has_value() || key < *options.upper_bound);
        if (within && wanted.keys.contains(key)) expected.emplace(key, value);
      }
      EXPECT_EQ(Shown(options), expected) << one_in;
      EXPECT_LE(wanted.asked, 4000u);
      EXPECT_EQ(Shown(options, /*backward=*/true), expected) << one_in;
      const std::unique_ptr<Iterator> it = db()->NewIterator(options);
      for (int walk = 0; walk < 40; ++walk) {
        ASSERT_NO_FATAL_FAILURE(WalkBeside(it.get(), expected, &random)) << one_in << ", walk " << walk;
      }
    }
  }
}

TEST_F(KeyFilterTest, OneKeyThatIsLookedForIsNotAWholeBlockOfQuestions) {
  Fill(0, 4000);
  ASSERT_OK(db()->CompactRange());
  WantedKeys wanted;
  wanted.keys.insert(NumberedKey(1234));
  const std::unique_ptr<Iterator> it = db()->NewIterator({.key_filter = &wanted});
  it->Seek(NumberedKey(1234));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), NumberedKey(1234));
  EXPECT_LE(wanted.asked, 4u);
}

TEST_F(KeyFilterTest, MultiGetFindsWhatItWantsAndLooksForNothingElse) {
  ASSERT_NO_FATAL_FAILURE(FillSome(2000));
  WantedKeys wanted;
  for (uint64_t i = 0; i < 2000; i += 10) wanted.keys.insert(NumberedKey(i));
  std::vector<std::string> names;
  for (uint64_t i = 0; i < 2000; ++i) names.push_back(NumberedKey(i * 7919 % 2000));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  const uint64_t before = db()->statistics().Get(Ticker::kMultiGetKeys);
  ASSERT_OK(db()->MultiGet(keys, values, statuses, {.key_filter = &wanted}));
  EXPECT_EQ(db()->statistics().Get(Ticker::kMultiGetKeys), before + 200);
  for (size_t i = 0; i < keys.size(); ++i) {
    const absl::StatusOr<std::string> alone = db()->Get(keys[i]);
    const bool found = alone.ok() && wanted.keys.contains(names[i]);
    EXPECT_EQ(statuses[i].ok(), found) << keys[i];
    EXPECT_EQ(values[i].value(), found ? *alone : "") << keys[i];
    EXPECT_TRUE(found || absl::IsNotFound(statuses[i])) << statuses[i];
  }
  // Keys that lie in the values of the call before.
  ASSERT_OK(db()->Put("a", NumberedKey(10)));
  ASSERT_OK(db()->Put(NumberedKey(10), "there"));
  wanted.keys.insert("a");
  std::vector<PinnedValue> one(1);
  ASSERT_OK(
      db()->MultiGet(std::vector<std::string_view>{"a"}, one, std::span(statuses).first(1), {.key_filter = &wanted}));
  ASSERT_OK(db()->MultiGet(std::vector<std::string_view>{one[0].value()}, one, std::span(statuses).first(1),
                           {.key_filter = &wanted}));
  EXPECT_EQ(one[0].value(), "there");
  // A call that is refused says so of each key.
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->MultiGet(keys, values, statuses, {.key_filter = &wanted})));
  for (const absl::Status& status : statuses) EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(KeyFilterTest, AnExportedFilterHasEveryLiveKeyAndFewOthers) {
  ASSERT_NO_FATAL_FAILURE(FillSome(6000));
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->Put(NumberedKey(9000), "later"));
  for (const filters::BloomLayout layout :
       {filters::BloomLayout::kClassic, filters::BloomLayout::kBlocked, filters::BloomLayout::kPartitioned}) {
    const auto filter =
        db()->ExportFilter({.false_positive_rate = 0.01, .layout = layout, .seed = 5}, {.snapshot = snapshot.get()});
    ASSERT_OK(filter.status());
    // A third is deleted, so that the estimate was too high by half.
    EXPECT_EQ(filter->keys(), 4000u);
    EXPECT_LT(filter->shape().KeysAt(0.01), 4800u);
    EXPECT_EQ(filter->seed(), 5u);
    for (uint64_t i = 0; i < 6000; ++i) {
      ASSERT_TRUE(i % 3 == 0 || filter->MayContain(NumberedKey(i)));
    }
    int wrong = 0;
    for (uint64_t i = 100'000; i < 120'000; ++i) wrong += filter->MayContain(NumberedKey(i)) ? 1 : 0;
    EXPECT_LT(wrong, 260);
    EXPECT_GT(wrong, 80);
  }
  const auto now = db()->ExportFilter();
  ASSERT_OK(now.status());
  EXPECT_TRUE(now->MayContain(NumberedKey(9000)));
  const auto few = db()->ExportFilter({}, {.lower_bound = NumberedKey(10), .upper_bound = NumberedKey(40)});
  ASSERT_OK(few.status());
  EXPECT_EQ(few->keys(), 20u);
}

TEST_F(KeyFilterTest, AnExportedFilterOfNothingAdmitsNothing) {
  const auto filter = db()->ExportFilter();
  ASSERT_OK(filter.status());
  EXPECT_EQ(filter->keys(), 0u);
  EXPECT_FALSE(filter->MayContain("k"));
}

TEST_F(KeyFilterTest, AFilterThatCannotBeIsRefused) {
  Fill(0, 1000);
  for (const double rate : {0.0, 1.0, -1.0}) {
    const absl::Status refused = db()->ExportFilter({.false_positive_rate = rate}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  }
  // Values that are pinned leave no room.
  std::vector<PinnedValue> pins(6);
  for (size_t i = 0; i < pins.size(); ++i) {
    ASSERT_OK(db()->Put("large" + std::to_string(i), std::string(database.options.memory_limit / 5, 'l')));
    ASSERT_OK(db()->Flush());
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  for (size_t i = 0; i < pins.size(); ++i) ASSERT_OK(db()->Get("large" + std::to_string(i), pins[i]));
  const absl::Status refused = db()->ExportFilter().status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("memory_limit"));
  pins.clear();
  EXPECT_OK(db()->ExportFilter().status());
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->ExportFilter().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->ApproximateDistinct().status()));
}

// Within four standard errors.
void ExpectAbout(const absl::StatusOr<double>& estimate, double keys) {
  ASSERT_OK(estimate.status());
  EXPECT_NEAR(*estimate, keys, 4 * 0.033 * keys + 1);
}

TEST_F(KeyFilterTest, DifferentKeysAreCountedOnceWhereverTheirVersionsLie) {
  ExpectAbout(db()->ApproximateDistinct(), 0);
  for (int round = 0; round < 3; ++round) {
    Fill(0, 3000);
    ASSERT_OK(db()->Flush());
  }
  Fill(1500, 4000);
  ExpectAbout(db()->ApproximateDistinct(), 4000);
  const std::string first = NumberedKey(1000), last = NumberedKey(2000);
  ExpectAbout(db()->ApproximateDistinct(Range{.begin = first, .end = last}), 1000);
  ExpectAbout(db()->ApproximateDistinct(Range{.begin = last, .end = first}), 0);
  // The sketches of an earlier opening are read.
  ASSERT_OK(database.Reopen());
  ExpectAbout(db()->ApproximateDistinct(), 4000);
  ASSERT_OK(db()->CompactRange());
  ExpectAbout(db()->ApproximateDistinct(Range{.begin = first, .end = last}), 1000);
}

class CaseBlind final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return Lower(a).compare(Lower(b)); }
  std::string_view Name() const override { return "test.case-blind"; }
  bool EqualMeansIdentical() const override { return false; }

 private:
  static std::string Lower(std::string_view s) {
    std::string lower(s);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
  }
};

TEST_F(KeyFilterTest, WhereEqualKeysMayDifferInBytesThereIsAFilterAndNoEstimate) {
  static const CaseBlind order;
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {.comparator = &order}).value();
  for (int i = 0; i < 100; ++i) ASSERT_OK(db()->Put(*family, "Key" + std::to_string(i), "v"));
  const absl::Status refused = db()->ApproximateDistinct(*family).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("test.case-blind"));
  const auto filter = db()->ExportFilter(*family);
  ASSERT_OK(filter.status());
  EXPECT_EQ(filter->keys(), 100u);
  EXPECT_TRUE(filter->MayContain("Key7"));
}

}  // namespace
}  // namespace sepal
