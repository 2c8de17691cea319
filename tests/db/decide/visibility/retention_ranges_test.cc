// What a flush or a compaction keeps under range tombstones, in random histories.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/decide/visibility/operands.h"
#include "db/decide/visibility/retention.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kStretchKeys = 4;

std::string StretchKey(uint64_t i) { return std::string(1, static_cast<char>('a' + i)); }

// An update of the key `begin`, or a delete of the keys [begin, end); kStretchKeys is no end.
struct StretchUpdate {
  ValueKind kind;
  uint64_t begin;
  uint64_t end = 0;

  bool IsRange() const { return kind == ValueKind::kRangeDelete; }
  bool Concerns(uint64_t key) const { return IsRange() ? begin <= key && key < end : begin == key; }
};

struct StretchEntry {
  uint64_t key;
  Trailer trailer;
  std::string value;

  uint64_t sequence() const { return TrailerSequence(trailer).value(); }
};

// What a flush or a compaction wrote.
struct StretchRun {
  std::vector<StretchEntry> entries;
  uint64_t swept_through = 0;
};

// A history, of which update i has the number i + 1, as runs; and what readers find there.
class StretchTree {
 public:
  StretchTree(std::vector<StretchUpdate> updates, const MergeOperator* merge)
      : updates_(std::move(updates)), merge_(merge), standing_(updates_.size() + 1, true) {}

  uint64_t last() const { return updates_.size(); }
  std::string Describe() const {
    std::string text;
    for (size_t i = 0; i < updates_.size(); ++i) {
      const StretchUpdate& u = updates_[i];
      text += std::to_string(i + 1) + ":" + std::string(Name(u.kind)) + " " + StretchKey(u.begin);
      text += u.IsRange() ? ".." + StretchKey(u.end) + " " : " ";
    }
    for (const StretchRun& run : runs_) {
      text += "\n  run swept through " + std::to_string(run.swept_through) + ":";
      for (const StretchEntry& e : run.entries) {
        text += " " + StretchKey(e.key) + "@" + std::to_string(e.sequence()) + ":" +
                std::string(Name(TrailerKind(e.trailer)));
      }
    }
    return text + "\n";
  }

  // The range tombstones up to a number that were not retired.
  RangeTombstonesRef Ranges(uint64_t through, Stripes stripes) const {
    std::vector<RangeTombstonesRef> lists;
    for (uint64_t s = 1; s <= through; ++s) {
      const StretchUpdate& u = updates_[s - 1];
      if (!u.IsRange() || !standing_[s]) continue;
      const auto bytes =
          std::make_shared<const std::pair<std::string, std::string>>(StretchKey(u.begin), StretchKey(u.end));
      RangeTombstone tombstone{.begin = bytes->first, .end = std::nullopt, .sequence = SequenceNumber(s)};
      if (u.end < kStretchKeys) tombstone.end = bytes->second;
      lists.push_back(RangeTombstones::Of(KeyOrder(), tombstone, bytes));
    }
    return MergeAll(KeyOrder(), std::move(lists), stripes);
  }

