// Iterators over values that lie in files of their own: they show what they would if the values lay with their keys,
// read many values together, and none where only keys are wanted.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "db/format/value_file.h"
#include "sepal/key_filter.h"
#include "sepal/merge_operator.h"
#include "sepal/transaction.h"
#include "tests/db/engine/first_letter_filter.h"
#include "tests/db/engine/write/separated_values_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using Model = std::map<std::string, std::string>;

class SeparatedScanTest : public SeparatedValuesTest {
 protected:
  const ColumnFamily& family() { return db()->DefaultColumnFamily(); }
  // Keys [0, count), each with a value of `bytes` in a value file.
  void PutLarge(uint64_t count, size_t bytes = 300) {
    for (uint64_t i = 0; i < count; ++i) {
      model[NumberedKey(i)] = Large(std::to_string(i) + "v", bytes);
      ASSERT_OK(db()->Put(NumberedKey(i), model[NumberedKey(i)]));
    }
  }
  // From now on reads of value files are counted.
  void CountReads() {
    reads = 0;
    database.files.SetDecider([this](const FileCall& call) {
      if (call.op == FileOp::kRead && call.name.ends_with(".val")) ++reads;
      return Fault::kNone;
    });
  }
  std::string Scanned(const ReadOptions& options, bool backward, bool keys_only = false) {
    std::string all;
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(), options);
    for (backward ? it->SeekToLast() : it->SeekToFirst(); it->Valid(); backward ? it->Prev() : it->Next()) {
      EXPECT_TRUE(!keys_only || it->value().empty());
      all += std::string(it->key()) + "=" + std::string(it->value()) + "\n";
    }
    return all + (it->status().ok() ? "" : it->status().ToString());
  }
  static std::string TextOf(const Model& of, bool backward, bool keys_only = false) {
    std::string all;
    for (const auto& [key, value] : of) {
      const std::string line = key + "=" + (keys_only ? "" : value) + "\n";
      all = backward ? line + all : all + line;
    }
    return all;
  }
  void ExpectAll(const Model& of, const ReadOptions& options) {
    for (const bool backward : {false, true}) {
      EXPECT_EQ(Scanned(options, backward), TextOf(of, backward));
      ReadOptions keys = options;
      keys.keys_only = true;
      EXPECT_EQ(Scanned(keys, backward, /*keys_only=*/true), TextOf(of, backward, /*keys_only=*/true));
    }
  }

  // Walks over keys [0, count) and seeks past each failure. All are shown but those that fail, which are returned.
  std::vector<uint64_t> WalkPastFailures(uint64_t count, bool backward) {
    std::vector<uint64_t> failed;
    uint64_t shown = 0;
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(), {.fill_cache = false});
    backward ? it->SeekToLast() : it->SeekToFirst();
    for (uint64_t next = backward ? count - 1 : 0; it->Valid() || !it->status().ok(); backward ? --next : ++next) {
      if (it->Valid()) {
        EXPECT_EQ(it->key(), NumberedKey(next));
        EXPECT_EQ(it->value(), model[NumberedKey(next)]);
        ++shown;
        backward ? it->Prev() : it->Next();
      } else {
        EXPECT_THAT(std::string(it->status().message()), HasSubstr(NumberedKey(next)));
        EXPECT_EQ(db()->Get(NumberedKey(next)).status().code(), it->status().code());
        failed.push_back(next);
        backward ? it->SeekForPrev(NumberedKey(next - 1)) : it->Seek(NumberedKey(next + 1));
      }
    }
    EXPECT_EQ(shown + failed.size(), count);
    return failed;
  }

  Model model;
  uint64_t reads = 0;
};

TEST_F(SeparatedScanTest, AScanReadsManyTogetherAndASeekReadsOne) {
  PutLarge(200);
  ASSERT_OK(db()->Flush());
  for (const bool backward : {false, true}) {
    CountReads();
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(), {.fill_cache = false});
    it->Seek(NumberedKey(backward ? 150 : 50));
    EXPECT_LE(std::exchange(reads, 0), 2u);  // the header of the file is read once
    backward ? it->Prev() : it->Next();
    backward ? it->Prev() : it->Next();
    EXPECT_LE(std::exchange(reads, 0), 4u);
    int count = 3;
    for (; it->Valid(); backward ? it->Prev() : it->Next()) {
      EXPECT_EQ(it->value(), model[std::string(it->key())]);
      ++count;
    }
    EXPECT_OK(it->status());
    EXPECT_GE(count, 150);
    EXPECT_LE(reads, 40u);  // some ten for each batch of 64: files are small here
  }
  ExpectAll(model, {});
}

