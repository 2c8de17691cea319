// Iterators over long runs of deleted keys: what they go over, and that they show the truth.
#include <gtest/gtest.h>

#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sepal/merge_operator.h"
#include "sepal/write_batch.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/read/counting_comparator.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class DeletedKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    database.options.family.comparator = &comparator;
    // All of a run in one memtable, where a test does not flush.
    database.tuning.memtable_bytes = size_t{1} << 20;
    database.tuning.memtable_limit_bytes = size_t{2} << 20;
    database.tuning.log_limit_bytes = uint64_t{8} << 20;
    ASSERT_OK(database.Open());
  }
  static constexpr uint64_t kRounds = 3000;

  DB* db() { return database.db.get(); }
  void PutRange(uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "v"));
  }
  void DeleteRange(uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
  }
  std::string First(const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    it->SeekToFirst();
    return it->Valid() ? std::string(it->key()) : "none";
  }
  std::string Last(const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    it->SeekToLast();
    return it->Valid() ? std::string(it->key()) : "none";
  }
  template <class Call>
  uint64_t ComparisonsOf(Call call) {
    const uint64_t before = comparator.calls;
    call();
    return comparator.calls - before;
  }

  CountingComparator comparator;
  TestDatabase database;
};

TEST_F(DeletedKeysTest, AQueueIsReadWithoutWhatItHasDeleted) {
  PutRange(0, 100);
  uint64_t all = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    PutRange(100 + i, 101 + i);
    all += ComparisonsOf([&] { EXPECT_EQ(First(), NumberedKey(i)); });
    DeleteRange(i, i + 1);
  }
  EXPECT_LT(all, kRounds * 500);
}

TEST_F(DeletedKeysTest, AQueueIsReadBackwardToo) {
  PutRange(10000, 10100);
  uint64_t all = 0;
  for (uint64_t i = 0; i < kRounds; ++i) {
    PutRange(9999 - i, 10000 - i);
    all += ComparisonsOf([&] { EXPECT_EQ(Last(), NumberedKey(10099 - i)); });
    DeleteRange(10099 - i, 10100 - i);
  }
  EXPECT_LT(all, kRounds * 500);
}

TEST_F(DeletedKeysTest, ARunIsWalkedOverOnceWhereverItLies) {
  PutRange(0, 3100);
  ASSERT_OK(db()->Flush());
  DeleteRange(0, 1500);
  ASSERT_OK(db()->Flush());
  DeleteRange(1500, 3000);
  EXPECT_EQ(First(), NumberedKey(3000));
  EXPECT_LT(ComparisonsOf([&] { EXPECT_EQ(First(), NumberedKey(3000)); }), 1500u);
  const auto from_the_middle = [&] {
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    it->Seek(NumberedKey(700));
    EXPECT_EQ(it->key(), NumberedKey(3000));
    it->Prev();
    EXPECT_FALSE(it->Valid());
  };
  EXPECT_LT(ComparisonsOf(from_the_middle), 2000u);
  // A flush changes where tombstones lie, and not what is visible.
  ASSERT_OK(db()->Flush());
  EXPECT_LT(ComparisonsOf([&] { EXPECT_EQ(First(), NumberedKey(3000)); }), 1500u);
  EXPECT_EQ(Last({.upper_bound = NumberedKey(2000)}), "none");
}

TEST_F(DeletedKeysTest, OlderReadersSeeWhatWasDeletedLater) {
  PutRange(0, 2100);
  DeleteRange(0, 500);
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  const std::unique_ptr<Iterator> older = db()->NewIterator();
  DeleteRange(500, 2000);
  EXPECT_EQ(First(), NumberedKey(2000));
  EXPECT_EQ(First(), NumberedKey(2000));
  EXPECT_EQ(First({.snapshot = snapshot.get()}), NumberedKey(500));
  older->SeekToFirst();
  EXPECT_EQ(older->key(), NumberedKey(500));
  older->Seek(NumberedKey(1000));
  EXPECT_EQ(older->key(), NumberedKey(1000));
  older->Prev();
  EXPECT_EQ(older->key(), NumberedKey(999));
}

TEST_F(DeletedKeysTest, AMergeInARunIsSeen) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  ASSERT_OK(database.Reopen());
  PutRange(0, 1000);
  DeleteRange(0, 999);
  EXPECT_EQ(First(), NumberedKey(999));
  ASSERT_OK(db()->Merge(NumberedKey(500), "merged"));
  EXPECT_EQ(First(), NumberedKey(500));
  EXPECT_EQ(*db()->Get(NumberedKey(500)), "merged");
}

TEST_F(DeletedKeysTest, APutInARunIsSeen) {
  PutRange(0, 2100);
  DeleteRange(0, 2000);
  EXPECT_EQ(First(), NumberedKey(2000));
  const std::unique_ptr<Iterator> before = db()->NewIterator();
  PutRange(700, 701);
  EXPECT_EQ(First(), NumberedKey(700));
  EXPECT_EQ(Last({.upper_bound = NumberedKey(2000)}), NumberedKey(700));
  before->SeekToFirst();
  EXPECT_EQ(before->key(), NumberedKey(2000));
  EXPECT_LT(ComparisonsOf([&] { EXPECT_EQ(First(), NumberedKey(700)); }), 1500u);
  DeleteRange(700, 701);
  EXPECT_EQ(First(), NumberedKey(2000));
}

// What is read is compared with a model of every state that a snapshot or an iterator still sees.
class DeletedKeysModel {
 public:
  DeletedKeysModel(TestDatabase* database, uint64_t seed) : database_(*database), random_(seed) {}

