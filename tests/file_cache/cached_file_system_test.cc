// A file system through the cache: what is read from which side, and what happens to the local one.
#include "sepal/cached_file_system.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/tools/temporary_directory.h"
#include "util/base/random.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Capabilities kRemoteStore = {.hard_link = true, .remote = true, .outlives_process = false, .fences = true};
constexpr size_t kCachedPage = size_t{16} << 10;
constexpr FileUse kAsTable = {.kind = FileUseKind::kTable, .expected_bytes = 0};
constexpr FileUse kAsValues = {.kind = FileUseKind::kValues, .expected_bytes = 0};

std::string RandomBytes(size_t bytes, uint64_t seed = 1) {
  Random random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.Next());
  return text;
}

class CachedFileSystemTest : public testing::Test {
 protected:
  CachedFileSystemTest() { Open(); }

  void Open(uint64_t bytes = uint64_t{16} << 20) {
    directory_.reset();
    cached_.reset();
    cached_ = CachedFileSystem::Open(&remote_, {.directory = "/ssd", .bytes = bytes, .file_system = &local_}).value();
    directory_ = cached_->OpenDirectory("/db", true).value();
    remote_.SetTracing(true);
  }
  void Write(std::string_view name, std::string_view bytes, FileUse use = kAsTable, bool sync = true) {
    std::unique_ptr<WritableFile> file = directory_->OpenForWrite(name, WriteMode::kCreateNew, use).value();
    for (size_t at = 0; at < bytes.size(); at += 10'000) ASSERT_TRUE(file->Append(bytes.substr(at, 10'000)).ok());
    if (sync) {
      ASSERT_TRUE(file->Sync().ok());
    }
    ASSERT_TRUE(file->Close().ok());
  }
  // Not through the cache.
  void WriteBeside(std::string_view name, std::string_view bytes) {
    std::unique_ptr<Directory> beside = memory_.OpenDirectory("/db", true).value();
    std::unique_ptr<WritableFile> file = beside->OpenForWrite(name, WriteMode::kCreateNew).value();
    ASSERT_TRUE(file->Append(bytes).ok() && file->Sync().ok() && file->Close().ok());
  }
  std::unique_ptr<ReadableFile> OpenFile(std::string_view name) { return directory_->OpenForRead(name).value(); }
  static std::string ReadAt(const ReadableFile& file, uint64_t offset, size_t length) {
    std::string bytes(length, '?');
    bytes.resize(file.Read(offset, length, bytes.data()).value());
    return bytes;
  }
  std::string ReadAll(std::string_view name) { return ReadAt(*OpenFile(name), 0, size_t{10} << 20); }
  // The remote file's reads since it was asked last.
  std::vector<std::string> RemoteReads() {
    std::vector<std::string> reads;
    std::istringstream trace(remote_.TakeTrace());
    for (std::string line; std::getline(trace, line);) {
      if (line.starts_with("read ")) reads.push_back(line);
    }
    return reads;
  }
  CacheCounts Counts() const { return cached_->Counts(); }

  MemoryFileSystem memory_{kRemoteStore};
  FaultFileSystem remote_{&memory_};
  MemoryFileSystem local_disk_;
  FaultFileSystem local_{&local_disk_};
  std::unique_ptr<CachedFileSystem> cached_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(CachedFileSystemTest, WhatIsReadOnceIsReadFromTheLocalDiskAfterwardsAndAfterARestart) {
  const std::string bytes = RandomBytes(5 * kCachedPage + 777);
  WriteBeside("000001.sst", bytes);
  {
    const auto file = OpenFile("000001.sst");
    EXPECT_EQ(ReadAt(*file, 20'000, 100), bytes.substr(20'000, 100));
    EXPECT_THAT(RemoteReads(), testing::ElementsAre("read 000001.sst 16384 at 16384"));
    EXPECT_EQ(ReadAt(*file, 17'000, 2000), bytes.substr(17'000, 2000));
    EXPECT_THAT(RemoteReads(), testing::IsEmpty());
    // Several pages, one read; what is there already in between does not matter.
    EXPECT_EQ(ReadAt(*file, 100, 3 * kCachedPage), bytes.substr(100, 3 * kCachedPage));
    EXPECT_THAT(RemoteReads(), testing::ElementsAre("read 000001.sst 65536 at 0"));
    EXPECT_EQ(ReadAt(*file, bytes.size() - 10, 100), bytes.substr(bytes.size() - 10));
    EXPECT_THAT(RemoteReads(), testing::ElementsAre("read 000001.sst 777 at 81920"));
    EXPECT_EQ(ReadAt(*file, bytes.size(), 100), "");
    EXPECT_EQ(ReadAt(*file, UINT64_MAX - 5, 100), "");
  }
  Open();
  EXPECT_EQ(ReadAll("000001.sst"), bytes);
  EXPECT_THAT(RemoteReads(), testing::ElementsAre("read 000001.sst 16384 at 65536"));
  EXPECT_EQ(ReadAll("000001.sst"), bytes);
  EXPECT_THAT(RemoteReads(), testing::IsEmpty());
  EXPECT_EQ(Counts().hits, 11u);
  EXPECT_EQ(Counts().misses, 1u);
  EXPECT_EQ(Counts().damaged, 0u);
}

