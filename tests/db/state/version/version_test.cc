#include "db/state/version/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/db/version_text.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& drawing) {
  const absl::StatusOr<VersionRef> version = Draw(drawing);
  return version.ok() ? "ok" : std::string(ToStd(version.status().message()));
}

// A custom order: bytes reversed in direction.
class Backwards : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.backwards"; }
};

TEST(VersionTest, ListsRunsNewestFirstLevelByLevel) {
  const VersionRef v = *Draw("L1 run 3: 4[a..c] 5[d..f]\nL0 run 8: 10[a..z]\nL0 run 9: 11[b..c]\nL3 run 2: 1[a..z]\n");
  EXPECT_EQ(v->TablesPerLevel(), "1+1,2,0,1");
  EXPECT_EQ(v->ToString(), "L0 run 9: 11[b..c]\nL0 run 8: 10[a..z]\nL1 run 3: 4[a..c] 5[d..f]\nL3 run 2: 1[a..z]\n");
  ASSERT_EQ(v->runs().size(), 4u);
  EXPECT_EQ(v->runs()[0].run->number(), RunNumber(9));
  EXPECT_EQ(v->runs()[3].level, 3);
  EXPECT_EQ(v->NumRuns(0), 2);
  EXPECT_EQ(v->NumRuns(), 4);
  EXPECT_EQ(v->NumTables(1), 2);
  EXPECT_EQ(v->NumTables(), 5);
  EXPECT_EQ(v->Bytes(1), 200u);
  EXPECT_EQ(v->Bytes(), 500u);
  EXPECT_EQ(v->Entries(), 500u);
  EXPECT_EQ(v->DeepestLevel(), 3);
  EXPECT_EQ(v->FindRun(1, RunNumber(3))->tables().size(), 2u);
  EXPECT_EQ(v->FindRun(1, RunNumber(4)), nullptr);
  EXPECT_EQ(v->Tables().size(), 5u);
}

TEST(VersionTest, RunsNarrowACommonPrefixToWhatAllTheirKeysBeginWith) {
  const VersionRef v =
      *Draw("L0 run 9: 11[user12..user14] 12[user15..user19]\nL0 run 8: 10[use..users]\nL1 run 3: 4[a..b]\n");
  std::optional<std::string> prefix;
  const auto narrow = [&](size_t run) {
    const TableRange tables = v->runs()[run].run->tables();
    NarrowToCommonPrefix(*tables.front(), *tables.back(), &prefix);
  };
  narrow(0);
  EXPECT_EQ(prefix, "user1");
  narrow(1);
  EXPECT_EQ(prefix, "use");
  narrow(2);
  EXPECT_EQ(prefix, "");
}

TEST(VersionTest, AnEmptyVersionHasNoDeepestLevelAndPassesItsCheck) {
  const Version v{KeyOrder()};
  EXPECT_EQ(v.DeepestLevel(), -1);
  EXPECT_EQ(v.TablesPerLevel(), "");
  EXPECT_TRUE(v.Check().ok());
}

