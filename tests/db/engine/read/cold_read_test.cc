// What reads cost that find little in memory: how often the file system is asked.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class ReadCountTest : public EngineTest {
 protected:
  uint64_t Reads(const std::function<void()>& work) { return Calls("read ", work); }
  // Whose names begin so.
  uint64_t Calls(const std::string& name, const std::function<void()>& work) {
    database.files.SetTracing(true);
    database.files.TakeTrace();
    work();
    const std::string trace = database.files.TakeTrace();
    database.files.SetTracing(false);
    uint64_t calls = 0;
    for (size_t at = 0; (at = trace.find(name, at)) != std::string::npos; ++at) ++calls;
    return calls;
  }
  void MultiGet(const std::vector<std::string>& keys, const ReadOptions& options = {}) {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    values.assign(keys.size(), {});
    statuses.assign(keys.size(), {});
    std::vector<PinnedValue> pins(keys.size());
    db()->MultiGet(views, pins, statuses, options).IgnoreError();
    for (size_t i = 0; i < keys.size(); ++i) values[i] = pins[i].value();
  }
  // What is put with one flush is one table.
  void FlushWhenAsked() {
    database.tuning.table_bytes = size_t{1} << 20;
    database.tuning.memtable_bytes = size_t{1} << 20;
    database.tuning.memtable_limit_bytes = size_t{4} << 20;
    database.tuning.log_limit_bytes = uint64_t{4} << 20;
    database.tuning.part_bytes = uint64_t{1} << 20;
  }
  uint64_t Count(Ticker ticker) { return db()->statistics().Get(ticker); }

  std::vector<std::string> values;
  std::vector<absl::Status> statuses;
};

class ColdReadTest : public ReadCountTest {
 protected:
  static constexpr uint64_t kKeys = 4000;

  void SetUp() override {
    database.options.family.block_bytes = 4096;
    database.tuning.blocks_per_leaf_page = 64;
    database.tuning.table_bytes = size_t{64} << 10;
    database.tuning.memtable_bytes = size_t{64} << 10;
    EngineTest::SetUp();
    PutAll();
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(database.Reopen());
  }
  void PutAll() {
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Put(NumberedKey(2 * i), std::string(60, 'v')));
  }
  // Opens all tables and brings their metadata into memory, and no data blocks.
  void WarmMetadata() {
    for (uint64_t i = 0; i < kKeys; ++i) (void)db()->Get(NumberedKey(2 * i + 1), {.fill_cache = false});
  }
};

// The file system of the tests does not tell what it has in memory: each read is one that waited.
TEST_F(ColdReadTest, LookupsThatFindSomethingAskForWhatLiesAroundAndChecksOfWholeTablesDoNot) {
  EXPECT_EQ(Calls("ask-for ", [&] { EXPECT_OK(db()->VerifyChecksums()); }), 0u);
  const auto read_all = [&] {
    for (uint64_t i = 0; i < kKeys; ++i) (void)db()->Get(NumberedKey(2 * i), {.fill_cache = false});
  };
  const uint64_t tables = std::stoull(db()->GetProperty("sepal.total-table-bytes").value()) / (64 << 10);
  EXPECT_GE(Calls("ask-for ", read_all), 1 + tables);
  ASSERT_OK(database.Reopen());
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 64; ++i) keys.push_back(NumberedKey(2 * i));
  EXPECT_GE(Calls("ask-for ", [&] { MultiGet(keys, {.fill_cache = false}); }), 1u);
  database.options.direct_reads = true;
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Calls("ask-for ", read_all), 0u);
}

