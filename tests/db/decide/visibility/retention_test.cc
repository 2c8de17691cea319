#include "db/decide/visibility/retention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "util/base/random.h"

namespace sepal {
namespace {

struct Entry {
  std::string key;
  Trailer trailer;
  std::string value;  // names the update, whatever its sequence number becomes
  bool first_of_key = false;
};
using Entries = std::vector<Entry>;

Entry Update(const std::string& key, uint64_t sequence, ValueKind kind) {
  const std::string value = IsTombstone(kind) ? "" : key + std::to_string(sequence);
  return {key, PackTrailer(SequenceNumber(sequence), kind), value};
}

struct Outcome {
  Entries entries;
  RetentionCounts counts;
};

Outcome Retain(const Entries& in, const std::vector<uint64_t>& snapshots, bool bottommost) {
  RetentionOptions options;
  for (uint64_t s : snapshots) options.snapshots.push_back(SequenceNumber(s));
  options.bottommost = bottommost;
  Retention retention(options);
  Outcome out;
  const auto emit = [&out](InternalKeyView key, std::string_view value, bool first_of_key) {
    out.entries.push_back({std::string(key.user_key), key.trailer, std::string(value), first_of_key});
    return absl::OkStatus();
  };
  for (const Entry& e : in) EXPECT_TRUE(retention.Add({e.key, e.trailer}, e.value, emit).ok());
  EXPECT_TRUE(retention.Finish(emit).ok());
  out.counts = retention.counts();
  EXPECT_EQ(out.counts.entries_in, in.size());
  EXPECT_EQ(out.counts.entries_out, out.entries.size());
  for (size_t i = 1; i < out.entries.size(); ++i) {
    EXPECT_TRUE(KeyOrder().Less(InternalKeyView{out.entries[i - 1].key, out.entries[i - 1].trailer},
                                InternalKeyView{out.entries[i].key, out.entries[i].trailer}));
  }
  return out;
}

std::string Text(const Outcome& outcome) {
  std::string text;
  for (const Entry& e : outcome.entries) {
    text += (text.empty() ? "" : " ") + e.key + "@" + std::to_string(TrailerSequence(e.trailer).value()) + ":" +
            std::string(Name(TrailerKind(e.trailer)));
  }
  return text;
}

// What a reader at `sequence` sees of the one key, the entries being newest first.
std::optional<std::string> ViewAt(const Entries& entries, uint64_t sequence) {
  for (const Entry& e : entries) {
    if (TrailerSequence(e.trailer).value() > sequence) continue;
    if (IsTombstone(TrailerKind(e.trailer))) return std::nullopt;
    return e.value;
  }
  return std::nullopt;
}

// Between two single deletes one put at most, and no delete.
bool KeepsSingleDeleteContract(const Entries& newest_first) {
  bool has_single = false;
  bool has_delete = false;
  int puts = 0;
  for (auto e = newest_first.rbegin(); e != newest_first.rend(); ++e) {
    switch (TrailerKind(e->trailer)) {
      case ValueKind::kSingleDelete:
        if (puts > 1) return false;
        puts = 0;
        has_single = true;
        break;
      case ValueKind::kDelete:
        has_delete = true;
        break;
      default:
        ++puts;
    }
  }
  return !(has_single && has_delete);
}

Entries Compact(const Entries& all, size_t begin, size_t end, const std::vector<uint64_t>& snapshots) {
  const Outcome window =
      Retain({all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)}, snapshots,
             end == all.size());
  Entries result(all.begin(), all.begin() + static_cast<ptrdiff_t>(begin));
  result.insert(result.end(), window.entries.begin(), window.entries.end());
  result.insert(result.end(), all.begin() + static_cast<ptrdiff_t>(end), all.end());
  return result;
}

void ExpectSameViews(const Entries& before, const Entries& after, const std::vector<uint64_t>& snapshots,
                     const std::string& context) {
  for (uint64_t s : snapshots) ASSERT_EQ(ViewAt(after, s), ViewAt(before, s)) << context << ", at " << s;
}

std::string Describe(const Entries& all, const std::vector<uint64_t>& snapshots) {
  std::string text = Text({all, {}}) + "; snapshots";
  for (uint64_t s : snapshots) text += " " + std::to_string(s);
  return text;
}

// Any two compactions of neighbouring entries, one after the other, then one of everything with only the last snapshot
// left.
void TryAllCompactions(const Entries& all, const std::vector<uint64_t>& snapshots) {
  const std::string context = Describe(all, snapshots);
  for (size_t begin = 0; begin < all.size(); ++begin) {
    for (size_t end = begin + 1; end <= all.size(); ++end) {
      const Entries once = Compact(all, begin, end, snapshots);
      ASSERT_NO_FATAL_FAILURE(ExpectSameViews(all, once, snapshots, context));
      for (size_t second_end = 1; second_end <= once.size(); ++second_end) {
        const Entries twice = Compact(once, 0, second_end, snapshots);
        ASSERT_NO_FATAL_FAILURE(ExpectSameViews(all, twice, snapshots, context));
        const Entries last = Compact(twice, 0, twice.size(), {snapshots.back()});
        ASSERT_NO_FATAL_FAILURE(ExpectSameViews(all, last, {snapshots.back()}, context));
        ASSERT_LE(last.size(), 1u) << context << "; left: " << Text({last, {}});
        for (const Entry& e : last) ASSERT_EQ(e.trailer, PackTrailer(SequenceNumber(0), ValueKind::kPut)) << context;
      }
    }
  }
}

TEST(RetentionTest, NoViewChangesInAnyShortHistoryUnderAnySnapshots) {
  constexpr ValueKind kKinds[] = {ValueKind::kPut, ValueKind::kDelete, ValueKind::kSingleDelete};
  for (uint64_t length = 1; length <= 5; ++length) {
    uint64_t histories = 1;
    for (uint64_t i = 0; i < length; ++i) histories *= 3;
    for (uint64_t history = 0; history < histories; ++history) {
      Entries all;
      uint64_t digits = history;
      for (uint64_t sequence = length; sequence >= 1; --sequence, digits /= 3) {
        all.push_back(Update("k", sequence, kKinds[digits % 3]));
      }
      if (!KeepsSingleDeleteContract(all)) continue;
      for (uint64_t subset = 0; subset < (uint64_t{1} << (length - 1)); ++subset) {
        std::vector<uint64_t> snapshots;
        for (uint64_t s = 1; s < length; ++s) {
          if (subset >> (s - 1) & 1) snapshots.push_back(s);
        }
        snapshots.push_back(length);
        ASSERT_NO_FATAL_FAILURE(TryAllCompactions(all, snapshots));
      }
    }
  }
}

// What is above the floor stays, and of the rest what a reader at the floor or at a snapshot sees.
TEST(RetentionTest, NoViewAtOrAboveTheFloorChangesInAnyShortHistory) {
  constexpr ValueKind kKinds[] = {ValueKind::kPut, ValueKind::kDelete, ValueKind::kSingleDelete};
  constexpr uint64_t kLength = 4;
  for (uint64_t history = 0; history < 3 * 3 * 3 * 3; ++history) {
    Entries all;
    uint64_t digits = history;
    for (uint64_t sequence = kLength; sequence >= 1; --sequence, digits /= 3) {
      all.push_back(Update("k", sequence, kKinds[digits % 3]));
    }
    if (!KeepsSingleDeleteContract(all)) continue;
    for (uint64_t floor = 0; floor <= kLength; ++floor) {
      for (uint64_t snapshot = 0; snapshot <= floor; ++snapshot) {
        // None, or one below the floor.
        std::vector<uint64_t> stops = {floor};
        if (snapshot < floor && snapshot > 0) stops.insert(stops.begin(), snapshot);
        std::vector<uint64_t> readers = stops;
        for (uint64_t s = floor + 1; s <= kLength; ++s) readers.push_back(s);
        const std::string context = Describe(all, stops);
        for (size_t begin = 0; begin < all.size(); ++begin) {
          for (size_t end = begin + 1; end <= all.size(); ++end) {
            const Entries once = Compact(all, begin, end, stops);
            ASSERT_NO_FATAL_FAILURE(ExpectSameViews(all, once, readers, context));
            for (const Entry& e : all) {
              const bool kept =
                  std::any_of(once.begin(), once.end(), [&](const Entry& left) { return left.trailer == e.trailer; });
              // A single delete of a key that is not there says nothing.
              const bool may_go =
                  TrailerSequence(e.trailer).value() <= floor || TrailerKind(e.trailer) == ValueKind::kSingleDelete;
              ASSERT_TRUE(kept || may_go) << context;
            }
            const Entries twice = Compact(once, 0, once.size(), stops);
            ASSERT_NO_FATAL_FAILURE(ExpectSameViews(all, twice, readers, context));
            // The floor has risen, and the snapshot has gone.
            const Entries last = Compact(twice, 0, twice.size(), {kLength});
            ASSERT_NO_FATAL_FAILURE(ExpectSameViews(all, last, {kLength}, context));
            ASSERT_LE(last.size(), 1u) << context << "; left: " << Text({last, {}});
          }
        }
      }
    }
  }
}

TEST(RetentionTest, KeepsOneEntryForEachStripe) {
  const Entries puts = {Update("k", 9, ValueKind::kPut), Update("k", 7, ValueKind::kPut),
                        Update("k", 5, ValueKind::kPut), Update("k", 3, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(puts, {9}, false)), "k@9:put");
  EXPECT_EQ(Text(Retain(puts, {7, 9}, false)), "k@9:put k@7:put");
  EXPECT_EQ(Text(Retain(puts, {4, 6, 9}, false)), "k@9:put k@5:put k@3:put");
  EXPECT_EQ(Retain(puts, {4, 6, 9}, false).counts.hidden_dropped, 1u);
}

TEST(RetentionTest, ZeroesOnlyWhatEverySnapshotSeesAtTheBottom) {
  const Entries puts = {Update("k", 9, ValueKind::kPut), Update("k", 5, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(puts, {5, 9}, true)), "k@9:put k@0:put");
  EXPECT_EQ(Text(Retain(puts, {4, 9}, true)), "k@9:put");
  EXPECT_EQ(Text(Retain(puts, {9}, true)), "k@0:put");
  EXPECT_EQ(Text(Retain(puts, {9}, false)), "k@9:put");
  EXPECT_EQ(Retain(puts, {9}, true).counts.zeroed, 1u);
}

TEST(RetentionTest, AnEntryNewerThanTheLastSnapshotIsNeitherZeroedNorDropped) {
  const Entries puts = {Update("k", 9, ValueKind::kPut), Update("k", 5, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(puts, {8}, true)), "k@9:put k@0:put");
}

TEST(RetentionTest, ADeleteGoesOnlyAtTheBottomAndBelowEverySnapshot) {
  const Entries e = {Update("k", 9, ValueKind::kDelete), Update("k", 5, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(e, {9}, false)), "k@9:delete");
  EXPECT_EQ(Text(Retain(e, {9}, true)), "");
  EXPECT_EQ(Text(Retain(e, {5, 9}, true)), "k@9:delete k@0:put");
  EXPECT_EQ(Retain(e, {9}, true).counts.tombstones_dropped, 1u);
}

TEST(RetentionTest, ASingleDeleteGoesWithItsPut) {
  const Entries e = {Update("k", 9, ValueKind::kSingleDelete), Update("k", 5, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(e, {9}, false)), "");
  EXPECT_EQ(Text(Retain(e, {5, 9}, false)), "k@9:single-delete k@5:put");
}

TEST(RetentionTest, ALoneSingleDeleteStaysUntilTheBottom) {
  const Entries e = {Update("a", 9, ValueKind::kSingleDelete), Update("b", 5, ValueKind::kPut),
                     Update("c", 8, ValueKind::kSingleDelete)};
  EXPECT_EQ(Text(Retain(e, {9}, false)), "a@9:single-delete b@5:put c@8:single-delete");
  EXPECT_EQ(Text(Retain(e, {9}, true)), "b@0:put");
}

TEST(RetentionTest, AHiddenSingleDeleteStaysUntilTheBottom) {
  const Entries e = {Update("k", 9, ValueKind::kPut), Update("k", 5, ValueKind::kSingleDelete)};
  EXPECT_EQ(Text(Retain(e, {9}, false)), "k@9:put k@5:single-delete");
  EXPECT_EQ(Text(Retain(e, {9}, true)), "k@0:put");
}

TEST(RetentionTest, AnOverwrittenPutDoesNotComeBackFromUnderAPair) {
  const Entries e = {Update("k", 9, ValueKind::kSingleDelete), Update("k", 5, ValueKind::kPut),
                     Update("k", 4, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(e, {9}, false)), "");
}

TEST(RetentionTest, ADeleteUnderAPairStillHidesWhatIsDeeper) {
  const Entries e = {Update("k", 9, ValueKind::kSingleDelete), Update("k", 5, ValueKind::kPut),
                     Update("k", 4, ValueKind::kDelete), Update("k", 3, ValueKind::kPut)};
  EXPECT_EQ(Text(Retain(e, {9}, false)), "k@4:delete");
  EXPECT_EQ(Text(Retain(e, {9}, true)), "");
}

TEST(RetentionTest, MarksTheFirstSurvivorOfEachKey) {
  const Outcome out = Retain({Update("a", 9, ValueKind::kSingleDelete), Update("a", 8, ValueKind::kPut),
                              Update("a", 7, ValueKind::kSingleDelete), Update("b", 6, ValueKind::kPut),
                              Update("b", 3, ValueKind::kPut), Update("c", 1, ValueKind::kPut)},
                             {3, 9}, false);
  EXPECT_EQ(Text(out), "a@7:single-delete b@6:put b@3:put c@1:put");
  std::vector<bool> firsts;
  for (const Entry& e : out.entries) firsts.push_back(e.first_of_key);
  EXPECT_EQ(firsts, (std::vector<bool>{true, true, false, true}));
}

TEST(RetentionTest, EmptyKeysAreKeys) {
  EXPECT_EQ(Text(Retain({Update("", 2, ValueKind::kPut), Update("", 1, ValueKind::kPut)}, {9}, true)), "@0:put");
}

TEST(RetentionTest, StopsAtTheFirstErrorOfItsConsumer) {
  Retention retention({.snapshots = {SequenceNumber(9)}});
  const auto full = [](InternalKeyView, std::string_view, bool) { return absl::ResourceExhaustedError("full"); };
  EXPECT_EQ(retention.Add({"a", PackTrailer(SequenceNumber(1), ValueKind::kPut)}, "v", full).code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sepal
