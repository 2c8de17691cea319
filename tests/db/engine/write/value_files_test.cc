// How long value files stay, and what may still read them: beside readers that outlive what they read, other families,
// other processes, and what crashes leave behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "db/format/value_file.h"
#include "tests/db/engine/write/separated_values_fixture.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ValueFilesTest : public SeparatedValuesTest {
 protected:
  void PutAll(std::string_view what, int count = 40) {
    for (int i = 0; i < count; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large(what, 500)));
  }
  void DeleteAll(int count = 40) {
    for (int i = 0; i < count; ++i) ASSERT_OK(db()->Delete(NumberedKey(static_cast<uint64_t>(i))));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(Compact());
  }
};

TEST_F(ValueFilesTest, ADeleteOfARangeGivesThemBack) {
  PutAll("a");
  ASSERT_OK(db()->Flush());
  ASSERT_FALSE(Files(FileKind::kValues).empty());
  ASSERT_OK(db()->DeleteRange(db()->DefaultColumnFamily(), "key", "kez"));
  EXPECT_EQ(Scan(false), "");
  ASSERT_OK(db()->CompactRange(db()->DefaultColumnFamily(), {.covered_only = true}));
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_LE(Files(FileKind::kValues).size(), 1u);  // the one that is written to
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Scan(false), "");
  EXPECT_TRUE(Files(FileKind::kValues).empty()) << Files(FileKind::kValues).size();
}

TEST_F(ValueFilesTest, WhatIsNotLoggedIsThereOnceItIsFlushedAndItsFileGoesElse) {
  ASSERT_OK(db()->Put("a", Large("a"), {.disable_wal = true}));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Put("b", Large("b", 9000), {.disable_wal = true}));
  ASSERT_OK(db()->Put("c", Large("c", 9000), {.disable_wal = true}));
  ASSERT_GE(Files(FileKind::kValues).size(), 2u);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(Scan(false), "a=ahovcj ");
  EXPECT_EQ(Files(FileKind::kValues).size(), 1u);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Scan(false), "a=ahovcj ");
}

TEST_F(ValueFilesTest, AnOpeningRemovesStraysAndNothingElse) {
  ASSERT_OK(db()->Put("a", Large("a")));
  ASSERT_OK(db()->Close());
  const std::vector<std::string> needed = Files(FileKind::kValues);
  ASSERT_OK(database.memory.WriteFileContents("/db/000777.val", "of an opening that failed"));
  ASSERT_OK(database.memory.WriteFileContents("/db/mine.val", "the user's"));
  ASSERT_OK(database.Open());
  EXPECT_EQ(Files(FileKind::kValues), needed);
  EXPECT_EQ(database.memory.ReadFileContents("/db/mine.val").value_or("gone"), "the user's");
  // Numbers of strays are not used again.
  ASSERT_OK(db()->Put("b", Large("b")));
  EXPECT_GT(Files(FileKind::kValues).back(), "000777.val");
  EXPECT_EQ(Scan(false), "a=ahovcj b=bhovcj ");
}

TEST_F(ValueFilesTest, ReadersMayOutliveTheDatabase) {
  PutAll("a");
  ASSERT_OK(db()->Flush());
  std::unique_ptr<Iterator> it = db()->NewIterator(db()->DefaultColumnFamily(), {});
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  PinnedValue pinned;
  ASSERT_OK(db()->Get(db()->DefaultColumnFamily(), NumberedKey(3), pinned, {}));
  DeleteAll();
  ASSERT_OK(db()->Close());
  EXPECT_EQ(pinned.value(), Large("a", 500));
  EXPECT_EQ(it->value(), Large("a", 500));
  it->Next();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(absl::IsFailedPrecondition(it->status())) << it->status();
  database.db.reset();
  EXPECT_EQ(pinned.value(), Large("a", 500));
  it.reset();
  snapshot.reset();
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put(NumberedKey(5), "small"));  // so that there is something to compact
  ASSERT_OK(Compact());
  EXPECT_TRUE(Files(FileKind::kValues).empty()) << Files(FileKind::kValues).size();
}

TEST_F(ValueFilesTest, ANamedSnapshotKeepsThemOverOpenings) {
  PutAll("a");
  ASSERT_OK(db()->CreateSnapshot("before", {}).status());
  DeleteAll();
  ASSERT_OK(database.Reopen());
  ASSERT_OK(Compact());
  const auto before = db()->FindSnapshot("before");
  ASSERT_OK(before.status());
  EXPECT_EQ(Value(db(), NumberedKey(7), {.snapshot = before->get()}), Large("a", 500));
  EXPECT_EQ(Value(db(), NumberedKey(7)), "NOT_FOUND");
}

TEST_F(ValueFilesTest, AReaderWhoseFileTheWriterRemovedIsTold) {
  PutAll("a");
  ASSERT_OK(db()->Flush());
  auto view = database.OpenReadOnly();
  ASSERT_OK(view.status());
  const std::string name = Files(FileKind::kValues).front();
  EXPECT_EQ(Value(view->get(), NumberedKey(39)), Large("a", 500));
  DeleteAll();
  const absl::Status status = (*view)->Get(NumberedKey(0)).status();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("key000000"), HasSubstr(name), HasSubstr("again")));
  EXPECT_TRUE(absl::IsFailedPrecondition((*view)->Put("x", Large("x"))));
}

