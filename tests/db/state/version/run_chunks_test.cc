// Runs of many chunks: edits of them against a plain model, and what they share.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_format.h"
#include "tests/db/version_text.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr int kLevel = 1;
constexpr uint64_t kRun = 3;

// A run of a version.
struct RunPlace {
  int level = kLevel;
  uint64_t run = kRun;
  auto operator<=>(const RunPlace&) const = default;
};
constexpr size_t kFull = kMostInChunk;

class LastKeysFirst : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.last_keys_first"; }
};

// Many neighbours have the same first eight bytes, also behind what all of them share.
std::string KeyOf(uint64_t place) {
  return absl::StrFormat("key%03d%014d", static_cast<int>(place / 700), static_cast<int>(place % 700));
}

// In each run one table a place, which holds the keys from the place's own to the same with an 'm' behind it, or its
// own alone.
class PlacedTables {
 public:
  explicit PlacedTables(KeyOrder order = KeyOrder())
      : backwards_(!order.bytewise()), version_(std::make_shared<const Version>(order)) {}

  void Put(uint64_t place, RunPlace where = {}) {
    const uint64_t number = (next_++ * 7919) % 1'000'003;
    std::string first = KeyOf(place);
    std::string last = place % 4 == 0 ? first : first + "m";
    if (backwards_) std::swap(first, last);
    Add(place, where, TableOf(number, where.run, first, last));
  }
  void Remove(uint64_t place, RunPlace where = {}) {
    const auto it = model_[where].find(place);
    if (it == model_[where].end()) return;
    edit_.removed_tables.push_back({ColumnFamilyId(0), where.level, it->second});
    model_[where].erase(it);
  }
  // Another table in the place.
  void Swap(uint64_t place) {
    Remove(place);
    Put(place);
  }
  // Of tables that are there since before this edit, to a place that is free.
  void Move(uint64_t place, RunPlace from, RunPlace to) {
    TableMetadata moved = version_->numbers().Find(model_[from].at(place))->metadata();
    moved.run = RunNumber(to.run);
    Remove(place, from);
    Add(place, to, std::move(moved));
  }
  bool Has(uint64_t place, RunPlace where) const { return model(where).contains(place); }
  // Removals and additions are one edit.
  void Apply() {
    VersionBuilder builder(version_, MakeTable);
    const absl::Status applied = builder.Apply(ColumnFamilyId(0), edit_);
    ASSERT_TRUE(applied.ok()) << applied;
    absl::StatusOr<VersionRef> built = builder.Build();
    ASSERT_TRUE(built.ok()) << built.status();
    version_ = *std::move(built);
    std::set<FileNumber> gone;
    for (const TableRef& table : builder.RemovedTables()) gone.insert(table->number());
    std::set<FileNumber> removed;
    for (const RemovedTable& table : edit_.removed_tables) removed.insert(table.number);
    for (const AddedTable& added : edit_.added_tables) removed.erase(added.table.number);
    EXPECT_EQ(gone, removed);
    edit_ = {};
    ASSERT_TRUE(version_->Check().ok()) << version_->Check();
  }

  const VersionRef& version() const { return version_; }
  const Run& run() const { return *version_->level(kLevel).front(); }
  // Null if it has no table.
  const Run* run(RunPlace where) const { return version_->FindRun(where.level, RunNumber(where.run)); }
  const std::map<uint64_t, FileNumber>& model(RunPlace where = {}) const {
    static const std::map<uint64_t, FileNumber> kEmpty;
    const auto it = model_.find(where);
    return it == model_.end() ? kEmpty : it->second;
  }
  // The numbers in the order of keys.
  std::vector<FileNumber> Expected(RunPlace where = {}) const {
    std::vector<FileNumber> numbers;
    for (const auto& [place, number] : model(where)) numbers.push_back(number);
    if (backwards_) std::reverse(numbers.begin(), numbers.end());
    return numbers;
  }

