// Readers of all kinds in threads of their own, beside a writer that flushes, compacts and goes on in new files.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "tests/tools/temporary_directory.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

enum class Where : uint8_t { kMemory, kDisk };

class CatchUpBesideTest : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::kDisk) {
      database.options.env.file_system = nullptr;
      path = directory.File("db");
    }
    writer = Engine::Open(database.options, database.tuning, path).value();
    other = writer->CreateColumnFamily("other").value();
    Write(1);
    reader = database.OpenReadOnly(path).value();
    seen = reader->FindColumnFamily("other").value();
  }

  // The number stands in both families, beside others that make them grow.
  void Write(int number) {
    WriteBatch batch;
    batch.Put("number", std::to_string(number));
    batch.Put(*other, "number", std::to_string(number));
    batch.Put(NumberedKey(number % 200), std::to_string(number) + std::string(100, 'v'));
    if (number % 50 == 0) batch.DeleteRange(NumberedKey(10), NumberedKey(90));
    ASSERT_TRUE(writer->Write(batch).ok());
    if (number % 37 == 0) EXPECT_OK(writer->Flush(number % 2 == 0 ? *other : writer->DefaultColumnFamily()));
    if (number % 301 == 0) EXPECT_OK(writer->CompactRange());
  }
  int NumberIn(const ColumnFamily& family, const ReadOptions& options = {}) {
    const absl::StatusOr<std::string> value = reader->Get(family, "number", options);
    EXPECT_OK(value.status());
    return value.ok() ? std::stoi(*value) : 0;
  }
  // What one reader does, whose last number was `*last`.
  void Read(int* last) {
    const int number = NumberIn(reader->DefaultColumnFamily());
    EXPECT_GE(number, *last);
    *last = NumberIn(*seen);
    EXPECT_GE(*last, number);
    const std::shared_ptr<const Snapshot> snapshot = reader->GetSnapshot();
    const int then = NumberIn(*seen, {.snapshot = snapshot.get()});
    EXPECT_GE(then, *last);
    EXPECT_EQ(NumberIn(reader->DefaultColumnFamily(), {.snapshot = snapshot.get()}), then);
    const std::unique_ptr<Iterator> all = reader->NewIterator({.snapshot = snapshot.get()});
    const Entries entries = ReadAll(all.get());
    EXPECT_OK(all->status());
    EXPECT_EQ(entries.back().second, std::to_string(then));
    EXPECT_EQ(ReadAll(reader->NewIterator({.snapshot = snapshot.get()}).get()), entries);
  }

  const tools::TemporaryDirectory directory;
  TestDatabase database{Threads::kReal, 5};
  std::string path = "/db";
  std::unique_ptr<DB> writer;
  std::shared_ptr<ColumnFamily> other;
  std::unique_ptr<DB> reader;
  std::shared_ptr<ColumnFamily> seen;
};

TEST_P(CatchUpBesideTest, NoReadFailsAndNoneFallsBehindTheOneBefore) {
  constexpr int kWrites = 3000;
  std::atomic<int> written{1};
  std::atomic<int> calls{0};
  std::vector<Thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (written < kWrites) {
        const int before = written;
        EXPECT_OK(reader->CatchUp());
        EXPECT_GE(NumberIn(*seen), before);
        ++calls;
      }
    });
    threads.emplace_back([&] {
      int last = 0;
      while (written < kWrites) Read(&last);
    });
  }
  for (int number = 2; number <= kWrites; ++number) {
    Write(number);
    written = number;
  }
  threads.clear();
  ASSERT_OK(reader->CatchUp());
  EXPECT_EQ(NumberIn(*seen), kWrites);
  EXPECT_EQ(ReadAll(reader->NewIterator().get()), ReadAll(writer->NewIterator().get()));
  EXPECT_GT(calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Places, CatchUpBesideTest, ::testing::Values(Where::kMemory, Where::kDisk));

}  // namespace
}  // namespace sepal