TEST_F(ValueFilesTest, FamiliesThatShareALogAreEachWholeAfterACrash) {
  ColumnFamilyOptions plain = database.options.family;
  plain.separate_from = 0;
  const auto inline_family = db()->CreateColumnFamily("inline", plain);
  const auto other = db()->CreateColumnFamily("other", database.options.family);
  ASSERT_OK(inline_family.status());
  ASSERT_OK(other.status());
  ASSERT_OK(db()->Put(**inline_family, "i", Large("i")));
  EXPECT_TRUE(Files(FileKind::kValues).empty());
  WriteBatch batch;
  batch.Put("d", Large("d"));
  batch.Put(**inline_family, "j", Large("j"));
  batch.Put(**other, "o", Large("o"));
  ASSERT_OK(db()->Write(batch, {.sync = true}));
  ASSERT_OK(db()->Flush(**other, {}));
  ASSERT_OK(db()->Put(**other, "p", Large("p"), {.sync = true}));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  const auto value = [&](std::string_view family, std::string_view key) {
    const auto found = db()->FindColumnFamily(family);
    return found.ok() ? db()->Get(**found, key).value_or("?") : "no family";
  };
  EXPECT_EQ(value("default", "d"), Large("d"));
  EXPECT_EQ(value("inline", "i"), Large("i"));
  EXPECT_EQ(value("inline", "j"), Large("j"));
  EXPECT_EQ(value("other", "o"), Large("o"));
  EXPECT_EQ(value("other", "p"), Large("p"));
  // The log still tells of values that went with their family.
  ASSERT_OK(db()->DropColumnFamily(**db()->FindColumnFamily("other")));
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(value("default", "d"), Large("d"));
  EXPECT_EQ(value("other", "p"), "no family");
}

TEST_F(ValueFilesTest, ACheckpointTakesThemFromItsBase) {
  PutAll("a", 20);
  const auto checkpoint = [&](std::string_view path, std::string base) {
    database.files.SetTracing(true);
    EXPECT_OK(db()->Checkpoint(path, {.base = std::move(base), .link_tables = false, .verify = true}));
    std::istringstream lines(database.files.TakeTrace());
    database.files.SetTracing(false);
    uint64_t bytes = 0;
    for (std::string op, name, rest; lines >> op >> name && std::getline(lines, rest);) {
      if (op == "append" && name.ends_with(".val")) bytes += std::stoull(rest);
    }
    return bytes;
  };
  EXPECT_GT(checkpoint("/one", ""), 20u * 500);
  ASSERT_OK(db()->Put("z", Large("z", 2000)));
  const uint64_t second = checkpoint("/two", "/one");
  EXPECT_GE(second, 2000u);
  EXPECT_LT(second, 4000u);
  // Another file of the same name is not taken for it.
  std::string other = database.memory.ReadFileContents("/two/" + Files(FileKind::kValues, "/two").front()).value();
  other[40] = static_cast<char>(other[40] + 1);
  ASSERT_OK(database.memory.WriteFileContents("/two/" + Files(FileKind::kValues, "/two").front(), other));
  EXPECT_GT(checkpoint("/three", "/two"), 500u);
  auto copy = database.OpenReadOnly("/three");
  ASSERT_OK(copy.status());
  EXPECT_EQ(Value(copy->get(), NumberedKey(0)), Large("a", 500));
  EXPECT_EQ(Value(copy->get(), "z"), Large("z", 2000));
}

TEST_F(ValueFilesTest, AnExplanationTellsTheBytesOfTheValue) {
  ASSERT_OK(db()->Put("a", Large("a", 700)));
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_OK(db()->Flush());
    const auto explanation = db()->ExplainGet(db()->DefaultColumnFamily(), "a", {});
    ASSERT_OK(explanation.status());
    EXPECT_TRUE(explanation->found);
    EXPECT_EQ(explanation->value_bytes, 700u);
  }
  ASSERT_OK(db()->DeleteRange(db()->DefaultColumnFamily(), "a", "b"));
  EXPECT_FALSE(db()->ExplainGet(db()->DefaultColumnFamily(), "a", {}).value().found);
}

TEST_F(ValueFilesTest, AFailedOpeningLeavesTheDatabaseAsItWas) {
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large(std::to_string(i), 3000), {.sync = true}));
  }
  database.memory.Crash(CrashMode::kKillProcess);
  const std::string all =
      "key000000=0hovcj key000001=1hovcj key000002=2hovcj key000003=3hovcj key000004=4hovcj "
      "key000005=5hovcj ";
  for (const FileOp op : {FileOp::kOpenWrite, FileOp::kWriteAt, FileOp::kSync}) {
    for (int after = 0; after < 3; ++after) {
      database.db.reset();
      database.files.Inject(
          {.fault = Fault::kNoSpace, .op = op, .name_contains = ".val", .skip = static_cast<uint64_t>(after)});
      const absl::Status opened = database.Open();
      database.files.Clear();
      if (opened.ok()) {
        EXPECT_EQ(Scan(false), all);
        database.memory.Crash(CrashMode::kKillProcess);
      }
    }
  }
  ASSERT_OK(database.Open());
  EXPECT_EQ(Scan(false), all);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Scan(false), all);
  // Copies of the openings that failed are gone.
  EXPECT_LE(BytesOf(FileKind::kValues), 6 * 3000 + 6 * (kValueFileHeaderBytes + 16384));
}

}  // namespace
}  // namespace sepal
