// Reading beside a writer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/format/file_names.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

using ReadOnlyTest = EngineTest;

TEST_F(ReadOnlyTest, EveryChangeIsRefused) {
  ASSERT_OK(db()->Put("k", "v"));
  absl::StatusOr<std::unique_ptr<DB>> opened = database.OpenReadOnly();
  ASSERT_OK(opened.status());
  DB* const reader = opened->get();
  WriteBatch batch;
  batch.Put("a", "b");
  for (const absl::Status& refused :
       {reader->Put("k", "w"), reader->Delete("k"), reader->SingleDelete("k"), reader->Write(batch), reader->Flush(),
        reader->Sync(), reader->CompactRange(), reader->CreateColumnFamily("f").status(),
        reader->DropColumnFamily(reader->DefaultColumnFamily())}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(refused.ToString(), HasSubstr("read-only"));
  }
  EXPECT_EQ(Value(reader, "k"), "v");
}

TEST_F(ReadOnlyTest, NothingIsWritten) {
  Fill(0, 500);
  ASSERT_OK(db()->Close());
  database.db.reset();
  const std::vector<std::string> before = FilesIn(&database.memory, "/db");
  uint64_t changes = 0;
  database.files.SetDecider([&](const FileCall& call) {
    changes += IsMutation(call.op) ? 1 : 0;
    return Fault::kNone;
  });
  {
    absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
    ASSERT_OK(reader.status());
    EXPECT_EQ(ReadAll((*reader)->NewIterator().get()).size(), 500u);
    EXPECT_OK((*reader)->CheckConsistency());
    EXPECT_OK((*reader)->VerifyChecksums());
    EXPECT_OK((*reader)->Close());
  }
  database.files.Clear();
  EXPECT_EQ(changes, 0u);
  EXPECT_EQ(FilesIn(&database.memory, "/db"), before);
}

// A listing beside a writer may miss both the manifest that goes and the one that comes.
TEST_F(ReadOnlyTest, WhereTheManifestSeemsMissingTheDirectoryIsListedAgain) {
  Fill(0, 100);
  ASSERT_OK(db()->CreateColumnFamily("other").status());
  ASSERT_OK(db()->Close());
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", /*create=*/false).value();
  const std::vector<std::string> files = FilesIn(&database.memory, "/db");
  const auto manifest = std::find_if(files.begin(), files.end(), [](const std::string& name) {
    const std::optional<ParsedFileName> parsed = ParseFileName(name);
    return parsed.has_value() && parsed->kind == FileKind::kManifest;
  });
  ASSERT_NE(manifest, files.end());
  const auto hide_for = [&](int listings) {
    ASSERT_OK(directory->Rename(*manifest, "hidden"));
    database.files.SetDecider([&directory, &manifest, listings](const FileCall& call) mutable {
      if (call.op == FileOp::kList && --listings == 0) {
        EXPECT_OK(directory->Rename("hidden", *manifest));
      }
      return Fault::kNone;
    });
  };
  for (int listings = 1; listings <= 6; ++listings) {
    SCOPED_TRACE(listings);
    hide_for(listings);
    EXPECT_OK(database.OpenReadOnly().status());
    hide_for(listings);
    const auto names = DB::ListColumnFamilies(database.options, "/db");
    ASSERT_OK(names.status());
    EXPECT_EQ(*names, (std::vector<std::string>{"default", "other"}));
  }
  database.files.Clear();
}

// The logs that the writer began lie hidden until the manifest is read, which names a table with a part of their batch.
TEST_F(ReadOnlyTest, ABatchInTwoFamiliesIsSeenWholeOrNotAtAll) {
  const auto other = db()->CreateColumnFamily("other");
  ASSERT_OK(other.status());
  ASSERT_OK(db()->Put(**other, "early", "v"));
  const auto logs = [&] {
    std::vector<std::string> names;
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      const std::optional<ParsedFileName> parsed = ParseFileName(name);
      if (parsed.has_value() && parsed->kind == FileKind::kLog) names.push_back(name);
    }
    return names;
  };
  const std::vector<std::string> early = logs();
  ASSERT_OK(db()->Put("early", "v"));
  ASSERT_OK(db()->Flush());
  WriteBatch batch;
  batch.Put("k", "v");
  batch.Put(**other, "k", "v");
  ASSERT_OK(db()->Write(batch));
  ASSERT_OK(db()->Flush());
  std::vector<std::string> begun = logs();
  std::erase_if(begun, [&](const std::string& name) { return std::count(early.begin(), early.end(), name) > 0; });
  ASSERT_FALSE(begun.empty());
  const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", /*create=*/false).value();
  for (const std::string& name : begun) ASSERT_OK(directory->Rename(name, "hidden-" + name));
  int manifests = 0;
  database.files.SetDecider([&](const FileCall& call) {
    const std::optional<ParsedFileName> parsed = ParseFileName(call.name);
    if (call.op != FileOp::kOpenRead || !parsed.has_value() || parsed->kind != FileKind::kManifest) return Fault::kNone;
    if (manifests++ > 0) return Fault::kNone;
    for (const std::string& name : begun) EXPECT_OK(directory->Rename("hidden-" + name, name));
    return Fault::kNone;
  });
  const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  database.files.Clear();
  ASSERT_OK(reader.status());
  const auto seen = (*reader)->FindColumnFamily("other");
  ASSERT_OK(seen.status());
  EXPECT_EQ(Value(reader->get(), "k"), "v");
  EXPECT_EQ((*reader)->Get(**seen, "k").value_or("none"), "v");
  EXPECT_GE(manifests, 2);
}

TEST_F(ReadOnlyTest, AViewThatTheWriterOvertookIsAbortedNeverWrong) {
  Fill(0, 1000);
  ASSERT_OK(db()->CompactRange());
  absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  Fill(0, 1000, 60);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  uint64_t aborted = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const absl::StatusOr<std::string> value = (*reader)->Get(NumberedKey(i));
    if (value.ok()) {
      EXPECT_EQ(value->size(), 40u);
    } else {
      EXPECT_EQ(value.status().code(), absl::StatusCode::kAborted) << value.status();
      ++aborted;
    }
  }
  EXPECT_GT(aborted, 0u);
  const std::unique_ptr<Iterator> it = (*reader)->NewIterator();
  const size_t seen = ReadAll(it.get()).size();
  if (seen != 1000u) {
    EXPECT_EQ(it->status().code(), absl::StatusCode::kAborted) << it->status();
  }
  EXPECT_EQ((*reader)->CheckConsistency().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace sepal