 private:
  void Add(uint64_t place, RunPlace where, TableMetadata table) {
    ASSERT_TRUE(model_[where].emplace(place, table.number).second);
    edit_.added_tables.push_back({ColumnFamilyId(0), where.level, std::move(table)});
  }

  const bool backwards_;
  VersionRef version_;
  uint64_t next_ = 1;
  VersionEdit edit_;
  std::map<RunPlace, std::map<uint64_t, FileNumber>> model_;
};

std::vector<FileNumber> NumbersOf(const TableRange& tables) {
  std::vector<FileNumber> numbers;
  for (const TableRef& table : tables) numbers.push_back(table->number());
  return numbers;
}

std::vector<size_t> ChunkSizes(const Run& run) {
  std::vector<size_t> sizes;
  for (const TableChunkRef& chunk : run.chunks()) sizes.push_back(chunk->items().size());
  return sizes;
}

// By chunk of the run: where the chunk stood among `before`, or -1.
std::vector<int> Shared(const Run& run, const std::vector<TableChunkRef>& before) {
  std::vector<int> places;
  for (const TableChunkRef& chunk : run.chunks()) {
    const auto it = std::find(before.begin(), before.end(), chunk);
    places.push_back(it == before.end() ? -1 : static_cast<int>(it - before.begin()));
  }
  return places;
}

std::vector<TableChunkRef> ChunksOf(const Run& run) { return {run.chunks().begin(), run.chunks().end()}; }

// Five chunks of all but ten tables each, in the places 0, 10, 20, ...
class FiveChunksTest : public testing::Test {
 protected:
  static constexpr uint64_t kSize = kFull - 10;
  FiveChunksTest() {
    for (uint64_t i = 0; i < 5 * kSize; ++i) tables_.Put(i * 10);
    tables_.Apply();
    before_ = ChunksOf(tables_.run());
  }
  void SetUp() override { ASSERT_EQ(ChunkSizes(tables_.run()), std::vector<size_t>(5, kSize)); }
  static uint64_t PlaceOf(uint64_t chunk, uint64_t i) { return (chunk * kSize + i) * 10; }
  void RemoveFrom(uint64_t chunk, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) tables_.Remove(PlaceOf(chunk, i));
  }
  std::vector<int> SharedAfter() {
    tables_.Apply();
    EXPECT_EQ(NumbersOf(tables_.run().tables()), tables_.Expected());
    return Shared(tables_.run(), before_);
  }

  PlacedTables tables_;
  std::vector<TableChunkRef> before_;
};

TEST_F(FiveChunksTest, AnEditSharesTheChunksThatItDoesNotTouch) {
  for (uint64_t i = 20; i < 30; ++i) tables_.Swap(PlaceOf(2, i));
  EXPECT_EQ(SharedAfter(), (std::vector<int>{0, 1, -1, 3, 4}));
}

TEST_F(FiveChunksTest, AnEditOfBothEndsSharesWhatLiesBetween) {
  tables_.Swap(PlaceOf(0, 0));
  tables_.Swap(PlaceOf(4, kSize - 1));
  EXPECT_EQ(SharedAfter(), (std::vector<int>{-1, 1, 2, 3, -1}));
}

TEST_F(FiveChunksTest, ATableBetweenTwoChunksBelongsToTheSecond) {
  tables_.Put(PlaceOf(2, 0) - 1);
  EXPECT_EQ(SharedAfter(), (std::vector<int>{0, 1, -1, 3, 4}));
  EXPECT_EQ(ChunkSizes(tables_.run()), (std::vector<size_t>{kSize, kSize, kSize + 1, kSize, kSize}));
}

TEST_F(FiveChunksTest, TablesBehindAllJoinTheLastChunkAndThoseBeforeAllTheFirst) {
  tables_.Swap(PlaceOf(0, 0));
  tables_.Put(1);  // place 0 is the first; what lies behind its table is still of the first chunk
  tables_.Put(PlaceOf(5, 0));
  EXPECT_EQ(SharedAfter(), (std::vector<int>{-1, 1, 2, 3, -1}));
  EXPECT_EQ(ChunkSizes(tables_.run()), (std::vector<size_t>{kSize + 1, kSize, kSize, kSize, kSize + 1}));
}

