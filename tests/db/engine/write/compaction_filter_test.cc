// Filters of compactions: space, epochs that are forgotten, crashes, and many threads. What they mean is in
// tests/scripts/compaction_filter.txt.
#include "sepal/compaction_filter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "db/act/manifest/manifest_recovery.h"
#include "db/format/version_edit.h"
#include "sepal/merge_operator.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/first_letter_filter.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class CompactionFilterTest : public ::testing::Test {
 protected:
  CompactionFilterTest() { database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>(); }

  DB* db() { return database.db.get(); }
  std::string Read(std::string_view key, const ReadOptions& options = {}) {
    const absl::StatusOr<std::string> value = db()->Get(key, options);
    if (absl::IsNotFound(value.status())) return "absent";
    EXPECT_OK(value.status());
    return value.value_or("failed");
  }
  // Numbered keys, whose values begin with the letters in turn.
  void Fill(uint64_t begin, uint64_t end, std::string_view letters) {
    for (uint64_t i = begin; i < end; ++i) {
      ASSERT_OK(db()->Put(NumberedKey(i), std::string(1, letters[i % letters.size()]) + std::to_string(i)));
    }
  }
  uint64_t Entries() { return NumberProperty(db(), "sepal.num-entries"); }
  // Of the one family, as the manifest has them.
  std::vector<FilterEpoch> KeptEpochs() {
    std::vector<FilterEpoch> epochs;
    const auto directory = database.files.OpenDirectory(database.path, false).value();
    const auto recovered = RecoverManifest(directory.get(), {}, false, [&](const VersionEdit& edit) {
      for (const FamilySchema& schema : edit.schemas) epochs = schema.filter_epochs;
      return absl::OkStatus();
    });
    EXPECT_OK(recovered.status());
    return epochs;
  }

  TestDatabase database;
};

TEST_F(CompactionFilterTest, CompactionsGiveTheSpaceBack) {
  ASSERT_OK(database.Open());
  Fill(0, 300, "xyz");
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 300u);
  ASSERT_OK(db()->SetFilterEpoch("x"));
  EXPECT_EQ(Entries(), 300u);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 200u) << "the last level too";
  const uint64_t written = db()->statistics().Get(Ticker::kCompactionWriteBytes);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(db()->statistics().Get(Ticker::kCompactionWriteBytes), written) << "there is nothing more to remove";
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(db()->statistics().Get(Ticker::kCompactionWriteBytes), 0u) << "nor after an opening";
  ASSERT_OK(db()->SetFilterEpoch("xy"));
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 100u);
  EXPECT_EQ(Read(NumberedKey(2)), "z2");
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(CompactionFilterTest, AFlushWritesNothingOfWhatIsRefused) {
  ASSERT_OK(database.Open());
  Fill(0, 10, "x");
  ASSERT_OK(db()->SetFilterEpoch("x"));
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(db()->GetProperties(db()->DefaultColumnFamily())->levels[0].tombstones, 10u);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 0u);
}

TEST_F(CompactionFilterTest, ASnapshotHoldsWhatItSeesAndNothingLonger) {
  ASSERT_OK(database.Open());
  Fill(0, 60, "xy");
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(db()->SetFilterEpoch("x"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 60u);
  EXPECT_EQ(Read(NumberedKey(0)), "absent");
  EXPECT_EQ(Read(NumberedKey(0), {.snapshot = snapshot.get()}), "x0");
  snapshot.reset();
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 30u);
}

TEST_F(CompactionFilterTest, WithAMergeOperatorNothingIsRemoved) {
  database.options.family.merge_operator = MergeOperators::Append("+");
  ASSERT_OK(database.Open());
  Fill(0, 60, "xy");
  ASSERT_OK(db()->SetFilterEpoch("x"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Entries(), 60u);
  EXPECT_EQ(Read(NumberedKey(0)), "absent");
}

TEST_F(CompactionFilterTest, EpochsThatNoReaderNeedsAreForgotten) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("a", "a1"));
  const std::shared_ptr<const Snapshot> none = db()->GetSnapshot();
  std::string epoch;
  for (char letter = 'b'; letter < 'n'; ++letter) {
    epoch += letter;
    ASSERT_OK(db()->SetFilterEpoch(epoch));
    EXPECT_EQ(db()->GetProperty("sepal.filter-epoch"), epoch);
  }
  EXPECT_EQ(KeptEpochs().size(), 12u) << "a snapshot from before the first holds them";
  EXPECT_EQ(Read("a", {.snapshot = none.get()}), "a1");
}

TEST_F(CompactionFilterTest, WithoutSnapshotsTwoEpochsAreKept) {
  ASSERT_OK(database.Open());
  std::string epoch;
  for (char letter = 'b'; letter < 'n'; ++letter) {
    epoch += letter;
    ASSERT_OK(db()->SetFilterEpoch(epoch));
  }
  const std::vector<FilterEpoch> kept = KeptEpochs();
  EXPECT_LE(kept.size(), 2u);
  EXPECT_EQ(kept.back().epoch, epoch);
}

TEST_F(CompactionFilterTest, AnEpochIsDurableAndSoIsWhatWasWrittenBefore) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("a", "x1"));
  ASSERT_OK(db()->Put("b", "y1"));
  ASSERT_OK(db()->SetFilterEpoch("x"));
  ASSERT_OK(db()->Put("c", "y2"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("a"), "absent");
  EXPECT_EQ(Read("b"), "y1");
  ASSERT_OK(db()->Put("a", "y3"));
  ASSERT_OK(db()->Put("d", "x3"));
  EXPECT_EQ(Read("a"), "y3");
  EXPECT_EQ(Read("d"), "absent");
}

