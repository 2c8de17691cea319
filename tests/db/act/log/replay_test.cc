#include "db/act/log/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sepal/write_batch.h"
#include "util/memory/memory_budget.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReplayTest : public ::testing::Test {
 protected:
  static constexpr ColumnFamilyId kFirst{0};
  static constexpr ColumnFamilyId kSecond{7};

  Replay::Options Flushing(size_t keep_bytes) {
    return {.hash_seed = 1,
            .next_file_number = FileNumber(10),
            .keep_bytes = keep_bytes,
            .new_memtable = [this](const KeyOrder& order) { return NewMemTable(order, /*indexed=*/false); },
            .flush =
                [this](ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable) {
                  flushed_.emplace_back(id, memtable->LastSequence());
                  return absl::OkStatus();
                },
            .memtable_bytes = size_t{64} << 10};
  }
  std::shared_ptr<MemTable> NewMemTable(const KeyOrder& order, bool indexed) {
    return std::make_shared<MemTable>(order, 1, size_t{1} << 16, MemTable::Memory{.budget = &budget_}, indexed);
  }
  static void AddBoth(Replay* replay, uint64_t first_through = 0, uint64_t second_through = 0) {
    replay->AddFamily(kFirst, KeyOrder(), SequenceNumber(first_through), nullptr);
    replay->AddFamily(kSecond, KeyOrder(), SequenceNumber(second_through), nullptr);
  }
  // One put in each of the families.
  static std::string Batch(const std::vector<ColumnFamilyId>& families, size_t bytes = 1) {
    std::string text = WriteBatch().bytes();
    for (const ColumnFamilyId id : families) {
      AppendBatchEntry(&text, ValueKind::kPut, id, "key", std::string(bytes, 'v'));
    }
    return text;
  }

  MemoryBudget budget_{0};
  std::vector<std::pair<ColumnFamilyId, SequenceNumber>> flushed_;
};

TEST_F(ReplayTest, UpdatesUpToTheMarkOfTheirFamilyAreSkipped) {
  Replay replay(Flushing(0));
  AddBoth(&replay, /*first_through=*/4, /*second_through=*/1);
  ASSERT_TRUE(replay.Take(SequenceNumber(1), Batch({kFirst, kSecond})).ok());
  ASSERT_TRUE(replay.Take(SequenceNumber(3), Batch({kFirst, kFirst, kFirst})).ok());
  EXPECT_EQ(replay.updates(), 2u);
  ASSERT_TRUE(replay.Flush().ok());
  EXPECT_THAT(flushed_, ElementsAre(std::pair(kFirst, SequenceNumber(5)), std::pair(kSecond, SequenceNumber(2))));
  EXPECT_EQ(replay.families().at(kFirst).flushed_through, SequenceNumber(5));
}

TEST_F(ReplayTest, FewBatchesAreKeptAndCanBeReadWhereTheyAreInserted) {
  Replay replay(Flushing(1000));
  AddBoth(&replay, /*first_through=*/2);
  ASSERT_TRUE(replay.Take(SequenceNumber(1), Batch({kFirst})).ok());
  ASSERT_TRUE(replay.Take(SequenceNumber(2), Batch({kFirst, kSecond})).ok());
  ASSERT_TRUE(replay.Flush().ok());
  EXPECT_THAT(flushed_, IsEmpty());
  ASSERT_THAT(replay.kept(), SizeIs(1)) << "nothing of the first is needed";
  EXPECT_EQ(replay.kept()[0].bytes, Batch({kFirst, kSecond}));
  replay.InsertKept([&](const KeyOrder& order) { return NewMemTable(order, /*indexed=*/true); });
  EXPECT_EQ(replay.families().at(kFirst).memtable, nullptr);
  EXPECT_EQ(replay.families().at(kSecond).memtable->FirstSequence(), SequenceNumber(3));
  EXPECT_EQ(replay.families().at(kSecond).flushed_through, SequenceNumber(0));
}

TEST_F(ReplayTest, BatchesBeyondTheLimitAreFlushedWithThoseThatWereKept) {
  Replay replay(Flushing(1000));
  AddBoth(&replay);
  for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(replay.Take(SequenceNumber(i), Batch({kFirst}, 400)).ok());
  EXPECT_THAT(replay.kept(), IsEmpty());
  EXPECT_EQ(replay.families().at(kFirst).memtable->FirstSequence(), SequenceNumber(1));
  for (uint64_t i = 4; flushed_.empty(); i += 2) {
    ASSERT_TRUE(replay.Take(SequenceNumber(i), Batch({kFirst, kFirst}, 4000)).ok());
  }
  EXPECT_EQ(replay.families().at(kFirst).memtable, nullptr);
}

TEST_F(ReplayTest, WhatContradictsTheManifestIsToldFromWhatIsNoBatch) {
  Replay replay(Flushing(0));
  AddBoth(&replay);
  EXPECT_TRUE(replay.Count(SequenceNumber(1), Batch({ColumnFamilyId(9)})).ok()) << "of a family that was dropped";
  const absl::Status unknown = replay.Take(SequenceNumber(2), Batch({ColumnFamilyId(10)}));
  EXPECT_TRUE(absl::IsDataLoss(unknown));
  EXPECT_THAT(unknown.ToString(), HasSubstr("column family 10"));
  EXPECT_TRUE(replay.contradicts_manifest());
  EXPECT_TRUE(absl::IsDataLoss(replay.Take(SequenceNumber(3), Batch({kFirst}) + "x")));
  EXPECT_FALSE(replay.contradicts_manifest());
}

}  // namespace
}  // namespace sepal
