// A directory's files, sorted out, and the search among its tables.
#include "db/act/files/directory_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "db/format/file_names.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/db/act/files/passing_directory.h"
#include "tests/tools/temporary_directory.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class DirectoryListingTest : public ::testing::Test {
 protected:
  void Make(const std::string& name, std::string_view contents) {
    auto file = directory_->OpenForWrite(name, WriteMode::kCreateNew).value();
    ASSERT_TRUE(file->Append(contents).ok() && file->Close().ok());
  }

  MemoryFileSystem files_;
  const std::unique_ptr<Directory> directory_ = files_.OpenDirectory("/db", /*create=*/true).value();
};

TEST_F(DirectoryListingTest, TablesComeByNumberAndTheOthersApart) {
  // By name the second would be the first.
  Make("999999.sst", "xx");
  Make("1000000.sst", "x");
  Make("000007.sst", "");
  for (const char* name : {"000008.log", "MANIFEST-000001", "0000009.sst", "notes.sst", "LOCK"}) Make(name, "");
  const auto listing = ListSortedOut(directory_.get());
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_THAT(listing->tables, ElementsAre(ListedTable{FileNumber(7), 0}, ListedTable{FileNumber(999'999), 2},
                                           ListedTable{FileNumber(1'000'000), 1}));
  std::vector<std::string> others;
  for (const DirectoryEntry& entry : listing->others) others.push_back(entry.name);
  EXPECT_THAT(others, UnorderedElementsAre("000008.log", "MANIFEST-000001", "0000009.sst", "notes.sst", "LOCK"));
}

TEST_F(DirectoryListingTest, AnEmptyDirectoryHasNeitherFilesNorDirectories) {
  const auto listing = ListSortedOut(directory_.get());
  ASSERT_TRUE(listing.ok()) << listing.status();
  EXPECT_THAT(listing->tables, IsEmpty());
  EXPECT_THAT(listing->others, IsEmpty());
  EXPECT_EQ(ListedTableFinder(listing->tables).Find(FileNumber(1)), 0u);
}

TEST_F(DirectoryListingTest, TellsADatabasesDirectoryByAnyFileOfIt) {
  EXPECT_FALSE(HoldsDatabaseFiles(directory_.get()).value());
  Make("notes.sst", "");
  EXPECT_FALSE(HoldsDatabaseFiles(directory_.get()).value());
  Make("000007.sst", "");
  EXPECT_TRUE(HoldsDatabaseFiles(directory_.get()).value());
  ASSERT_TRUE(directory_->Remove("000007.sst").ok());
  Make(std::string(kLockFileName), "");
  EXPECT_TRUE(HoldsDatabaseFiles(directory_.get()).value());
  EXPECT_TRUE(FileExists(directory_.get(), kLockFileName).value());
  EXPECT_FALSE(FileExists(directory_.get(), "CURRENT").value());
}

TEST(FileExistsTest, OnlyARegularFileIsOneWhateverElseHasTheName) {
  const tools::TemporaryDirectory temporary;
  std::ofstream(temporary.File("file")) << "x";
  std::filesystem::create_symlink("nowhere", temporary.File("link to nothing"));
  std::filesystem::create_symlink("file", temporary.File("link to the file"));
  std::filesystem::create_directory(temporary.File("directory"));
  ASSERT_EQ(::mkfifo(temporary.File("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mknod(temporary.File("socket").c_str(), S_IFSOCK | 0600, 0), 0);
  const auto directory = FileSystem::Posix()->OpenDirectory(temporary.path(), /*create=*/false).value();
  for (const char* name : {"file", "link to nothing", "link to the file", "directory", "pipe", "socket", "none"}) {
    const absl::StatusOr<bool> exists = FileExists(directory.get(), name);
    ASSERT_TRUE(exists.ok()) << name << ": " << exists.status();
    EXPECT_EQ(*exists, std::string_view(name) == "file") << name;
  }
}

// As where its mode is 000.
class UnreadableDirectory final : public PassingDirectory {
 public:
  using PassingDirectory::PassingDirectory;
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view, ReadMode) override {
    return absl::PermissionDeniedError("open: Permission denied");
  }
};

TEST_F(DirectoryListingTest, AFileThatMayNotBeReadIsThere) {
  Make("CURRENT", "MANIFEST-000001");
  UnreadableDirectory unreadable(directory_.get());
  EXPECT_TRUE(FileExists(&unreadable, "CURRENT").value());
  EXPECT_FALSE(FileExists(&unreadable, "LOCK").value());
}

TEST_F(DirectoryListingTest, WithoutADescriptorNobodyKnowsWhetherAFileIsThere) {
  FaultFileSystem faults(&files_);
  const std::unique_ptr<Directory> directory = faults.OpenDirectory("/db", /*create=*/false).value();
  faults.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kOpenRead});
  EXPECT_TRUE(absl::IsResourceExhausted(FileExists(directory.get(), "CURRENT").status()));
}

// Numbers that ascend, with large and small steps, and some that go back.
TEST(ListedTableFinderTest, FindsWhatIsThereWhereverTheLastSearchEnded) {
  Random random(4);
  for (const uint64_t most_step : {1, 3, 1000}) {
    std::vector<ListedTable> listed;
    uint64_t number = 0;
    for (int i = 0; i < 1000; ++i) listed.push_back({FileNumber(number += 1 + random.Uniform(most_step)), 0});
    ListedTableFinder finder(listed);
    uint64_t asked = 0;
    for (int i = 0; i < 20'000; ++i) {
      asked = random.Uniform(8) == 0 ? random.Uniform(number + 10) : asked + random.Uniform(4 * most_step);
      const auto it = std::find_if(listed.begin(), listed.end(),
                                   [&](const ListedTable& table) { return table.number == FileNumber(asked); });
      ASSERT_EQ(finder.Find(FileNumber(asked)), static_cast<size_t>(it - listed.begin())) << asked;
    }
  }
}

}  // namespace
}  // namespace sepal
