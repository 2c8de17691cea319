// Readers of a record whose value file is not there: the end that a loss of power tore, or a writer that has gone on.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/db/engine/write/separated_values_fixture.h"

namespace sepal {
namespace {

class MissingValueTest : public SeparatedValuesTest {
 protected:
  // The record of `key` is durable, the name of its value's file is not.
  void LosePowerBetweenTheSyncs() {
    ASSERT_OK(db()->Put("before", "small", {.sync = true}));
    database.files.Inject({.op = FileOp::kDirectorySync, .sticky = true});
    EXPECT_FALSE(db()->Put("key", Large("value"), {.sync = true}).ok());
    EXPECT_EQ(Files(FileKind::kValues).size(), 1u);
    database.files.Clear();
    database.memory.Crash(CrashMode::kLoseUnsynced);
    database.db.reset();
    ASSERT_TRUE(Files(FileKind::kValues).empty());
  }
  std::unique_ptr<DB> OpenReader() {
    Options options = database.options;
    options.create_if_missing = false;
    options.read_only = true;
    absl::StatusOr<std::unique_ptr<DB>> reader = Engine::Open(options, database.tuning, database.path);
    EXPECT_OK(reader.status());
    return reader.ok() ? *std::move(reader) : nullptr;
  }
};

TEST_F(MissingValueTest, AReaderTakesItForTheTornEndAsAWriterDoes) {
  LosePowerBetweenTheSyncs();
  {
    const std::unique_ptr<DB> reader = OpenReader();
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(Value(reader.get(), "before"), "small");
    EXPECT_EQ(Value(reader.get(), "key"), "NOT_FOUND");
    EXPECT_OK(reader->CatchUp());
    EXPECT_EQ(Value(reader.get(), "key"), "NOT_FOUND");
  }
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "before"), "small");
  EXPECT_EQ(Value(db(), "key"), "NOT_FOUND");
}

TEST_F(MissingValueTest, AReaderThatWasThereBeforeDoesToo) {
  const std::unique_ptr<DB> reader = OpenReader();
  ASSERT_NE(reader, nullptr);
  ASSERT_OK(db()->Put("before", "small"));
  ASSERT_OK(db()->Put("key", Large("value")));
  ASSERT_OK(database.files.OpenDirectory("/db", /*create=*/false).value()->Remove(Files(FileKind::kValues).at(0)));
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(Value(reader.get(), "before"), "small");
  EXPECT_EQ(Value(reader.get(), "key"), "NOT_FOUND");
}

// What the writer removes is not taken for a torn end: a reader comes to what the writer has written, or is told.
TEST_F(MissingValueTest, AFileThatTheWriterRemovedIsNoTornEnd) {
  const std::unique_ptr<DB> reader = OpenReader();
  ASSERT_NE(reader, nullptr);
  for (int round = 0; round < 30; ++round) {
    const std::string name = "round " + std::to_string(round) + ".";
    ASSERT_OK(db()->Put("key", Large(name, 5000)));
    if (round % 3 == 0) ASSERT_OK(db()->Flush());
    if (round % 5 == 0) ASSERT_OK(Compact());
    ASSERT_OK(reader->CatchUp());
    for (const std::string& value : {Value(reader.get(), "key"), Value(OpenReader().get(), "key")}) {
      EXPECT_TRUE(value.starts_with(name) || value == "ABORTED") << name << " " << value.substr(0, 10);
    }
  }
}

}  // namespace
}  // namespace sepal