TEST_F(ColdReadTest, WhatAFilterLetPassForNothingAsksForNothingAround) {
  WarmMetadata();
  std::vector<std::string> absent;
  for (uint64_t i = 0; i < 4 * kKeys; ++i) absent.push_back(NumberedKey(2 * (i / 4)) + "x" + std::to_string(i % 4));
  const auto get_absent = [&] {
    for (const std::string& key : absent) (void)db()->Get(key, {.fill_cache = false});
    for (size_t i = 0; i < absent.size(); i += 64) {
      MultiGet({absent.begin() + i, absent.begin() + std::min(i + 64, absent.size())}, {.fill_cache = false});
    }
  };
  EXPECT_GE(Reads(get_absent), 1u);
  EXPECT_EQ(Calls("ask-for ", get_absent), 0u);
  // Without filters every lookup reads.
  database.options.family.filter_policy = FilterPolicy::None();
  ASSERT_OK(database.Reopen());
  PutAll();
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  EXPECT_GE(Calls("ask-for ", get_absent), 1u);
}

TEST_F(ColdReadTest, AMultiGetReadsABlockOnceForAllItsKeysAndNeighboursTogether) {
  WarmMetadata();
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 64; ++i) keys.push_back(NumberedKey(2 * (1000 + i)));
  // 64 neighbours lie in two or three blocks of one table, or at a border of two.
  const uint64_t reads = Reads([&] { MultiGet(keys); });
  EXPECT_GE(reads, 1u);
  EXPECT_LE(reads, 2u);
  for (const absl::Status& status : statuses) EXPECT_OK(status);
  EXPECT_EQ(Reads([&] { MultiGet(keys); }), 0u);
}

TEST_F(ColdReadTest, DamageInABlockFailsTheKeysOfThatBlockAlone) {
  const std::vector<std::string> tables = FilesIn(&database.memory, database.path);
  const auto table =
      std::find_if(tables.begin(), tables.end(), [](const std::string& n) { return n.ends_with(".sst"); });
  ASSERT_NE(table, tables.end());
  const std::string path = database.path + "/" + *table;
  std::string bytes = database.memory.ReadFileContents(path).value();
  bytes[100] ^= 1;  // in the first data block
  ASSERT_OK(database.memory.WriteFileContents(path, bytes));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(NumberedKey(2 * i));
  MultiGet(keys);
  size_t damaged = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (absl::IsDataLoss(statuses[i])) {
      ++damaged;
    } else {
      ASSERT_OK(statuses[i]);
      ASSERT_EQ(values[i], std::string(60, 'v'));
    }
  }
  EXPECT_GE(damaged, 10u);
  EXPECT_LE(damaged, 200u);
}

TEST_F(ColdReadTest, WhatACompactionWroteIsReadWithoutTheDiskButForOpeningTheTable) {
  for (uint64_t i = 0; i < kKeys; i += 20) ASSERT_OK(db()->Put(NumberedKey(2 * i), std::string(60, 'v')));
  ASSERT_OK(db()->CompactRange());
  // A table is opened when it is first asked; a read for its footer, root and properties each.
  const std::vector<std::string> names = FilesIn(&database.memory, database.path);
  const auto tables = static_cast<uint64_t>(
      std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".sst"); }));
  ASSERT_GE(tables, 2u);
  EXPECT_LE(Reads([&] {
              for (uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(Value(db(), NumberedKey(2 * i)), std::string(60, 'v'));
            }),
            tables * 3);
}

TEST_F(ColdReadTest, ACompactionThatFailsLeavesNothingThatIsRead) {
  ASSERT_OK(db()->Put(NumberedKey(2), "new"));
  ASSERT_OK(db()->Flush());
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kSync, .name_contains = ".sst"});
  (void)db()->CompactRange();
  database.files.Clear();
  EXPECT_EQ(Value(db(), NumberedKey(2)), "new");
  for (uint64_t i = 2; i < kKeys; ++i) ASSERT_EQ(Value(db(), NumberedKey(2 * i)), std::string(60, 'v'));
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Value(db(), NumberedKey(2)), "new");
  for (uint64_t i = 2; i < kKeys; ++i) ASSERT_EQ(Value(db(), NumberedKey(2 * i)), std::string(60, 'v'));
}

