// MultiGet gives what Get gives for each key.
#include <gtest/gtest.h>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class MultiGetTest : public EngineTest {
 protected:
  void ExpectAsGet(const std::vector<std::string>& keys, const ReadOptions& options = {}) {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db()->MultiGet(views, values, statuses, options).IgnoreError();
    for (size_t i = 0; i < keys.size(); ++i) {
      const absl::StatusOr<std::string> one = db()->Get(keys[i], options);
      EXPECT_EQ(statuses[i].code(), one.status().code()) << keys[i];
      EXPECT_EQ(values[i].value(), one.ok() ? *one : "") << keys[i];
    }
  }
  std::vector<std::string> RandomKeys(Random* random, size_t count) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) {
      keys.push_back(NumberedKey(random->Uniform(700)) + (random->OneIn(6) ? "absent" : ""));
    }
    return keys;
  }
};

TEST_F(MultiGetTest, AgreesWithGetOverMemtablesAndManyRuns) {
  Random random(3);
  std::shared_ptr<const Snapshot> snapshot;
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 60; ++i) {
      const std::string key = NumberedKey(random.Uniform(600));
      if (random.OneIn(5)) {
        ASSERT_OK(db()->Delete(key));
      } else {
        const size_t bytes = random.OneIn(20) ? 3000 : random.Uniform(100);
        ASSERT_OK(db()->Put(key, std::string(bytes, static_cast<char>('a' + round))));
      }
    }
    if (round % 3 != 0) ASSERT_OK(db()->Flush());
    if (round == 6) snapshot = db()->GetSnapshot();
    for (const size_t count : {size_t{1}, size_t{31}, size_t{32}, size_t{33}, size_t{100}}) {
      ExpectAsGet(RandomKeys(&random, count));
      if (snapshot != nullptr) ExpectAsGet(RandomKeys(&random, count), {.snapshot = snapshot.get()});
    }
  }
}

TEST_F(MultiGetTest, AFailedReadFailsItsOwnKeysAndNoOthers) {
  Fill(0, 300, 200);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Get(NumberedKey(0)).status());  // opens the table and fetches its pages
  // One place of one table cannot be read, however often it is tried.
  uint64_t reads = 0;
  std::string table;
  uint64_t place = 0;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kRead || !call.name.ends_with(".sst")) return Fault::kNone;
    const uint64_t end = call.offset + call.length;
    if (++reads == 2) table = call.name, place = end - 1;
    const bool meets = reads >= 2 && call.name == table && call.offset <= place && end > place;
    return meets ? Fault::kIoError : Fault::kNone;
  });
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 300; i += 10) keys.push_back(NumberedKey(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db()->MultiGet(views, values, statuses).IgnoreError();
  size_t failed = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_FALSE(absl::IsNotFound(statuses[i]));
    if (statuses[i].ok()) {
      EXPECT_TRUE(values[i].value().starts_with(std::to_string(i * 10) + ":"));
    } else {
      ++failed;
    }
  }
  EXPECT_GE(failed, 1u);
  EXPECT_LT(failed, keys.size());
  database.files.Clear();
  ExpectAsGet(keys);
}

TEST_F(MultiGetTest, LongValuesStayReadableAfterTheDatabaseIsGone) {
  for (uint64_t i = 0; i < 40; ++i)
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(2000, static_cast<char>('a' + i % 26))));
  ASSERT_OK(db()->CompactRange());
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 40; ++i) keys.push_back(NumberedKey(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db()->MultiGet(views, values, statuses).IgnoreError();
  ASSERT_OK(db()->Close());
  database.db.reset();
  for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(values[i].value(), std::string(2000, static_cast<char>('a' + i % 26)));
}

}  // namespace
}  // namespace sepal
