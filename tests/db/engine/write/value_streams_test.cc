// Values that are written and read in parts: what of them is where, and what is left of those that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "db/format/value_file.h"
#include "tests/db/engine/first_letter_filter.h"
#include "tests/db/engine/write/value_streams_fixture.h"
#include "util/memory/memory_budget.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

TEST_F(ValueStreamsTest, AValueOfAnySizeComesBackAsItWasGiven) {
  database.tuning.streamed_from = 1;
  ASSERT_OK(database.Reopen());
  const std::vector<uint64_t> sizes = {
      0, 1, kTestChunk - 1, kTestChunk, kTestChunk + 1, 8 * kTestChunk, 8 * kTestChunk + 1, (uint64_t{3} << 20) + 5};
  for (size_t i = 0; i < sizes.size(); ++i) {
    MadeSource source(i, sizes[i], /*most=*/kTestChunk + 77);
    ASSERT_OK(db()->PutStream(NumberedKey(i), sizes[i], source));
  }
  EXPECT_EQ(StreamFiles(), sizes.size() - 1) << "each but the empty one has a file of its own";
  const auto expect_all = [&] {
    const std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
    it->SeekToFirst();
    for (size_t i = 0; i < sizes.size(); ++i, it->Next()) {
      ASSERT_NO_FATAL_FAILURE(ExpectMade(NumberedKey(i), i, sizes[i]));
      ASSERT_TRUE(it->Valid());
      EXPECT_TRUE(it->value() == Made(i, 0, sizes[i])) << i;
    }
    EXPECT_OK(db()->VerifyChecksums({}));
  };
  ASSERT_NO_FATAL_FAILURE(expect_all());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  ASSERT_NO_FATAL_FAILURE(expect_all());
  ASSERT_OK(db()->Flush());
  ASSERT_NO_FATAL_FAILURE(expect_all());
  ASSERT_OK(Compact());
  ASSERT_OK(database.Reopen());
  ASSERT_NO_FATAL_FAILURE(expect_all());
  EXPECT_EQ(StreamFiles(), sizes.size() - 1);
}

TEST_F(ValueStreamsTest, AValueOfSeveralTimesTheMemoryLimitGoesThroughLittleMemory) {
  constexpr uint64_t kBytes = (uint64_t{70} << 20) + 3;
  static_assert(kBytes > 8 * (uint64_t{8} << 20));  // TestDatabase's limit
  const auto used = [&] {
    uint64_t all = 0;
    const TestMetrics metrics = database.Metrics();
    for (size_t part = 0; part < static_cast<size_t>(MemoryPart::kCount); ++part)
      all += metrics.MemoryBytes(static_cast<MemoryPart>(part));
    return all;
  };
  const uint64_t before = used();
  uint64_t most = 0;
  MadeSource source(7, kBytes);
  source.Before([&](uint64_t) {
    most = std::max(most, used());
    return absl::OkStatus();
  });
  ASSERT_OK(db()->PutStream("large", kBytes, source));
  EXPECT_GE(most, before + (uint64_t{512} << 10)) << "what a stream has is counted";
  EXPECT_LE(most, before + (uint64_t{1} << 20));
  ASSERT_OK(db()->Flush());
  std::string buffer(uint64_t{1} << 20, '\0');
  for (uint64_t at = 0; at < kBytes; at += buffer.size()) {
    const absl::StatusOr<ValuePart> part = db()->ReadValue("large", at, buffer);
    ASSERT_OK(part.status());
    EXPECT_EQ(part->value_bytes, kBytes);
    ASSERT_EQ(part->copied, std::min<uint64_t>(buffer.size(), kBytes - at));
    for (size_t i = 0; i < part->copied; i += 4099) ASSERT_EQ(buffer[i], MadeByte(7, at + i)) << at + i;
  }
  EXPECT_LE(used(), before + (uint64_t{1} << 20));
  EXPECT_OK(db()->VerifyChecksums({}));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_TRUE(Part("large", kBytes - 9, 20) == Made(7, kBytes - 9, 9));
}