// At each file call the power fails: the epoch before or the new one, with all that the database had then.
TEST_F(CompactionFilterTest, APowerLossAnywhereLeavesTheEpochBeforeOrTheNewOne) {
  bool whole = false;
  int before = 0, after = 0;
  for (int64_t calls = 1; !whole; ++calls) {
    TestDatabase crashing;
    crashing.options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
    ASSERT_OK(crashing.Open());
    ASSERT_OK(crashing.db->Put("a", "x1"));
    ASSERT_OK(crashing.db->Flush());
    ASSERT_OK(crashing.db->Put("b", "x2"));
    ASSERT_OK(crashing.db->Put("c", "y1"));
    int64_t left = calls;
    crashing.files.SetDecider([&](const FileCall&) {
      if (--left == 0) crashing.memory.Crash(CrashMode::kLoseUnsynced);
      return Fault::kNone;
    });
    const absl::Status set = crashing.db->SetFilterEpoch("x");
    const bool acknowledged = set.ok() && left > 0;
    if (acknowledged) {
      crashing.db->Flush().IgnoreError();
      crashing.db->CompactRange().IgnoreError();
    }
    whole = left > 0;
    crashing.files.Clear();
    if (whole) break;
    ASSERT_OK(crashing.Open());
    const bool there = crashing.db->GetProperty("sepal.filter-epoch") == "x";
    EXPECT_TRUE(there || !acknowledged) << calls;
    EXPECT_EQ(crashing.db->Get("a").value_or("absent"), there ? "absent" : "x1") << calls;
    const std::string c = crashing.db->Get("c").value_or("absent");
    if (there) {
      ++after;
      EXPECT_EQ(c, "y1") << calls << ": what was written before the epoch is there with it";
    } else {
      ++before;
      EXPECT_EQ(crashing.db->Get("b").ok(), c == "y1") << calls;
    }
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
}

TEST_F(CompactionFilterTest, AnEpochThatCannotBeKeptIsNotInForce) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("a", "x1"));
  database.files.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAppend, .name_contains = "MANIFEST"});
  EXPECT_FALSE(db()->SetFilterEpoch("x").ok());
  database.files.Clear();
  EXPECT_EQ(Read("a"), "x1");
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->SetFilterEpoch("x"));
  EXPECT_EQ(Read("a"), "absent");
}

TEST_F(CompactionFilterTest, AFilterThatComesLaterIsKeptFromThenOn) {
  const std::shared_ptr<const PureFilter> filter = std::move(database.options.family.compaction_filter);
  database.options.family.compaction_filter = nullptr;
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("a", "x1"));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->SetFilterEpoch("x")));
  database.options.family.compaction_filter = filter;
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Read("a"), "x1");
  ASSERT_OK(db()->SetFilterEpoch("x"));
  EXPECT_EQ(Read("a"), "absent");
  database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>("test.other");
  const absl::Status other = database.Reopen();
  EXPECT_TRUE(absl::IsInvalidArgument(other)) << other;
  database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>("");
  const absl::Status nameless = database.Open();
  EXPECT_TRUE(absl::IsInvalidArgument(nameless)) << nameless;
}

TEST_F(CompactionFilterTest, ADroppedFamilyHasNoEpochs) {
  ASSERT_OK(database.Open());
  const std::shared_ptr<ColumnFamily> family = *db()->CreateColumnFamily("f", database.options.family);
  ASSERT_OK(db()->SetFilterEpoch(*family, "x"));
  ASSERT_OK(db()->DropColumnFamily(*family));
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->SetFilterEpoch(*family, "xy")));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(db()->GetProperty("sepal.filter-epoch"), "");
}

// Writers, readers of snapshots and one that sets epochs, side by side: of a snapshot nothing changes, and what was
// refused stays away.
TEST(CompactionFilterThreadsTest, SnapshotsStandWhileEpochsAreSet) {
  TestDatabase real(Threads::kReal);
  real.options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
  ASSERT_OK(real.Open());
  DB* const db = real.db.get();
  std::atomic<bool> ends{false};
  Thread writer([&] {
    for (uint64_t i = 0; !ends.load(); ++i) {
      const std::string value(1, static_cast<char>('a' + i % 20));
      EXPECT_OK(db->Put(NumberedKey(i % 200), value + std::to_string(i)));
    }
  });
  Thread reader([&] {
    while (!ends.load()) {
      const std::shared_ptr<const Snapshot> snapshot = db->GetSnapshot();
      std::vector<std::string> seen;
      for (int round = 0; round < 3; ++round) {
        std::vector<std::string> now;
        const std::unique_ptr<Iterator> it = db->NewIterator({.snapshot = snapshot.get()});
        for (it->SeekToFirst(); it->Valid(); it->Next()) now.push_back(std::string(it->value()));
        EXPECT_OK(it->status());
        if (round == 0) seen = now;
        EXPECT_EQ(now, seen);
      }
    }
  });
  std::string epoch;
  for (char letter = 'a'; letter < 'k'; ++letter) {
    epoch += letter;
    ASSERT_OK(db->SetFilterEpoch(epoch));
    ASSERT_OK(db->Flush());
    if (letter % 3 == 0) ASSERT_OK(db->CompactRange());
    const std::unique_ptr<Iterator> it = db->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      EXPECT_EQ(epoch.find(it->value().front()), std::string::npos) << it->value();
    }
  }
  ends.store(true);
  writer.Join();
  reader.Join();
}

}  // namespace
}  // namespace sepal