TEST_F(CachedFileSystemTest, WhatIsWrittenAndSyncedIsNotReadFromTheRemoteAgain) {
  for (const size_t size :
       {size_t{0}, size_t{1}, kCachedPage - 1, kCachedPage, kCachedPage + 1, 10 * kCachedPage + 5}) {
    const std::string name = std::to_string(100'000 + size) + ".sst";
    const std::string bytes = RandomBytes(size);
    Write(name, bytes);
    EXPECT_EQ(ReadAll(name), bytes);
    EXPECT_THAT(RemoteReads(), testing::IsEmpty()) << size;
  }
}

TEST_F(CachedFileSystemTest, PagesThatLieBehindEachOtherAreReadAtOnce) {
  const std::string bytes = RandomBytes(8 * kCachedPage + 5);
  Write("000001.sst", bytes);
  const auto file = OpenFile("000001.sst");
  local_.SetTracing(true);
  EXPECT_EQ(ReadAt(*file, 2 * kCachedPage - 5, 10), bytes.substr(2 * kCachedPage - 5, 10));
  EXPECT_EQ(local_.TakeTrace(), "read pages 32768 at 16384\n");
  EXPECT_EQ(ReadAt(*file, 0, bytes.size()), bytes);
  EXPECT_EQ(local_.TakeTrace(), "read pages 131077 at 0\n");
  // What lies elsewhere is read by itself.
  ASSERT_TRUE(local_disk_.FlipBit("/ssd/pages", 3 * kCachedPage, 0).ok());
  EXPECT_EQ(ReadAt(*file, 0, bytes.size()), bytes);
  Write("000002.sst", RandomBytes(kCachedPage, 2));
  local_.TakeTrace();
  EXPECT_EQ(ReadAt(*file, 100, bytes.size()), bytes.substr(100));
}

TEST_F(CachedFileSystemTest, WhatNoSyncHasCoveredIsNotKept) {
  Write("000001.sst", RandomBytes(kCachedPage * 3 + 5), kAsTable, /*sync=*/false);
  EXPECT_EQ(Counts().bytes, 0u);
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("000002.sst", WriteMode::kCreateNew, kAsTable).value();
  ASSERT_TRUE(file->Append(RandomBytes(kCachedPage * 3)).ok());
  remote_.Inject({.op = FileOp::kSync});
  EXPECT_FALSE(file->Sync().ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Close().ok());
  EXPECT_EQ(Counts().bytes, 0u);
}

TEST_F(CachedFileSystemTest, LogsManifestsAndFilesThatAreBeingWrittenPassThrough) {
  for (const std::string_view name : {"000001.log", "MANIFEST-000002", "LOG", "000003.ring", "other"}) {
    Write(name, "some bytes");
    EXPECT_EQ(ReadAll(name), "some bytes");
    EXPECT_EQ(ReadAll(name), "some bytes");
    EXPECT_EQ(RemoteReads().size(), 2u) << name;
  }
  // A value may be written where a failed one was.
  std::unique_ptr<WritableFile> values =
      directory_->OpenForWrite("000004.val", WriteMode::kCreateNew, kAsValues).value();
  ASSERT_TRUE(values->Append("first").ok());
  const std::unique_ptr<ReadableFile> early = OpenFile("000004.val");
  EXPECT_EQ(ReadAt(*early, 0, 10), "first");
  ASSERT_TRUE(values->WriteAt(0, "secondly").ok());
  EXPECT_EQ(ReadAt(*early, 0, 10), "secondly");
  EXPECT_EQ(Counts().bytes, 0u);
  values.reset();
  EXPECT_EQ(ReadAll("000004.val"), "secondly");
  RemoteReads();
  EXPECT_EQ(ReadAll("000004.val"), "secondly");
  EXPECT_THAT(RemoteReads(), testing::IsEmpty());
}

TEST_F(CachedFileSystemTest, ReadManyTakesWhatIsThereAndAsksForTheRestAtOnce) {
  const std::string bytes = RandomBytes(8 * kCachedPage);
  WriteBeside("000001.sst", bytes);
  WriteBeside("000002.log", "a log");
  const auto table = OpenFile("000001.sst");
  const auto log = OpenFile("000002.log");
  ReadAt(*table, 2 * kCachedPage, 1);
  RemoteReads();
  std::vector<std::string> buffers(4, std::string(500, '?'));
  const auto request = [&](size_t i, const ReadableFile& file, uint64_t offset) {
    return ReadRequest{.file = &file, .offset = offset, .length = 500, .buffer = buffers[i].data()};
  };
  std::vector<ReadRequest> requests = {request(0, *table, 2 * kCachedPage + 70), request(1, *log, 0),
                                       request(2, *table, 5 * kCachedPage - 100), request(3, *table, bytes.size() - 3)};
  std::vector<size_t> done;
  directory_->ReadMany(requests, [&](ReadRequest& each) {
    EXPECT_TRUE(each.status.ok());
    done.push_back(static_cast<size_t>(&each - requests.data()));
  });
  EXPECT_EQ(done.front(), 0u);
  EXPECT_THAT(done, testing::UnorderedElementsAre(0u, 1u, 2u, 3u));
  EXPECT_EQ(buffers[0], bytes.substr(2 * kCachedPage + 70, 500));
  EXPECT_EQ(buffers[1].substr(0, requests[1].bytes_read), "a log");
  EXPECT_EQ(buffers[2], bytes.substr(5 * kCachedPage - 100, 500));
  EXPECT_EQ(buffers[3].substr(0, requests[3].bytes_read), bytes.substr(bytes.size() - 3));
  EXPECT_EQ(RemoteReads().size(), 3u);
  directory_->ReadMany(requests, [&](ReadRequest& each) { EXPECT_TRUE(each.status.ok()); });
  EXPECT_THAT(RemoteReads(), testing::ElementsAre("read 000002.log 500 at 0"));
}

TEST_F(CachedFileSystemTest, AReadThatFailsOverWholePagesIsMadeWithoutThem) {
  const std::string bytes = RandomBytes(kCachedPage);
  WriteBeside("000001.sst", bytes);
  const auto file = OpenFile("000001.sst");
  remote_.SetDecider([](const FileCall& call) {
    return call.op == FileOp::kRead && call.length > 1000 ? Fault::kIoError : Fault::kNone;
  });
  EXPECT_EQ(ReadAt(*file, 50, 1000), bytes.substr(50, 1000));
  std::string buffer(2000, '?');
  EXPECT_FALSE(file->Read(0, 2000, buffer.data()).ok());
  EXPECT_EQ(Counts().bytes, 0u);
}

TEST_F(CachedFileSystemTest, WhatIsRemovedOrWrittenAgainIsDropped) {
  const std::string bytes = RandomBytes(4 * kCachedPage + 9);
  Write("000001.sst", bytes);
  Write("000002.sst", bytes);
  EXPECT_EQ(Counts().bytes, 10 * kCachedPage);
  const auto open = OpenFile("000001.sst");
  ASSERT_TRUE(directory_->Remove("000001.sst").ok());
  EXPECT_EQ(Counts().bytes, 5 * kCachedPage);
  EXPECT_EQ(ReadAt(*open, 0, bytes.size()), bytes);
  EXPECT_EQ(Counts().bytes, 5 * kCachedPage);
  // The same name, another file.
  const std::string others = RandomBytes(4 * kCachedPage + 9, 2);
  WriteBeside("000001.sst", others);
  EXPECT_EQ(ReadAll("000001.sst"), others);
  // Nobody does that to a table.
  auto again = directory_->OpenForWrite("000002.sst", WriteMode::kOpenExisting).value();
  EXPECT_EQ(Counts().bytes, 5 * kCachedPage);
  ASSERT_TRUE(again->WriteAt(10, "changed").ok());
  ASSERT_TRUE(again->Sync().ok() && again->Close().ok());
  EXPECT_EQ(ReadAll("000002.sst").substr(10, 7), "changed");
  local_disk_.Crash(CrashMode::kLoseUnsynced);
  Open();
  EXPECT_EQ(ReadAll("000002.sst").substr(10, 7), "changed");
}

// A reader beside the writer removes nothing itself.
TEST_F(CachedFileSystemTest, WhatAnotherClientRemovedIsDroppedAtTheNextListing) {
  const std::string bytes = RandomBytes(4 * kCachedPage + 9);
  WriteBeside("000001.sst", bytes);
  WriteBeside("000002.sst", bytes);
  EXPECT_EQ(ReadAll("000001.sst"), bytes);
  const std::unique_ptr<ReadableFile> open = OpenFile("000002.sst");
  EXPECT_EQ(ReadAt(*open, 0, bytes.size()), bytes);
  EXPECT_EQ(Counts().bytes, 10 * kCachedPage);
  const std::unique_ptr<Directory> beside = memory_.OpenDirectory("/db", false).value();
  ASSERT_TRUE(beside->Remove("000001.sst").ok() && beside->Remove("000002.sst").ok());
  ASSERT_TRUE(directory_->List().ok());
  EXPECT_EQ(Counts().bytes, 5 * kCachedPage) << "one of them is open";
  EXPECT_EQ(ReadAt(*open, 0, bytes.size()), bytes);
}

TEST_F(CachedFileSystemTest, ATableThatIsChangedWhileItIsWrittenReadsAsItIs) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const std::string name = std::to_string(1'000'000 + seed) + ".sst";
    std::string model;
    std::unique_ptr<WritableFile> file = directory_->OpenForWrite(name, WriteMode::kCreateNew, kAsTable).value();
    for (int step = 0; step < 30; ++step) {
      const std::string bytes = RandomBytes(random.Uniform(3 * kCachedPage), random.Next());
      switch (random.Uniform(seed % 2 == 0 ? 4 : 12)) {
        case 0: {
          const size_t offset = random.Uniform(model.size() + 1);
          ASSERT_TRUE(file->WriteAt(offset, bytes).ok());
          model.resize(std::max(model.size(), offset + bytes.size()));
          model.replace(offset, bytes.size(), bytes);
          break;
        }
        case 1:
          model.resize(random.Uniform(model.size() + 1000));
          ASSERT_TRUE(file->Truncate(model.size()).ok());
          break;
        case 2:
          ASSERT_TRUE(file->Truncate(model.size()).ok());
          ASSERT_TRUE(file->Sync().ok());
          break;
        case 3:
          EXPECT_EQ(ReadAll(name), model);
          break;
        default:
          ASSERT_TRUE(file->Append(bytes).ok());
          model += bytes;
      }
    }
    if (random.OneIn(2)) {
      ASSERT_TRUE(file->Sync().ok());
    }
    if (random.OneIn(2)) {
      ASSERT_TRUE(file->Close().ok());
    }
    file.reset();
    EXPECT_EQ(ReadAll(name), model);
    EXPECT_EQ(ReadAll(name), model);
  }
}

