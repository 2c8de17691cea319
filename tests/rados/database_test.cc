// Databases on a cluster: taken over, fenced, copied by links, and cleaned up after. Skipped without a cluster.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "sepal/db.h"
#include "sepal/rados.h"
#include "sepal/scan.h"
#include "sepal/shards.h"
#include "tests/rados/cluster.h"
#include "tests/tools/temporary_directory.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A database with a client of its own.
struct Opened {
  std::unique_ptr<RadosFileSystem> rados;
  std::unique_ptr<DB> db;
};

class RadosDatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ClusterOptions().pool.empty()) GTEST_SKIP() << "no cluster: run tools/rados_test.sh";
    path_ =
        "databases/" + std::to_string(::getpid()) + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  absl::StatusOr<Opened> Open(bool take_over = false, const RadosOptions& where = ClusterOptions(),
                              size_t separate_from = 0) {
    Options options;
    options.create_if_missing = true;
    options.take_over = take_over;
    options.family.separate_from = separate_from;
    return OpenWith(options, where);
  }
  // A reader with a client of its own.
  absl::StatusOr<Opened> OpenReader() {
    Options options;
    options.read_only = true;
    return OpenWith(options, ClusterOptions());
  }
  absl::StatusOr<Opened> OpenWith(Options options, const RadosOptions& where) {
    Opened opened;
    absl::StatusOr<std::unique_ptr<RadosFileSystem>> rados = RadosFileSystem::Connect(where);
    if (!rados.ok()) return rados.status();
    opened.rados = std::move(*rados);
    options.memory_limit = size_t{16} << 20;
    options.env.file_system = opened.rados.get();
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, path_);
    if (!db.ok()) return db.status();
    opened.db = std::move(*db);
    return opened;
  }
  static std::string Key(int i) { return "key" + std::to_string(i); }

  std::string path_;
};

TEST_F(RadosDatabaseTest, WhatWasWrittenIsThereWhenItIsOpenedAgain) {
  {
    Opened first = Open().value();
    for (int i = 0; i < 5000; ++i) {
      ASSERT_TRUE(first.db->Put(Key(i), std::string(1000, static_cast<char>('a' + i % 26))).ok());
    }
    ASSERT_TRUE(first.db->CompactRange().ok());
    ASSERT_TRUE(first.db->Close().ok());
  }
  const Opened second = Open().value();
  for (int i = 0; i < 5000; i += 7) {
    EXPECT_EQ(second.db->Get(Key(i)).value(), std::string(1000, static_cast<char>('a' + i % 26)));
  }
  EXPECT_TRUE(second.db->VerifyChecksums().ok());
}

TEST_F(RadosDatabaseTest, WithACacheOnALocalDiskTablesAreNotReadFromTheCluster) {
  const tools::TemporaryDirectory local;
  RadosOptions where = ClusterOptions();
  where.cache_directory = local.path() + "/cache";
  where.cache_bytes = uint64_t{64} << 20;
  // The second client finds what the first one wrote.
  for (const bool filled : {false, true}) {
    Opened opened = Open(/*take_over=*/false, where).value();
    ASSERT_TRUE(opened.rados->cache()->CacheStatus().ok()) << opened.rados->cache()->CacheStatus();
    for (int i = 0; !filled && i < 5000; ++i) ASSERT_TRUE(opened.db->Put(Key(i), std::string(1000, 'v')).ok());
    ASSERT_TRUE(opened.db->CompactRange().ok());
    const uint64_t reads = opened.rados->Counts().data_reads;
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(opened.db->Get(Key(i)).value(), std::string(1000, 'v')) << i;
    EXPECT_TRUE(opened.db->VerifyChecksums().ok());
    EXPECT_EQ(opened.rados->Counts().data_reads, reads);
    EXPECT_GT(opened.rados->cache()->Counts().hits, 0u);
    ASSERT_TRUE(opened.db->Close().ok());
  }
}

TEST_F(RadosDatabaseTest, TheFencedWriterIsToldAndNothingAcknowledgedIsLost) {
  Opened first = Open().value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(first.db->Put(Key(i), "v", {.sync = true}).ok());
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kUnavailable);
  const Opened second = Open(/*take_over=*/true).value();
  const absl::Status late = first.db->Put("late", "v", {.sync = true});
  EXPECT_EQ(late.code(), absl::StatusCode::kAborted) << late;
  EXPECT_THAT(std::string(ToStd(late.message())), HasSubstr("taken the database over"));
  EXPECT_FALSE(first.db->Flush().ok());
  EXPECT_EQ(first.db->Get(Key(7)).value(), "v");
  EXPECT_FALSE(first.db->Close().ok());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(second.db->Get(Key(i)).value(), "v") << i;
  EXPECT_EQ(second.db->Get("late").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(second.db->Put("new", "owner", {.sync = true}).ok());
}

