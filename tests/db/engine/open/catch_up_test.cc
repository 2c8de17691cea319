// A reader that comes to what a writer has written since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/format/file_names.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/db/engine/first_letter_filter.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class CatchUpTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    OpenReader();
  }
  void OpenReader() {
    absl::StatusOr<std::unique_ptr<DB>> opened = database.OpenReadOnly();
    ASSERT_OK(opened.status());
    reader = *std::move(opened);
  }
  std::string InReader(std::string_view key, const ReadOptions& options = {}) {
    return Value(reader.get(), key, options);
  }
  std::vector<std::string> Files(FileKind kind) {
    std::vector<std::string> names;
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      const std::optional<ParsedFileName> parsed = ParseFileName(name);
      if (parsed.has_value() && parsed->kind == kind) names.push_back(name);
    }
    return names;
  }

  std::unique_ptr<DB> reader;
};

TEST_F(CatchUpTest, WhatWasWrittenIsSeenAfterTheCallAndNotBefore) {
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Put("b", "1", {.sync = true}));
  EXPECT_EQ(InReader("a"), "NOT_FOUND");
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader("a"), "1");
  EXPECT_EQ(InReader("b"), "1");
  ASSERT_OK(db()->Delete("a"));
  ASSERT_OK(db()->Put("b", "2"));
  EXPECT_EQ(InReader("a"), "1");
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader("a"), "NOT_FOUND");
  EXPECT_EQ(ReadAll(reader->NewIterator().get()), (Entries{{"b", "2"}}));
  ASSERT_OK(reader->CatchUp());  // nothing is new
  EXPECT_EQ(InReader("b"), "2");
}

TEST_F(CatchUpTest, AWriterIsNeverBehind) {
  const absl::Status refused = db()->CatchUp();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("read-only"));
  ASSERT_OK(reader->Close());
  EXPECT_EQ(reader->CatchUp().code(), absl::StatusCode::kFailedPrecondition);
}

// What is flushed here is overwritten before the reader looks again: rocksdb#14444.
TEST_F(CatchUpTest, AMemtableGoesWithTheVersionThatHasItFlushed) {
  ASSERT_OK(db()->Put("k", "old"));
  ASSERT_OK(db()->Put("gone", "old"));
  ASSERT_OK(reader->CatchUp());
  ASSERT_OK(db()->Put("k", "new"));
  ASSERT_OK(db()->Delete("gone"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader("k"), "new");
  EXPECT_EQ(InReader("gone"), "NOT_FOUND");
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader("k"), "new");
  EXPECT_EQ(ReadAll(reader->NewIterator().get()), (Entries{{"k", "new"}}));
  EXPECT_EQ(NumberProperty(reader.get(), "sepal.last-sequence"), NumberProperty(db(), "sepal.last-sequence"));
}

TEST_F(CatchUpTest, IteratorsSnapshotsAndPinnedValuesShowWhatTheyShowed) {
  Fill(0, 300);
  ASSERT_OK(reader->CatchUp());
  const std::shared_ptr<const Snapshot> snapshot = reader->GetSnapshot();
  const std::unique_ptr<Iterator> iterator = reader->NewIterator();
  iterator->SeekToFirst();
  PinnedValue pinned;
  ASSERT_OK(reader->Get(NumberedKey(7), pinned));
  const std::string pinned_value(pinned.value());
  const Entries before = ReadAll(reader->NewIterator().get());
  ASSERT_EQ(before.size(), 300u);
  for (int round = 0; round < 4; ++round) {
    Fill(0, 300, 60 + round);
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->WaitForBackgroundWork());
    ASSERT_OK(reader->CatchUp());
    EXPECT_EQ(InReader(NumberedKey(7)).size(), 60u + round);
    EXPECT_EQ(InReader(NumberedKey(7), {.snapshot = snapshot.get()}), pinned_value);
    EXPECT_EQ(ReadAll(reader->NewIterator({.snapshot = snapshot.get()}).get()), before);
  }
  Entries rest;
  for (; iterator->Valid(); iterator->Next()) rest.emplace_back(iterator->key(), iterator->value());
  EXPECT_OK(iterator->status());
  EXPECT_EQ(rest, before);
  EXPECT_EQ(pinned.value(), pinned_value);
}

