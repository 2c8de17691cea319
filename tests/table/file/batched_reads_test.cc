// Units that are read together.
#include "table/file/batched_reads.h"

#include <map>

#include "sepal/simulation/memory_file_system.h"
#include "tests/table/file/table_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// Keeps where the bytes of each offset went.
class WatchedFile final : public ReadableFile {
 public:
  explicit WatchedFile(std::string contents) : file_(std::move(contents)) {}
  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    MutexLock lock(&mutex_);
    buffers_[offset] = buffer;
    return file_.Read(offset, length, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override { return file_.Size(); }
  // Null where no read began.
  const char* BufferOf(uint64_t offset) const {
    MutexLock lock(&mutex_);
    return buffers_[offset];
  }

 private:
  mutable Mutex mutex_;
  mutable std::map<uint64_t, const char*> buffers_ ABSL_GUARDED_BY(mutex_);
  const StringReadableFile file_;
};

TEST(UnitBatchTest, ALargeUnitIsReadToWhereItStays) {
  std::vector<TestEntry> entries = EvenEntries(3, 10);
  entries[1].value = EvenEntries(1, 300'000)[0].value;
  for (const CompressionKind compression : {CompressionKind::kNone, CompressionKind::kSnappy}) {
    TableWriterOptions options = TestWriterOptions();
    options.compression = compression;
    if (compression != CompressionKind::kNone) entries[1].value.replace(0, 200'000, 200'000, 'c');
    const std::string contents = WriteTable(options, entries);
    std::vector<BlockHandle> blocks;
    ASSERT_TRUE(MustOpenTable(contents, nullptr)
                    ->ForEachBlock([&](const TableReader::BlockInfo& block) {
                      blocks.push_back(block.handle);
                      return absl::OkStatus();
                    })
                    .ok());
    ASSERT_EQ(blocks.size(), 3u);
    const WatchedFile file(contents);
    TestCache cache(size_t{8} << 20);
    const BlockSource source({.name = "test.sst",
                              .file = &file,
                              .file_size = contents.size(),
                              .table_id = kTestTableId,
                              .order = KeyOrder(),
                              .cache = &cache.cache,
                              .budget = &cache.budget});
    MemoryFileSystem files;
    const std::unique_ptr<Directory> directory = files.OpenDirectory("/d", /*create=*/true).value();
    std::vector<UnitWant> wants;
    for (const BlockHandle& handle : blocks) wants.push_back({.source = &source, .handle = handle});
    std::vector<CachePin> pins(wants.size());
    FetchUnits(*directory, wants, [&](size_t i, absl::StatusOr<CachePin> pin) {
      ASSERT_TRUE(pin.ok()) << pin.status();
      pins[i] = *std::move(pin);
    });
    const char* const read_to = file.BufferOf(blocks[1].offset);
    for (size_t i = 0; i < pins.size(); ++i) {
      ASSERT_TRUE(pins[i]) << i;
      EXPECT_EQ(pins[i].bytes(), source.Read(blocks[i], UnitKind::kDataBlock)->view());
    }
    if (compression == CompressionKind::kNone) {
      EXPECT_GT(blocks[1].size, 256u << 10);
      EXPECT_EQ(static_cast<const void*>(read_to), pins[1].bytes().data());
    }
  }
}

}  // namespace
}  // namespace sepal
