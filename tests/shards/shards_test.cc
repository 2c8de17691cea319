// Maps of shards and their hosts, on files in memory.
#include "sepal/shards.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sepal/scan.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/caseless_comparator.h"
#include "util/thread/sync.h"

#define ASSERT_OK(expression) ASSERT_TRUE(IsOk(expression))
#define EXPECT_OK(expression) EXPECT_TRUE(IsOk(expression))

namespace sepal {
namespace {

testing::AssertionResult IsOk(const absl::Status& status) {
  return status.ok() ? testing::AssertionSuccess() : testing::AssertionFailure() << status;
}
template <class T>
testing::AssertionResult IsOk(const absl::StatusOr<T>& result) {
  return IsOk(result.status());
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Capabilities kSharedStore = {.hard_link = true, .remote = true, .outlives_process = false, .fences = true};

Options SmallOptions(FileSystem* files) {
  Options options;
  options.memory_limit = size_t{8} << 20;
  options.env.file_system = files;
  return options;
}

std::string KeyOf(int i) { return absl::StrFormat("key%06d", i); }

// A process: a client of the store, with its view of the map, and the shards that it hosts.
struct Process {
  Process(FileSystem* store, std::string own_name) : files(store), name(std::move(own_name)) {}

  absl::Status Start() {
    host.reset();
    map.reset();
    absl::StatusOr<std::unique_ptr<ShardMap>> opened = ShardMap::Open(SmallOptions(files), "map");
    if (!opened.ok()) return opened.status();
    map = *std::move(opened);
    map->set_patience(std::chrono::milliseconds(2000));
    host =
        std::make_unique<ShardHost>(map.get(), name, [this](const Shard& shard) -> absl::StatusOr<ShardHost::Opened> {
          Options options = SmallOptions(files);
          options.create_if_missing = shard.unmade;
          options.take_over = shard.take_over;
          absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, shard.database);
          if (!db.ok()) return db.status();
          return ShardHost::Opened{.db = *std::move(db)};
        });
    return host->Refresh();
  }
  absl::Status Put(const std::string& key, const std::string& value) {
    return host->With(key, [&](DB& db) { return db.Put(key, value, {.sync = true}); });
  }
  std::string Get(const std::string& key) {
    std::string value;
    const absl::Status status = host->With(key, [&](DB& db) {
      const absl::StatusOr<std::string> got = db.Get(key);
      value = got.ok() ? *got : got.status().ToString().substr(0, 9);
      return absl::OkStatus();
    });
    return status.ok() ? value : std::string(absl::StatusCodeToString(status.code()));
  }
  // Of all shards that are open here: what their databases hold, within their ranges or not.
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    for (const Shard& shard : host->List()) {
      EXPECT_OK(host->With(shard.begin, [&](DB& db) {
        ScanRange all = db.Scan();
        for (auto [key, value] : all) keys.emplace_back(key);
        return all.status();
      }));
    }
    return keys;
  }

  FileSystem* const files;
  const std::string name;
  std::unique_ptr<ShardMap> map;
  std::unique_ptr<ShardHost> host;
};

class ShardsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(ShardMap::Create(SmallOptions(&store_), "map", {.databases = "shards", .owner = "a"}));
    ASSERT_OK(a_.Start());
  }
  void Fill(int begin, int end) {
    for (int i = begin; i < end; ++i) ASSERT_OK(a_.Put(KeyOf(i), std::to_string(i)));
  }

  MemoryFileSystem store_;
  Process a_{&store_, "a"};
};