TEST_F(FiveChunksTest, AChunkThatGrowsTooLargeIsSplitInHalves) {
  for (uint64_t i = 0; i < 11; ++i) tables_.Put(PlaceOf(1, i) + 5);
  EXPECT_EQ(SharedAfter(), (std::vector<int>{0, -1, -1, 2, 3, 4}));
  EXPECT_EQ(ChunkSizes(tables_.run()),
            (std::vector<size_t>{kSize, (kFull + 1) / 2, kFull + 1 - (kFull + 1) / 2, kSize, kSize, kSize}));
}

TEST_F(FiveChunksTest, AChunkThatGrowsTooSmallTakesItsNeighbourIn) {
  RemoveFrom(2, kSize - kFull / 2 + 1);
  EXPECT_EQ(SharedAfter(), (std::vector<int>{0, 1, -1, -1, 4}));
}

TEST_F(FiveChunksTest, TheLastChunkTakesInTheOneBeforeIt) {
  RemoveFrom(4, kSize - 1);
  EXPECT_EQ(SharedAfter(), (std::vector<int>{0, 1, 2, -1}));
  EXPECT_EQ(ChunkSizes(tables_.run()).back(), kSize + 1);
}

TEST_F(FiveChunksTest, EmptyChunksVanishAndNoneIsMadeAnew) {
  RemoveFrom(1, kSize);
  RemoveFrom(4, kSize);
  EXPECT_EQ(SharedAfter(), (std::vector<int>{0, 2, 3}));
}

TEST_F(FiveChunksTest, ARunOfNoTablesVanishes) {
  for (uint64_t chunk = 0; chunk < 5; ++chunk) RemoveFrom(chunk, kSize);
  tables_.Apply();
  EXPECT_TRUE(tables_.version()->runs().empty());
  EXPECT_EQ(tables_.version()->numbers().size(), 0u);
}

TEST_F(FiveChunksTest, ARunThatShrinksToFewTablesIsOneChunk) {
  for (uint64_t chunk = 0; chunk < 5; ++chunk) RemoveFrom(chunk, kSize - 1);
  EXPECT_EQ(SharedAfter(), std::vector<int>{-1});
  EXPECT_EQ(tables_.run().size(), 5u);
}

TEST_F(FiveChunksTest, TheVersionBeforeAnEditStaysAsItWas) {
  const VersionRef old = tables_.version();
  const std::vector<FileNumber> expected = tables_.Expected();
  for (uint64_t i = 0; i < 5 * kSize; i += 3) tables_.Swap(i * 10);
  tables_.Apply();
  EXPECT_EQ(NumbersOf(old->level(kLevel).front()->tables()), expected);
  EXPECT_TRUE(old->Check().ok());
}

// What lies on both sides of a border between chunks must be apart, too.
TEST_F(FiveChunksTest, BuildNamesTablesThatOverlapAcrossABorder) {
  const auto error = [&](const std::string& first, const std::string& last) {
    VersionEdit edit;
    edit.added_tables.push_back({ColumnFamilyId(0), kLevel, TableOf(2'000'000, kRun, first, last)});
    const absl::StatusOr<VersionRef> built = BuildOn(tables_.version(), edit);
    return built.ok() ? "ok" : std::string(ToStd(built.status().message()));
  };
  EXPECT_EQ(error(KeyOf(PlaceOf(2, 0) - 1), KeyOf(PlaceOf(2, 0) - 1)), "ok");
  const std::string apart = "does not lie after";
  EXPECT_NE(error(KeyOf(PlaceOf(2, 0) - 1), KeyOf(PlaceOf(2, 0))).find(apart), std::string::npos);
  EXPECT_NE(error(KeyOf(PlaceOf(1, kSize - 1)) + "m", KeyOf(PlaceOf(2, 0) - 1)).find(apart), std::string::npos);
  EXPECT_NE(error(KeyOf(PlaceOf(0, 3)), KeyOf(PlaceOf(4, 3))).find(apart), std::string::npos);
}

