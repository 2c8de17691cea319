#include "db/decide/visibility/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "db/decide/visibility/retention.h"
#include "tests/db/decide/visibility/key_versions.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using Versions = KeyEntries;

std::optional<std::string> ReadAt(const Versions& versions, uint64_t visible, const MergeOperator& merge) {
  return SeenAt(versions, visible, merge, /*clock=*/nullptr);
}

Versions Retained(const Versions& in, const std::vector<uint64_t>& snapshots, bool bottommost,
                  const MergeOperator* merge) {
  RetentionOptions options{.bottommost = bottommost, .merge = merge};
  for (const uint64_t s : snapshots) options.snapshots.push_back(SequenceNumber(s));
  Retention retention(options);
  Versions out;
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool first) {
    EXPECT_EQ(first, out.empty());
    EXPECT_TRUE(out.empty() || out.back().trailer > key.trailer);
    EXPECT_TRUE(IsValidTrailer(key.trailer)) << "a folded merge on its way to a table";
    out.push_back({key.trailer, std::string(value)});
    return absl::OkStatus();
  };
  for (const KeyEntry& v : in) EXPECT_TRUE(retention.Add({"k", v.trailer}, v.payload, emit).ok());
  EXPECT_TRUE(retention.Finish(emit).ok());
  EXPECT_EQ(retention.counts().entries_in, in.size());
  EXPECT_EQ(retention.counts().entries_out, out.size());
  return out;
}

std::string Text(const Versions& versions) {
  std::string text;
  for (const KeyEntry& v : versions) {
    text += (text.empty() ? "" : " ") + std::to_string(TrailerSequence(v.trailer).value()) + ":" +
            std::string(Name(TrailerKind(v.trailer))) + "=" + v.payload;
  }
  return text;
}

const std::shared_ptr<const MergeOperator> kAppend = MergeOperators::Append(",");

TEST(OperandsTest, AFoldedMergeSaysWhatItStandsFor) {
  const Operand operand{.oldest = SequenceNumber(300), .own = "own", .all = "older,own", .next_older_bytes = 70000};
  const std::string payload = FoldedPayload(SequenceNumber(900), operand);
  const Operand read = OperandOf(PackTrailer(SequenceNumber(900), ValueKind::kFoldedMerge), payload);
  EXPECT_EQ(read.oldest, operand.oldest);
  EXPECT_EQ(read.own, operand.own);
  EXPECT_EQ(read.all, operand.all);
  EXPECT_EQ(read.next_older_bytes, operand.next_older_bytes);
  const Operand plain = OperandOf(PackTrailer(SequenceNumber(9), ValueKind::kMerge), "x");
  EXPECT_EQ(plain.oldest, SequenceNumber(9));
  EXPECT_EQ(plain.all, "x");
}

TEST(OperandsTest, OperandsAndTheValueBelowThemBecomeAPut) {
  const Versions in = {VersionOf(5, ValueKind::kMerge, "b"), VersionOf(4, ValueKind::kMerge, "a"),
                       VersionOf(3, ValueKind::kPut, "v"), VersionOf(2, ValueKind::kMerge, "hidden")};
  EXPECT_EQ(Text(Retained(in, {9}, false, kAppend.get())), "5:put=v,a,b");
  EXPECT_EQ(Text(Retained(in, {9}, true, kAppend.get())), "0:put=v,a,b");
  EXPECT_EQ(Text(Retained(in, {3, 9}, false, kAppend.get())), "5:merge=a,b 3:put=v");
  EXPECT_EQ(Text(Retained(in, {9}, false, nullptr)), "5:merge=b 4:merge=a 3:put=v");
}

TEST(OperandsTest, OperandsOverNothingBecomeAPutOnlyWhereNothingCanBeBelow) {
  const Versions in = {VersionOf(5, ValueKind::kMerge, "b"), VersionOf(4, ValueKind::kMerge, "a")};
  EXPECT_EQ(Text(Retained(in, {9}, false, kAppend.get())), "5:merge=a,b");
  EXPECT_EQ(Text(Retained(in, {9}, true, kAppend.get())), "0:put=a,b");
  EXPECT_EQ(Text(Retained(in, {4, 9}, true, kAppend.get())), "5:merge=b 0:put=a");
  const Versions deleted = {VersionOf(5, ValueKind::kMerge, "b"), VersionOf(4, ValueKind::kDelete, "")};
  EXPECT_EQ(Text(Retained(deleted, {9}, false, kAppend.get())), "5:put=b");
}

TEST(OperandsTest, ASnapshotWithinAFoldedMergeKeepsItsOperands) {
  const Operand folded{.oldest = SequenceNumber(3), .own = "c", .all = "a,b,c"};
  const Versions in = {VersionOf(5, ValueKind::kFoldedMerge, FoldedPayload(SequenceNumber(5), folded)),
                       VersionOf(4, ValueKind::kMerge, "b"), VersionOf(3, ValueKind::kMerge, "a")};
  EXPECT_EQ(Text(Retained(in, {9}, false, kAppend.get())), "5:merge=a,b,c");
  EXPECT_EQ(Text(Retained(in, {4, 9}, false, kAppend.get())), "5:merge=c 4:merge=a,b");
  EXPECT_EQ(Text(Retained(in, {9}, false, nullptr)), "5:merge=a,b,c");
}