TEST_F(RadosDatabaseTest, ReadsOfAFencedClientGoOnBesideItsCache) {
  Opened first = Open().value();
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(first.db->Put(Key(i), std::string(1000, 'v')).ok());
  ASSERT_TRUE(first.db->Flush().ok());
  const Opened second = Open(/*take_over=*/true).value();
  EXPECT_FALSE(first.db->Put("late", "v", {.sync = true}).ok());
  ReadOptions uncached;
  uncached.fill_cache = false;
  for (int i = 0; i < 3000; i += 100) EXPECT_TRUE(first.db->Get(Key(i), uncached).ok()) << i;
}

TEST_F(RadosDatabaseTest, AfterAReopeningThePoolHoldsOnlyObjectsOfNamedFiles) {
  {
    const Opened first = Open().value();
    for (int i = 0; i < 20000; ++i) ASSERT_TRUE(first.db->Put(Key(i % 3000), std::string(1000, 'v')).ok());
    ASSERT_TRUE(first.db->CompactRange().ok());
    // Taken over in the midst of it.
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(first.db->Put(Key(i), std::string(1000, 'w')).ok());
    const Opened second = Open(/*take_over=*/true).value();
    ASSERT_TRUE(second.db->Close().ok());
    EXPECT_FALSE(first.db->Close().ok());
  }
  Opened third = Open().value();
  ASSERT_TRUE(third.db->CompactRange().ok());
  ASSERT_TRUE(third.db->Close().ok());
  third.db.reset();
  ASSERT_TRUE(third.rados->AwaitRemovals().ok());
  EXPECT_THAT(third.rados->StrayObjects(path_, false).value(), IsEmpty());
}

TEST_F(RadosDatabaseTest, ACheckpointLinksItsTablesAndEitherMayGo) {
  Opened source = Open().value();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(source.db->Put(Key(i), std::string(1000, 'v')).ok());
  ASSERT_TRUE(source.db->CompactRange().ok());
  const uint64_t before = source.rados->Counts().data_writes;
  const std::string copy = path_ + "-copy";
  ASSERT_TRUE(source.db->Checkpoint(copy).ok());
  EXPECT_LT(source.rados->Counts().data_writes - before, 8u);
  ASSERT_TRUE(source.db->Close().ok());
  source.db.reset();
  Options options;
  options.env.file_system = source.rados.get();
  ASSERT_TRUE(DB::Destroy(options, path_).ok());
  ASSERT_TRUE(source.rados->AwaitRemovals().ok());
  path_ = copy;
  const Opened other = Open().value();
  EXPECT_TRUE(other.db->VerifyChecksums().ok());
  for (int i = 0; i < 5000; i += 50) EXPECT_TRUE(other.db->Get(Key(i)).ok()) << i;
}

TEST_F(RadosDatabaseTest, ReadOnlyOpeningsGoBesideTheWriter) {
  const Opened writer = Open().value();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(writer.db->Put(Key(i), "v", {.sync = i % 100 == 99}).ok());
  const Opened reader = OpenReader().value();
  for (int i = 0; i < 500; ++i) EXPECT_EQ(reader.db->Get(Key(i)).value(), "v") << i;
}

