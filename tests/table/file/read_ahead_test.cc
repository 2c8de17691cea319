// Windows of a table whose index names blocks that no reader may read.
#include "table/file/read_ahead.h"

#include "tests/table/block/block_fixture.h"
#include "tests/table/file/table_fixture.h"

namespace sepal {
namespace {

// Of so many bytes as are asked for.
class EndlessFile final : public ReadableFile {
 public:
  absl::StatusOr<size_t> Read(uint64_t, size_t length, char*) const override {
    longest = std::max(longest, length);
    return 0;
  }
  absl::StatusOr<uint64_t> Size() const override { return uint64_t{1} << 40; }
  mutable size_t longest = 0;
};

TEST(ReadAheadTest, ABlockLargerThanAUnitMayBeIsNotReadAndTakesNoMemory) {
  constexpr uint64_t kFileBytes = uint64_t{6} << 30;
  IndexPageBuilder builder(1, KeyOrder(), {});
  builder.Add({"key", false, 0}, {kFileBytes / 2, 100}, 1, 0, "");
  const PaddedBytes root(builder.Finish(0));
  MemoryBudget budget(0);
  TableReader::Impl table;
  auto file = std::make_unique<EndlessFile>();
  const EndlessFile& watched = *file;
  table.file = std::move(file);
  table.root.emplace(root.view());
  table.source.emplace(
      BlockSource::Context{.name = "test.sst", .file = &watched, .file_size = kFileBytes, .order = KeyOrder()});
  table.options.budget = &budget;
  ReadAhead ahead(table, 1000, 2000, ReadAhead::For::kUser);
  const BlockHandle block{0, kMaxUnitBytes + 1};
  ahead.Fill(block, Travel::kForward, kFileBytes / 2);
  EXPECT_EQ(ahead.Find(block), "");
  EXPECT_EQ(watched.longest, 0u);
  EXPECT_EQ(budget.total(), 0u);
}

}  // namespace
}  // namespace sepal