TEST_F(FiveChunksTest, BuildNamesANumberThatStandsInAnotherChunkOfTheNumbers) {
  VersionEdit edit;
  const FileNumber there = tables_.model().at(PlaceOf(4, 7));
  edit.added_tables.push_back({ColumnFamilyId(0), 2, TableOf(there.value(), kRun, "a", "b")});
  EXPECT_EQ(BuildOn(tables_.version(), edit).status().code(), absl::StatusCode::kDataLoss);
  edit.added_tables.front().table.number = FileNumber(2'000'000);
  edit.added_tables.push_back(edit.added_tables.front());
  edit.added_tables.back().level = 3;
  const absl::Status twice = BuildOn(tables_.version(), edit).status();
  EXPECT_EQ(ToStd(twice.message()), "version: table 2000000 occurs twice");
}

TEST_F(FiveChunksTest, ATableIsRemovedFromTheBaseOnce) {
  VersionEdit edit;
  edit.removed_tables.push_back({ColumnFamilyId(0), kLevel, tables_.model().at(PlaceOf(3, 5))});
  VersionBuilder builder(tables_.version(), MakeTable);
  ASSERT_TRUE(builder.Apply(ColumnFamilyId(0), edit).ok());
  EXPECT_EQ(builder.Apply(ColumnFamilyId(0), edit).code(), absl::StatusCode::kDataLoss);
}

TEST_F(FiveChunksTest, ATableThatIsMovedTwiceAndRemovedIsGone) {
  const FileNumber number = tables_.model().at(PlaceOf(3, 5));
  const auto removal = [&](int level) { return RemovedTable{ColumnFamilyId(0), level, number}; };
  AddedTable moved{ColumnFamilyId(0), 2, tables_.version()->numbers().Find(number)->metadata()};
  const TableFile* const file = tables_.version()->numbers().Find(number);
  VersionBuilder builder(tables_.version(), MakeTable);
  VersionEdit edit;
  edit.removed_tables = {removal(kLevel)};
  edit.added_tables = {moved};
  ASSERT_TRUE(builder.Apply(ColumnFamilyId(0), edit).ok());
  {
    VersionBuilder again(tables_.version(), MakeTable);
    ASSERT_TRUE(again.Apply(ColumnFamilyId(0), edit).ok());
    const VersionRef version = *again.Build();
    EXPECT_EQ(version->numbers().Find(number), file);
    EXPECT_EQ(version->level(2).front()->table(0).get(), file);
    EXPECT_TRUE(version->Check().ok());
  }
  edit.removed_tables = {removal(2)};
  edit.added_tables.front().level = kLevel;
  ASSERT_TRUE(builder.Apply(ColumnFamilyId(0), edit).ok()) << "back to where it was";
  edit.removed_tables = {removal(kLevel)};
  edit.added_tables.clear();
  ASSERT_TRUE(builder.Apply(ColumnFamilyId(0), edit).ok());
  const VersionRef version = *builder.Build();
  EXPECT_EQ(version->numbers().Find(number), nullptr);
  EXPECT_EQ(version->NumTables(), static_cast<int>(5 * kSize - 1));
  EXPECT_TRUE(version->Check().ok());
  ASSERT_EQ(builder.RemovedTables().size(), 1u);
  EXPECT_EQ(builder.RemovedTables().front().get(), file);
}