TEST_F(ShardsTest, OneShardHasAllKeysAtFirst) {
  EXPECT_THAT(a_.map->List(), ElementsAre(a_.map->Find("any")));
  const Shard only = a_.map->Find("");
  EXPECT_EQ(only.database, "shards/000001");
  EXPECT_EQ(only.owner, "a");
  EXPECT_FALSE(only.unmade);
  EXPECT_FALSE(only.end.has_value());
  ASSERT_OK(a_.Put("k", "v"));
  EXPECT_EQ(a_.Get("k"), "v");
  EXPECT_EQ(a_.Get("absent"), "NOT_FOUND");
  EXPECT_EQ(ShardMap::Create(SmallOptions(&store_), "map", {.databases = "other"}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ShardMap::Create(SmallOptions(&store_), "new", {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ShardMap::Open(SmallOptions(&store_), "nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ShardsTest, ASplitPartsTheKeys) {
  Fill(0, 1000);
  ASSERT_OK(a_.host->Split(KeyOf(400)));
  const std::vector<Shard> shards = a_.map->List();
  ASSERT_EQ(shards.size(), 2u);
  EXPECT_EQ(shards[0].end, KeyOf(400));
  EXPECT_EQ(shards[1].begin, KeyOf(400));
  EXPECT_EQ(shards[1].owner, "a");
  EXPECT_NE(shards[0].database, shards[1].database);
  for (const Shard& shard : shards) EXPECT_FALSE(shard.untrimmed || shard.unmade || shard.split.has_value());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a_.Get(KeyOf(i)), std::to_string(i));
  EXPECT_EQ(a_.Keys().size(), 1000u);  // each is in one of the two
  ASSERT_OK(a_.Put(KeyOf(100), "low"));
  ASSERT_OK(a_.Put(KeyOf(900), "high"));

  ASSERT_OK(a_.Start());
  EXPECT_EQ(a_.Get(KeyOf(100)), "low");
  EXPECT_EQ(a_.Get(KeyOf(900)), "high");
  EXPECT_EQ(a_.host->List(), a_.map->List());
}

TEST_F(ShardsTest, AColumnFamilyIsPartedToo) {
  ASSERT_OK(a_.host->With("", [](DB& db) { return db.CreateColumnFamily("other", {}).status(); }));
  ASSERT_OK(a_.host->With("", [](DB& db) -> absl::Status {
    const auto family = db.FindColumnFamily("other");
    EXPECT_OK(db.Put(**family, "a", "1"));
    return db.Put(**family, "z", "26");
  }));
  ASSERT_OK(a_.host->Split("m"));
  for (const char* key : {"a", "z"}) {
    ASSERT_OK(a_.host->With(key, [&](DB& db) -> absl::Status {
      const auto family = db.FindColumnFamily("other");
      EXPECT_TRUE(db.Get(**family, key).ok());
      EXPECT_FALSE(db.Get(**family, key == std::string("a") ? "z" : "a").ok());
      return absl::OkStatus();
    }));
  }
}

TEST_F(ShardsTest, AnotherProcessAsksTheOwnerToSplit) {
  Fill(0, 100);
  const auto seen = ShardMap::Open(SmallOptions(&store_), "map");
  ASSERT_OK(seen);
  const Shard shard = (*seen)->Find(KeyOf(50));
  EXPECT_EQ((*seen)->AskToSplit(shard, shard.begin).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_OK((*seen)->AskToSplit(shard, KeyOf(50)));
  // The shard is another one since then.
  const absl::Status late = (*seen)->AskToSplit(shard, KeyOf(60)).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(late.message()), HasSubstr("has changed"));
  EXPECT_EQ(a_.map->List().size(), 1u);
  ASSERT_OK(a_.host->Refresh());
  EXPECT_EQ(a_.map->List().size(), 2u);
  EXPECT_EQ((*seen)->List().size(), 1u);
  ASSERT_OK((*seen)->Refresh());
  EXPECT_EQ((*seen)->List(), a_.map->List());
  EXPECT_EQ((*seen)->epoch(), a_.map->epoch());
}

TEST_F(ShardsTest, AShardMovesWhenItsOwnerHasClosedIt) {
  Fill(0, 100);
  Process b(&store_, "b");
  ASSERT_OK(b.Start());
  EXPECT_EQ(b.Get(KeyOf(1)), "ABORTED");
  ASSERT_OK(b.map->Assign(b.map->Find(""), "b"));
  EXPECT_EQ(b.host->Refresh().code(), absl::StatusCode::kUnavailable);  // a has it open
  EXPECT_EQ(b.Get(KeyOf(1)), "UNAVAILABLE");
  ASSERT_OK(a_.Put(KeyOf(1), "last"));  // and has not noticed
  ASSERT_OK(a_.host->Refresh());
  const absl::Status moved = a_.Put(KeyOf(1), "late");
  EXPECT_EQ(moved.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(moved.message()), HasSubstr("whose owner is \"b\""));
  ASSERT_OK(b.host->Refresh());
  EXPECT_EQ(b.Get(KeyOf(1)), "last");
  EXPECT_EQ(b.Get(KeyOf(99)), "99");
}

TEST_F(ShardsTest, NoShardIsHostedTwiceUnderOneKey) {
  EXPECT_EQ(a_.map->Get(17).status().code(), absl::StatusCode::kNotFound);
  Shard unknown = a_.map->Find("");
  unknown.id = 17;
  EXPECT_EQ(a_.map->Assign(unknown, "b").status().code(), absl::StatusCode::kNotFound);
  ASSERT_OK(a_.host->Close());
  EXPECT_EQ(a_.Get("k"), "UNAVAILABLE");
  EXPECT_EQ(a_.host->Split("k").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a_.host->Refresh().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK(a_.Start());
  EXPECT_EQ(a_.Get("k"), "NOT_FOUND");
}

// Two clients of one store, which fence each other.
class ShardsTakeOverTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(ShardMap::Create(SmallOptions(&store_), "map", {.databases = "shards", .owner = "a"}));
    ASSERT_OK(a.Start());
    ASSERT_OK(b.Start());
  }

  MemoryFileSystem store_{kSharedStore};
  MemoryFileSystem other_ = store_.AnotherClient();
  Process a{&store_, "a"};
  Process b{&other_, "b"};
};

// It was another's meanwhile, who has written to it: what is open here is of the past.
TEST_F(ShardsTakeOverTest, AShardThatComesBackIsOpenedAnew) {
  ASSERT_OK(a.Put("k", "a's"));
  ASSERT_OK(b.map->Assign(b.map->Find(""), "b", /*take_over=*/true));
  ASSERT_OK(b.host->Refresh());
  ASSERT_OK(b.Put("k", "b's"));
  ASSERT_OK(b.map->Assign(b.map->Find(""), "a"));
  ASSERT_OK(b.host->Refresh());
  // What a has open is closed, whether or not its client may open it again.
  a.host->Refresh().IgnoreError();
  EXPECT_NE(a.Get("k"), "a's");
}

// What is before a key in one order is behind it in another.
TEST_F(ShardsTest, AShardWithAFamilyInAnotherOrderIsNotSplit) {
  static const CaselessComparator caseless;
  ASSERT_OK(
      a_.host->With("", [](DB& db) { return db.CreateColumnFamily("caseless", {.comparator = &caseless}).status(); }));
  EXPECT_EQ(a_.host->Split("m").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a_.map->List().size(), 1u);
}

TEST_F(ShardsTest, AShardWithAPreparedTransactionIsNotSplit) {
  std::unique_ptr<Transaction> transaction;
  ASSERT_OK(a_.host->With("k", [&](DB& db) -> absl::Status {
    transaction = db.BeginTransaction().value();
    EXPECT_OK(transaction->Put("k", "v"));
    return transaction->Prepare("p");
  }));
  EXPECT_EQ(a_.host->Split("m").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(a_.map->List().size(), 1u);
  ASSERT_OK(transaction->Commit());
  transaction.reset();
  ASSERT_OK(a_.host->Split("n"));
  EXPECT_EQ(a_.Get("k"), "v");
}

TEST_F(ShardsTakeOverTest, AShardOfADeadOwnerIsTakenOverWithAllThatWasAcknowledged) {
  for (int i = 0; i < 100; ++i) ASSERT_OK(a.Put(KeyOf(i), std::to_string(i)));
  ASSERT_OK(b.map->Assign(b.map->Find(""), "b", /*take_over=*/true));
  ASSERT_OK(b.host->Refresh());
  EXPECT_FALSE(b.map->Find("").take_over);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(b.Get(KeyOf(i)), std::to_string(i));
  EXPECT_FALSE(a.Put("late", "v").ok());
  EXPECT_EQ(b.Get("late"), "NOT_FOUND");
}

// Writers go where the map says, while the shards of both processes are split and move.
TEST_F(ShardsTest, NothingAcknowledgedIsLostWhileShardsSplitAndMove) {
  constexpr int kWriters = 3;
  constexpr int kRange = 10'000;
  Process b(&store_, "b");
  ASSERT_OK(b.Start());
  std::atomic<bool> ends = false;
  std::vector<std::map<std::string, std::string>> written(kWriters);
  {
    std::vector<Thread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        for (int i = 0; !ends.load(); ++i) {
          const std::string key = KeyOf((i * 7919 + w) % kRange / kWriters * kWriters + w);
          const std::string value = absl::StrFormat("%d.%d", w, i);
          while (true) {
            Process& owner = b.map->Find(key).owner == "a" ? a_ : b;
            absl::Status put = owner.Put(key, value);
            if (!put.ok()) put = (&owner == &a_ ? b : a_).Put(key, value);
            if (put.ok()) break;
            ASSERT_TRUE(absl::IsAborted(put) || absl::IsUnavailable(put)) << put;
          }
          written[w][key] = value;
        }
      });
    }
    for (int step = 0; step < 12; ++step) {
      const std::string key = KeyOf((step * 2741 + 500) % kRange);
      const Shard shard = b.map->Find(key);
      if (shard.begin != key) {
        ASSERT_OK(b.map->AskToSplit(shard, key));
        ASSERT_OK((shard.owner == "a" ? a_ : b).host->Refresh());
      }
      ASSERT_OK(b.map->Refresh());
      const Shard half = b.map->Find(key);
      ASSERT_OK(b.map->Assign(half, half.owner == "a" ? "b" : "a"));
      ASSERT_OK((half.owner == "a" ? a_ : b).host->Refresh());
      ASSERT_OK((half.owner == "a" ? b : a_).host->Refresh());
    }
    ends = true;
  }
  EXPECT_GT(a_.map->List().size(), 6u);
  size_t keys = 0;
  for (const auto& each : written) {
    for (const auto& [key, value] : each) {
      ++keys;
      ASSERT_EQ((b.map->Find(key).owner == "a" ? a_ : b).Get(key), value) << key;
    }
  }
  EXPECT_EQ(a_.Keys().size() + b.Keys().size(), keys);
}

// Whatever call fails within a split, and though the machine loses power then: all keys are there, and in one shard.
TEST(ShardsFaultTest, ASplitThatFailsAnywhereLosesNothing) {
  for (uint64_t skip = 0;; ++skip) {
    MemoryFileSystem store;
    FaultFileSystem faulty(&store);
    ASSERT_OK(ShardMap::Create(SmallOptions(&store), "map", {.databases = "shards", .owner = "a"}));
    Process a(&faulty, "a");
    ASSERT_OK(a.Start());
    for (int i = 0; i < 50; ++i) ASSERT_OK(a.Put(KeyOf(i), std::to_string(i)));
    faulty.Inject({.mutations_only = true, .skip = skip, .sticky = skip % 2 == 0});
    a.map->set_patience(std::chrono::milliseconds(0));
    const absl::Status split = a.host->Split(KeyOf(20));
    const bool failed = faulty.FaultCount() > 0;
    faulty.Clear();
    // What the host takes after the failure counts too.
    std::map<int, std::string> acknowledged;
    for (int i = 0; i < 50; i += 7) {
      if (a.Put(KeyOf(i), "after").ok()) acknowledged[i] = "after";
    }
    a.host.reset();
    a.map.reset();
    if (skip % 3 == 0) store.Crash(CrashMode::kLoseUnsynced, skip);
    ASSERT_OK(a.Start()) << skip;
    for (int i = 0; i < 50; ++i) {
      const std::string expected = acknowledged.contains(i) ? "after" : std::to_string(i);
      const std::string got = a.Get(KeyOf(i));
      ASSERT_TRUE(got == expected || (i % 7 == 0 && got == "after")) << skip << " " << i << " " << got;
    }
    ASSERT_EQ(a.Keys().size(), 50u) << skip;
    for (const Shard& shard : a.map->List()) ASSERT_FALSE(shard.untrimmed) << skip;
    if (!failed) {
      ASSERT_OK(split);
      EXPECT_GT(skip, 20u);
      break;
    }
  }
}

}  // namespace
}  // namespace sepal