  void Flush(uint64_t from, uint64_t to, const std::vector<uint64_t>& readers, bool merges) {
    std::vector<StretchEntry> entries;
    for (uint64_t s = from + 1; s <= to; ++s) {
      const StretchUpdate& u = updates_[s - 1];
      if (u.IsRange()) continue;
      const std::string value = IsTombstone(u.kind) ? "" : std::to_string(s);
      entries.push_back({u.begin, PackTrailer(SequenceNumber(s), u.kind), value});
    }
    runs_.insert(runs_.begin(), Retain(std::move(entries), readers, /*bottommost=*/false, merges, to));
  }
  // The runs [first, end), of which the last one may be the oldest.
  void Compact(size_t first, size_t end, const std::vector<uint64_t>& readers, bool merges, uint64_t ranges_through) {
    std::vector<StretchEntry> entries;
    for (size_t i = first; i < end; ++i) {
      entries.insert(entries.end(), runs_[i].entries.begin(), runs_[i].entries.end());
    }
    const bool bottommost = end == runs_.size();
    runs_.erase(runs_.begin() + static_cast<ptrdiff_t>(first), runs_.begin() + static_cast<ptrdiff_t>(end));
    runs_.insert(runs_.begin() + static_cast<ptrdiff_t>(first),
                 Retain(std::move(entries), readers, bottommost, merges, ranges_through));
  }
  // Range tombstones that are above nothing, or through which all runs are swept, are gone from now on.
  void Retire() {
    for (uint64_t s = 1; s <= last(); ++s) {
      const bool needed = std::any_of(runs_.begin(), runs_.end(), [s](const StretchRun& run) {
        return run.swept_through < s && std::any_of(run.entries.begin(), run.entries.end(),
                                                    [s](const StretchEntry& e) { return e.sequence() < s; });
      });
      if (!needed) standing_[s] = false;
    }
  }
  bool AnyRangeStands() const {
    for (uint64_t s = 1; s <= last(); ++s) {
      if (standing_[s] && updates_[s - 1].IsRange()) return true;
    }
    return false;
  }

  void ExpectRightReads(const std::vector<uint64_t>& readers, const char* after) const {
    for (const uint64_t s : readers) {
      for (uint64_t key = 0; key < kStretchKeys; ++key) {
        ASSERT_EQ(Found(key, s), Wanted(key, s))
            << "key " << StretchKey(key) << " at " << s << " after " << after << ": " << Describe();
      }
    }
  }
  // What covers an entry, to a reader, is newer than what its run was swept through: older range tombstones may go.
  void ExpectSwept(const std::vector<uint64_t>& readers) const {
    for (const StretchRun& run : runs_) {
      for (const StretchEntry& e : run.entries) {
        for (const uint64_t s : readers) {
          const uint64_t newest = NewestRange(e.key, s);
          ASSERT_TRUE(s < e.sequence() || newest <= e.sequence() || newest > run.swept_through)
              << StretchKey(e.key) << "@" << e.sequence() << " to a reader at " << s << ": " << Describe();
        }
      }
    }
  }
  const std::vector<StretchRun>& runs() const { return runs_; }

 private:
  StretchRun Retain(std::vector<StretchEntry> in, const std::vector<uint64_t>& readers, bool bottommost, bool merges,
                    uint64_t ranges_through) const {
    std::stable_sort(in.begin(), in.end(), [](const StretchEntry& a, const StretchEntry& b) {
      return a.key != b.key ? a.key < b.key : a.trailer > b.trailer;
    });
    RetentionOptions options{.bottommost = bottommost, .merge = merges ? merge_ : nullptr};
    for (const uint64_t s : readers) options.snapshots.push_back(SequenceNumber(s));
    const RangeTombstonesRef ranges = Ranges(ranges_through, options.snapshots);
    options.ranges = ranges.get();
    Retention retention(options);
    StretchRun out;
    const auto emit = [&](const InternalKeyView& key, std::string_view value, bool first) {
      const auto number = static_cast<uint64_t>(key.user_key.front() - 'a');
      const bool is_first = out.entries.empty() || out.entries.back().key != number;
      EXPECT_EQ(first, is_first);
      EXPECT_TRUE(is_first || out.entries.back().trailer > key.trailer);
      out.entries.push_back({number, key.trailer, std::string(value)});
      return absl::OkStatus();
    };
    for (const StretchEntry& e : in) {
      const std::string key = StretchKey(e.key);
      EXPECT_TRUE(retention.Add({key, e.trailer}, e.value, emit).ok());
    }
    EXPECT_TRUE(retention.Finish(emit).ok());
    EXPECT_EQ(retention.counts().entries_in, in.size());
    EXPECT_EQ(retention.counts().entries_out, out.entries.size());
    out.swept_through = retention.SweptThrough().value();
    return out;
  }