TEST_F(SeparatedScanTest, ValuesThatWereScannedAreInTheCacheIfItIsToBeFilled) {
  PutLarge(100);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Scanned({.fill_cache = false}, false), TextOf(model, false));
  CountReads();
  EXPECT_EQ(Scanned({}, false), TextOf(model, false));
  EXPECT_GT(std::exchange(reads, 0), 0u);
  EXPECT_EQ(Scanned({}, true), TextOf(model, true));
  for (const auto& [key, value] : model) EXPECT_EQ(Value(db(), key), value);
  EXPECT_EQ(reads, 0u);
}

TEST_F(SeparatedScanTest, BoundsEndWhatIsReadAhead) {
  PutLarge(200);
  ASSERT_OK(db()->Flush());
  CountReads();
  const std::string lower = NumberedKey(50), upper = NumberedKey(54);
  Model some(model.lower_bound(lower), model.lower_bound(upper));
  for (const bool backward : {false, true}) {
    reads = 0;
    EXPECT_EQ(Scanned({.fill_cache = false, .lower_bound = lower, .upper_bound = upper}, backward),
              TextOf(some, backward));
    EXPECT_LE(reads, 8u);
  }
}

// A history of all kinds of updates, and walks over what it leaves.
class History {
 public:
  History(TestDatabase* database, uint64_t seed) : database_(*database), random_(seed) {}

  absl::Status Step(Model* model) {
    DB* const db = database_.db.get();
    const std::string key = NumberedKey(random_.Uniform(60));
    switch (random_.Uniform(16)) {
      case 0:
        model->erase(key);
        return db->Delete(key);
      case 1: {
        const std::string end = key + "~";
        model->erase(model->lower_bound(key), model->lower_bound(end));
        return db->DeleteRange(db->DefaultColumnFamily(), key, end);
      }
      case 2: {
        const auto old = model->find(key);
        (*model)[key] = old == model->end() ? "m" : old->second + ",m";
        return db->Merge(key, "m");
      }
      case 3:
        (*model)[key] = Large("expires", 200);
        return db->Put(key, (*model)[key], {.ttl = std::chrono::hours(1)});
      case 4:
        return random_.Uniform(4) == 0 ? db->Flush() : absl::OkStatus();
      case 5:
        return random_.Uniform(16) == 0 ? db->CompactRange(db->DefaultColumnFamily(), {}) : absl::OkStatus();
      case 6:
      case 7:
        (*model)[key] = "small" + std::to_string(random_.Uniform(100));
        return db->Put(key, (*model)[key]);
      default:
        (*model)[key] = Large(std::to_string(random_.Uniform(1000)), 100 + random_.Uniform(900));
        return db->Put(key, (*model)[key]);
    }
  }

  // Steps forward and back, turns and seeks.
  void Walk(Iterator* it, const Model& model, bool keys_only) {
    auto at = model.end();
    const auto back = [&] { at = at == model.begin() ? model.end() : std::prev(at); };
    bool forward = true;
    for (int move = 0; move < 300; ++move) {
      const std::string target = NumberedKey(random_.Uniform(62));
      if (at == model.end() || random_.Uniform(25) == 0) {
        forward = random_.Uniform(2) == 0;
        if (forward) {
          it->Seek(target);
          at = model.lower_bound(target);
        } else {
          it->SeekForPrev(target);
          at = model.upper_bound(target);
          back();
        }
      } else {
        if (random_.Uniform(12) == 0) forward = !forward;
        forward ? it->Next() : it->Prev();
        forward ? (void)++at : back();
      }
      ASSERT_OK(it->status());
      ASSERT_EQ(it->Valid(), at != model.end());
      if (!it->Valid()) continue;
      ASSERT_EQ(it->key(), at->first);
      ASSERT_EQ(it->value(), keys_only ? "" : at->second);
    }
  }

 private:
  TestDatabase& database_;
  Random random_;
};

TEST(SeparatedScanHistoryTest, WalksInBothDirectionsShowWhatWasWrittenUpToTheirMoment) {
  for (uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    TestDatabase database(Threads::kSimulated, seed);
    database.options.family.separate_from = kSeparatedFrom;
    database.options.family.merge_operator = MergeOperators::Append(",");
    ASSERT_OK(database.Open());
    History history(&database, seed);
    Model model, then;
    std::shared_ptr<const Snapshot> snapshot;
    for (int step = 0; step < 600; ++step) {
      ASSERT_OK(history.Step(&model));
      if (step == 300) {
        then = model;
        snapshot = database.db->GetSnapshot();
      }
      if (step % 100 != 99) continue;
      for (const bool keys_only : {false, true}) {
        ReadOptions options{.fill_cache = step % 200 == 99, .keys_only = keys_only};
        history.Walk(database.db->NewIterator(database.db->DefaultColumnFamily(), options).get(), model, keys_only);
        if (snapshot == nullptr) continue;
        options.snapshot = snapshot.get();
        history.Walk(database.db->NewIterator(database.db->DefaultColumnFamily(), options).get(), then, keys_only);
      }
    }
  }
}