TEST_F(ValueStreamsTest, ASourceThatEndsEarlyGoesOnOrFailsWritesNothing) {
  ASSERT_OK(db()->Put("k", Large("old")));
  const std::vector<std::string> files = Files(FileKind::kValues);
  // In a file, and put as any other.
  for (const uint64_t bytes : {uint64_t{3} << 20, uint64_t{999}}) {
    MadeSource early(1, bytes - 1), longer(1, bytes + 1), failing(1, bytes);
    const absl::Status ended = db()->PutStream("k", bytes, early);
    EXPECT_TRUE(absl::IsInvalidArgument(ended)) << ended;
    EXPECT_THAT(ended.ToString(), HasSubstr("ended after " + std::to_string(bytes - 1) + " of "));
    const absl::Status more = db()->PutStream("k", bytes, longer);
    EXPECT_TRUE(absl::IsInvalidArgument(more)) << more;
    EXPECT_THAT(more.ToString(), HasSubstr("has more than that"));
    failing.Before([&](uint64_t given) {
      return given > 0 || bytes == 999 ? absl::UnavailableError("the network is down") : absl::OkStatus();
    });
    EXPECT_EQ(db()->PutStream("k", bytes, failing), absl::UnavailableError("the network is down"));
    EXPECT_EQ(Value(db(), "k"), Large("old"));
  }
  AwaitFiles(files.size());
  EXPECT_EQ(Files(FileKind::kValues), files) << "what was begun goes";
  ASSERT_OK(PutMade("k", 2, 5000));
  ASSERT_NO_FATAL_FAILURE(ExpectMade("k", 2, 5000));
}

class BoastingSource final : public ValueSource {
 public:
  absl::StatusOr<size_t> Read(std::span<char> buffer) override { return buffer.size() + 1; }
};

TEST_F(ValueStreamsTest, WhatIsNotAllowedIsRefusedBeforeTheSourceIsAsked) {
  int asked = 0;
  const auto count = [&](uint64_t) {
    ++asked;
    return absl::OkStatus();
  };
  MadeSource source(1, 5000);
  source.Before(count);
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutStream("k", uint64_t{kMaxValueBytes} + 1, source)));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutStream(long_key, 5000, source)));
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutStream("k", 5000, source, {.sync = true, .disable_wal = true})));
  const absl::Status expired = db()->PutStream("k", 5000, source, {.ttl = std::chrono::milliseconds(0)});
  EXPECT_TRUE(absl::IsInvalidArgument(expired)) << expired;
  EXPECT_THAT(expired.ToString(), HasSubstr("not positive"));
  const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  EXPECT_TRUE(absl::IsFailedPrecondition((*reader)->PutStream("k", 5000, source)));
  EXPECT_EQ(asked, 0);
  BoastingSource boasting;
  EXPECT_TRUE(absl::IsInvalidArgument(db()->PutStream("k", 5000, boasting)));
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
  // A short one expires as any put does.
  MadeSource small(1, 500);
  EXPECT_OK(db()->PutStream("k", 500, small, {.ttl = std::chrono::hours(1)}));
  EXPECT_TRUE(Part("k", 100, 50) == Made(1, 100, 50));
  ASSERT_OK(db()->Close());
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->PutStream("k", 5000, source)));
  EXPECT_EQ(Part("k", 0, 5), "FAILED_PRECONDITION");
}

