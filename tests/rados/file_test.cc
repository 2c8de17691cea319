// One file on a cluster that several threads use at once. Skipped without a cluster.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "sepal/rados.h"
#include "tests/rados/cluster.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::IsEmpty;

// Another at each place, so that bytes in a wrong one are seen.
std::string BytesAt(uint64_t offset, size_t length) {
  std::string bytes(length, '\0');
  for (size_t i = 0; i < length; ++i) {
    const uint64_t at = offset + i;
    bytes[i] = static_cast<char>((at * 2654435761u) >> 16 ^ at >> 8);
  }
  return bytes;
}

class RadosFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ClusterOptions().pool.empty()) GTEST_SKIP() << "no cluster: run tools/rados_test.sh";
    static int tests = 0;  // a test may run again
    path_ = "files/" + std::to_string(::getpid()) + "/" + std::to_string(++tests);
  }
  void Connect(const RadosOptions& options) {
    directory_.reset();
    rados_ = RadosFileSystem::Connect(options).value();
    directory_ = rados_->OpenDirectory(path_, /*create=*/true).value();
  }
  // Objects that are so small that a write waits in its midst until others have arrived.
  static RadosOptions SmallObjects() {
    RadosOptions options = ClusterOptions();
    options.object_bytes = 64;
    return options;
  }
  static RadosOptions Coded() {
    RadosOptions options = ClusterOptions();
    options.object_bytes = uint64_t{64} << 10;
    options.data_pool = CodedPool();
    return options;
  }
  // One thread appends, and another one calls `beside` with what is surely there.
  template <class Beside>
  void AppendBeside(WritableFile* file, size_t appends, size_t bytes, const Beside& beside) {
    std::atomic<uint64_t> written{0};
    std::atomic<bool> ended{false};
    Thread other([&] {
      while (!ended) beside(written.load());
    });
    for (size_t i = 0; i < appends; ++i) {
      const absl::Status status = file->Append(BytesAt(written, bytes));
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) break;
      written += bytes;
    }
    ended = true;
    other.Join();
    EXPECT_EQ(written.load(), appends * bytes);
  }
  // As another client finds it.
  void ExpectContents(std::string_view name, uint64_t size) {
    const auto rados = RadosFileSystem::Connect(ClusterOptions()).value();
    const auto directory = rados->OpenDirectory(path_, /*create=*/false).value();
    const auto file = directory->OpenForRead(name).value();
    ASSERT_EQ(file->Size().value(), size);
    std::string bytes(size, '\0');
    ASSERT_EQ(file->Read(0, size, bytes.data()).value(), size);
    EXPECT_TRUE(bytes == BytesAt(0, size));
  }

  std::string path_;
  std::unique_ptr<RadosFileSystem> rados_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(RadosFileTest, SyncsBesideAWriterLeaveEachByteInItsPlace) {
  Connect(SmallObjects());
  const auto file = directory_->OpenForWrite("log", WriteMode::kCreateNew, {.kind = FileUseKind::kLog}).value();
  AppendBeside(file.get(), 15, 10'007, [&](uint64_t) { ASSERT_TRUE(file->Sync().ok()); });
  ASSERT_TRUE(file->Sync().ok());
  ExpectContents("log", 15 * 10'007);
}

TEST_F(RadosFileTest, ReadsBesideAWriterSeeWhatWasWritten) {
  Connect(SmallObjects());
  const auto file = directory_->OpenForWrite("values", WriteMode::kCreateNew, {.kind = FileUseKind::kLog}).value();
  const auto reader = directory_->OpenForRead("values").value();
  AppendBeside(file.get(), 15, 10'007, [&](uint64_t written) {
    if (written == 0) return;
    const uint64_t begin = written < 500 ? 0 : written - 500;
    std::string bytes(written - begin, '\0');
    ASSERT_EQ(reader->Read(begin, bytes.size(), bytes.data()).value(), bytes.size());
    ASSERT_TRUE(bytes == BytesAt(begin, bytes.size())) << written;
  });
  ASSERT_TRUE(file->Sync().ok());
  ExpectContents("values", 15 * 10'007);
}

TEST_F(RadosFileTest, SyncsBesideAWriterInAnErasureCodedPoolLeaveEachByteInItsPlace) {
  Connect(Coded());
  const auto file = directory_->OpenForWrite("table", WriteMode::kCreateNew, {.kind = FileUseKind::kTable}).value();
  AppendBeside(file.get(), 40, 50'021, [&](uint64_t) { ASSERT_TRUE(file->Sync().ok()); });
  ASSERT_TRUE(file->Sync().ok());
  ExpectContents("table", 40 * 50'021);
}

// A stripe that is sent in part is read back for the next write.
TEST_F(RadosFileTest, AReadOfWhatWasSentSendsNothing) {
  Connect(Coded());
  const auto file = directory_->OpenForWrite("table", WriteMode::kCreateNew, {.kind = FileUseKind::kTable}).value();
  const auto reader = directory_->OpenForRead("table").value();
  ASSERT_TRUE(file->Append(BytesAt(0, 200'000)).ok());
  const uint64_t sent = rados_->Counts().data_writes;
  EXPECT_EQ(sent, 3u);
  std::string bytes(1000, '\0');
  ASSERT_EQ(reader->Read(100'000, bytes.size(), bytes.data()).value(), bytes.size());
  EXPECT_TRUE(bytes == BytesAt(100'000, bytes.size()));
  EXPECT_EQ(rados_->Counts().data_writes, sent);
  ASSERT_EQ(reader->Read(199'000, bytes.size(), bytes.data()).value(), bytes.size());
  EXPECT_TRUE(bytes == BytesAt(199'000, bytes.size()));
  EXPECT_EQ(rados_->Counts().data_writes, sent + 1);
}

// As a log's header, which lies in several objects here, and records behind it.
// Another client asks for the size from where it was last: it grows by objects, ends at the border of one, and falls.
TEST_F(RadosFileTest, TheSizeOfAFileThatIsBeingWrittenIsToldAtEachOpening) {
  Connect(SmallObjects());
  const std::unique_ptr<WritableFile> file = directory_->OpenForWrite("000001.log", WriteMode::kCreateNew).value();
  const auto other = RadosFileSystem::Connect(SmallObjects()).value();
  const std::unique_ptr<Directory> there = other->OpenDirectory(path_, /*create=*/false).value();
  for (const uint64_t size : {0, 10, 63, 64, 65, 128, 500, 5000, 5001, 4992, 130, 64, 1, 0, 700}) {
    if (size > file->Size()) {
      ASSERT_TRUE(file->Append(BytesAt(file->Size(), size - file->Size())).ok());
    } else {
      ASSERT_TRUE(file->Truncate(size).ok());
    }
    ASSERT_TRUE(file->Sync().ok());
    EXPECT_EQ(there->OpenForRead("000001.log").value()->Size().value(), size);
    const std::vector<DirectoryEntry> listing = there->List().value();
    ASSERT_EQ(listing.size(), 1u);
    EXPECT_EQ(listing[0].size_bytes, size);
  }
  const uint64_t before = other->Counts().size_queries;
  ASSERT_TRUE(there->OpenForRead("000001.log").ok());
  EXPECT_EQ(other->Counts().size_queries - before, 2u);
  // What is closed, removed or made anew is not taken for what it was.
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(there->OpenForRead("000001.log").value()->Size().value(), 700u);
  ASSERT_TRUE(directory_->Remove("000001.log").ok());
  EXPECT_EQ(there->OpenForRead("000001.log").status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(there->List().value().empty());
  const std::unique_ptr<WritableFile> anew = directory_->OpenForWrite("000001.log", WriteMode::kCreateNew).value();
  ASSERT_TRUE(anew->Append("anew").ok());
  ASSERT_TRUE(anew->Sync().ok());
  EXPECT_EQ(there->OpenForRead("000001.log").value()->Size().value(), 4u);
}

TEST_F(RadosFileTest, NothingArrivesBehindAnOverwriteThatFailed) {
  RadosOptions options = SmallObjects();
  options.removal_grace = std::chrono::milliseconds(0);
  Connect(options);
  const auto file = directory_->OpenForWrite("log", WriteMode::kCreateNew, {.kind = FileUseKind::kLog}).value();
  ASSERT_TRUE(file->Append(std::string(512, '\0')).ok());
  ASSERT_TRUE(file->Sync().ok());
  const auto other = RadosFileSystem::Connect(options).value();
  const auto same = other->OpenDirectory(path_, /*create=*/false).value();
  ASSERT_TRUE(same->Remove("log").ok());
  ASSERT_TRUE(other->AwaitRemovals().ok());
  ASSERT_THAT(other->StrayObjects(path_, false).value(), IsEmpty());
  (void)file->WriteAt(0, BytesAt(0, 512));
  (void)file->Append(BytesAt(512, 1000));
  EXPECT_EQ(file->Sync().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(other->StrayObjects(path_, false).value(), IsEmpty());
}

}  // namespace
}  // namespace sepal
