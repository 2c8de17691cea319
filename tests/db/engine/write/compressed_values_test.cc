// Values in files of their own that are compressed: users see the value and its own size everywhere, files and their
// space have what is stored, and the manifest says so before the first one is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "db/format/stored_value.h"
#include "db/format/value_file.h"
#include "sepal/context_filter.h"
#include "tests/db/engine/write/separated_values_fixture.h"
#include "tests/noise.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CompressedValuesTest : public SeparatedValuesTest {
 protected:
  void SetUp() override {
    compression = CompressionKind::kLz4;
    SeparatedValuesTest::SetUp();
  }
  // Whether the manifests say that there are compressed values.
  bool SaysCompressed(std::string_view directory = "/db") {
    bool says = false;
    for (const std::string& name : FilesIn(&database.memory, directory)) {
      if (!name.starts_with("MANIFEST")) continue;
      const std::string bytes = database.memory.ReadFileContents(std::string(directory) + "/" + name).value();
      says = says || bytes.find("\x18\x02\xa0\x01") != std::string::npos;  // features 32 and 128
    }
    return says;
  }
  uint64_t Count(Ticker ticker) { return db()->statistics().Get(ticker); }
};

size_t StoredBytesOf(CompressionKind codec, std::string_view value) {
  return CompressedValue(codec, value).stored().bytes.size();
}

TEST_F(CompressedValuesTest, UsersSeeTheValueAndItsOwnSizeWhereverItLies) {
  std::map<std::string, std::string> model;
  for (uint64_t i = 0; i < 60; ++i) {
    const size_t bytes = 40 + 90 * i;
    model[NumberedKey(i)] = i % 4 == 1 ? NoiseOf(i, bytes) : PatternOf(i, bytes);
  }
  model["large"] = PatternOf(7, 600'000);
  for (const auto& [key, value] : model) ASSERT_OK(db()->Put(key, value));
  const auto check = [&](std::string_view when) {
    SCOPED_TRACE(when);
    std::vector<std::string_view> keys;
    for (const auto& [key, value] : model) {
      keys.push_back(key);
      EXPECT_EQ(Value(db(), key), value);
      EXPECT_TRUE(db()->KeyMayExist(db()->DefaultColumnFamily(), key, {}));
      std::string part(30, '\0');
      const absl::StatusOr<ValuePart> read = db()->ReadValue(key, value.size() - 35, part);
      ASSERT_OK(read.status());
      EXPECT_EQ(read->value_bytes, value.size());
      EXPECT_EQ(part, value.substr(value.size() - 35, 30));
      EXPECT_EQ(db()->ReadValue(key, value.size(), part).value().copied, 0u);
      EXPECT_EQ(db()->ExplainGet(db()->DefaultColumnFamily(), key, {}).value().value_bytes, value.size());
    }
    const auto values = db()->MultiGet(db()->DefaultColumnFamily(), keys, {});
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(values[i].value_or("?"), model[std::string(keys[i])]);
    const Entries all(model.begin(), model.end());
    EXPECT_EQ(ReadAll(db()->NewIterator().get()), all);
    Entries backward;
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    for (it->SeekToLast(); it->Valid(); it->Prev()) backward.emplace_back(it->key(), it->value());
    EXPECT_EQ(backward, Entries(model.rbegin(), model.rend()));
    EXPECT_EQ(ReadAll(db()->NewIterator({.keys_only = true}).get()).size(), model.size());
    EXPECT_OK(db()->VerifyChecksums({}));
    EXPECT_OK(db()->CheckConsistency());
  };
  check("memtable");
  ASSERT_OK(db()->Flush());
  check("table");
  ASSERT_OK(Compact());
  check("compacted");
  ASSERT_OK(database.Reopen());
  check("opened");
  model["late"] = PatternOf(9, 900);
  ASSERT_OK(db()->Put("late", model["late"], {.sync = true}));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  check("after a loss of power");
  auto view = database.OpenReadOnly();
  ASSERT_OK(view.status());
  EXPECT_EQ(ReadAll((*view)->NewIterator().get()), Entries(model.begin(), model.end()));
}

TEST_F(CompressedValuesTest, FilesAndTheirCountersHaveWhatIsStored) {
  const std::string pattern = PatternOf(1, 8000), noise = NoiseOf(2, 3000);
  ASSERT_OK(db()->Put("pattern", pattern));
  ASSERT_OK(db()->Put("noise", noise));
  const uint64_t stored = StoredBytesOf(compression, pattern) + noise.size();
  ASSERT_LT(stored, 3200u);
  EXPECT_EQ(Count(Ticker::kValueBytes), stored);
  EXPECT_EQ(Count(Ticker::kBytesWritten), 7 + 5 + pattern.size() + noise.size());
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  EXPECT_EQ(BytesOf(FileKind::kValues), kValueFileHeaderBytes + stored);
  ASSERT_OK(database.Open());
  EXPECT_THAT(db()->GetProperty("sepal.values").value(), HasSubstr("tables refer to 3.0 KiB"));
}

TEST_F(CompressedValuesTest, TheManifestSaysSoBeforeTheFirstIsWrittenAndNotBeforeThat) {
  ASSERT_OK(db()->Put("a", NoiseOf(1, 1000)));
  ASSERT_OK(db()->Put("b", "short"));
  ASSERT_OK(Compact());
  EXPECT_FALSE(SaysCompressed());
  // Where it cannot say so, none is written.
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kAppend, .name_contains = "MANIFEST"});
  const uint64_t bytes = Count(Ticker::kValueBytes);
  EXPECT_FALSE(db()->Put("c", PatternOf(1, 1000)).ok());
  EXPECT_EQ(Count(Ticker::kValueBytes), bytes);
  database.files.Clear();
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(Value(db(), "c"), "NOT_FOUND");
  database.files.SetTracing(true);
  ASSERT_OK(db()->Put("c", PatternOf(1, 1000)));
  const std::string trace = database.files.TakeTrace();
  database.files.SetTracing(false);
  EXPECT_TRUE(SaysCompressed());
  const size_t manifest = trace.find("MANIFEST"), value = trace.find(".val");
  ASSERT_NE(manifest, std::string::npos);
  ASSERT_NE(value, std::string::npos);
  EXPECT_LT(manifest, value) << trace;
  // A new manifest says so too, and so does a copy.
  for (int i = 0; i < 300; ++i) ASSERT_OK(db()->CreateColumnFamily("f" + std::to_string(i), {}).status());
  ASSERT_OK(db()->Checkpoint("/copy", {}));
  ASSERT_OK(database.Reopen());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(db(), "c"), PatternOf(1, 1000));
  const auto says = [&](std::string_view directory) {
    bool all = true;
    for (const std::string& name : FilesIn(&database.memory, directory)) {
      if (!name.starts_with("MANIFEST")) continue;
      const std::string contents = database.memory.ReadFileContents(std::string(directory) + "/" + name).value();
      all = all && contents.find("\x18\x02\xa0\x01") != std::string::npos;
    }
    return all;
  };
  EXPECT_TRUE(says("/db"));
  EXPECT_TRUE(says("/copy"));
}