// What is asked for ahead comes with the next read; a check reads a mebibyte at a time.
TEST_F(RadosDatabaseTest, ScansAndChecksTakeFewReads) {
  Opened opened = Open().value();
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(opened.db->Put(Key(i), std::string(1000, 'v')).ok());
  ASSERT_TRUE(opened.db->CompactRange().ok());
  ASSERT_TRUE(opened.db->Close().ok());
  opened.db.reset();
  const Opened again = Open().value();
  const uint64_t before = again.rados->Counts().data_reads;
  int entries = 0;
  ScanRange all = again.db->Scan();
  for (const auto& [key, value] : all) entries += value == std::string(1000, 'v');
  ASSERT_TRUE(all.status().ok()) << all.status();
  EXPECT_EQ(entries, 20'000);
  const uint64_t scanned = again.rados->Counts().data_reads;
  EXPECT_LT(scanned - before, 100u);
  ASSERT_TRUE(again.db->VerifyChecksums().ok());
  EXPECT_LT(again.rados->Counts().data_reads - scanned, 200u);
}

TEST_F(RadosDatabaseTest, AReaderCatchesUpWithTheWriter) {
  Opened writer = Open().value();
  ASSERT_TRUE(writer.db->Put("first", "1", {.sync = true}).ok());
  const Opened reader = OpenReader().value();
  DB* const view = reader.db.get();
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(writer.db->Put(Key(i), std::to_string(round)).ok());
    ASSERT_TRUE(round % 3 != 1 || writer.db->Flush().ok());
    ASSERT_TRUE(round % 5 != 4 || writer.db->CompactRange().ok());
    ASSERT_TRUE(writer.db->Put("round", std::to_string(round), {.sync = true}).ok());
    const absl::Status caught = view->CatchUp();
    ASSERT_TRUE(caught.ok()) << caught;
    EXPECT_EQ(view->Get("round").value(), std::to_string(round));
    EXPECT_EQ(view->Get(Key(7)).value(), std::to_string(round));
  }
  // Manifest, log, and the log that was made ahead. That one may have been made since the call before.
  ASSERT_TRUE(writer.db->WaitForBackgroundWork().ok());
  ASSERT_TRUE(view->CatchUp().ok());
  ASSERT_TRUE(view->CatchUp().ok());
  const RadosCounts before = reader.rados->Counts();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(writer.db->Put(Key(i), "last", {.sync = i == 199}).ok());
  ASSERT_TRUE(view->CatchUp().ok());
  EXPECT_EQ(view->Get(Key(199)).value(), "last");
  const RadosCounts after = reader.rados->Counts();
  EXPECT_LE(after.index_reads - before.index_reads, 3u);
  EXPECT_LE(after.size_queries - before.size_queries, 6u);
  EXPECT_LE(after.data_reads - before.data_reads, 3u);
  ASSERT_TRUE(writer.db->Close().ok());
}

// The reader has value files open that the writer appends to.
TEST_F(RadosDatabaseTest, AReaderFollowsValuesInFilesThatGrow) {
  Opened writer = Open(/*take_over=*/false, ClusterOptions(), /*separate_from=*/1000).value();
  ASSERT_TRUE(writer.db->Put("first", "1", {.sync = true}).ok());
  const Opened reader = OpenReader().value();
  DB* const view = reader.db.get();
  for (int round = 0; round < 20; ++round) {
    const std::string value(5000, static_cast<char>('a' + round));
    ASSERT_TRUE(writer.db->Put("large", value).ok());
    ASSERT_TRUE(writer.db->Put("round", std::to_string(round), {.sync = true}).ok());
    ASSERT_TRUE(view->CatchUp().ok());
    EXPECT_EQ(view->Get("round").value(), std::to_string(round));
    EXPECT_EQ(view->Get("large").value(), value) << round;
  }
  ASSERT_TRUE(writer.db->Close().ok());
}

// Each key's value before `round`, past the cache.
int CountValues(DB* view, int round, absl::Status* failure) {
  ReadOptions uncached;
  uncached.fill_cache = false;
  int there = 0;
  for (int i = 0; i < 3000; ++i) {
    const absl::StatusOr<std::string> value = view->Get("key" + std::to_string(i), uncached);
    if (value.ok() && *value == std::string(1000, static_cast<char>('a' + round))) ++there;
    if (!value.ok()) *failure = value.status();
  }
  return there;
}