TEST_F(CatchUpTest, NoFileIsRemovedByAReader) {
  Fill(0, 500);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(reader->CatchUp());
  uint64_t changes = 0;
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f").value();
  ASSERT_OK(db()->Put(*family, "k", "v"));
  ASSERT_OK(db()->Flush(*family));
  ASSERT_OK(reader->CatchUp());
  Fill(0, 500, 50);
  ASSERT_OK(db()->DropColumnFamily(*family));
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  database.files.SetDecider([&](const FileCall& call) {
    changes += IsMutation(call.op) ? 1 : 0;
    return Fault::kNone;
  });
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(ReadAll(reader->NewIterator().get()).size(), 500u);
  ASSERT_OK(reader->CatchUp());
  ASSERT_OK(reader->Close());
  reader.reset();
  database.files.Clear();
  EXPECT_EQ(changes, 0u);
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(CatchUpTest, FamiliesComeAndGo) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f").value();
  ASSERT_OK(db()->Put(*family, "k", "v"));
  EXPECT_EQ(reader->FindColumnFamily("f").status().code(), absl::StatusCode::kNotFound);
  const std::shared_ptr<const Snapshot> before = reader->GetSnapshot();
  ASSERT_OK(reader->CatchUp());
  const std::shared_ptr<ColumnFamily> seen = reader->FindColumnFamily("f").value();
  EXPECT_EQ(reader->Get(*seen, "k").value_or("none"), "v");
  EXPECT_EQ(reader->Get(*seen, "k", {.snapshot = before.get()}).status().code(), absl::StatusCode::kFailedPrecondition);
  const std::unique_ptr<Iterator> open = reader->NewIterator(*seen);
  ASSERT_OK(db()->DropColumnFamily(*family));
  EXPECT_EQ(reader->Get(*seen, "k").value_or("none"), "v");
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(reader->Get(*seen, "k").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reader->ColumnFamilyNames(), std::vector<std::string>{"default"});
  EXPECT_EQ(ReadAll(open.get()), (Entries{{"k", "v"}}));
}

TEST_F(CatchUpTest, AReopenedWriterIsFollowed) {
  for (int round = 0; round < 6; ++round) {
    Fill(round * 20, round * 20 + 30);
    ASSERT_OK(reader->CatchUp());
    ASSERT_OK(database.Reopen());
    ASSERT_OK(db()->Put("round", std::to_string(round)));
    ASSERT_OK(reader->CatchUp());
    EXPECT_EQ(InReader("round"), std::to_string(round));
    EXPECT_EQ(ReadAll(reader->NewIterator().get()), ReadAll(db()->NewIterator().get()));
  }
}

TEST_F(CatchUpTest, DeletedRangesAreSeen) {
  Fill(0, 100);
  ASSERT_OK(reader->CatchUp());
  const std::shared_ptr<const Snapshot> snapshot = reader->GetSnapshot();
  ASSERT_OK(db()->DeleteRange(NumberedKey(10), NumberedKey(20)));
  ASSERT_OK(db()->Put(NumberedKey(15), "again"));
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader(NumberedKey(10)), "NOT_FOUND");
  EXPECT_EQ(InReader(NumberedKey(15)), "again");
  const std::shared_ptr<const Snapshot> between = reader->GetSnapshot();
  ASSERT_OK(db()->DeleteRange(NumberedKey(5), NumberedKey(30)));
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(ReadAll(reader->NewIterator().get()).size(), 75u);
  EXPECT_EQ(ReadAll(reader->NewIterator({.snapshot = between.get()}).get()).size(), 91u);
  EXPECT_EQ(ReadAll(reader->NewIterator({.snapshot = snapshot.get()}).get()).size(), 100u);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(ReadAll(reader->NewIterator().get()).size(), 75u);
}