TEST_F(SeparatedScanTest, AValueThatCannotBeReadFailsItsPlaceAlone) {
  PutLarge(60);
  ASSERT_OK(db()->Flush());
  const std::string name = Files(FileKind::kValues)[1];
  const uint64_t within = kValueFileHeaderBytes + 5 * 300;
  database.files.SetDecider([&](const FileCall& call) {
    const bool covers =
        call.op == FileOp::kRead && call.name == name && call.offset <= within && call.offset + call.length > within;
    return covers ? Fault::kIoError : Fault::kNone;
  });
  const std::vector<uint64_t> failed = WalkPastFailures(60, /*backward=*/false);
  EXPECT_EQ(failed.size(), 1u);
  EXPECT_EQ(WalkPastFailures(60, /*backward=*/true), failed);
  EXPECT_EQ(Scanned({.fill_cache = false, .keys_only = true}, false, true), TextOf(model, false, true));
}

TEST_F(SeparatedScanTest, ADamagedValueAmongThoseThatAreReadTogetherFailsItsPlaceAlone) {
  PutLarge(60);
  ASSERT_OK(db()->Flush());
  const std::string name = Files(FileKind::kValues)[1];
  ASSERT_OK(database.memory.FlipBit("/db/" + name, kValueFileHeaderBytes + 5 * 300 + 7, 3));
  const std::vector<uint64_t> failed = WalkPastFailures(60, /*backward=*/false);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_TRUE(absl::IsDataLoss(db()->Get(NumberedKey(failed[0])).status()));
  EXPECT_EQ(WalkPastFailures(60, /*backward=*/true), failed);
}

TEST_F(SeparatedScanTest, AReadAheadThatFailsIsNotSeen) {
  PutLarge(100);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Scanned({.fill_cache = false}, false), TextOf(model, false));  // headers are read
  // The reads of single values go well, those of several fail, or end early.
  database.files.SetDecider([&](const FileCall& call) {
    return call.op == FileOp::kRead && call.name.ends_with(".val") && call.length > 300 ? Fault::kIoError
                                                                                        : Fault::kNone;
  });
  ExpectAll(model, {.fill_cache = false});
}

TEST_F(SeparatedScanTest, AFailureOfATableBehindAnEntryIsToldWhenItsTurnHasCome) {
  PutLarge(120);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  ASSERT_OK(database.Reopen());
  for (const bool backward : {false, true}) {
    uint64_t left = 6;
    database.files.SetDecider([&left](const FileCall& call) {
      if (call.op != FileOp::kRead || !call.name.ends_with(".sst")) return Fault::kNone;
      return left == 0 ? Fault::kIoError : (--left, Fault::kNone);
    });
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(), {.fill_cache = false});
    uint64_t shown = 0;
    for (backward ? it->SeekToLast() : it->SeekToFirst(); it->Valid(); backward ? it->Prev() : it->Next()) {
      EXPECT_EQ(it->key(), NumberedKey(backward ? 119 - shown : shown));
      EXPECT_EQ(it->value(), model[std::string(it->key())]);
      EXPECT_OK(it->status());
      ++shown;
    }
    database.files.Clear();
    if (it->status().ok()) continue;  // all of it was read by then
    EXPECT_GT(shown, 0u);
    it->Seek(NumberedKey(60));
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->value(), model[NumberedKey(60)]);
  }
}