TEST_F(ColdReadTest, DirectReadsNeedAFileSystemThatHasThem) {
  ASSERT_OK(db()->Close());
  database.options.direct_reads = true;
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), NumberedKey(0)), std::string(60, 'v'));
  ASSERT_OK(db()->Close());
  database.db.reset();
  MemoryFileSystem without(Capabilities{.map = true, .allocate = true, .direct_reads = false});
  Options options = database.options;
  options.env.file_system = &without;
  const absl::Status refused = Engine::Open(options, database.tuning, "/db").status();
  EXPECT_TRUE(absl::IsUnimplemented(refused)) << refused;
  EXPECT_NE(refused.message().find("direct_reads"), std::string::npos);
}

// A table in which each key has a block of its own: key i is in block i. All metadata is in memory, and no data block.
class BlockPerKeyTest : public ReadCountTest {
 protected:
  static constexpr uint64_t kKeys = 600;

  void SetUp() override {
    FlushWhenAsked();
    database.options.family.compression = CompressionKind::kNone;
    database.options.family.block_bytes = 256;
    database.tuning.blocks_per_leaf_page = 64;
    EngineTest::SetUp();
    Fill(0, kKeys, 300);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(database.Reopen());
    ASSERT_OK(db()->WaitForBackgroundWork());
    ASSERT_EQ(NumberProperty(db(), "sepal.num-runs"), 1u);
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Get(NumberedKey(i), {.fill_cache = false}).status());
  }
  // Of a MultiGet that asks for none of its blocks twice, and finds none of them in memory.
  uint64_t ReadsFor(const std::vector<uint64_t>& numbers) {
    std::vector<std::string> keys;
    for (const uint64_t number : numbers) keys.push_back(NumberedKey(number));
    const uint64_t misses = Count(Ticker::kBlockCacheMisses);
    const uint64_t reads = Reads([&] { MultiGet(keys); });
    EXPECT_EQ(Count(Ticker::kBlockCacheMisses) - misses, keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_OK(statuses[i]);
      EXPECT_TRUE(values[i].starts_with(std::to_string(numbers[i]) + ":")) << keys[i];
    }
    return reads;
  }
};

TEST_F(BlockPerKeyTest, AMultiGetReadsNeighbouringBlocksAtOnceInWhateverOrderItAsks) {
  EXPECT_EQ(ReadsFor({100, 101, 102, 103, 104, 105}), 1u);
  EXPECT_EQ(ReadsFor({205, 200, 203, 201, 204, 202}), 1u);
  std::vector<uint64_t> over_two_leaf_pages;
  for (uint64_t i = 0; i < 64; ++i) over_two_leaf_pages.push_back(350 - i);
  EXPECT_EQ(ReadsFor(over_two_leaf_pages), 1u);
  EXPECT_EQ(ReadsFor({400, 500, 401, 501, 402, 502, 403, 503}), 2u);
}

// On a disk of which one sector cannot be read, every read that covers it fails.
TEST_F(BlockPerKeyTest, ABlockThatCannotBeReadFailsItsKeyAloneThoughItIsReadWithOthers) {
  uint64_t bad = 0;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kRead && bad == 0) bad = call.offset + 10;
    return Fault::kNone;
  });
  ASSERT_OK(db()->Get(NumberedKey(303), {.fill_cache = false}).status());
  ASSERT_NE(bad, 0u);
  database.files.SetDecider([&](const FileCall& call) {
    const bool covers = call.op == FileOp::kRead && call.offset <= bad && bad < call.offset + call.length;
    return covers ? Fault::kIoError : Fault::kNone;
  });
  std::vector<std::string> keys;
  for (uint64_t i = 300; i < 306; ++i) keys.push_back(NumberedKey(i));
  MultiGet(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(statuses[i].code(), i == 3 ? absl::StatusCode::kInternal : absl::StatusCode::kOk) << statuses[i];
  }
  database.files.Clear();
}

TEST_F(BlockPerKeyTest, AColdSeekAsksForWhatLiesAroundToo) {
  ASSERT_OK(database.Reopen());
  for (uint64_t i = 0; i < kKeys; ++i) EXPECT_TRUE(absl::IsNotFound(db()->Get(NumberedKey(i) + "x").status()));
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  EXPECT_EQ(Calls("ask-for ", [&] { it->Seek(NumberedKey(103)); }), 1u);
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), NumberedKey(103));
}