  void Step() {
    switch (random_.Uniform(12)) {
      case 0:
      case 1:
        return Put(random_.Uniform(kKeys), 1 + random_.Uniform(200));
      case 2:
        return Put(random_.Uniform(kKeys), 1);
      case 3:
      case 4:
        return Delete(random_.Uniform(kKeys), 1 + random_.Uniform(600));
      case 5:
        if (random_.OneIn(4)) ASSERT_OK(database_.db->Flush());
        return;
      case 6:
        if (random_.OneIn(8)) ASSERT_OK(database_.db->CompactRange());
        return;
      case 7:
        return Keep();
      case 8:
        return CheckKept();
      default:
        return CheckNow();
    }
  }

 private:
  static constexpr uint64_t kKeys = 1500;
  using State = std::map<std::string, std::string>;
  struct Kept {
    State state;
    std::shared_ptr<const Snapshot> snapshot;
    std::unique_ptr<Iterator> iterator;
  };

  void Put(uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      state_[NumberedKey(i)] = std::to_string(++values_);
      ASSERT_OK(database_.db->Put(NumberedKey(i), std::to_string(values_)));
    }
  }
  void Delete(uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      state_.erase(NumberedKey(i));
      ASSERT_OK(database_.db->Delete(NumberedKey(i)));
    }
  }
  void Keep() {
    if (kept_.size() > 4) kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(random_.Uniform(kept_.size())));
    Kept kept{.state = state_, .snapshot = nullptr, .iterator = nullptr};
    if (random_.OneIn(2)) {
      kept.snapshot = database_.db->GetSnapshot();
    } else {
      kept.iterator = database_.db->NewIterator();
    }
    kept_.push_back(std::move(kept));
  }
  void CheckKept() {
    if (kept_.empty()) return;
    const Kept& kept = kept_[random_.Uniform(kept_.size())];
    if (kept.iterator != nullptr) return Walk(kept.iterator.get(), kept.state);
    Walk(database_.db->NewIterator({.snapshot = kept.snapshot.get()}).get(), kept.state);
  }
  void CheckNow() { Walk(database_.db->NewIterator().get(), state_); }

  void Walk(Iterator* it, const State& state) {
    for (int seeks = 0; seeks < 4; ++seeks) {
      const std::string target = NumberedKey(random_.Uniform(kKeys));
      State::const_iterator at;
      switch (random_.Uniform(4)) {
        case 0:
          it->SeekToFirst();
          at = state.begin();
          break;
        case 1:
          it->Seek(target);
          at = state.lower_bound(target);
          break;
        case 2:
          it->SeekForPrev(target);
          at = Previous(state, state.upper_bound(target));
          break;
        default:
          it->SeekToLast();
          at = Previous(state, state.end());
      }
      for (int steps = 0; steps < 5; ++steps) {
        ASSERT_OK(it->status());
        ASSERT_EQ(it->Valid(), at != state.end());
        if (!it->Valid()) break;
        ASSERT_EQ(it->key(), at->first);
        ASSERT_EQ(it->value(), at->second);
        if (random_.OneIn(2)) {
          it->Next();
          ++at;
        } else {
          it->Prev();
          at = Previous(state, at);
        }
      }
    }
  }
  static State::const_iterator Previous(const State& state, State::const_iterator at) {
    return at == state.begin() ? state.end() : std::prev(at);
  }

  TestDatabase& database_;
  Random random_;
  State state_;
  uint64_t values_ = 0;
  std::vector<Kept> kept_;
};

TEST(DeletedKeysModelTest, EveryReaderSeesItsOwnState) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    TestDatabase database(Threads::kSimulated, seed);
    // With memtables that hold several steps, and ones that one step fills.
    if (seed % 2 == 0) {
      database.tuning.memtable_bytes = size_t{256} << 10;
      database.tuning.memtable_limit_bytes = size_t{512} << 10;
    }
    ASSERT_OK(database.Open());
    DeletedKeysModel model(&database, seed);
    for (int i = 0; i < 300; ++i) {
      model.Step();
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

// One key wanders through a run of deleted ones: each batch deletes it here and puts it there.
TEST(DeletedKeysThreadsTest, AKeyThatMovesIsSeenOnceByEveryReader) {
  constexpr uint64_t kKeys = 3000;
  TestDatabase database(Threads::kReal);
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db->Put(NumberedKey(i), "v"));
  for (uint64_t i = 1; i < kKeys; ++i) ASSERT_OK(db->Delete(NumberedKey(i)));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> reads{0};
  const auto read = [&](uint64_t seed) {
    Random random(seed);
    while (!done.load()) {
      const std::unique_ptr<Iterator> it = db->NewIterator();
      uint64_t seen = 0;
      if (random.OneIn(2)) {
        for (it->SeekToFirst(); it->Valid(); it->Next()) ++seen;
      } else {
        for (it->SeekToLast(); it->Valid(); it->Prev()) ++seen;
      }
      if (seen != 1) ++wrong;
      ++reads;
    }
  };
  std::vector<std::unique_ptr<Thread>> threads;
  for (uint64_t i = 1; i <= 2; ++i) threads.push_back(std::make_unique<Thread>([&, i] { read(i); }));
  Random random(7);
  uint64_t at = 0;
  for (int moves = 0; moves < 20000 || reads.load() < 200; ++moves) {
    const uint64_t to = random.Uniform(kKeys);
    WriteBatch batch;
    batch.Delete(NumberedKey(at));
    batch.Put(NumberedKey(to), "v");
    if (!db->Write(batch).ok()) ++wrong;
    at = to;
  }
  done = true;
  for (std::unique_ptr<Thread>& thread : threads) thread->Join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace sepal
