#include "db/act/files/fd_limited_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "db/format/file_names.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr size_t kManyTables = 20;

std::string NameOfTable(size_t i) { return TableFileName(FileNumber(i + 1)); }
std::string ContentsOfTable(size_t i) { return "contents " + std::to_string(i); }

class FdLimitedDirectoryTest : public testing::Test {
 protected:
  // Keeps so many tables open.
  void Open(size_t most_open, bool beside_a_writer = false) {
    files_.clear();
    directory_ = std::make_unique<FdLimitedDirectory>(memory_.OpenDirectory("/db", /*create=*/true).value(), most_open,
                                                      beside_a_writer);
    for (size_t i = 0; i < kManyTables; ++i) {
      ASSERT_TRUE(memory_.WriteFileContents("/db/" + NameOfTable(i), ContentsOfTable(i)).ok());
    }
  }
  void OpenTables() {
    for (size_t i = 0; i < kManyTables; ++i) {
      files_.push_back(directory_->OpenForRead(NameOfTable(i), ReadMode::kBuffered).value());
    }
  }
  static std::string Contents(const ReadableFile& file) {
    std::string bytes(64, '\0');
    const absl::StatusOr<size_t> got = file.Read(0, bytes.size(), bytes.data());
    if (!got.ok()) return got.status().ToString();
    bytes.resize(*got);
    return bytes;
  }

  MemoryFileSystem memory_;
  std::unique_ptr<FdLimitedDirectory> directory_;
  std::vector<std::unique_ptr<ReadableFile>> files_;
};

TEST_F(FdLimitedDirectoryTest, MoreTablesThanMayBeOpenAreAllReadable) {
  Open(3);
  OpenTables();
  EXPECT_EQ(directory_->open_tables(), 3u);
  Random random(1);
  for (int read = 0; read < 500; ++read) {
    const size_t i = random.Uniform(kManyTables);
    ASSERT_EQ(Contents(*files_[i]), ContentsOfTable(i));
    EXPECT_EQ(files_[i]->Size().value(), ContentsOfTable(i).size());
    EXPECT_LE(directory_->open_tables(), 3u);
  }
}

TEST_F(FdLimitedDirectoryTest, ABatchReadsFromMoreTablesThanMayBeOpen) {
  Open(3);
  OpenTables();
  ASSERT_TRUE(directory_->Remove(NameOfTable(5)).ok());
  std::vector<ReadRequest> requests(kManyTables);
  std::vector<std::string> bytes(kManyTables, std::string(64, '\0'));
  for (size_t i = 0; i < kManyTables; ++i) {
    requests[i] = {.file = files_[i].get(), .offset = 9, .length = 64, .buffer = bytes[i].data()};
  }
  std::vector<int> calls(kManyTables);
  directory_->ReadMany(requests, [&](ReadRequest& request) { ++calls[static_cast<size_t>(&request - &requests[0])]; });
  for (size_t i = 0; i < kManyTables; ++i) {
    EXPECT_EQ(calls[i], 1) << i;
    if (i == 5) {
      EXPECT_TRUE(absl::IsDataLoss(requests[i].status)) << requests[i].status;
    } else {
      ASSERT_TRUE(requests[i].status.ok()) << requests[i].status;
      EXPECT_EQ(bytes[i].substr(0, requests[i].bytes_read), std::to_string(i));
    }
  }
  EXPECT_LE(directory_->open_tables(), 3u);
}

TEST_F(FdLimitedDirectoryTest, TheTableThatWasNotReadForLongestIsClosed) {
  Open(2);
  const auto a = directory_->OpenForRead(NameOfTable(1), ReadMode::kBuffered).value();
  const auto b = directory_->OpenForRead(NameOfTable(2), ReadMode::kBuffered).value();
  Contents(*a);
  const auto c = directory_->OpenForRead(NameOfTable(3), ReadMode::kBuffered).value();
  // What is open now is read although its name is gone.
  for (const size_t i : {1, 2, 3}) ASSERT_TRUE(directory_->Remove(NameOfTable(i)).ok());
  EXPECT_EQ(Contents(*a), ContentsOfTable(1));
  EXPECT_EQ(Contents(*c), ContentsOfTable(3));
  EXPECT_THAT(Contents(*b), HasSubstr("DATA_LOSS"));
  EXPECT_THAT(Contents(*b), HasSubstr(NameOfTable(2)));
}