  // The newest range tombstone of the history at or below a number, 0 if there is none.
  uint64_t NewestRange(uint64_t key, uint64_t through) const {
    for (uint64_t s = through; s > 0; --s) {
      if (updates_[s - 1].IsRange() && standing_[s] && updates_[s - 1].Concerns(key)) return s;
    }
    return 0;
  }
  // By the tree: entries in order of age, and range tombstones by number.
  std::optional<std::string> Found(uint64_t key, uint64_t visible) const {
    const uint64_t covered = NewestRange(key, visible);
    OperandChain chain(/*clock=*/nullptr);
    std::optional<SequenceNumber> bound = SequenceNumber(visible);
    while (bound.has_value()) {
      const StretchEntry* const next = FirstThrough(key, bound->value());
      if (next == nullptr || next->sequence() < covered) break;
      bound = chain.Take(next->trailer, next->value);
    }
    return chain.Resolve(*MergeOperators::Append(","), "k").value();
  }
  const StretchEntry* FirstThrough(uint64_t key, uint64_t bound) const {
    for (const StretchRun& run : runs_) {
      for (const StretchEntry& e : run.entries) {
        if (e.key == key && e.sequence() <= bound) return &e;
      }
    }
    return nullptr;
  }
  // By the history.
  std::optional<std::string> Wanted(uint64_t key, uint64_t visible) const {
    std::optional<std::string> value;
    for (uint64_t s = 1; s <= visible; ++s) {
      const StretchUpdate& u = updates_[s - 1];
      if (!u.Concerns(key)) continue;
      if (u.kind == ValueKind::kPut) {
        value = std::to_string(s);
      } else if (u.kind == ValueKind::kMerge) {
        value = value.has_value() ? *value + "," + std::to_string(s) : std::to_string(s);
      } else {
        value.reset();
      }
    }
    return value;
  }

  const std::vector<StretchUpdate> updates_;
  const MergeOperator* const merge_;
  std::vector<bool> standing_;    // by number
  std::vector<StretchRun> runs_;  // the newest first
};

StretchUpdate RandomRange(Random* random) {
  const uint64_t begin = random->Uniform(kStretchKeys);
  return {ValueKind::kRangeDelete, begin, begin + 1 + random->Uniform(kStretchKeys - begin)};
}

std::vector<StretchUpdate> RandomHistory(Random* random) {
  std::vector<StretchUpdate> updates;
  for (uint64_t count = 2 + random->Uniform(13); count > 0; --count) {
    constexpr ValueKind kKinds[] = {ValueKind::kPut, ValueKind::kPut, ValueKind::kDelete, ValueKind::kMerge,
                                    ValueKind::kMerge};
    if (random->OneIn(4)) {
      updates.push_back(RandomRange(random));
    } else {
      updates.push_back({kKinds[random->Uniform(std::size(kKinds))], random->Uniform(kStretchKeys)});
    }
  }
  return updates;
}

// Puts and single deletes in turn; a range tombstone makes room for the next put as well.
std::vector<StretchUpdate> RandomSingleUse(Random* random) {
  std::vector<StretchUpdate> updates;
  bool is_put[kStretchKeys] = {};
  bool may_put[kStretchKeys] = {true, true, true, true};
  for (uint64_t count = 2 + random->Uniform(13); count > 0; --count) {
    if (random->OneIn(4)) {
      updates.push_back(RandomRange(random));
      for (uint64_t key = 0; key < kStretchKeys; ++key) may_put[key] |= updates.back().Concerns(key);
      continue;
    }
    const uint64_t key = random->Uniform(kStretchKeys);
    const bool put = may_put[key] && (!is_put[key] || random->OneIn(2));
    updates.push_back({put ? ValueKind::kPut : ValueKind::kSingleDelete, key});
    is_put[key] = put;
    may_put[key] = !put;
  }
  return updates;
}

// The snapshots up to a number, and the number.
std::vector<uint64_t> ReadersThrough(const std::vector<uint64_t>& snapshots, uint64_t last) {
  std::vector<uint64_t> readers;
  for (const uint64_t s : snapshots) {
    if (s < last) readers.push_back(s);
  }
  readers.push_back(last);
  return readers;
}