// What an iterator has walked over is remembered for those to come.
TEST_F(CatchUpTest, ValuesAmongDeletedKeysAreSeen) {
  Fill(0, 400);
  for (uint64_t i = 0; i < 400; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
  ASSERT_OK(db()->Put("z", "last"));
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(ReadAll(reader->NewIterator().get()), (Entries{{"z", "last"}}));
  ASSERT_OK(db()->Put(NumberedKey(200), "back"));
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(ReadAll(reader->NewIterator().get()), (Entries{{NumberedKey(200), "back"}, {"z", "last"}}));
  EXPECT_EQ(ReadAll(reader->NewIterator().get()).size(), 2u);
  ASSERT_OK(db()->Put(NumberedKey(300), "back"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(ReadAll(reader->NewIterator().get()).size(), 3u);
}

TEST_F(CatchUpTest, NamedSnapshotsAreThoseOfTheWriter) {
  Fill(0, 50);
  ASSERT_OK(db()->CreateSnapshot("one").status());
  Fill(0, 50, 70);
  ASSERT_OK(reader->CatchUp());
  const auto one = reader->FindSnapshot("one");
  ASSERT_OK(one.status());
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(InReader(NumberedKey(3), {.snapshot = one->get()}).size(), 40u);
    EXPECT_EQ(InReader(NumberedKey(3), {.snapshot = reader->FindSnapshot("one").value().get()}).size(), 40u);
    EXPECT_EQ(InReader(NumberedKey(3)).size(), 70u + round);
    Fill(0, 50, 71 + round);
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(reader->CatchUp());
  }
  ASSERT_OK(db()->DropSnapshot("one"));
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(reader->FindSnapshot("one").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(InReader(NumberedKey(3), {.snapshot = one->get()}).size(), 40u);
}

// Any read may be the one that fails: on the way through what has grown, and on the one through everything.
TEST_F(CatchUpTest, AFailedCallLeavesWhatReadersSee) {
  Fill(0, 40);
  ASSERT_OK(reader->CatchUp());
  for (const bool flush : {false, true}) {
    int failures = 0;
    bool reached = true;
    for (int at = 0; reached; ++at) {
      const std::string late = std::to_string(at) + (flush ? "f" : "");
      ASSERT_OK(db()->Put("late", late));
      if (flush) ASSERT_OK(db()->Flush());
      const Entries before = ReadAll(reader->NewIterator().get());
      int reads = 0;
      database.files.SetDecider(
          [&](const FileCall& call) { return !IsMutation(call.op) && reads++ == at ? Fault::kIoError : Fault::kNone; });
      const absl::Status status = reader->CatchUp();
      database.files.Clear();
      reached = reads > at;
      failures += status.ok() ? 0 : 1;
      if (status.ok()) {
        EXPECT_EQ(InReader("late"), late) << at;
      } else {
        EXPECT_EQ(ReadAll(reader->NewIterator().get()), before) << at;
      }
    }
    EXPECT_GT(failures, 3);
  }
}

TEST_F(CatchUpTest, AnotherDatabaseInItsPlaceIsRefused) {
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(reader->CatchUp());
  database.db.reset();
  ASSERT_OK(database.memory.WriteFileContents("/db/keeps", "the directory"));
  ASSERT_OK(DB::Destroy(database.options, "/db"));
  EXPECT_EQ(reader->CatchUp().code(), absl::StatusCode::kNotFound);
  database.options.env.random_seed = 77;
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("a", "2"));
  EXPECT_EQ(reader->CatchUp().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(InReader("a"), "1");
}

TEST_F(CatchUpTest, AFilterThatIsMovedIsFollowed) {
  database.options.family.compaction_filter = std::make_shared<FirstLetterFilter>();
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(reader->CatchUp().code(), absl::StatusCode::kFailedPrecondition);  // it knows no filter
  OpenReader();
  ASSERT_OK(db()->Put("a", "xa"));
  ASSERT_OK(db()->Put("b", "yb"));
  ASSERT_OK(reader->CatchUp());
  const std::shared_ptr<const Snapshot> snapshot = reader->GetSnapshot();
  ASSERT_OK(db()->SetFilterEpoch("x"));
  EXPECT_EQ(InReader("a"), "xa");
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader("a"), "NOT_FOUND");
  EXPECT_EQ(InReader("b"), "yb");
  ASSERT_OK(db()->SetFilterEpoch("xy"));
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(InReader("b"), "NOT_FOUND");
  EXPECT_EQ(InReader("a", {.snapshot = snapshot.get()}), "xa");
}

TEST_F(CatchUpTest, ACheckpointOfAReaderHasWhatItSees) {
  Fill(0, 200);
  ASSERT_OK(reader->CatchUp());
  ASSERT_OK(db()->Flush());
  Fill(100, 300, 70);
  ASSERT_OK(reader->CatchUp());
  ASSERT_OK(reader->Checkpoint("/copy"));
  const auto copy = database.OpenReadOnly("/copy");
  ASSERT_OK(copy.status());
  EXPECT_EQ(ReadAll((*copy)->NewIterator().get()), ReadAll(db()->NewIterator().get()));
  EXPECT_OK((*copy)->CheckConsistency());
}

// --- a writer that dies, and one that recovers without the end of its logs ---

constexpr Capabilities kRemote = {.remote = true, .outlives_process = false, .fences = true};

// A client of the same store.
std::unique_ptr<TestDatabase> Client(uint64_t seed, MemoryFileSystem client) {
  auto made = std::make_unique<TestDatabase>(Threads::kReal, SimulationOptions{.seed = seed}, std::move(client));
  made->options.take_over = true;
  return made;
}

TEST(CatchUpAfterALossTest, WhatTheNewWriterDoesNotHaveIsSeenNoMore) {
  int lost = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto writer = Client(seed, MemoryFileSystem(kRemote));
    ASSERT_OK(writer->Open());
    const auto reading = Client(seed, writer->memory.AnotherClient());
    reading->options.take_over = false;
    for (int i = 0; i < 20; ++i) ASSERT_OK(writer->db->Put(NumberedKey(i), "synced", {.sync = true}));
    const std::unique_ptr<DB> reader = reading->OpenReadOnly().value();
    ASSERT_OK(reader->CatchUp());
    for (int i = 0; i < 40; ++i) ASSERT_OK(writer->db->Put(NumberedKey(100 + i), "old"));
    ASSERT_OK(reader->CatchUp());
    EXPECT_EQ(Value(reader.get(), NumberedKey(100)), "old");
    writer->memory.KillClient(seed);
    const auto next = Client(seed + 1000, writer->memory.AnotherClient());
    ASSERT_OK(next->Open());
    lost += Value(next->db.get(), NumberedKey(139)) == "NOT_FOUND" ? 1 : 0;
    for (int i = 0; i < 30; ++i) ASSERT_OK(next->db->Put(NumberedKey(200 + i), "new"));
    for (int round = 0; round < 3; ++round) {
      ASSERT_OK(reader->CatchUp());
      EXPECT_EQ(ReadAll(reader->NewIterator().get()), ReadAll(next->db->NewIterator().get()));
      ASSERT_OK(next->db->DeleteRange(NumberedKey(120 + round), NumberedKey(210)));
      ASSERT_OK(next->db->Put(NumberedKey(205), std::to_string(round)));
    }
    if (seed % 2 == 0) ASSERT_OK(next->db->CompactRange());
    ASSERT_OK(reader->CatchUp());
    EXPECT_EQ(ReadAll(reader->NewIterator().get()), ReadAll(next->db->NewIterator().get()));
  }
  EXPECT_GT(lost, 0);
}

TEST(CatchUpOnAStoreTest, WhatTheWriterRemovesCanBeReadAsLongAsTheStoreKeepsIt) {
  const auto writer = Client(1, MemoryFileSystem(kRemote));
  ASSERT_OK(writer->Open());
  writer->memory.KeepRemoved(true);
  const auto fill = [&](const std::string& value) {
    for (int i = 0; i < 500; ++i) ASSERT_OK(writer->db->Put(NumberedKey(i), value));
    ASSERT_OK(writer->db->CompactRange());
  };
  const auto reading = Client(2, writer->memory.AnotherClient());
  reading->options.take_over = false;
  fill("first");
  const std::unique_ptr<DB> reader = reading->OpenReadOnly().value();
  fill("second");
  ASSERT_OK(reader->CatchUp());  // opens what there is
  fill("third");
  const auto read_all = [&](const std::string& value) {
    absl::Status failure;
    for (int i = 0; i < 500; ++i) {
      const absl::StatusOr<std::string> got = reader->Get(NumberedKey(i), {.fill_cache = false});
      if (got.ok()) {
        EXPECT_EQ(*got, value);
      } else {
        failure = got.status();
      }
    }
    return failure;
  };
  EXPECT_OK(read_all("second"));
  writer->memory.KeepRemoved(false);
  EXPECT_TRUE(absl::IsAborted(read_all("second")));
  ASSERT_OK(reader->CatchUp());
  EXPECT_OK(read_all("third"));
}

// --- anything that writers do ---

class CatchUpHistoryTest : public ::testing::TestWithParam<int> {
 protected:
  struct Kept {
    std::shared_ptr<const Snapshot> snapshot;
    std::unique_ptr<Iterator> iterator;
    Entries entries;
  };

  CatchUpHistoryTest() : database(Threads::kSimulated, GetParam()), random(GetParam()) {
    database.options.family.merge_operator = MergeOperators::Append(",");
    if (GetParam() % 2 == 0) database.options.family.separate_from = 64;
    if (GetParam() % 3 == 0) database.options.memory_limit = size_t{16} << 20;
  }

  std::string Key() { return NumberedKey(random.Uniform(60)); }
  const ColumnFamily& Family() { return random.OneIn(2) ? database.db->DefaultColumnFamily() : *other; }

  void Write() {
    DB* const db = database.db.get();
    const std::string value(random.Uniform(120) + 1, static_cast<char>('a' + random.Uniform(26)));
    switch (random.Uniform(12)) {
      case 0:
        ASSERT_OK(db->Delete(Family(), Key()));
        break;
      case 1: {
        const uint64_t from = random.Uniform(60);
        ASSERT_OK(db->DeleteRange(Family(), NumberedKey(from), NumberedKey(from + random.Uniform(20))));
        break;
      }
      case 2:
      case 3:
        ASSERT_OK(db->Merge(Family(), Key(), value.substr(0, 5)));
        break;
      case 4: {
        WriteBatch batch;
        batch.Put("both", value);
        batch.Put(*other, "both", value);
        ASSERT_OK(db->Write(batch));
        break;
      }
      default:
        ASSERT_OK(db->Put(Family(), Key(), value));
    }
  }
  void Maintain() {
    DB* const db = database.db.get();
    switch (random.Uniform(10)) {
      case 0:
      case 1:
      case 2:
        ASSERT_OK(db->Flush(Family()));
        return;
      case 3:
        ASSERT_OK(db->CompactRange(Family()));
        return;
      case 4:
        ASSERT_OK(db->WaitForBackgroundWork());
        return;
      case 5:
        other.reset();
        ASSERT_OK(database.Reopen());
        other = database.db->FindColumnFamily("other").value();
        return;
      case 6: {
        const auto more = db->CreateColumnFamily("more");
        if (more.ok()) {
          ASSERT_OK(db->Put(**more, "k", "v"));
        } else {
          ASSERT_OK(db->DropColumnFamily(*db->FindColumnFamily("more").value()));
        }
        return;
      }
      case 7:
        if (!db->CreateSnapshot("name").ok()) ASSERT_OK(db->DropSnapshot("name"));
        return;
      default:
        return;
    }
  }

  // The reader is what the writer is.
  void Compare() {
    for (const std::string& name : database.db->ColumnFamilyNames()) {
      const auto written = database.db->FindColumnFamily(name).value();
      const auto seen = reader->FindColumnFamily(name);
      ASSERT_OK(seen.status());
      const Entries expected = ReadAll(database.db->NewIterator(*written).get());
      const std::unique_ptr<Iterator> iterator = reader->NewIterator(**seen);
      ASSERT_EQ(ReadAll(iterator.get()), expected) << name << iterator->status();
      const std::string key = Key();
      ASSERT_EQ(reader->Get(**seen, key).value_or("none"), database.db->Get(*written, key).value_or("none"));
      const std::vector<std::string> keys = {Key(), "both", Key()};
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      const auto many = reader->MultiGet(**seen, views);
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(many[i].value_or("none"), database.db->Get(*written, keys[i]).value_or("none"));
      }
    }
    ASSERT_EQ(reader->ColumnFamilyNames(), database.db->ColumnFamilyNames());
    const auto named = database.db->FindSnapshot("name");
    ASSERT_EQ(reader->FindSnapshot("name").ok(), named.ok());
    if (!named.ok()) return;
    ASSERT_EQ(ReadAll(reader->NewIterator({.snapshot = reader->FindSnapshot("name").value().get()}).get()),
              ReadAll(database.db->NewIterator({.snapshot = named->get()}).get()));
  }

  void Keep() {
    Kept& kept = keep.emplace_back();
    kept.snapshot = reader->GetSnapshot();
    kept.iterator = reader->NewIterator();
    kept.entries = ReadAll(reader->NewIterator().get());
    if (keep.size() > 4) keep.erase(keep.begin());
  }
  void CompareKept() {
    for (Kept& kept : keep) {
      ASSERT_EQ(ReadAll(kept.iterator.get()), kept.entries) << kept.iterator->status();
      ASSERT_EQ(ReadAll(reader->NewIterator({.snapshot = kept.snapshot.get()}).get()), kept.entries);
    }
  }

  TestDatabase database;
  Random random;
  std::shared_ptr<ColumnFamily> other;
  std::unique_ptr<DB> reader;
  std::vector<Kept> keep;
};

TEST_P(CatchUpHistoryTest, TheReaderIsWhatTheWriterIsAndWhatItKeptStays) {
  ASSERT_OK(database.Open());
  other = database.db->CreateColumnFamily("other", database.options.family).value();
  reader = database.OpenReadOnly().value();
  for (int step = 0; step < 400 && !HasFatalFailure(); ++step) {
    Write();
    if (random.OneIn(8)) Maintain();
    if (!random.OneIn(5)) continue;
    SCOPED_TRACE(step);
    ASSERT_OK(reader->CatchUp());
    Compare();
    if (random.OneIn(6)) Keep();
    if (random.OneIn(4)) CompareKept();
  }
  keep.clear();
}

INSTANTIATE_TEST_SUITE_P(Seeds, CatchUpHistoryTest, ::testing::Range(1, 25));

}  // namespace
}  // namespace sepal