TEST_F(CachedFileSystemTest, ALinkedFileIsTheSameOneThere) {
  const std::string bytes = RandomBytes(kCachedPage);
  Write("000001.sst", bytes);
  std::unique_ptr<Directory> other = cached_->OpenDirectory("/other", true).value();
  ASSERT_TRUE(directory_->Link("000001.sst", *other, "000007.sst").ok());
  RemoteReads();
  EXPECT_EQ(ReadAt(*other->OpenForRead("000007.sst").value(), 0, kCachedPage), bytes);
  EXPECT_THAT(RemoteReads(), testing::IsEmpty());
}

TEST_F(CachedFileSystemTest, DamageIsReadOverAndMended) {
  const std::string bytes = RandomBytes(2 * kCachedPage);
  Write("000001.sst", bytes);
  ASSERT_TRUE(local_disk_.FlipBit("/ssd/pages", 5, 1).ok());
  EXPECT_EQ(ReadAll("000001.sst"), bytes);
  EXPECT_EQ(Counts().damaged, 1u);
  EXPECT_EQ(RemoteReads().size(), 1u);
  EXPECT_EQ(ReadAll("000001.sst"), bytes);
  EXPECT_EQ(RemoteReads().size(), 0u);
}

TEST_F(CachedFileSystemTest, ALocalDiskThatFailsInAnyWayIsNotSeen) {
  const std::string bytes = RandomBytes(6 * kCachedPage + 100);
  for (const Fault fault : {Fault::kIoError, Fault::kShortWrite, Fault::kFailAfter, Fault::kNoSpace}) {
    for (uint64_t skip = 0; skip < 40; ++skip) {
      local_.Clear();
      local_.Inject({.fault = fault, .skip = skip, .sticky = skip % 2 == 0});
      Open(uint64_t{1} << 20);
      const std::string name = std::to_string(500'000 + static_cast<uint64_t>(fault) * 1000 + skip) + ".sst";
      Write(name, bytes);
      EXPECT_EQ(ReadAll(name), bytes);
      EXPECT_EQ(ReadAt(*OpenFile(name), 5 * kCachedPage - 9, 5000), bytes.substr(5 * kCachedPage - 9, 5000));
      EXPECT_TRUE(directory_->Remove(name).ok());
    }
  }
}

TEST_F(CachedFileSystemTest, ASecondHolderGoesOnWithoutACacheAndSaysSo) {
  Write("000001.sst", "bytes");
  MemoryFileSystem client = memory_.AnotherClient();
  const auto second =
      CachedFileSystem::Open(&client, {.directory = "/ssd", .bytes = uint64_t{1} << 20, .file_system = &local_})
          .value();
  EXPECT_TRUE(absl::IsUnavailable(second->CacheStatus())) << second->CacheStatus();
  EXPECT_THAT(second->Notice(), StartsWith("there is no cache of table bytes in /ssd: UNAVAILABLE: /ssd: another has"));
  EXPECT_EQ(second->Counts().capacity_bytes, 0u);
  const auto directory = second->OpenDirectory("/db", false).value();
  EXPECT_EQ(ReadAt(*directory->OpenForRead("000001.sst").value(), 0, 10), "bytes");
  EXPECT_TRUE(cached_->CacheStatus().ok());
  EXPECT_THAT(cached_->Notice(), StartsWith("the cache of table bytes in /ssd has 16384 of "));
}

TEST_F(CachedFileSystemTest, OptionsOutOfRangeAreInvalid) {
  EXPECT_TRUE(absl::IsInvalidArgument(CachedFileSystem::Open(&memory_, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CachedFileSystem::Open(&memory_, {.directory = "/x", .bytes = 1000}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(CachedFileSystem::Open(&memory_, {.directory = "/x", .bytes = UINT64_MAX}).status()));
}

TEST_F(CachedFileSystemTest, ADirectoryThatIsRemovedBeneathItDoesNoHarm) {
  const tools::TemporaryDirectory parent;
  const std::string path = parent.path() + "/ssd";
  const CacheOptions options = {.directory = path, .bytes = uint64_t{4} << 20};
  const std::string bytes = RandomBytes(3 * kCachedPage);
  {
    const auto cached = CachedFileSystem::Open(&remote_, options).value();
    ASSERT_TRUE(cached->CacheStatus().ok()) << cached->CacheStatus();
    const auto directory = cached->OpenDirectory("/db", true).value();
    WriteBeside("000001.sst", bytes);
    const auto file = directory->OpenForRead("000001.sst").value();
    EXPECT_EQ(ReadAt(*file, 0, kCachedPage), bytes.substr(0, kCachedPage));
    std::filesystem::remove_all(path);
    EXPECT_EQ(ReadAt(*file, 0, bytes.size()), bytes);
    EXPECT_EQ(ReadAt(*file, 0, bytes.size()), bytes);
  }
  // What lies there is no directory that can be used.
  std::ofstream(path) << "a file";
  const auto without = CachedFileSystem::Open(&remote_, options).value();
  EXPECT_FALSE(without->CacheStatus().ok());
  EXPECT_EQ(ReadAt(*without->OpenDirectory("/db", true).value()->OpenForRead("000001.sst").value(), 0, bytes.size()),
            bytes);
}

TEST_F(CachedFileSystemTest, OnARealDiskReadCachedGivesWhatIsInMemory) {
  const tools::TemporaryDirectory parent;
  const auto cached =
      CachedFileSystem::Open(&remote_, {.directory = parent.path() + "/ssd", .bytes = uint64_t{4} << 20}).value();
  const auto directory = cached->OpenDirectory("/db", true).value();
  const std::string bytes = RandomBytes(3 * kCachedPage + 10);
  WriteBeside("000001.sst", bytes);
  const auto file = directory->OpenForRead("000001.sst").value();
  std::string buffer(bytes.size() + 10, '?');
  EXPECT_EQ(file->ReadCached(0, 10, buffer.data()), 0u);
  EXPECT_EQ(ReadAt(*file, 0, 2 * kCachedPage), bytes.substr(0, 2 * kCachedPage));
  file->ReadAhead(0, UINT64_MAX);
  // A system without such a call gives nothing.
  const size_t got = file->ReadCached(100, buffer.size(), buffer.data());
  EXPECT_EQ(buffer.substr(0, got), bytes.substr(100, got));
  EXPECT_TRUE(got == 0 || got == 2 * kCachedPage - 100) << got;
  EXPECT_EQ(file->ReadCached(UINT64_MAX - 5, 1, nullptr), 0u);
}

TEST_F(CachedFileSystemTest, AForkedChildMayDestroyWhatItsParentMade) {
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("000002.sst", WriteMode::kCreateNew, kAsTable).value();
  ASSERT_TRUE(file->Append(RandomBytes(5 * kCachedPage)).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    file.reset();
    directory_.reset();
    cached_.reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(file->Sync().ok() && file->Close().ok());
  EXPECT_EQ(Counts().bytes, 5 * kCachedPage);
}

}  // namespace
}  // namespace sepal