// The searches and ranges of a run against a look at every table.
void CompareRun(const Run& run, const KeyOrder& order, const std::vector<std::string>& probes) {
  const std::vector<TableRef> tables = run.tables().ToVector();
  ASSERT_EQ(tables.size(), run.size());
  for (size_t i = 0; i < tables.size(); ++i) ASSERT_EQ(run.table(i), tables[i]);
  const auto ends_before = [&order](const TableRef& table, const std::string& key) {
    return order.Less(table->metadata().largest.user_key, key);
  };
  const auto at_or_after = [&](const std::string& key) {
    return static_cast<size_t>(std::lower_bound(tables.begin(), tables.end(), key, ends_before) - tables.begin());
  };
  for (size_t p = 0; p < probes.size(); ++p) {
    const std::string& key = probes[p];
    const size_t i = at_or_after(key);
    ASSERT_EQ(run.FirstAtOrAfter(key), i) << Printable(key);
    const bool within = i < tables.size() && !order.Less(key, tables[i]->metadata().smallest.user_key);
    ASSERT_EQ(run.Find(key), within ? tables[i].get() : nullptr) << Printable(key);
    const std::string& end = probes[(p * 7 + 1) % probes.size()];
    std::vector<FileNumber> overlapping;
    for (size_t j = i; j < tables.size() && !order.Less(end, tables[j]->metadata().smallest.user_key); ++j) {
      overlapping.push_back(tables[j]->number());
    }
    if (order.Less(end, key)) continue;
    const TableRange range = run.Overlapping({key, end});
    ASSERT_EQ(NumbersOf(range), overlapping) << Printable(key) << " to " << Printable(end);
    ASSERT_TRUE(range.empty() || range.back()->number() == overlapping.back());
  }
}

std::vector<std::string> ProbesOf(const Run& run, uint64_t places, Random* random) {
  std::vector<std::string> probes = {"", "key", "zzz"};
  for (int i = 0; i < 100; ++i) {
    probes.push_back(KeyOf(random->Uniform(places + 10)) + std::string(random->Uniform(2), 'g'));
  }
  for (const TableChunkRef& chunk : run.chunks()) {
    for (const std::string& key : {chunk->smallest_user_key(), chunk->largest_user_key()}) {
      probes.push_back(key);
      probes.push_back(key + "a");
      probes.push_back(key.substr(0, key.size() - 1));
    }
  }
  return probes;
}

void ApplyRandomEdits(KeyOrder order, uint64_t seed) {
  constexpr uint64_t kPlaces = 6000;
  Random random(seed);
  PlacedTables tables(order);
  for (int edit = 0; edit < 30; ++edit) {
    // Few or many neighbours give way; now and then the run grows or shrinks a lot.
    const uint64_t begin = random.Uniform(kPlaces);
    const uint64_t length = random.OneIn(4) ? random.Uniform(kPlaces) : random.Uniform(40);
    const uint64_t kept = random.Uniform(4);
    std::vector<uint64_t> put;
    for (uint64_t i = begin; i < std::min(kPlaces, begin + length); ++i) {
      tables.Remove(i);
      if (random.Uniform(4) < kept) put.push_back(i);
    }
    for (const uint64_t place : put) tables.Put(place);
    tables.Apply();
    if (tables.model().empty()) {
      ASSERT_TRUE(tables.version()->runs().empty());
      continue;
    }
    ASSERT_EQ(NumbersOf(tables.run().tables()), tables.Expected());
    CompareRun(tables.run(), order, ProbesOf(tables.run(), kPlaces, &random));
  }
}

TEST(RunChunksTest, RandomEditsMatchAPlainModel) {
  const LastKeysFirst last_first;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    ApplyRandomEdits(KeyOrder(), seed);
    ApplyRandomEdits(KeyOrder(&last_first), seed);
  }
}

// By level, and newer runs before older ones.
constexpr RunPlace kRunPlaces[] = {{0, 20}, {0, 19}, {0, 18}, {1, 12}, {1, 9}, {2, 8}, {2, 7}, {4, 5}, {7, 1}};
constexpr uint64_t kPlacesOfEach = 2500;

