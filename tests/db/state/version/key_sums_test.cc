// What chunks, runs and versions keep of their tables, against sums made anew of every table.
#include "db/state/version/key_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/db/version_text.h"
#include "tests/table/file/table_fixture.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// Every third table cannot be read; the others hold one of a few sketches.
class SketchOpener : public TableOpener {
 public:
  SketchOpener() {
    for (size_t entries : {10, 60, 200}) {
      tables_.push_back(MustOpenTable(WriteTable(TestWriterOptions(), EvenEntries(entries)), nullptr));
    }
  }
  absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(const TableMetadata& metadata) override {
    ++opened;
    if (metadata.number.value() % 3 == 0) return absl::UnavailableError("no disk");
    return tables_[metadata.number.value() % tables_.size()];
  }
  int opened = 0;

 private:
  std::vector<std::shared_ptr<TableReader>> tables_;
};

KeySums SumAnew(const std::vector<TableRef>& tables) {
  KeySums sums;
  for (const TableRef& table : tables) {
    if (table->key_sketch() == nullptr) continue;
    const TableMetadata& m = table->metadata();
    sums.keys.Merge(*table->key_sketch());
    sums.bytes += m.size_bytes;
    sums.entries += m.entries;
    sums.largest_entry_bytes =
        std::max(sums.largest_entry_bytes, static_cast<double>(m.size_bytes) / static_cast<double>(m.entries));
    sums.most_entries_per_key = std::max(sums.most_entries_per_key, table->EntriesPerKey());
  }
  return sums;
}

TableTotals TotalsAnew(const std::vector<TableRef>& tables) {
  TableTotals totals;
  for (const TableRef& table : tables) {
    const TableMetadata& m = table->metadata();
    totals = totals + TableTotals{m.size_bytes, m.entries, m.tombstones, ValueBytes(m)};
  }
  return totals;
}

template <class Holder>
KeySums KeysOf(const Holder& holder, bool* settled = nullptr) {
  KeySums sums;
  const bool all = holder.AddKeys(&sums);
  if (settled != nullptr) *settled = all;
  return sums;
}

bool AllSettled(const std::vector<TableRef>& tables) {
  return std::all_of(tables.begin(), tables.end(), [](const TableRef& table) { return table->settled(); });
}

template <class Holder>
void ExpectKeys(const Holder& holder, const std::vector<TableRef>& tables) {
  bool settled = false;
  EXPECT_EQ(KeysOf(holder, &settled), SumAnew(tables));
  EXPECT_EQ(settled, AllSettled(tables));
  EXPECT_EQ(holder.kept_keys() != nullptr, settled) << "what does not change any more is kept";
}

constexpr uint64_t kSummedPlaces = 2000;

std::string SummedKeyAt(uint64_t place) { return absl::StrFormat("key%05d", place); }

void ExpectTotals(const Run& run, Random* random) {
  for (int i = 0; i < 20; ++i) {
    const uint64_t a = random->Uniform(kSummedPlaces);
    const uint64_t b = random->Uniform(kSummedPlaces);
    const std::string begin = SummedKeyAt(std::min(a, b));
    const std::string end = SummedKeyAt(std::max(a, b));
    const TableRange range = run.Overlapping({begin, end});
    EXPECT_EQ(range.Totals(), TotalsAnew(range.ToVector()));
  }
  EXPECT_EQ(run.tables().Totals(), TotalsAnew(run.tables().ToVector()));
}

void ExpectSums(const Run& run, const std::vector<TableRef>& tables) {
  uint64_t most_tombstones = 0;
  double most_per_entry = 0;
  std::optional<SequenceNumber> least_newest;
  for (const TableRef& table : tables) {
    const TableMetadata& m = table->metadata();
    most_tombstones = std::max(most_tombstones, m.tombstones);
    most_per_entry = std::max(most_per_entry, static_cast<double>(m.tombstones) / static_cast<double>(m.entries));
    if (m.highest_sequence == SequenceNumber(0)) continue;
    least_newest = std::min(least_newest.value_or(m.highest_sequence), m.highest_sequence);
  }
  EXPECT_EQ(run.sums().most_tombstones, most_tombstones);
  EXPECT_EQ(run.sums().most_tombstones_per_entry, most_per_entry);
  EXPECT_EQ(run.sums().least_newest, least_newest);
}