TEST_F(RadosDatabaseTest, WhatAWriterRemovesAReaderCanReadForATime) {
  for (const bool grace : {true, false}) {
    SCOPED_TRACE(grace);
    path_ += grace ? "/grace" : "/none";
    RadosOptions where = ClusterOptions();
    where.removal_grace = grace ? std::chrono::seconds(600) : std::chrono::seconds(0);
    Opened writer = Open(/*take_over=*/false, where).value();
    const auto fill = [&](int round) {
      for (int i = 0; i < 3000; ++i) {
        ASSERT_TRUE(writer.db->Put(Key(i), std::string(1000, static_cast<char>('a' + round))).ok());
      }
      ASSERT_TRUE(writer.db->CompactRange().ok());
    };
    fill(0);
    const Opened reader = OpenReader().value();
    DB* const view = reader.db.get();
    ASSERT_TRUE(writer.db->Put("more", "1", {.sync = true}).ok());
    fill(1);
    ASSERT_TRUE(view->CatchUp().ok());  // opens what there is
    fill(2);
    ASSERT_TRUE(grace || writer.rados->AwaitRemovals().ok());
    absl::Status failure;
    if (grace) {
      EXPECT_EQ(CountValues(view, 1, &failure), 3000) << failure;
    } else {
      EXPECT_LT(CountValues(view, 1, &failure), 3000);
      EXPECT_EQ(failure.code(), absl::StatusCode::kAborted) << failure;
    }
    ASSERT_TRUE(view->CatchUp().ok());
    EXPECT_EQ(CountValues(view, 2, &failure), 3000) << failure;
    ASSERT_TRUE(writer.rados->AwaitRemovals().ok());
    EXPECT_THAT(writer.rados->StrayObjects(path_, false).value(), IsEmpty());
    ASSERT_TRUE(writer.db->Close().ok());
  }
}