TEST_F(SeparatedScanTest, KeysAloneReadNoValue) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  ASSERT_OK(database.Reopen());
  PutLarge(50);
  ASSERT_OK(db()->Merge(NumberedKey(3), "m"));
  ASSERT_OK(db()->Merge("none", "m"));
  ASSERT_OK(db()->Put("expires", Large("e"), {.ttl = std::chrono::hours(1)}));
  ASSERT_OK(db()->Put("inline", "small"));
  ASSERT_OK(db()->Delete(NumberedKey(4)));
  ASSERT_OK(db()->DeleteRange(family(), NumberedKey(10), NumberedKey(20)));
  model.erase(NumberedKey(4));
  model.erase(model.find(NumberedKey(10)), model.find(NumberedKey(20)));
  for (const char* key : {"none", "expires", "inline"}) model[key] = "";
  for (int round = 0; round < 3; ++round) {
    if (round == 1) ASSERT_OK(db()->Flush());
    if (round == 2) ASSERT_OK(Compact());
    CountReads();
    for (const bool backward : {false, true}) {
      EXPECT_EQ(Scanned({.keys_only = true}, backward, true), TextOf(model, backward, true));
      const auto transaction = db()->BeginTransaction({});
      ASSERT_OK((*transaction)->Put("inline", Large("i")));
      ASSERT_OK((*transaction)->Merge(NumberedKey(7), "m"));
      ASSERT_OK((*transaction)->Delete(NumberedKey(8)));
      Model own = model;
      own.erase(NumberedKey(8));
      const std::unique_ptr<Iterator> it = (*transaction)->NewIterator(family(), {.keys_only = true});
      std::string keys;
      for (backward ? it->SeekToLast() : it->SeekToFirst(); it->Valid(); backward ? it->Prev() : it->Next()) {
        EXPECT_EQ(it->value(), "");
        keys += std::string(it->key()) + "=\n";
      }
      EXPECT_OK(it->status());
      EXPECT_EQ(keys, TextOf(own, backward, true));
    }
    EXPECT_EQ(reads, 0u);
  }
  database.clock->Jump(2 * 3600 * 1000);
  model.erase("expires");
  EXPECT_EQ(Scanned({.keys_only = true}, false, true), TextOf(model, false, true));
  // Gets are not concerned.
  EXPECT_EQ(db()->Get(family(), NumberedKey(5), {.keys_only = true}).value_or("?"), model[NumberedKey(5)]);
}

TEST_F(SeparatedScanTest, AFilterOfCompactionsIsAskedWithTheValueAlsoWhereKeysAloneAreWanted) {
  database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
  ASSERT_OK(database.Reopen());
  for (uint64_t i = 0; i < 40; ++i) {
    const std::string value = Large(i % 3 == 0 ? "a" : "b");
    ASSERT_OK(db()->Put(NumberedKey(i), value));
    if (i % 3 != 0) model[NumberedKey(i)] = value;
  }
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->SetFilterEpoch(family(), "a"));
  ExpectAll(model, {});
}

class EveryThird final : public KeyFilter {
 public:
  bool MayContain(std::string_view key) const override { return (key.back() - '0') % 3 == 0; }
};

TEST_F(SeparatedScanTest, ValuesOfKeysThatAKeyFilterLeavesOutAreNotRead) {
  PutLarge(100);
  ASSERT_OK(db()->Flush());
  const EveryThird filter;
  Model wanted;
  for (const auto& [key, value] : model) {
    if (filter.MayContain(key)) wanted[key] = value;
  }
  uint64_t bytes = 0;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kRead && call.name.ends_with(".val")) bytes += call.length;
    return Fault::kNone;
  });
  for (const bool backward : {false, true}) {
    bytes = 0;
    EXPECT_EQ(Scanned({.fill_cache = false, .key_filter = &filter}, backward), TextOf(wanted, backward));
    EXPECT_LE(bytes, wanted.size() * 300 + 64 * Files(FileKind::kValues).size());
  }
  ExpectAll(wanted, {.key_filter = &filter});
}

TEST_F(SeparatedScanTest, AKeyThatExpiresAfterTheOneBeforeItWasShownIsNotShown) {
  for (const bool backward : {false, true}) {
    PutLarge(40);
    for (const uint64_t i : {11, 19, 29}) {
      ASSERT_OK(db()->Put(NumberedKey(i), Large("short"), {.ttl = std::chrono::hours(1)}));
      model.erase(NumberedKey(i));
    }
    const std::unique_ptr<Iterator> it = db()->NewIterator(family(), {});
    std::string keys;
    int count = 0;
    for (backward ? it->SeekToLast() : it->SeekToFirst(); it->Valid(); backward ? it->Prev() : it->Next()) {
      if (++count == 8) database.clock->Jump(2 * 3600 * 1000);
      keys += std::string(it->key()) + "=\n";
    }
    EXPECT_OK(it->status());
    EXPECT_EQ(keys, TextOf(model, backward, true));
  }
}