TEST_F(CompressedValuesTest, ADatabaseWithoutACodecHasNone) {
  database.options.family.compression = CompressionKind::kNone;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("a", PatternOf(1, 1000)));
  ASSERT_OK(db()->Flush());
  EXPECT_FALSE(SaysCompressed());
  EXPECT_EQ(Count(Ticker::kValueBytes), 1000u);
  // And gets one, and loses it: what was written stays as it is.
  for (const CompressionKind codec : {CompressionKind::kZstd, CompressionKind::kNone, CompressionKind::kSnappy}) {
    database.options.family.compression = codec;
    ASSERT_OK(database.Reopen());
    ASSERT_OK(db()->Put("codec" + std::to_string(static_cast<int>(codec)), PatternOf(2, 1000)));
    EXPECT_EQ(Count(Ticker::kValueBytes), StoredBytesOf(codec, PatternOf(2, 1000)));
  }
  ASSERT_OK(Compact());
  EXPECT_EQ(Scan(false), "a=1:bbbb codec0=2:cccc codec1=2:cccc codec3=2:cccc ");
}

TEST_F(CompressedValuesTest, AStreamIsStoredAsItIs) {
  database.tuning.streamed_from = 1000;
  ASSERT_OK(database.Reopen());
  const std::string value = PatternOf(4, 200'000);
  class Source final : public ValueSource {
   public:
    explicit Source(std::string_view bytes) : rest_(bytes) {}
    absl::StatusOr<size_t> Read(std::span<char> buffer) override {
      const size_t part = rest_.copy(buffer.data(), buffer.size());
      rest_.remove_prefix(part);
      return part;
    }

   private:
    std::string_view rest_;
  } source(value);
  ASSERT_OK(db()->PutStream("k", value.size(), source));
  EXPECT_EQ(Value(db(), "k"), value);
  EXPECT_GE(BytesOf(FileKind::kValues), value.size());
  EXPECT_FALSE(SaysCompressed());
}

TEST_F(CompressedValuesTest, ReadsAfterTheFirstComeFromTheCache) {
  ASSERT_OK(db()->Put("a", PatternOf(1, 5000)));
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Value(db(), "a"), PatternOf(1, 5000));
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .name_contains = ".val", .sticky = true});
  EXPECT_EQ(Value(db(), "a"), PatternOf(1, 5000));
  EXPECT_EQ(Scan(false), "a=1:bbbb ");
  std::string part(5, '\0');
  ASSERT_OK(db()->ReadValue("a", 10, part).status());
  EXPECT_EQ(part, "bbbbb");
}