// Names, logs and manifests stay where they can be changed in place.
TEST_F(RadosDatabaseTest, TablesLieInAnErasureCodedPool) {
  RadosOptions where = ClusterOptions();
  where.data_pool = CodedPool();
  where.removal_grace = std::chrono::seconds(0);
  const auto check = [&](DB* db) {
    for (int i = 0; i < 5000; i += 7) {
      ASSERT_EQ(db->Get(Key(i)).value(), std::string(i % 50 == 0 ? 100'000 : 1000, static_cast<char>('a' + i % 26)))
          << i;
    }
    EXPECT_TRUE(db->VerifyChecksums().ok());
  };
  const std::string copy = path_ + "-copy";
  {
    Opened first = Open(/*take_over=*/false, where, /*separate_from=*/10'000).value();
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 5000; ++i) {
        const size_t bytes = i % 50 == 0 ? 100'000 : 1000;
        ASSERT_TRUE(
            first.db->Put(Key(i), std::string(bytes, static_cast<char>('a' + i % 26)), {.sync = i % 500 == 0}).ok());
      }
      const absl::Status compacted = first.db->CompactRange();
      ASSERT_TRUE(compacted.ok()) << compacted;
    }
    check(first.db.get());
    ASSERT_TRUE(first.db->Checkpoint(copy).ok());
    ASSERT_TRUE(first.db->Close().ok());
    first.db.reset();
    ASSERT_TRUE(first.rados->AwaitRemovals().ok());
    EXPECT_THAT(first.rados->StrayObjects(path_, false).value(), IsEmpty());
  }
  // Where files lie is known without the option, and new ones go where it says.
  Opened second = Open(/*take_over=*/true, ClusterOptions(), /*separate_from=*/10'000).value();
  check(second.db.get());
  ASSERT_TRUE(second.db->CompactRange().ok());
  check(second.db.get());
  ASSERT_TRUE(second.db->Close().ok());
  path_ = copy;
  const Opened third = Open(/*take_over=*/false, where, /*separate_from=*/10'000).value();
  check(third.db.get());
}

// The namespace of a database in its data pool is of that database alone.
TEST_F(RadosDatabaseTest, StraysOfAPoolAreNotTheTablesOfAnotherPoolsDatabase) {
  RadosOptions replicated = ClusterOptions();
  replicated.pool = OtherPool();
  RadosOptions coded = ClusterOptions();
  coded.data_pool = CodedPool();
  RadosOptions coded_too = replicated;
  coded_too.data_pool = CodedPool();
  RadosOptions into_the_other = ClusterOptions();
  into_the_other.data_pool = OtherPool();
  const std::string path = path_;
  const auto check = [&](const RadosOptions& one, const RadosOptions& another) {
    Opened first = Open(/*take_over=*/false, one).value();
    Opened second = Open(/*take_over=*/false, another).value();
    for (Opened* each : {&first, &second}) {
      for (int i = 0; i < 1000; ++i) ASSERT_TRUE(each->db->Put(Key(i), std::string(1000, 'v')).ok());
      ASSERT_TRUE(each->db->CompactRange().ok());
    }
    for (Opened* each : {&first, &second}) {
      ASSERT_TRUE(each->db->Close().ok());
      each->db.reset();
      ASSERT_TRUE(each->rados->AwaitRemovals().ok());
      EXPECT_THAT(each->rados->StrayObjects(path_, /*remove=*/true).value(), IsEmpty());
    }
    const Opened again = Open(/*take_over=*/false, one).value();
    EXPECT_TRUE(again.db->VerifyChecksums().ok());
    const Opened again_too = Open(/*take_over=*/false, another).value();
    EXPECT_TRUE(again_too.db->VerifyChecksums().ok());
  };
  path_ = path + "/two-with-one-data-pool";
  check(coded, coded_too);
  path_ = path + "/own-is-data-pool";
  check(into_the_other, replicated);
}

TEST_F(RadosDatabaseTest, ADataPoolThatIsNotThereIsSaid) {
  RadosOptions wrong = ClusterOptions();
  wrong.data_pool = "no-such-pool";
  const absl::Status missing = RadosFileSystem::Connect(wrong).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
  EXPECT_THAT(std::string(ToStd(missing.message())), HasSubstr("no-such-pool"));
}

// A shard is split by links, and goes to another client: no data moves.
TEST_F(RadosDatabaseTest, AShardIsSplitAndMovesToAnotherClient) {
  const auto open = [](const Shard& shard) -> absl::StatusOr<ShardHost::Opened> {
    absl::StatusOr<std::unique_ptr<RadosFileSystem>> rados = RadosFileSystem::Connect(ClusterOptions());
    if (!rados.ok()) return rados.status();
    const std::shared_ptr<RadosFileSystem> keeps = *std::move(rados);
    Options options;
    options.create_if_missing = shard.unmade;
    options.take_over = shard.take_over;
    options.memory_limit = size_t{16} << 20;
    options.env.file_system = keeps.get();
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, shard.database);
    if (!db.ok()) return db.status();
    return ShardHost::Opened{.keeps = keeps, .db = *std::move(db)};
  };
  const auto rados = RadosFileSystem::Connect(ClusterOptions()).value();
  Options options;
  options.memory_limit = size_t{8} << 20;
  options.env.file_system = rados.get();
  ASSERT_TRUE(ShardMap::Create(options, path_ + "/map", {.databases = path_ + "/shards", .owner = "a"}).ok());
  const auto map = ShardMap::Open(options, path_ + "/map").value();
  ShardHost a(map.get(), "a", open);
  ShardHost b(map.get(), "b", open);
  ASSERT_TRUE(a.Refresh().ok());
  const auto put = [](ShardHost* host, const std::string& key, const std::string& value) {
    return host->With(key, [&](DB& db) { return db.Put(key, value, {.sync = key.ends_with('9')}); });
  };
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(put(&a, Key(i), "v").ok());
  const absl::Status split = a.Split("key5");
  ASSERT_TRUE(split.ok()) << split;
  ASSERT_TRUE(map->Assign(map->Find("key7"), "b").ok());
  ASSERT_TRUE(a.Refresh().ok());
  ASSERT_TRUE(b.Refresh().ok());
  for (int i = 0; i < 2000; ++i) {
    const std::string key = Key(i);
    ShardHost& owner = key < "key5" ? a : b;
    std::string value;
    const absl::Status got = owner.With(key, [&](DB& db) {
      value = db.Get(key).value_or("");
      return absl::OkStatus();
    });
    ASSERT_TRUE(got.ok()) << got;
    ASSERT_EQ(value, "v") << key;
  }
  EXPECT_TRUE(put(&b, "key9", "w").ok());
  EXPECT_EQ(put(&a, "key9", "w").code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(a.Close().ok());
  EXPECT_TRUE(b.Close().ok());
}

TEST_F(RadosDatabaseTest, WhatCannotBeReachedIsSaidInTime) {
  const auto began = std::chrono::steady_clock::now();
  RadosOptions wrong = ClusterOptions();
  wrong.pool = "no-such-pool";
  const absl::Status missing = RadosFileSystem::Connect(wrong).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << missing;
  EXPECT_THAT(std::string(ToStd(missing.message())), HasSubstr("no-such-pool"));
  wrong = ClusterOptions();
  wrong.user = "nobody";
  EXPECT_EQ(RadosFileSystem::Connect(wrong).status().code(), absl::StatusCode::kPermissionDenied);
  wrong = ClusterOptions();
  wrong.object_bytes = 63;
  EXPECT_EQ(RadosFileSystem::Connect(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  // No monitor at all: a bound that a hang would pass by far.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
}

}  // namespace
}  // namespace sepal