TEST_F(SeparatedScanTest, WindowsAreOfTheReadAheadPoolAndOthersMayTakeThem) {
  constexpr size_t kLimit = size_t{8} << 20;
  database.tuning.memtable_bytes = size_t{512} << 10;
  database.tuning.memtable_limit_bytes = size_t{1} << 20;
  database.tuning.value_file_bytes = size_t{1} << 20;
  database.options.memory_limit = kLimit;
  ASSERT_OK(database.Reopen());
  PutLarge(1500, 4000);
  ASSERT_OK(db()->Flush());
  std::vector<std::unique_ptr<Iterator>> cursors;
  for (uint64_t i = 0; i < 60; ++i) {
    cursors.push_back(db()->NewIterator(family(), {.fill_cache = false}));
    cursors.back()->Seek(NumberedKey(i * 20));
    for (int step = 0; step < 100; ++step) cursors.back()->Next();
    ASSERT_TRUE(cursors.back()->Valid());
  }
  EXPECT_GT(database.Metrics().MemoryBytes(MemoryPart::kReadAhead), 0u);
  EXPECT_LE(database.Metrics().MemoryBytes(MemoryPart::kReadAhead), kLimit / 16);
  for (int step = 101; step < 150; ++step) {
    for (uint64_t i = 0; i < cursors.size(); ++i) {
      cursors[i]->Next();
      ASSERT_TRUE(cursors[i]->Valid()) << cursors[i]->status();
      ASSERT_EQ(cursors[i]->value(), model[NumberedKey(i * 20 + static_cast<uint64_t>(step))]);
    }
  }
  cursors.clear();
  EXPECT_EQ(database.Metrics().MemoryBytes(MemoryPart::kReadAhead), 0u);
}

TEST_F(SeparatedScanTest, LargeValuesThatIteratorsStandAtAreWithinTheLimitOrRefused) {
  constexpr size_t kLimit = size_t{8} << 20;
  database.options.memory_limit = kLimit;
  ASSERT_OK(database.Reopen());
  PutLarge(20, 600'000);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Scanned({}, false), TextOf(model, false));
  std::vector<std::unique_ptr<Iterator>> cursors;
  absl::Status refused;
  while (refused.ok() && cursors.size() < 50) {
    cursors.push_back(db()->NewIterator(family(), {}));
    cursors.back()->Seek(NumberedKey(cursors.size() % 20));
    refused = cursors.back()->status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("memory_limit"));
  EXPECT_LE(database.Metrics().MemoryBytes(MemoryPart::kPins), kLimit);
  cursors.resize(1);
  const std::unique_ptr<Iterator> it = db()->NewIterator(family(), {});
  it->Seek(NumberedKey(7));
  ASSERT_TRUE(it->Valid()) << it->status();
  EXPECT_EQ(it->value(), model[NumberedKey(7)]);
}

TEST_F(SeparatedScanTest, AnIteratorThatOutlivesTheDatabaseKeepsTheValueItStandsAt) {
  PutLarge(30);
  const std::unique_ptr<Iterator> it = db()->NewIterator(family(), {});
  it->SeekToFirst();
  for (int i = 0; i < 9; ++i) it->Next();
  ASSERT_OK(db()->Close());
  EXPECT_EQ(it->value(), model[NumberedKey(9)]);
  database.db.reset();
  EXPECT_EQ(it->value(), model[NumberedKey(9)]);
  it->Next();
  EXPECT_FALSE(it->Valid());
}

// The flags with which this process has files of the name's ending open.
std::set<int> FlagsOf(std::string_view ending) {
  std::set<int> flags;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry, error).string();
    if (!error && target.ends_with(ending)) flags.insert(::fcntl(std::stoi(entry.path().filename()), F_GETFL));
  }
  return flags;
}

TEST(SeparatedDirectReadsTest, ValueFilesAreReadAsTablesAre) {
  const std::string path = std::filesystem::temp_directory_path() / ("sepal_values_" + std::to_string(::getpid()));
  Options options;
  options.create_if_missing = true;
  options.direct_reads = true;
  options.family.separate_from = kSeparatedFrom;
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path);
  if (absl::IsUnimplemented(db.status())) GTEST_SKIP() << db.status();
  ASSERT_OK(db.status());
  // Also while the file is written to.
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_OK((*db)->Put(NumberedKey(i), Large(std::to_string(i), 1000 + i)));
    EXPECT_EQ((*db)->Get(NumberedKey(i)).value_or("?"), Large(std::to_string(i), 1000 + i));
  }
  db->reset();
  db = DB::Open(options, path);
  ASSERT_OK(db.status());
  uint64_t count = 0;
  ScanRange range = (*db)->Scan();
  for (const auto& [key, value] : range) {
    EXPECT_EQ(value, Large(std::to_string(count), 1000 + count));
    ++count;
  }
  EXPECT_OK(range.status());
  EXPECT_EQ(count, 100u);
  for (const int flags : FlagsOf(".val")) EXPECT_EQ(flags & O_DIRECT, O_DIRECT);
  EXPECT_FALSE(FlagsOf(".val").empty());
  db->reset();
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace sepal