// These, and all from the last of them through `last`.
std::vector<uint64_t> WithAllThrough(std::vector<uint64_t> stops, uint64_t last) {
  for (uint64_t s = stops.back() + 1; s <= last; ++s) stops.push_back(s);
  return stops;
}

// Two flushes, a compaction of either run or both, the release of snapshots, and a compaction of everything.
void TryHistory(Random* random, std::vector<StretchUpdate> updates) {
  const std::shared_ptr<const MergeOperator> append = MergeOperators::Append(",");
  StretchTree tree(std::move(updates), append.get());
  const uint64_t last = tree.last();
  std::vector<uint64_t> snapshots;
  for (uint64_t s = 1; s < last; ++s) {
    if (random->OneIn(3)) snapshots.push_back(s);
  }
  // Of a family that keeps its history: readers may stand anywhere from the floor on.
  uint64_t floor = random->OneIn(2) ? last : random->Uniform(last + 1);
  const std::vector<uint64_t> stops = ReadersThrough(snapshots, floor);
  const std::vector<uint64_t> readers = WithAllThrough(stops, last);
  const bool merges = !random->OneIn(4);
  const uint64_t middle = random->Uniform(last + 1);
  // The first flush may come late.
  tree.Flush(0, middle, random->OneIn(2) ? stops : ReadersThrough(snapshots, std::min(floor, middle)), merges);
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads(
      WithAllThrough(ReadersThrough(snapshots, std::min(floor, middle)), middle), "the first flush"));
  tree.Flush(middle, last, stops, merges);
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads(readers, "the second flush"));
  ASSERT_NO_FATAL_FAILURE(tree.ExpectSwept(readers));
  switch (random->Uniform(4)) {
    case 0:
      tree.Compact(0, 1, stops, merges, last);
      break;
    case 1:
      tree.Compact(1, 2, stops, merges, last);
      break;
    case 2:  // began before the second flush
      tree.Compact(1, 2, ReadersThrough(snapshots, std::min(floor, middle)), merges, middle);
      break;
    default:
      tree.Compact(0, 2, stops, merges, last);
  }
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads(readers, "a compaction"));
  ASSERT_NO_FATAL_FAILURE(tree.ExpectSwept(readers));
  if (random->OneIn(2)) tree.Retire();
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads(readers, "range tombstones were retired"));
  std::erase_if(snapshots, [&](uint64_t) { return random->OneIn(2); });
  floor += random->Uniform(last - floor + 1);
  const std::vector<uint64_t> stops_left = ReadersThrough(snapshots, floor);
  const std::vector<uint64_t> left = WithAllThrough(stops_left, last);
  tree.Compact(0, tree.runs().size(), stops_left, merges, last);
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads(left, "a compaction of everything"));
  ASSERT_NO_FATAL_FAILURE(tree.ExpectSwept(left));
  tree.Retire();
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads(left, "more were retired"));
  tree.Compact(0, 1, {last}, /*merges=*/true, last);
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads({last}, "no snapshot was left"));
  tree.Retire();
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads({last}, "the last were retired"));
  ASSERT_FALSE(tree.AnyRangeStands()) << tree.Describe();
  tree.Compact(0, 1, {last}, /*merges=*/true, last);
  for (const StretchEntry& e : tree.runs().front().entries) {
    ASSERT_EQ(e.trailer, PackTrailer(SequenceNumber(0), ValueKind::kPut)) << tree.Describe();
  }
  ASSERT_NO_FATAL_FAILURE(tree.ExpectRightReads({last}, "sequence numbers were zeroed"));
}

TEST(RetentionRangesTest, NoViewChangesInAnyHistory) {
  Random random(21);
  for (int round = 0; round < 6000; ++round) {
    ASSERT_NO_FATAL_FAILURE(TryHistory(&random, RandomHistory(&random))) << "round " << round;
  }
}