TEST(VersionTest, CheckNamesWhatBreaksALaw) {
  const auto has = [](const std::string& drawing, const std::string& part) {
    const std::string error = ErrorOf(drawing);
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  EXPECT_EQ(ErrorOf("L1 run 3: 4[a..c] 5[d..f]\n"), "ok");
  has("L1 run 3: 4[a..d] 5[d..f]\n", "table 5 does not lie after table 4");
  has("L1 run 3: 4[a..d] 5[c..f]\n", "table 5 does not lie after table 4");
  has("L1 run 3: 4[d..a]\n", "smallest key after largest");
  has("L1 run 3: 4[a..d]{seq=9-5}\n", "lowest sequence above highest");
  has("L1 run 3: 4[a..d]{entries=0}\n", "no entries");
  has("L1 run 3: 4[a..d]{entries=4 tomb=5}\n", "more tombstones than entries");
  has("L1 run 3: 4[a..d]{size=0}\n", "size 0");
  has("L1 run 3: 4[a..d]\nL2 run 1: 4[a..d]\n", "table 4 occurs twice");
  has("L0 run 4: 4[a..d]{seq=30-40}\nL0 run 3: 5[x..z]{seq=10-30}\n", "older run 3 goes up to 30");
  has("L7 run 4: 4[a..d]\nL7 run 3: 5[x..z]\n", "not the only run of the last level");
}

TEST(VersionTest, CheckNamesSequencesThatDoNotFitTheKeysOrTheRuns) {
  const auto error = [](const std::function<void(TableMetadata*)>& change) {
    TableMetadata m = TableOf(4, 3, "a", "c");
    change(&m);
    VersionEdit edit;
    edit.added_tables.push_back({ColumnFamilyId(0), 1, m});
    const absl::StatusOr<VersionRef> version = BuildOn(std::make_shared<const Version>(KeyOrder()), edit);
    return version.ok() ? "ok" : std::string(ToStd(version.status().message()));
  };
  EXPECT_EQ(error([](TableMetadata*) {}), "ok");
  EXPECT_EQ(error([](TableMetadata* m) { m->lowest_sequence = TrailerSequence(m->largest.trailer).next(); }),
            "version: level 1, run 3: table 4: boundary key's sequence outside the table's range");
  EXPECT_EQ(error([](TableMetadata* m) { m->smallest.trailer = PackTrailer(SequenceNumber(99), ValueKind::kPut); }),
            "version: level 1, run 3: table 4: boundary key's sequence outside the table's range");
  EXPECT_EQ(error([](TableMetadata* m) { m->highest_sequence = SequenceNumber(kMaxSequenceNumber.value() + 1); }),
            "version: level 1, run 3: table 4: sequence number out of range");
}

TEST(VersionTest, CheckNamesARunThatStandsBehindANewerOne) {
  const auto run = [](uint64_t number, uint64_t table, const char* key) {
    std::vector<TableRef> tables = {MakeTable(TableOf(table, number, key, key))};
    return std::make_shared<const sepal::Run>(RunNumber(number), std::move(tables), KeyOrder());
  };
  const auto error = [&](uint64_t first, uint64_t second) {
    std::array<std::vector<RunRef>, kMaxLevels> levels;
    levels[1] = {run(first, 1, "a"), run(second, 2, "x")};
    return std::string(ToStd(Version(KeyOrder(), std::move(levels)).Check().message()));
  };
  EXPECT_EQ(error(4, 3), "");
  EXPECT_EQ(error(3, 4), "version: level 1, run 4: stands behind run 3");
  EXPECT_EQ(error(3, 3), "version: level 1, run 3: stands behind run 3");
}

TEST(VersionBuilderTest, RefusesLevelsThatDoNotExist) {
  const VersionRef base = *Draw("L1 run 3: 4[a..c]\n");
  for (const int level : {-1, kMaxLevels}) {
    VersionEdit edit;
    edit.removed_tables.push_back({ColumnFamilyId(0), level, FileNumber(4)});
    EXPECT_EQ(BuildOn(base, edit).status().code(), absl::StatusCode::kDataLoss) << level;
    edit = {};
    edit.added_tables.push_back({ColumnFamilyId(0), level, TableOf(9, 4, "x", "y")});
    EXPECT_EQ(BuildOn(base, edit).status().code(), absl::StatusCode::kDataLoss) << level;
  }
}

TEST(VersionBuilderTest, RefusesEditsThatDoNotFit) {
  const VersionRef base = *Draw("L1 run 3: 4[a..c]\n");
  VersionEdit absent;
  absent.removed_tables.push_back({ColumnFamilyId(0), 1, FileNumber(9)});
  EXPECT_EQ(BuildOn(base, absent).status().code(), absl::StatusCode::kDataLoss);
  VersionEdit wrong_level;
  wrong_level.removed_tables.push_back({ColumnFamilyId(0), 2, FileNumber(4)});
  EXPECT_EQ(BuildOn(base, wrong_level).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(BuildOn(base, EditOf("L1 run 3: 4[a..c]\n")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(BuildOn(base, EditOf("L2 run 3: 4[a..c]\n")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(BuildOn(base, EditOf("L64 run 3: 5[a..c]\n")).status().code(), absl::StatusCode::kDataLoss);
  VersionEdit changed = EditOf("L2 run 3: 4[a..d]\n");
  changed.removed_tables.push_back({ColumnFamilyId(0), 1, FileNumber(4)});
  EXPECT_EQ(BuildOn(base, changed).status().code(), absl::StatusCode::kDataLoss);
}

// Whether a table was removed before, so that the builder keeps an index, or not.
TEST(VersionBuilderTest, ATableThatComesTwiceIsRefusedAtTheLatestByBuild) {
  const VersionRef nothing = std::make_shared<const Version>(KeyOrder());
  const VersionEdit twice = EditOf("L1 run 3: 4[a..c] 5[d..f] 4[x..z]\n");
  const absl::Status by_build = BuildOn(nothing, twice).status();
  EXPECT_EQ(by_build.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ToStd(by_build.message()), HasSubstr("table 4 occurs twice"));

  VersionBuilder removing(nothing, MakeTable);
  ASSERT_TRUE(removing.Apply(ColumnFamilyId(0), twice).ok());
  VersionEdit removal;
  removal.removed_tables.push_back({ColumnFamilyId(0), 1, FileNumber(4)});
  EXPECT_EQ(removing.Apply(ColumnFamilyId(0), removal).code(), absl::StatusCode::kDataLoss);

  VersionBuilder indexed(nothing, MakeTable);
  ASSERT_TRUE(indexed.Apply(ColumnFamilyId(0), EditOf("L1 run 3: 4[a..c] 5[d..f]\n")).ok());
  ASSERT_TRUE(indexed.Apply(ColumnFamilyId(0), removal).ok());
  EXPECT_EQ(indexed.Apply(ColumnFamilyId(0), removal).code(), absl::StatusCode::kDataLoss);
  const absl::Status there = indexed.Apply(ColumnFamilyId(0), EditOf("L1 run 3: 5[d..f]\n"));
  EXPECT_EQ(there.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ToStd(there.message()), HasSubstr("there already"));
}

TEST(VersionBuilderTest, ATableThatMovesAndComesOnceMoreIsRefused) {
  VersionBuilder builder(*Draw("L1 run 3: 4[a..c]\n"), MakeTable);
  VersionEdit edit = EditOf("L2 run 3: 4[a..c]\nL3 run 2: 4[a..c]\n");
  edit.removed_tables.push_back({ColumnFamilyId(0), 1, FileNumber(4)});
  const absl::Status status = builder.Apply(ColumnFamilyId(0), edit);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(ToStd(status.message()), HasSubstr("there already"));
}

TEST(VersionBuilderTest, TableByTableAnEditGivesTheSameVersion) {
  const VersionRef nothing = std::make_shared<const Version>(KeyOrder());
  const std::string drawn = "L0 run 9: 11[b..c]\nL1 run 3: 4[a long key that is on the heap..c] 5[d..f]\n";
  VersionBuilder builder(nothing, MakeTable);
  VersionEdit edit = EditOf(drawn);
  for (AddedTable& added : edit.added_tables) ASSERT_TRUE(builder.Add(std::move(added)).ok());
  EXPECT_EQ((*builder.Build())->ToString(), drawn);
  ASSERT_TRUE(builder.Remove({.family = ColumnFamilyId(0), .level = 0, .number = FileNumber(11)}).ok());
  EXPECT_TRUE(absl::IsDataLoss(builder.Remove({.family = ColumnFamilyId(0), .level = 0, .number = FileNumber(11)})));
}

TEST(VersionBuilderTest, SkipsWhatTheEditSaysOfOtherFamilies) {
  VersionEdit edit = EditOf("L1 run 3: 4[a..c]\n");
  edit.added_tables.front().family = ColumnFamilyId(7);
  edit.removed_tables.push_back({ColumnFamilyId(7), 1, FileNumber(9)});
  EXPECT_EQ((*BuildOn(std::make_shared<const Version>(KeyOrder()), edit))->NumTables(), 0);
}

TEST(VersionBuilderTest, AMoveKeepsTheTableFileAndTakesTheNewRun) {
  const VersionRef base = *Draw("L0 run 5: 7[a..c]\nL2 run 1: 3[x..z]\n");
  VersionEdit edit;
  edit.removed_tables.push_back({ColumnFamilyId(0), 0, FileNumber(7)});
  TableMetadata moved = base->level(0)[0]->tables()[0]->metadata();
  moved.run = RunNumber(1);
  edit.added_tables.push_back({ColumnFamilyId(0), 2, moved});
  VersionBuilder builder(base, MakeTable);
  ASSERT_TRUE(builder.Apply(ColumnFamilyId(0), edit).ok());
  const VersionRef next = *builder.Build();
  EXPECT_EQ(next->ToString(), "L2 run 1: 7[a..c] 3[x..z]\n");
  EXPECT_EQ(next->level(2)[0]->tables()[0], base->level(0)[0]->tables()[0]);
  EXPECT_TRUE(builder.RemovedTables().empty());
  EXPECT_EQ(next->Contents(ColumnFamilyId(4))[0].table.run, RunNumber(1));
  EXPECT_EQ(next->Contents(ColumnFamilyId(4))[0].family, ColumnFamilyId(4));
}

TEST(VersionBuilderTest, SharesLevelsThatNoEditTouches) {
  const VersionRef base = *Draw("L0 run 5: 7[a..c]\nL2 run 1: 3[x..z]\n");
  VersionEdit edit = EditOf("L0 run 6: 8[a..c]\n");
  edit.removed_tables.push_back({ColumnFamilyId(0), 0, FileNumber(7)});
  VersionBuilder builder(base, MakeTable);
  ASSERT_TRUE(builder.Apply(ColumnFamilyId(0), edit).ok());
  const VersionRef next = *builder.Build();
  EXPECT_EQ(next->level(2)[0], base->level(2)[0]);
  ASSERT_EQ(builder.RemovedTables().size(), 1u);
  EXPECT_EQ(builder.RemovedTables()[0]->number(), FileNumber(7));
}

TEST(VersionBuilderTest, ContentsRebuildTheSameVersion) {
  const VersionRef v = *Draw("L0 run 9: 11[b..c]\nL1 run 3: 4[a..c] 5[d..f]\nL1 run 2: 1[a..z]\n");
  VersionEdit edit;
  edit.added_tables = v->Contents(ColumnFamilyId(0));
  EXPECT_EQ((*BuildOn(std::make_shared<const Version>(KeyOrder()), edit))->ToString(), v->ToString());
}

// Runs over random keys, with and without long common prefixes, tables of one key among them, against a plain scan.
void CompareFindWithAScan(KeyOrder order, const std::string& common, uint64_t seed, size_t max_key_bytes) {
  Random random(seed);
  const auto less = [&order](const std::string& a, const std::string& b) { return order.Less(a, b); };
  std::set<std::string, decltype(less)> set(less);
  const auto random_key = [&] {
    std::string key = common;
    for (size_t n = random.Uniform(max_key_bytes + 1); n > 0; --n) {
      key += static_cast<char>(random.OneIn(3) ? 0xff : 'a' + static_cast<char>(random.Uniform(3)));
    }
    return key;
  };
  for (int i = 0; i < 60; ++i) set.insert(random_key());
  const std::vector<std::string> keys(set.begin(), set.end());
  std::vector<TableRef> tables;
  for (size_t i = 0; i + 1 < keys.size(); i += 2) {
    const bool lone = random.OneIn(4);
    tables.push_back(MakeTable(TableOf(i + 1, 1, keys[i], lone ? keys[i] : keys[i + 1])));
  }
  const Run run(RunNumber(1), tables, order);
  std::vector<std::string> probes = keys;
  for (int i = 0; i < 300; ++i) probes.push_back(random_key());
  for (const char* odd : {"", "a", "zzz", "\xff\xff\xff"}) probes.push_back(odd);
  probes.push_back(common + std::string(9, '\0'));
  for (const std::string& probe : probes) {
    size_t expected = tables.size();
    size_t at_or_after = tables.size();
    for (size_t i = tables.size(); i-- > 0;) {
      const TableMetadata& m = tables[i]->metadata();
      if (!order.Less(m.largest.user_key, probe)) {
        at_or_after = i;
        expected = order.Less(probe, m.smallest.user_key) ? tables.size() : i;
      }
    }
    ASSERT_EQ(run.FirstAtOrAfter(probe), at_or_after) << Printable(probe);
    ASSERT_EQ(run.Find(probe), expected == tables.size() ? nullptr : tables[expected].get()) << Printable(probe);
  }
}

TEST(RunTest, FindsTheOnlyTableThatMayHoldAKey) {
  const Backwards backwards;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CompareFindWithAScan(KeyOrder(), "", seed, 4);
    CompareFindWithAScan(KeyOrder(), "", seed, 14);
    CompareFindWithAScan(KeyOrder(), "user00000000", seed, 3);
    CompareFindWithAScan(KeyOrder(), "user00000000", seed, 12);
    CompareFindWithAScan(KeyOrder(&backwards), "u", seed, 6);
  }
}

TEST(RunTest, OverlappingGivesTheTablesThatMeetARange) {
  const VersionRef v = *Draw("L1 run 3: 4[b..d] 5[f..h] 6[j..l]\n");
  const sepal::Run& run = *v->level(1)[0];
  const auto numbers = [&run](std::optional<std::string_view> begin, std::optional<std::string_view> end) {
    std::string text;
    for (const TableRef& table : run.Overlapping({begin, end})) text += std::to_string(table->number().value());
    return text;
  };
  EXPECT_EQ(numbers({}, {}), "456");
  EXPECT_EQ(numbers("d", "f"), "45");
  EXPECT_EQ(numbers("e", "e"), "");
  EXPECT_EQ(numbers("e", {}), "56");
  EXPECT_EQ(numbers({}, "e"), "4");
  EXPECT_EQ(numbers("a", "a"), "");
  EXPECT_EQ(numbers("m", {}), "");
  EXPECT_EQ(numbers("g", "g"), "5");
  EXPECT_EQ(numbers("z", "a"), "");
}

class NumbersSeen : public ObsoleteTableSink {
 public:
  void OnLastRelease(FileNumber number) override { seen.push_back(number); }
  std::vector<FileNumber> seen;
};

TEST(TableFileTest, TheLastOwnerOfAnObsoleteFileReportsIt) {
  const auto sink = std::make_shared<NumbersSeen>();
  TableRef kept = std::make_shared<const TableFile>(TableOf(4, 1, "a", "b"), sink);
  TableRef second = kept;
  kept->MarkObsolete();
  kept.reset();
  EXPECT_TRUE(sink->seen.empty());
  second.reset();
  EXPECT_EQ(sink->seen, std::vector<FileNumber>{FileNumber(4)});
}

TEST(TableFileTest, AFileThatIsStillInTheManifestIsNotReported) {
  const auto sink = std::make_shared<NumbersSeen>();
  std::make_shared<const TableFile>(TableOf(4, 1, "a", "b"), sink).reset();
  EXPECT_TRUE(sink->seen.empty());
}

class CountingOpener : public TableOpener {
 public:
  absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(const TableMetadata&) override {
    ++opened;
    return absl::UnavailableError("no disk");
  }
  int opened = 0;
};

TEST(TableFileTest, AFailedOpeningIsNotRemembered) {
  const TableFile file(TableOf(4, 1, "a", "b"), nullptr);
  CountingOpener opener;
  EXPECT_EQ(file.OpenReader(&opener).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(file.ShareReader(&opener).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(opener.opened, 2);
  EXPECT_EQ(file.reader(), nullptr);
}

// A million of them lie in memory, where 1.3 KB each were 1.3 GB.
TEST(TableFileTest, OneThatNobodyReadsIsSmall) { EXPECT_LE(sizeof(TableFile), 392u); }

}  // namespace
}  // namespace sepal