TEST_F(CompressedValuesTest, DamageIsToldWithFileOffsetAndKeyAndOthersAreRead) {
  ASSERT_OK(db()->Put("a", PatternOf(1, 1000)));
  ASSERT_OK(db()->Put("b", PatternOf(2, 1000)));
  ASSERT_OK(db()->Flush());
  const std::string name = Files(FileKind::kValues).front();
  const uint64_t offset = kValueFileHeaderBytes + StoredBytesOf(compression, PatternOf(1, 1000));
  ASSERT_OK(database.memory.FlipBit("/db/" + name, offset + 5, 3));
  const absl::Status status = db()->Get("b").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("key \"b\""), HasSubstr(name), HasSubstr("offset " + std::to_string(offset) + ":")));
  EXPECT_EQ(Value(db(), "a"), PatternOf(1, 1000));
  EXPECT_TRUE(absl::IsDataLoss(db()->VerifyChecksums({})));
  RepairReport report;
  ASSERT_OK(db()->Close());
  database.db.reset();
  ASSERT_OK(RepairTo(&report, database.options, "/db"));
  ASSERT_EQ(report.dropped.size(), 1u);
  EXPECT_EQ(report.dropped[0].first_key, "b");
  EXPECT_EQ(report.dropped[0].begin_offset, offset);
  EXPECT_EQ(report.dropped[0].end_offset, offset + StoredBytesOf(compression, PatternOf(2, 1000)));
  ASSERT_OK(database.Open());
  EXPECT_EQ(Scan(false), "a=1:bbbb ");
}

TEST_F(CompressedValuesTest, ARepairWithoutAManifestSaysThatThereAreSomeAndCopiesThemAsTheyAre) {
  for (const bool flushed : {false, true}) {
    ASSERT_OK(db()->Put("a", PatternOf(1, 5000), {.sync = true}));
    ASSERT_OK(db()->Put("b", NoiseOf(2, 500), {.sync = true}));
    if (flushed) {
      ASSERT_OK(db()->Flush());
      ASSERT_OK(db()->Close());
    }
    database.db.reset();
    const auto directory = database.memory.OpenDirectory("/db", false).value();
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      if (name.starts_with("MANIFEST")) ASSERT_OK(directory->Remove(name));
    }
    RepairReport report;
    ASSERT_OK(RepairTo(&report, database.options, "/db"));
    for (const DroppedData& dropped : report.dropped) EXPECT_FALSE(dropped.first_key.has_value()) << report.ToString();
    EXPECT_TRUE(SaysCompressed());
    EXPECT_LT(BytesOf(FileKind::kValues), 5000u);
    ASSERT_OK(database.Open());
    EXPECT_EQ(Value(db(), "a"), PatternOf(1, 5000));
    EXPECT_EQ(Value(db(), "b"), NoiseOf(2, 500));
    EXPECT_OK(db()->VerifyChecksums({}));
  }
}

// Of values that were compressed one and the same codec remains, whatever the family has by then.
TEST_F(CompressedValuesTest, GarbageIsCollectedByStoredBytesAndValuesMoveAsTheyAre) {
  database.options.family.max_space_amplification = 1.5;
  ASSERT_OK(database.Reopen());
  std::map<std::string, std::string> model;
  Random random(5);
  const auto put = [&](uint64_t key) {
    const uint64_t seed = random.Uniform(1000);
    const std::string value = seed % 3 == 0 ? NoiseOf(seed, 400) : PatternOf(seed, 400) + NoiseOf(seed, 200);
    ASSERT_OK(db()->Put(NumberedKey(key), value));
    model[NumberedKey(key)] = value;
  };
  for (uint64_t key = 0; key < 300; ++key) ASSERT_NO_FATAL_FAILURE(put(key));
  for (int round = 0; round < 10; ++round) {
    database.options.family.compression = round % 2 == 0 ? CompressionKind::kZstd : CompressionKind::kLz4;
    ASSERT_OK(database.Reopen());
    for (int i = 0; i < 300; ++i) ASSERT_NO_FATAL_FAILURE(put(random.Uniform(300)));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
    if (round == 7) {
      EXPECT_GT(Count(Ticker::kValueBytesMoved), 0u);
    }
  }
  uint64_t live = 0;
  for (const auto& [key, value] : model) live += StoredBytesOf(CompressionKind::kLz4, value);
  EXPECT_LE(BytesOf(FileKind::kValues), 2 * live + 8 * database.tuning.memtable_bytes);
  EXPECT_EQ(ReadAll(db()->NewIterator().get()), Entries(model.begin(), model.end()));
  EXPECT_OK(db()->VerifyChecksums({}));
}