TEST(RetentionRangesTest, NoViewChangesInAnyHistoryOfSingleDeletes) {
  Random random(22);
  for (int round = 0; round < 6000; ++round) {
    ASSERT_NO_FATAL_FAILURE(TryHistory(&random, RandomSingleUse(&random))) << "round " << round;
  }
}

// Puts of the key "a", with deletes of the range [a, b).
struct OfOneKey {
  std::string kept;
  uint64_t swept_through;
  uint64_t covered_dropped;
};

OfOneKey RetainUnder(const std::vector<uint64_t>& puts, const std::vector<uint64_t>& deletes,
                     const std::vector<uint64_t>& readers, bool bottommost) {
  std::vector<RangeTombstonesRef> lists;
  for (const uint64_t s : deletes) {
    lists.push_back(RangeTombstones::Of(KeyOrder(), {"a", "b", SequenceNumber(s)}, nullptr));
  }
  const RangeTombstonesRef ranges = MergeAll(KeyOrder(), std::move(lists), {});
  RetentionOptions options{.bottommost = bottommost, .ranges = ranges.get()};
  for (const uint64_t s : readers) options.snapshots.push_back(SequenceNumber(s));
  Retention retention(options);
  std::string kept;
  const auto emit = [&](const InternalKeyView& key, std::string_view, bool) {
    kept += (kept.empty() ? "" : " ") + std::to_string(key.sequence().value());
    return absl::OkStatus();
  };
  for (const uint64_t s : puts) {
    EXPECT_TRUE(retention.Add({"a", PackTrailer(SequenceNumber(s), ValueKind::kPut)}, "v", emit).ok());
  }
  EXPECT_TRUE(retention.Finish(emit).ok());
  return {kept, retention.SweptThrough().value(), retention.counts().covered_dropped};
}

TEST(RetentionRangesTest, ACoveredEntryGoesAtAnyLevelUnlessASnapshotDividesItFromTheDelete) {
  const OfOneKey flushed = RetainUnder({2}, {5}, {9}, /*bottommost=*/false);
  EXPECT_EQ(flushed.kept, "");
  EXPECT_EQ(flushed.swept_through, 5u);
  EXPECT_EQ(flushed.covered_dropped, 1u);
  const OfOneKey seen = RetainUnder({2}, {5}, {3, 9}, /*bottommost=*/true);
  EXPECT_EQ(seen.kept, "2");
  EXPECT_EQ(seen.swept_through, 4u);
  EXPECT_EQ(seen.covered_dropped, 0u);
}

TEST(RetentionRangesTest, TheLowestDeleteAboveWhatIsKeptEndsWhatIsSwept) {
  EXPECT_EQ(RetainUnder({6, 2}, {8, 5}, {3, 6, 9}, /*bottommost=*/false).swept_through, 4u);
  EXPECT_EQ(RetainUnder({6}, {8, 5}, {3, 6, 9}, /*bottommost=*/false).swept_through, 7u);
  EXPECT_EQ(RetainUnder({8}, {7, 5}, {9}, /*bottommost=*/false).swept_through, 7u);
}

TEST(RetentionRangesTest, ADeleteAboveTheLastReaderDropsNothing) {
  const OfOneKey kept = RetainUnder({4}, {5}, {3}, /*bottommost=*/false);
  EXPECT_EQ(kept.kept, "4");
  EXPECT_EQ(kept.swept_through, 4u);
}

TEST(RetentionRangesTest, AKeyUnderARangeTombstoneKeepsItsNumbers) {
  EXPECT_EQ(RetainUnder({7}, {5}, {9}, /*bottommost=*/true).kept, "7");
  EXPECT_EQ(RetainUnder({7}, {}, {9}, /*bottommost=*/true).kept, "0");
  EXPECT_EQ(RetainUnder({7, 2}, {5}, {9}, /*bottommost=*/true).kept, "7");
}

}  // namespace
}  // namespace sepal