// A tree of several chunks in two runs, of earlier openings' tables and of fresh ones, whose sketches are known.
class KeySumsTest : public testing::Test {
 protected:
  void Put(int level, uint64_t place) {
    const uint64_t run = level == 1 ? 9 : 5;
    const std::string key = SummedKeyAt(place);
    TableMetadata m = TableOf(next_++, run, key, key + "m");
    m.size_bytes = 1 + random_.Uniform(1000);
    m.entries = 1 + random_.Uniform(300);
    m.tombstones = random_.Uniform(m.entries + 1);
    if (random_.OneIn(5)) {
      m.lowest_sequence = m.highest_sequence = SequenceNumber(0);
      m.smallest.trailer = m.largest.trailer = PackTrailer(SequenceNumber(0), ValueKind::kPut);
    }
    if (fresh_) {
      HyperLogLog sketch;
      for (uint64_t i = random_.Uniform(100); i > 0; --i) sketch.Add(random_.Next());
      m.key_sketch = std::make_shared<const HyperLogLog>(sketch);
    }
    edit_.added_tables.push_back({ColumnFamilyId(0), level, std::move(m)});
  }
  void Apply() {
    const absl::StatusOr<VersionRef> built = BuildOn(version_, edit_);
    ASSERT_TRUE(built.ok()) << built.status();
    version_ = *built;
    edit_ = {};
  }
  void Fill() {
    for (const int level : {1, 2}) {
      for (uint64_t place = 0; place < kSummedPlaces; place += 2) Put(level, place);
    }
    Apply();
  }
  // Some neighbours give way to others.
  void EditSome() {
    const int level = 1 + static_cast<int>(random_.Uniform(2));
    if (version_->level(level).empty()) return;
    const TableRange tables = version_->level(level).front()->tables();
    const size_t begin = random_.Uniform(tables.size());
    const size_t length = random_.OneIn(4) ? random_.Uniform(tables.size()) : random_.Uniform(30);
    const uint64_t kept = random_.Uniform(4);
    for (size_t i = begin; i < std::min(tables.size(), begin + length); ++i) {
      edit_.removed_tables.push_back({ColumnFamilyId(0), level, tables[i]->number()});
      if (random_.Uniform(4) > kept) continue;
      Put(level, std::stoull(tables[i]->metadata().smallest.user_key.substr(3)));
    }
    Apply();
  }
  void LearnSome(uint64_t one_in) {
    for (const TableRef& table : version_->Tables()) {
      if (random_.OneIn(one_in)) static_cast<void>(table->LearnSketch(&opener_));
    }
  }
  void ExpectAll() {
    EXPECT_EQ(version_->Keys(), SumAnew(version_->Tables()));
    for (const LevelRun& r : version_->runs()) {
      const std::vector<TableRef> tables = r.run->tables().ToVector();
      for (const TableChunkRef& chunk : r.run->chunks()) {
        ExpectKeys(*chunk, {chunk->items().begin(), chunk->items().end()});
      }
      ExpectKeys(*r.run, tables);
      ExpectTotals(*r.run, &random_);
      ExpectSums(*r.run, tables);
    }
  }

  Random random_{7};
  SketchOpener opener_;
  bool fresh_ = false;
  uint64_t next_ = 1;
  VersionEdit edit_;
  VersionRef version_ = std::make_shared<const Version>(KeyOrder());
};

TEST_F(KeySumsTest, OverRandomEditsWhatIsKeptIsWhatTheTablesTell) {
  Fill();
  fresh_ = true;
  for (int edit = 0; edit < 40; ++edit) {
    if (edit % 4 == 1) LearnSome(edit < 20 ? 50 : 2);
    if (edit == 30) LearnSome(1);
    EditSome();
    ASSERT_NO_FATAL_FAILURE(ExpectAll());
    ASSERT_FALSE(HasFailure()) << "edit " << edit;
  }
}

TEST_F(KeySumsTest, WhatIsLearnedLaterIsInTheNextSumOfTheSameVersion) {
  Fill();
  EXPECT_EQ(version_->Keys().entries, 0u);
  LearnSome(3);
  const KeySums some = version_->Keys();
  EXPECT_EQ(some, SumAnew(version_->Tables()));
  EXPECT_GT(some.entries, 0u);
  LearnSome(1);
  const KeySums all = version_->Keys();
  EXPECT_EQ(all, SumAnew(version_->Tables()));
  EXPECT_GT(all.entries, some.entries);
}

TEST_F(KeySumsTest, AnEditOfSettledTablesSumsThemAndSharesTheOtherChunks) {
  fresh_ = true;
  Fill();
  const RunRef before = version_->level(2).front();
  ASSERT_NE(before->kept_keys(), nullptr);
  ASSERT_GT(before->chunks().size(), 2u);
  Put(2, 1);
  Apply();
  const RunRef after = version_->level(2).front();
  EXPECT_NE(after->kept_keys(), nullptr);
  EXPECT_NE(after->chunks().front()->kept_keys(), nullptr);
  EXPECT_NE(after->chunks().front(), before->chunks().front());
  EXPECT_EQ(after->chunks().back(), before->chunks().back());
}

TEST_F(KeySumsTest, ATableIsAskedForItsSketchOnce) {
  Put(1, 0);  // number 1
  Put(1, 1);
  Put(1, 2);  // number 3: cannot be read
  Apply();
  for (const TableRef& table : version_->Tables()) {
    EXPECT_EQ(table->LearnSketch(&opener_).ok(), table->number() != FileNumber(3));
    EXPECT_TRUE(table->settled());
    EXPECT_EQ(table->key_sketch() == nullptr, table->number() == FileNumber(3));
    EXPECT_TRUE(table->LearnSketch(&opener_).ok());
  }
  EXPECT_EQ(opener_.opened, 3);
}

class OrderWithoutHash : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "test.without_hash"; }
};

TEST_F(KeySumsTest, ATableWithoutSketchesIsSettled) {
  const OrderWithoutHash order;
  ASSERT_FALSE(KeyOrder(&order).hashable());
  version_ = std::make_shared<const Version>(KeyOrder(&order));
  Fill();
  for (const LevelRun& r : version_->runs()) {
    bool settled = false;
    EXPECT_EQ(KeysOf(*r.run, &settled), KeySums());
    EXPECT_TRUE(settled);
  }
}

TEST_F(KeySumsTest, AReaderBesideOneThatLearnsGetsWhatIsKnownAndThenAll) {
  Fill();
  std::vector<Thread> askers;
  for (int i = 0; i < 3; ++i) {
    askers.emplace_back([this] {
      uint64_t known = 0;
      for (int round = 0; round < 50; ++round) {
        const uint64_t now = version_->Keys().entries;
        EXPECT_GE(now, known);
        known = now;
      }
    });
  }
  LearnSome(1);
  for (Thread& asker : askers) asker.Join();
  EXPECT_EQ(version_->Keys(), SumAnew(version_->Tables()));
  for (const LevelRun& r : version_->runs()) EXPECT_NE(r.run->kept_keys(), nullptr);
}

}  // namespace
}  // namespace sepal