TEST_F(FdLimitedDirectoryTest, AFileThatGoesGivesItsPlaceBack) {
  Open(4);
  for (size_t i = 0; i < kManyTables; ++i) {
    const auto file = directory_->OpenForRead(NameOfTable(i), ReadMode::kBuffered).value();
    EXPECT_EQ(directory_->open_tables(), 1u);
  }
  EXPECT_EQ(directory_->open_tables(), 0u);
}

TEST_F(FdLimitedDirectoryTest, ATableThatIsMissingFromTheStartIsNotFoundAndLaterBesideAWriterAborted) {
  Open(1, /*beside_a_writer=*/true);
  EXPECT_TRUE(absl::IsNotFound(directory_->OpenForRead("999999.sst", ReadMode::kBuffered).status()));
  OpenTables();
  ASSERT_TRUE(directory_->Remove(NameOfTable(1)).ok());
  EXPECT_THAT(Contents(*files_[1]), HasSubstr("ABORTED"));
}

TEST_F(FdLimitedDirectoryTest, FilesThatAreNoTablesStayOpen) {
  Open(1);
  ASSERT_TRUE(memory_.WriteFileContents("/db/000001.log", "log").ok());
  const auto log = directory_->OpenForRead("000001.log", ReadMode::kBuffered).value();
  OpenTables();
  ASSERT_TRUE(directory_->Remove("000001.log").ok());
  EXPECT_EQ(Contents(*log), "log");
  EXPECT_EQ(directory_->open_tables(), 1u);
}

TEST_F(FdLimitedDirectoryTest, WhereOthersHaveTakenAllDescriptorsTablesGiveBackTheirsToWhateverIsOpened) {
  FaultFileSystem files(&memory_);
  directory_ = std::make_unique<FdLimitedDirectory>(files.OpenDirectory("/db", /*create=*/true).value(), kManyTables,
                                                    /*beside_a_writer=*/false);
  for (size_t i = 0; i < kManyTables; ++i) {
    ASSERT_TRUE(memory_.WriteFileContents("/db/" + NameOfTable(i), ContentsOfTable(i)).ok());
  }
  OpenTables();
  ASSERT_EQ(directory_->open_tables(), kManyTables);
  size_t most_open = kManyTables - 1;
  files.SetDecider([&](const FileCall& call) {
    const bool takes_one = call.op == FileOp::kOpenRead || call.op == FileOp::kOpenWrite || call.op == FileOp::kList;
    return takes_one && directory_->open_tables() > most_open ? Fault::kTooManyFiles : Fault::kNone;
  });
  EXPECT_TRUE(directory_->OpenForWrite("000001.log", WriteMode::kCreateNew, {}).ok());
  EXPECT_EQ(directory_->open_tables(), kManyTables / 2);
  most_open = kManyTables / 2 - 1;
  EXPECT_TRUE(directory_->List().ok());
  EXPECT_EQ(directory_->open_tables(), kManyTables / 4);
  most_open = kManyTables / 4 - 1;
  EXPECT_TRUE(directory_->OpenForRead("000001.log", ReadMode::kBuffered).ok());
  EXPECT_EQ(directory_->open_tables(), kManyTables / 4 / 2);
  for (size_t i = 0; i < kManyTables; ++i) EXPECT_EQ(Contents(*files_[i]), ContentsOfTable(i));
  files_.clear();
  directory_.reset();
}

TEST_F(FdLimitedDirectoryTest, HalfOfWhatTheProcessMayOpenIsForTables) {
  EXPECT_EQ(FdLimitedDirectory::ShareOf(64), 32u);
  EXPECT_EQ(FdLimitedDirectory::ShareOf(1024), 512u);
  EXPECT_GE(FdLimitedDirectory::ShareOf(0), 1u);
}

TEST_F(FdLimitedDirectoryTest, ThreadsThatReadAtOnceAllReadTheRightTables) {
  Open(2);
  OpenTables();
  std::atomic<int> wrong{0};
  {
    std::vector<Thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        Random random(t);
        for (int read = 0; read < 3000; ++read) {
          const size_t i = random.Uniform(kManyTables);
          wrong += Contents(*files_[i]) == ContentsOfTable(i) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_LE(directory_->open_tables(), 2u);
}

}  // namespace
}  // namespace sepal