TEST_F(BlockPerKeyTest, AMultiGetDoesNotReadWhatLiesBetweenBlocksThatAreApart) {
  std::vector<uint64_t> apart;
  for (uint64_t i = 0; i < kKeys; i += 40) apart.push_back(i);
  EXPECT_EQ(ReadsFor(apart), apart.size());
  const uint64_t bytes = Count(Ticker::kBlockReadBytes);
  EXPECT_EQ(ReadsFor({5, 590}), 2u);
  EXPECT_LT(Count(Ticker::kBlockReadBytes) - bytes, 1000u);
}

// Three runs, each with every third key; the last key of all is in the newest.
class ThreeRunsTest : public ReadCountTest {
 protected:
  static constexpr uint64_t kRuns = 3;
  static constexpr uint64_t kKeys = 1000 * kRuns;

  void SetUp() override {
    FlushWhenAsked();
    database.options.family.block_bytes = 4096;
    database.options.family.compaction_style = CompactionStyle::kUniversal;
    database.options.family.max_space_amplification = 100;
    database.tuning.blocks_per_leaf_page = 64;
    database.tuning.runs_per_level = 20;
    EngineTest::SetUp();
    for (uint64_t run = 0; run < kRuns; ++run) {
      for (uint64_t i = run; i < kKeys; i += kRuns) ASSERT_OK(db()->Put(NumberedKey(i), std::string(60, 'v')));
      ASSERT_OK(db()->Flush());
    }
    ASSERT_OK(database.Reopen());
    ASSERT_OK(db()->WaitForBackgroundWork());
    ASSERT_EQ(NumberProperty(db(), "sepal.num-runs"), kRuns);
    GetEach(0, 1);  // all metadata is in memory now, and no data block
  }
  void GetEach(uint64_t first, uint64_t step) {
    for (uint64_t i = first; i < kKeys; i += step) {
      EXPECT_OK(db()->Get(NumberedKey(i), {.fill_cache = false}).status());
    }
  }
  uint64_t TablesAsked() {
    uint64_t asked = 0;
    for (int level = 0; level < kMaxLevels; ++level) asked += db()->statistics().GetFilter(level).lookups;
    return asked;
  }
};

TEST_F(ThreeRunsTest, AnAbsentKeyHardlyEverReadsInAnyRunAndAPresentOneReadsOnceWhereItIs) {
  // Of the lookups in a run that has not the key.
  const auto few = [](uint64_t lookups) { return lookups * 5 / 1000; };
  const uint64_t asked = TablesAsked();
  const uint64_t absent = Reads([&] {
    for (uint64_t i = 0; i < kKeys; ++i) {
      EXPECT_TRUE(absl::IsNotFound(db()->Get(NumberedKey(i) + "x", {.fill_cache = false}).status()));
    }
  });
  EXPECT_GE(TablesAsked() - asked, kRuns * (kKeys - kRuns));
  EXPECT_LE(absent, few(kRuns * kKeys));
  EXPECT_EQ(Reads([&] { GetEach(kRuns - 1, kRuns); }), kKeys / kRuns);
  const uint64_t present = Reads([&] { GetEach(0, 1); });
  EXPECT_GE(present, kKeys);
  EXPECT_LE(present, kKeys + few((kRuns - 1) * kKeys));
}

TEST_F(ThreeRunsTest, SeeksFromKeyToKeyAskTheCacheForABlockOnceForAllItsKeys) {
  const auto asked = [&] {
    return Count(Ticker::kBlockCacheHits) + Count(Ticker::kBlockCacheMisses) + Count(Ticker::kMetadataCacheHits) +
           Count(Ticker::kMetadataCacheMisses);
  };
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  const uint64_t before = asked();
  for (uint64_t i = 0; i < kKeys; ++i) {
    it->Seek(NumberedKey(i));
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(it->key(), NumberedKey(i));
  }
  EXPECT_GE(asked() - before, 2 * kRuns);
  EXPECT_LE(asked() - before, kKeys / 10);
}

}  // namespace
}  // namespace sepal