TEST(OperandsTest, OperandsThatCannotBeMergedStay) {
  const auto add = MergeOperators::Add64();
  const Versions in = {VersionOf(5, ValueKind::kMerge, "no number"), VersionOf(4, ValueKind::kMerge, "nor this"),
                       VersionOf(3, ValueKind::kPut, "value"), VersionOf(2, ValueKind::kPut, "hidden")};
  EXPECT_EQ(Text(Retained(in, {9}, false, add.get())), "5:merge=no number 4:merge=nor this 3:put=value");
  EXPECT_EQ(Text(Retained(in, {9}, true, add.get())), "5:merge=no number 4:merge=nor this 0:put=value");
}

TEST(OperandsTest, OperandsOfOneKeyTakeBoundedMemoryHoweverMany) {
  const auto add = MergeOperators::Add64();
  RetentionOptions options{.snapshots = {kMaxSequenceNumber}, .merge = add.get()};
  Retention retention(options);
  Versions out;
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool) {
    out.push_back({key.trailer, std::string(value)});
    return absl::OkStatus();
  };
  constexpr uint64_t kMany = 200000;
  for (uint64_t i = kMany; i > 0; --i) {
    const std::string one = MergeOperators::EncodeInt64(1);
    ASSERT_TRUE(retention.Add({"k", PackTrailer(SequenceNumber(i), ValueKind::kMerge)}, one, emit).ok());
  }
  ASSERT_TRUE(retention.Finish(emit).ok());
  ASSERT_EQ(out.size(), 1);
  EXPECT_EQ(out.front().payload, MergeOperators::EncodeInt64(kMany));
  EXPECT_EQ(retention.counts().operands_folded, kMany - 1);
}

TEST(OperandsTest, LongOperandsGoOutAsTheyComeTogether) {
  RetentionOptions options{.snapshots = {kMaxSequenceNumber}, .merge = kAppend.get()};
  Retention retention(options);
  uint64_t out = 0;
  uint64_t bytes = 0;
  const auto emit = [&](const InternalKeyView&, std::string_view value, bool) {
    ++out;
    bytes += value.size();
    return absl::OkStatus();
  };
  const std::string long_operand(size_t{1} << 20, 'x');
  for (uint64_t i = 100; i > 0; --i) {
    ASSERT_TRUE(retention.Add({"k", PackTrailer(SequenceNumber(i), ValueKind::kMerge)}, long_operand, emit).ok());
  }
  ASSERT_TRUE(retention.Finish(emit).ok());
  EXPECT_GT(out, 3);
  EXPECT_LT(out, 12);
  EXPECT_EQ(bytes, 100 * long_operand.size() + (100 - out));
}

// Every kind in random order, with random snapshots, twice: no snapshot's view changes, whether operands can be
// combined or not.
TEST(OperandsTest, NoViewChangesInAnyHistory) {
  Random random(11);
  for (int round = 0; round < 20000; ++round) {
    Versions in;
    std::map<uint64_t, Operand> pieces;
    const uint64_t count = 1 + random.Uniform(8);
    for (uint64_t sequence = 1; sequence <= count; ++sequence) {
      const std::string name(1, static_cast<char>('a' + sequence));
      switch (random.Uniform(4)) {
        case 0:
          in.push_back(VersionOf(sequence, ValueKind::kPut, name));
          break;
        case 1:
          in.push_back(VersionOf(sequence, ValueKind::kDelete, ""));
          break;
        case 2:
          in.push_back(VersionOf(sequence, ValueKind::kMerge, name));
          break;
        default: {
          // Folded with the operand just below, whatever that is folded with.
          std::string all = name;
          SequenceNumber oldest(sequence);
          if (!in.empty() && (TrailerKind(in.back().trailer) == ValueKind::kMerge ||
                              TrailerKind(in.back().trailer) == ValueKind::kFoldedMerge)) {
            const Operand older = OperandOf(in.back().trailer, in.back().payload);
            all = std::string(older.all) + "," + name;
            oldest = older.oldest;
          }
          in.push_back(VersionOf(sequence, ValueKind::kFoldedMerge,
                                 FoldedPayload(SequenceNumber(sequence), {.oldest = oldest, .own = name, .all = all})));
        }
      }
    }
    std::reverse(in.begin(), in.end());
    std::vector<uint64_t> snapshots;
    for (uint64_t s = 1; s < count; ++s) {
      if (random.OneIn(3)) snapshots.push_back(s);
    }
    // Of a family that keeps its history: from here on any number may be read at.
    const uint64_t floor = random.OneIn(2) ? count : random.Uniform(count + 1);
    std::erase_if(snapshots, [&](uint64_t s) { return s >= floor; });
    snapshots.push_back(floor);
    std::vector<uint64_t> readers = snapshots;
    for (uint64_t s = floor + 1; s <= count; ++s) readers.push_back(s);
    const bool bottommost = random.OneIn(2);
    const Versions out = Retained(in, snapshots, bottommost, random.OneIn(4) ? nullptr : kAppend.get());
    const Versions again = Retained(out, snapshots, true, kAppend.get());
    for (const uint64_t s : readers) {
      const auto expected = ReadAt(in, s, *kAppend);
      ASSERT_EQ(ReadAt(out, s, *kAppend), expected) << Text(in) << " at " << s << " became " << Text(out);
      ASSERT_EQ(ReadAt(again, s, *kAppend), expected) << Text(out) << " at " << s << " became " << Text(again);
    }
    ASSERT_LE(again.size(), readers.size()) << Text(again);
  }
}

}  // namespace
}  // namespace sepal
