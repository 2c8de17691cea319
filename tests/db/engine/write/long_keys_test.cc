// Keys longer than 64 KiB: as good as any, wherever keys are, and a feature of the database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "db/format/features.h"
#include "tests/db/doctor/repair_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LongKeysTest : public RepairSalvageTest {
 protected:
  void SetUp() override {
    RepairSalvageTest::SetUp();
    database.options.memory_limit = size_t{256} << 20;
    ASSERT_OK(database.Open());
  }
  // `bytes` long; of one length, they differ in the last byte.
  static std::string Key(char last, size_t bytes = kMaxShortKeyBytes + 1) { return std::string(bytes - 1, 'k') + last; }
  // The last bytes of all keys, both ways.
  std::string Seen(const ReadOptions& options = {}) {
    std::string forward, backward;
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    for (it->SeekToFirst(); it->Valid(); it->Next()) forward.push_back(it->key().back());
    for (it->SeekToLast(); it->Valid(); it->Prev()) backward.insert(backward.begin(), it->key().back());
    EXPECT_OK(it->status());
    EXPECT_EQ(forward, backward);
    return forward;
  }
  Features FeaturesInManifest() {
    Features features;
    const auto directory = database.files.OpenDirectory(database.path, false).value();
    EXPECT_OK(RecoverManifest(directory.get(), {}, false, [&](const VersionEdit& edit) {
                features |= edit.features;
                return absl::OkStatus();
              }).status());
    return features;
  }
  bool SaysSo() { return FeaturesInManifest().Has(Feature::kLongKeys); }
};

TEST_F(LongKeysTest, TheManifestSaysSoBeforeTheFirstOneAndKeepsSayingIt) {
  ASSERT_OK(db()->Put(std::string(kMaxShortKeyBytes, 'k'), "v"));
  EXPECT_FALSE(SaysSo());
  ASSERT_OK(db()->Put(Key('a'), "v"));
  EXPECT_TRUE(SaysSo());
  ASSERT_OK(database.Reopen());
  EXPECT_TRUE(SaysSo());
  ASSERT_OK(db()->Checkpoint("/copy"));
  VersionEdit edit;
  edit.features = Feature::kLongKeys;
  for (const std::string& name : Files("/copy")) {
    if (!name.starts_with("MANIFEST")) continue;
    EXPECT_THAT(database.memory.ReadFileContents("/copy/" + name).value(), HasSubstr(edit.Encode()));
  }
}

TEST_F(LongKeysTest, WithoutTheManifestSayingSoNothingOfTheKeyIsWritten) {
  ASSERT_OK(db()->Put("short", "v", {.sync = true}));
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kAppend, .name_contains = "MANIFEST"});
  EXPECT_FALSE(db()->Put(Key('a'), "v", {.sync = true}).ok());
  ASSERT_OK(database.Open());
  EXPECT_EQ(Seen(), "t");
  EXPECT_FALSE(SaysSo());
  ASSERT_OK(db()->Put(Key('a'), "v"));
  EXPECT_EQ(Seen(), "at");
}

TEST_F(LongKeysTest, TheLongestIsFoundWhereverItIsAndALongerOneIsRefused) {
  const std::string longest = Key('b', kMaxKeyBytes);
  const absl::Status refused = db()->Put(longest + "c", "v");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("16777216"));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->DeleteRange("a", longest + "c")));
  const auto expect_all = [&] {
    EXPECT_EQ(Seen(), "abc");
    EXPECT_EQ(db()->Get(longest).value(), "of b");
    EXPECT_TRUE(absl::IsNotFound(db()->Get(Key('d', kMaxKeyBytes)).status()));
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    it->Seek(longest);
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), longest);
    EXPECT_EQ(it->value(), "of b");
  };
  ASSERT_OK(db()->Put(Key('a'), "of a"));
  ASSERT_OK(db()->Put(longest, "of b"));
  ASSERT_OK(db()->Put("lc", "of c"));
  expect_all();
  ASSERT_OK(db()->Flush());
  expect_all();
  ASSERT_OK(db()->Put(longest, "of b"));
  ASSERT_OK(db()->CompactRange());
  expect_all();
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  expect_all();
  EXPECT_OK(db()->VerifyChecksums({}));
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(LongKeysTest, EveryKindOfUpdateAndReadTakesThem) {
  ASSERT_OK(db()->Put(Key('a'), "1"));
  WriteBatch batch;
  batch.Put(Key('b'), "2");
  batch.Put(Key('c'), "3");
  batch.Delete(Key('a'));
  ASSERT_OK(db()->Write(batch));
  const std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->DeleteRange(Key('b'), Key('c')));
  EXPECT_EQ(db()->PutIfAbsent(Key('d'), "4").value(), true);
  ASSERT_OK(db()->RunTransaction({}, [&](Transaction& transaction) {
    EXPECT_EQ(transaction.Get(Key('d')).value(), "4");
    return transaction.Put(Key('e'), "5");
  }));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Seen(), "cde");
    EXPECT_EQ(Seen({.upper_bound = Key('d')}), "c");
    EXPECT_EQ(Seen({.lower_bound = Key('d')}), "de");
    EXPECT_EQ(Seen({.snapshot = snapshot.get()}), "bc");
    const std::string b = Key('b'), e = Key('e');
    const std::vector<std::string_view> keys = {b, e};
    const std::vector<absl::StatusOr<std::string>> values = db()->MultiGet(keys);
    EXPECT_TRUE(absl::IsNotFound(values[0].status()));
    EXPECT_EQ(values[1].value(), "5");
    ASSERT_OK(round == 0 ? db()->Flush() : db()->CompactRange());
  }
}

TEST_F(LongKeysTest, TheEndOfADeletedRangeIsOneToo) {
  ASSERT_OK(db()->DeleteRange("a", std::string(kMaxShortKeyBytes, 'k')));
  EXPECT_FALSE(SaysSo());
  ASSERT_OK(db()->DeleteRange("a", Key('a')));
  EXPECT_TRUE(SaysSo());
}

TEST_F(LongKeysTest, ARepairFindsThemWithAndWithoutAManifestAndSaysSo) {
  for (const bool lost : {false, true}) {
    for (const char c : {'a', 'b'}) ASSERT_OK(db()->Put(Key(c), "v"));
    ASSERT_OK(db()->Put("short", "v"));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Put(Key('c'), "v", {.sync = true}));
    Kill();
    if (lost) Remove("MANIFEST");
    ASSERT_OK(Repair());
    ASSERT_OK(database.Open());
    EXPECT_EQ(Seen(), "abct");
    EXPECT_TRUE(SaysSo());
  }
}

}  // namespace
}  // namespace sepal
