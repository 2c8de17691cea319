// Flushes of what comes in the order of its keys, before memtables are full.
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

constexpr size_t kValueBytes = 100;

class EarlyFlushTest : public EngineTest {
 protected:
  EarlyFlushTest() {
    database.tuning.early_flushes = true;
    database.tuning.memtable_bytes = size_t{256} << 10;
    database.tuning.memtable_limit_bytes = size_t{512} << 10;
    database.tuning.log_limit_bytes = size_t{4} << 20;
  }
  // Of keys and values, this part of what memtables may take.
  uint64_t EntriesIn(double part) const {
    const double bytes = part * static_cast<double>(database.tuning.memtable_bytes);
    return static_cast<uint64_t>(bytes) / (NumberedKey(0).size() + kValueBytes);
  }
  void PutInOrder(double part, const ColumnFamily* family = nullptr) {
    const std::string value(kValueBytes, 'v');
    for (uint64_t end = next_ + EntriesIn(part); next_ < end; ++next_) {
      ASSERT_OK(db()->Put(FamilyOrDefault(db(), family), NumberedKey(next_), value));
    }
  }
  uint64_t Flushes() {
    EXPECT_OK(db()->WaitForBackgroundWork());
    return db()->statistics().Get(Ticker::kFlushes);
  }

  uint64_t next_ = 0;
};

TEST_F(EarlyFlushTest, TheFirstFlushComesEarlyAndSlowWritersFillMemtablesThen) {
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0.2));
  EXPECT_EQ(Flushes(), 1u);
  // As slow as can be: each waits for what the one before has set off.
  for (int i = 0; i < 8; ++i) {
    ASSERT_NO_FATAL_FAILURE(PutInOrder(0.05));
    EXPECT_EQ(Flushes(), 1u);
  }
}

TEST_F(EarlyFlushTest, WritersThatAreFasterThanFlushesHaveTheNextFlushAtHalfAMemtable) {
  ASSERT_OK(db()->PauseBackgroundWork());
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0.5));
  EXPECT_EQ(database.Metrics().ImmutableMemtables(), 1) << "nothing more is sealed while that waits";
  ASSERT_OK(db()->ContinueBackgroundWork());
  EXPECT_EQ(Flushes(), 1u);
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0.05));
  EXPECT_EQ(Flushes(), 2u);
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), next_);
}

TEST_F(EarlyFlushTest, AnEarlyFlushWaitsWhereANewLogHasNoSpaceAndWritesGoOnInTheOldLog) {
  for (const bool with_log : {true, false}) {
    next_ = 0;
    ASSERT_OK(database.Reopen());
    const uint64_t before = Flushes();
    database.files.SetDecider([](const FileCall& call) {
      const bool makes_log = call.name.ends_with(".log") && call.op == FileOp::kOpenWrite;
      return makes_log ? Fault::kNoSpace : Fault::kNone;
    });
    const std::string value(kValueBytes, 'v');
    for (; next_ < EntriesIn(0.5); ++next_) {
      ASSERT_OK(db()->Put(NumberedKey(next_), value, {.disable_wal = !with_log}));
    }
    EXPECT_EQ(Flushes(), before);
    database.files.SetDecider(nullptr);
    ASSERT_OK(db()->Put(NumberedKey(next_++), value));
    ASSERT_NO_FATAL_FAILURE(PutInOrder(0.05));
    EXPECT_EQ(Flushes(), before + 1);
  }
}

TEST_F(EarlyFlushTest, KeysInNoOrderFillMemtables) {
  ASSERT_OK(db()->Put(NumberedKey(999'999), std::string(kValueBytes, 'v')));
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0.5));
  EXPECT_EQ(Flushes(), 0u);
}

TEST_F(EarlyFlushTest, OneKeyOverAndOverFillsMemtables) {
  for (uint64_t i = 0; i < EntriesIn(0.5); ++i) ASSERT_OK(db()->Put("key", std::string(kValueBytes, 'v')));
  EXPECT_EQ(Flushes(), 0u);
}

TEST_F(EarlyFlushTest, SeveralFamiliesFillMemtables) {
  const std::shared_ptr<const ColumnFamily> other = db()->CreateColumnFamily("other", {}).value();
  ASSERT_OK(db()->Put(*other, "key", "value"));
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0.4));
  EXPECT_EQ(Flushes(), 0u);
}

TEST_F(EarlyFlushTest, AnEarlyFlushComesToTheOnlyFamilyThatIsWrittenWhicheverThatIs) {
  const std::shared_ptr<const ColumnFamily> other = db()->CreateColumnFamily("other", {}).value();
  ASSERT_NO_FATAL_FAILURE(PutInOrder(0.2, other.get()));
  EXPECT_EQ(Flushes(), 1u);
}

}  // namespace
}  // namespace sepal