TEST_F(ValueStreamsTest, ADatabaseThatIsClosedWhileASourceIsReadGetsNoMore) {
  MadeSource source(1, uint64_t{3} << 20);
  source.Before([&](uint64_t given) { return given > 0 ? db()->Close() : absl::OkStatus(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(db()->PutStream("k", uint64_t{3} << 20, source)));
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
  EXPECT_EQ(StreamFiles(), 0u);
}

TEST_F(ValueStreamsTest, OtherWritesGoOnWhileASourceIsRead) {
  MadeSource source(1, uint64_t{2} << 20);
  int puts = 0;
  source.Before([&](uint64_t) -> absl::Status {
    ++puts;
    EXPECT_EQ(Value(db(), "stream"), puts == 1 ? "NOT_FOUND" : "meanwhile");
    absl::Status status = db()->Put("stream", "meanwhile", {.sync = true});
    if (status.ok()) status = db()->Put(NumberedKey(static_cast<uint64_t>(puts)), Large("x"));
    if (status.ok() && puts == 2) {
      MadeSource inner(9, 200'000);
      status = db()->PutStream("inner", 200'000, inner);
    }
    return status.ok() ? db()->Flush() : status;
  });
  ASSERT_OK(db()->PutStream("stream", uint64_t{2} << 20, source));
  EXPECT_GT(puts, 3);
  ASSERT_NO_FATAL_FAILURE(ExpectMade("stream", 1, uint64_t{2} << 20));
  ASSERT_NO_FATAL_FAILURE(ExpectMade("inner", 9, 200'000));
}

TEST_F(ValueStreamsTest, SnapshotsKeepAValueAndWithTheLastItsFileGoes) {
  ASSERT_OK(PutMade("a", 1, 200'000));
  ASSERT_OK(PutMade("b", 2, 300'000));
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  ASSERT_OK(PutMade("a", 3, 100'000));
  ASSERT_OK(db()->Delete("b"));
  ASSERT_OK(Compact());
  EXPECT_TRUE(Part("a", 70'000, 70'000, {.snapshot = snapshot.get()}) == Made(1, 70'000, 70'000));
  EXPECT_TRUE(Part("b", 299'990, 70'000, {.snapshot = snapshot.get()}) == Made(2, 299'990, 10));
  ASSERT_NO_FATAL_FAILURE(ExpectMade("a", 3, 100'000));
  EXPECT_EQ(Part("b", 0, 5), "NOT_FOUND");
  EXPECT_EQ(StreamFiles(), 3u);
  snapshot.reset();
  ASSERT_OK(db()->Put("c", "so that there is something to compact"));
  ASSERT_OK(Compact());
  EXPECT_EQ(StreamFiles(), 1u);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(StreamFiles(), 1u);
  ASSERT_NO_FATAL_FAILURE(ExpectMade("a", 3, 100'000));
}

TEST_F(ValueStreamsTest, PartsOfAnyValueAreRead) {
  database.options.family.merge_operator = MergeOperators::Append(",");
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->Put("inline", "0123456789"));
  ASSERT_OK(db()->Put("separated", Large("s", 5000)));
  ASSERT_OK(db()->Put("large", Large("l", 700'000)));
  ASSERT_OK(PutMade("merged", 1, 100'000));
  ASSERT_OK(db()->Merge("merged", "end"));
  ASSERT_OK(db()->Put("expiring", "soon gone", {.ttl = std::chrono::hours(1)}));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Part("inline", 3, 4), "3456");
    EXPECT_EQ(Part("separated", 2000, 100), Large("s", 5000).substr(2000, 100));
    EXPECT_EQ(Part("large", 650'000, 100'000), Large("l", 700'000).substr(650'000));
    EXPECT_EQ(Part("merged", 99'998, 100), Made(1, 99'998, 2) + ",end");
    EXPECT_EQ(Part("expiring", 5, 100), "gone");
    EXPECT_EQ(Part("absent", 5, 100), "NOT_FOUND");
    ASSERT_OK(db()->Flush());
  }
}

TEST_F(ValueStreamsTest, AFilterThatLooksAtValuesSeesTheWholeOfThem) {
  database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
  ASSERT_OK(database.Reopen());
  ASSERT_OK(PutMade("k", 1, 100'000));
  EXPECT_TRUE(Part("k", 500, 10) == Made(1, 500, 10));
  ASSERT_OK(db()->SetFilterEpoch(Made(1, 0, 1)));
  EXPECT_EQ(Part("k", 500, 10), "NOT_FOUND");
  EXPECT_EQ(Value(db(), "k"), "NOT_FOUND");
}

TEST_F(ValueStreamsTest, OneChunkThatIsDamagedCostsThePartsThatTouchIt) {
  constexpr uint64_t kBytes = 5 * kTestChunk + 100;
  ASSERT_OK(PutMade("k", 1, kBytes));
  ASSERT_OK(db()->Flush());
  const std::string file = "/db/" + Files(FileKind::kValues).back();
  ASSERT_OK(db()->Close());
  const uint64_t chunk = kValueFileHeaderBytes + 2 * kTestChunk;
  ASSERT_OK(database.memory.FlipBit(file, chunk + 1000, 3));
  ASSERT_OK(database.Open());
  EXPECT_TRUE(Part("k", 0, 2 * kTestChunk) == Made(1, 0, 2 * kTestChunk));
  EXPECT_TRUE(Part("k", 3 * kTestChunk, kBytes) == Made(1, 3 * kTestChunk, 2 * kTestChunk + 100));
  EXPECT_TRUE(Part("k", 4 * kTestChunk + 5, 10) == Made(1, 4 * kTestChunk + 5, 10));
  for (const auto& [offset, bytes] :
       std::map<uint64_t, size_t>{{0, kBytes}, {2 * kTestChunk - 1, 2}, {2 * kTestChunk + 9, 1}}) {
    std::string buffer(bytes, '\0');
    const absl::Status status = db()->ReadValue("k", offset, buffer).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("the value of key \"k\": " + file + ": offset " + std::to_string(chunk) +
                                             ": checksum of a chunk of a separated value: expected 0x"));
  }
  EXPECT_EQ(Value(db(), "k"), "DATA_LOSS");
  EXPECT_TRUE(absl::IsDataLoss(db()->VerifyChecksums({})));
}

TEST_F(ValueStreamsTest, ChunkSumsThatAreDamagedCostPartsAndNotTheWhole) {
  ASSERT_OK(PutMade("k", 1, 200'000));
  ASSERT_OK(db()->Flush());
  const std::string file = "/db/" + Files(FileKind::kValues).back();
  ASSERT_OK(db()->Close());
  ASSERT_OK(database.memory.FlipBit(file, kValueFileHeaderBytes + 200'000 + 5, 3));
  ASSERT_OK(database.Open());
  std::string buffer(10, '\0');
  EXPECT_THAT(db()->ReadValue("k", 5, buffer).status().ToString(),
              HasSubstr(file + ": offset " + std::to_string(kValueFileHeaderBytes + 200'000) +
                        ": checksum of the chunk sums of a separated value: expected 0x"));
  EXPECT_TRUE(Value(db(), "k") == Made(1, 0, 200'000));
  EXPECT_TRUE(absl::IsDataLoss(db()->VerifyChecksums({})));
}

TEST_F(ValueStreamsTest, ACheckpointHasThem) {
  ASSERT_OK(PutMade("k", 1, 200'000));
  ASSERT_OK(db()->Checkpoint("/copy"));
  ASSERT_OK(db()->Delete("k"));
  Options options = database.options;
  options.create_if_missing = false;
  const absl::StatusOr<std::unique_ptr<DB>> copy = Engine::Open(options, database.tuning, "/copy");
  ASSERT_OK(copy.status());
  std::string buffer(1000, '\0');
  ASSERT_OK((*copy)->ReadValue("k", 150'000, buffer).status());
  EXPECT_TRUE(buffer == Made(1, 150'000, 1000));
}

TEST_F(ValueStreamsTest, CompactionsThatMoveOrInlineValuesLeaveThemInTheirFiles) {
  database.options.family.last_level_inline_below = 512;
  database.tuning.streamed_from = 100;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(PutMade("key000100x", 1, 400));
  const std::string file = Files(FileKind::kValues).back();
  for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(db()->Put(NumberedKey(i), Large("first", 1000)));
  for (uint64_t round = 0; round < 8; ++round) {
    for (uint64_t i = 0; i < 400; ++i)
      ASSERT_OK(db()->Put(NumberedKey(Mix64(round * 400 + i) % 300), Large("x", 1000)));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  ASSERT_OK(Compact());
  EXPECT_GT(db()->statistics().Get(Ticker::kValueBytesMoved), 0u);
  ASSERT_NO_FATAL_FAILURE(ExpectMade("key000100x", 1, 400));
  EXPECT_THAT(Files(FileKind::kValues), ::testing::Contains(file));
  EXPECT_OK(db()->CheckConsistency());
}

}  // namespace
}  // namespace sepal