// Edits of several runs of several levels, with tables that move from one to a deeper one.
class RunsOfLevelsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  void Change(RunPlace where) {
    const uint64_t begin = random_.Uniform(kPlacesOfEach);
    const uint64_t end = begin + (random_.OneIn(3) ? random_.Uniform(kPlacesOfEach) : random_.Uniform(40));
    const uint64_t kept = random_.Uniform(4);
    for (uint64_t place = begin; place < std::min(end, kPlacesOfEach); ++place) {
      tables_.Remove(place, where);
      if (random_.Uniform(4) < kept) tables_.Put(place, where);
    }
  }
  void MoveSome(RunPlace from, RunPlace to) {
    const uint64_t begin = random_.Uniform(kPlacesOfEach);
    for (uint64_t place = begin; place < std::min(begin + 400, kPlacesOfEach); ++place) {
      if (tables_.Has(place, from) && !tables_.Has(place, to)) tables_.Move(place, from, to);
    }
  }
  // Of the runs in a random order, each at most once, since an edit's removals come before its additions.
  std::set<RunPlace> EditSome() {
    std::vector<RunPlace> left(std::begin(kRunPlaces), std::end(kRunPlaces));
    for (size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random_.Uniform(i)]);
    left.resize(2 + random_.Uniform(4));
    const std::set<RunPlace> edited(left.begin(), left.end());
    const bool moves = left[0].level < left[1].level;
    if (moves) MoveSome(left[0], left[1]);
    for (size_t i = moves ? 2 : 0; i < left.size(); ++i) Change(left[i]);
    return edited;
  }
  void ExpectRuns() {
    size_t runs = 0;
    size_t tables = 0;
    for (const RunPlace& where : kRunPlaces) {
      const std::vector<FileNumber> expected = tables_.Expected(where);
      const auto* const run = tables_.run(where);
      ASSERT_EQ(run == nullptr, expected.empty());
      if (run == nullptr) continue;
      ++runs;
      tables += expected.size();
      ASSERT_EQ(NumbersOf(run->tables()), expected);
      for (const TableRef& table : run->tables()) {
        ASSERT_EQ(tables_.version()->numbers().Find(table->number()), table.get());
      }
      CompareRun(*run, KeyOrder(), ProbesOf(*run, kPlacesOfEach, &random_));
    }
    ASSERT_EQ(tables_.version()->runs().size(), runs);
    ASSERT_EQ(tables_.version()->numbers().size(), tables);
  }

  Random random_{GetParam()};
  PlacedTables tables_;
};

TEST_P(RunsOfLevelsTest, RandomEditsMatchAPlainModelAndShareTheRunsThatTheyDoNotTouch) {
  for (const RunPlace& where : kRunPlaces) {
    for (uint64_t place = 0; place < kPlacesOfEach; place += 1 + random_.Uniform(4)) tables_.Put(place, where);
  }
  ASSERT_NO_FATAL_FAILURE(tables_.Apply());
  for (int edit = 0; edit < 20; ++edit) {
    const VersionRef before = tables_.version();
    const std::set<RunPlace> edited = EditSome();
    ASSERT_NO_FATAL_FAILURE(tables_.Apply());
    ASSERT_NO_FATAL_FAILURE(ExpectRuns());
    for (const RunPlace& where : kRunPlaces) {
      if (edited.contains(where)) continue;
      EXPECT_EQ(tables_.run(where), before->FindRun(where.level, RunNumber(where.run)));
    }
  }
}

// From two runs into a third.
TEST_P(RunsOfLevelsTest, AMoveKeepsTheTableItselfAndItsNumber) {
  for (uint64_t place = 0; place < kPlacesOfEach; ++place) tables_.Put(place, kRunPlaces[place % 3 == 0 ? 3 : 5]);
  ASSERT_NO_FATAL_FAILURE(tables_.Apply());
  const VersionRef before = tables_.version();
  for (uint64_t place = 0; place < kPlacesOfEach; place += 2) {
    tables_.Move(place, kRunPlaces[place % 3 == 0 ? 3 : 5], kRunPlaces[7]);
  }
  ASSERT_NO_FATAL_FAILURE(tables_.Apply());
  ASSERT_NO_FATAL_FAILURE(ExpectRuns());
  for (const TableRef& table : tables_.run(kRunPlaces[7])->tables()) {
    EXPECT_EQ(table.get(), before->numbers().Find(table->number()));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RunsOfLevelsTest, testing::Range(uint64_t{0}, uint64_t{4}));

}  // namespace
}  // namespace sepal