TEST_F(CompressedValuesTest, ValuesComeBackBesideTheirKeysByTheirOwnSize) {
  database.options.family.last_level_inline_below = 1000;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("a", PatternOf(1, 999)));
  ASSERT_OK(db()->Put("b", PatternOf(2, 1000)));
  ASSERT_OK(db()->Put("c", NoiseOf(3, 999)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  ASSERT_OK(database.Reopen());
  const std::string text = db()->GetProperty("sepal.values").value();
  EXPECT_THAT(text, HasSubstr("tables refer to " + std::to_string(StoredBytesOf(compression, PatternOf(2, 1000)))));
  EXPECT_EQ(Value(db(), "a"), PatternOf(1, 999));
  EXPECT_EQ(Value(db(), "b"), PatternOf(2, 1000));
  EXPECT_EQ(Value(db(), "c"), NoiseOf(3, 999));
}

TEST_F(CompressedValuesTest, AFilterIsToldTheOwnSizeAndReadsTheValue) {
  class Filter final : public ContextFilter {
   public:
    absl::StatusOr<FilterVerdict> Judge(const FilterEntry& entry) override {
      if (entry.value_bytes() != 1000) return FilterVerdict::Keep();
      const absl::StatusOr<std::string_view> value = entry.Value();
      if (!value.ok()) return value.status();
      return *value == PatternOf(2, 1000) ? FilterVerdict::ChangeTo("seen") : FilterVerdict::Remove();
    }
  };
  class Factory final : public ContextFilterFactory {
   public:
    std::unique_ptr<ContextFilter> Create(const FilterContext&) const override { return std::make_unique<Filter>(); }
  };
  database.options.family.context_filter = std::make_shared<Factory>();
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("a", PatternOf(1, 999)));
  ASSERT_OK(db()->Put("b", PatternOf(2, 1000)));
  ASSERT_OK(db()->Put("c", PatternOf(3, 1000)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(Compact());
  EXPECT_EQ(Scan(false), "a=1:bbbb b=seen ");
}

TEST_F(CompressedValuesTest, WhatALogRefersToIsCopiedAsItIsByAnOpening) {
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(db()->Put(NumberedKey(i), PatternOf(i, 3000), {.sync = true}));
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(database.CrashAndReopen(round == 1 ? CrashMode::kKillProcess : CrashMode::kLoseUnsynced));
    for (uint64_t i = 0; i < 10; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), PatternOf(i, 3000));
  }
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  EXPECT_LT(BytesOf(FileKind::kValues), 3000u);
}

TEST(CompressedValuesRaceTest, ThreadsCompressBesideOneAnother) {
  TestDatabase database(Threads::kReal);
  database.options.family.separate_from = 64;
  database.options.family.compression = CompressionKind::kZstd;
  ASSERT_OK(database.Open());
  std::vector<Thread> writers;
  for (uint64_t writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&database, writer] {
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t seed = writer * 1000 + i;
        ASSERT_OK(database.db->Put(NumberedKey(seed), i % 3 == 0 ? NoiseOf(seed, 700) : PatternOf(seed, 100 + 40 * i)));
        if (i == 100) ASSERT_OK(database.db->Put("large" + std::to_string(writer), PatternOf(seed, 300'000)));
      }
    });
  }
  writers.clear();
  for (uint64_t writer = 0; writer < 4; ++writer) {
    for (uint64_t i = 0; i < 200; ++i) {
      const uint64_t seed = writer * 1000 + i;
      EXPECT_EQ(Value(database.db.get(), NumberedKey(seed)),
                i % 3 == 0 ? NoiseOf(seed, 700) : PatternOf(seed, 100 + 40 * i));
    }
  }
}

}  // namespace
}  // namespace sepal
