// Options::cache_admission: the same results with either kind, in a database that does not fit the cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class AdmissionOptionTest : public EngineTest {
 protected:
  static constexpr uint64_t kKeys = 12'000;
  static constexpr size_t kValueBytes = 1000;

  void SetUp() override {
    database.options.memory_limit = size_t{8} << 20;
    database.options.family.compression = CompressionKind::kNone;
    database.options.family.block_bytes = 4096;
    database.tuning.table_bytes = size_t{1} << 20;
    database.tuning.memtable_bytes = size_t{1} << 20;
    database.tuning.memtable_limit_bytes = size_t{2} << 20;
    EngineTest::SetUp();
    Fill(0, kKeys, kValueBytes);
    ASSERT_OK(db()->CompactRange());
  }
  void ReopenWith(CacheAdmissionKind kind) {
    database.options.cache_admission = kind;
    ASSERT_OK(database.Reopen());
  }
  // Reads of all keys in order, and of some at random, nine of ten of them the same few.
  void ReadAndCheck() {
    Random random(3);
    for (uint64_t i = 0; i < kKeys; ++i) {
      ExpectValue(i);
      ExpectValue(random.Uniform(random.OneIn(10) ? kKeys : 500));
    }
    uint64_t next = 0;
    const std::unique_ptr<Iterator> iterator = db()->NewIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      ASSERT_EQ(iterator->key(), NumberedKey(next));
      ++next;
    }
    EXPECT_OK(iterator->status());
    EXPECT_EQ(next, kKeys);
  }
  void ExpectValue(uint64_t i) {
    const absl::StatusOr<std::string> value = db()->Get(NumberedKey(i));
    ASSERT_OK(value.status());
    ASSERT_EQ(value->size(), kValueBytes);
    ASSERT_EQ(value->substr(0, value->find(':')), std::to_string(i));
    ASSERT_EQ(value->back(), static_cast<char>('a' + i % 26));
  }
};

TEST_F(AdmissionOptionTest, ReadsSeeTheSameWithEitherKindAndAfterAChangeOfIt) {
  for (const CacheAdmissionKind kind :
       {CacheAdmissionKind::kTinyLfu, CacheAdmissionKind::kProbation, CacheAdmissionKind::kTinyLfu}) {
    ReopenWith(kind);
    ReadAndCheck();
    EXPECT_GT(db()->statistics()->Get(Ticker::kBlockCacheMisses), kKeys / 4) << "everything fits the cache";
    EXPECT_GT(db()->statistics()->Get(Ticker::kBlockCacheHits), kKeys / 2);
    ASSERT_OK(db()->CheckConsistency());
  }
}

TEST_F(AdmissionOptionTest, ThePropertyTellsTheKindInForce) {
  EXPECT_THAT(db()->GetProperty("sepal.options").value(), HasSubstr("cache_admission: probation"));
  ReopenWith(CacheAdmissionKind::kTinyLfu);
  EXPECT_THAT(db()->GetProperty("sepal.options").value(), HasSubstr("cache_admission: tinylfu"));
}

}  // namespace
}  // namespace sepal
