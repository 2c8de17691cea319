// A caller's file system, written in C, that fails, answers wrongly, or has few functions.
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sepal/c_file_system.h"
#include "sepal/db.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/util/files/file_system_through_c.h"

namespace sepal {
namespace {

class CFileSystemTest : public ::testing::Test {
 protected:
  using Change = std::function<void(sepal_filesystem_t*)>;

  CFileSystemTest() {
    const std::unique_ptr<Directory> directory = memory_.OpenDirectory("/d", true).value();
    EXPECT_TRUE(directory->OpenForWrite("f", WriteMode::kCreateNew).value()->Append("0123456789").ok());
  }

  // The directory /d through calls that were changed.
  std::unique_ptr<Directory> Open(const Change& change) {
    through_c_.push_back(std::make_unique<FileSystemThroughC>(&memory_, change));
    return through_c_.back()->get()->OpenDirectory("/d", false).value();
  }

  MemoryFileSystem memory_;
  std::vector<std::unique_ptr<FileSystemThroughC>> through_c_;
};

TEST_F(CFileSystemTest, FailuresKeepTheirCodeAndMessageAndNameTheFile) {
  const std::unique_ptr<Directory> directory = Open([](sepal_filesystem_t* calls) {
    calls->read = [](void*, uint64_t, size_t, char*, size_t*, char* m) -> int {
      std::strcpy(m, "scratched");
      return sepal_data_loss;
    };
    calls->read_size = [](void*, uint64_t*, char*) -> int { return sepal_unavailable; };
    calls->list = [](void*, void*, void (*)(void*, const char*, uint64_t), char* m) -> int {
      std::memset(m, 'x', SEPAL_MESSAGE_BYTES);  // longer than there is room
      return sepal_permission_denied;
    };
    calls->free_bytes = [](void*, uint64_t*, char*) { return 999; };
    calls->sync_directory = [](void*, char*) { return -1; };
  });
  const std::unique_ptr<ReadableFile> file = directory->OpenForRead("f").value();
  char buffer[4];
  EXPECT_EQ(file->Read(0, 4, buffer).status(), absl::DataLossError("/d/f: read: scratched"));
  EXPECT_EQ(file->Size().status(), absl::UnavailableError("/d/f: size"));
  EXPECT_EQ(directory->List().status(),
            absl::PermissionDeniedError("/d: list: " + std::string(SEPAL_MESSAGE_BYTES - 1, 'x')));
  // Codes that there are none of.
  EXPECT_EQ(directory->FreeBytes().status(), absl::InternalError("/d: free space"));
  EXPECT_EQ(directory->Sync(), absl::InternalError("/d: sync"));
}

TEST_F(CFileSystemTest, MoreBytesThanWereAskedForAreAFailureOfTheirRead) {
  const std::unique_ptr<Directory> directory = Open([](sepal_filesystem_t* calls) {
    calls->read = [](void*, uint64_t, size_t length, char*, size_t* bytes_read, char*) -> int {
      *bytes_read = length + 1;
      return sepal_ok;
    };
    calls->read_many = [](void*, sepal_read_t* const* reads, size_t count) {
      for (size_t i = 0; i < count; ++i) {
        reads[i]->bytes_read = reads[i]->length + i % 2;
        reads[i]->code = i < 2 ? sepal_ok : sepal_not_found;
      }
    };
  });
  const std::unique_ptr<ReadableFile> file = directory->OpenForRead("f").value();
  char buffer[4];
  const absl::Status too_many = absl::InternalError("/d/f: read: more bytes than requested");
  EXPECT_EQ(file->Read(0, 4, buffer).status(), too_many);
  ReadRequest requests[3];
  for (ReadRequest& request : requests) request = {.file = file.get(), .length = 1, .buffer = buffer};
  int done = 0;
  directory->ReadMany(requests, [&](ReadRequest&) { ++done; });
  EXPECT_EQ(done, 3);
  EXPECT_TRUE(requests[0].status.ok() && requests[0].bytes_read == 1) << requests[0].status;
  EXPECT_EQ(requests[1].status, too_many);
  EXPECT_EQ(requests[1].bytes_read, 0u);
  EXPECT_EQ(requests[2].status, absl::NotFoundError("/d/f: read"));
  EXPECT_EQ(requests[2].bytes_read, 0u);
}

TEST_F(CFileSystemTest, HintsComeThroughWithTheirArguments) {
  static std::vector<std::pair<uint64_t, uint64_t>> asked_for;
  asked_for.clear();
  through_c_.push_back(std::make_unique<FileSystemThroughC>(&memory_, [](sepal_filesystem_t* calls) {
    calls->read_ahead = [](void*, uint64_t offset, uint64_t length) { asked_for.emplace_back(offset, length); };
  }));
  FaultFileSystem faults(through_c_.back()->get());
  const std::unique_ptr<Directory> directory = faults.OpenDirectory("/d", false).value();
  const std::unique_ptr<ReadableFile> file = directory->OpenForRead("f").value();
  file->ReadAhead(1, 4);
  EXPECT_EQ(asked_for, (std::vector<std::pair<uint64_t, uint64_t>>{{1, 4}}));
}

// Leaves out every call that a file system may lack.
void WithFewestCalls(sepal_filesystem_t* calls) {
  calls->direct_reads = 0;
  calls->link = nullptr;
  calls->advise = nullptr;
  calls->read_many = nullptr;
  calls->allocate = nullptr;
  calls->sync_range = nullptr;
  calls->map = nullptr;
  calls->store = nullptr;
  calls->contents = nullptr;
  calls->unmap = nullptr;
  calls->populate = nullptr;
  calls->read_ahead = nullptr;
  calls->read_cached = nullptr;
}

TEST_F(CFileSystemTest, CallsThatItMayLackAreDoneWithout) {
  const std::unique_ptr<Directory> directory = Open(WithFewestCalls);
  const Capabilities capabilities = directory->capabilities();
  EXPECT_FALSE(capabilities.map || capabilities.hard_link || capabilities.allocate || capabilities.direct_reads);
  const std::unique_ptr<ReadableFile> file = directory->OpenForRead("f", ReadMode::kDirect).value();
  file->Advise(AccessPattern::kSequential);
  file->ReadAhead(0, 4);
  char buffers[2][4];
  EXPECT_EQ(file->ReadCached(0, 4, buffers[0]), 0u);
  ReadRequest requests[2];
  for (size_t i = 0; i < 2; ++i) requests[i] = {.file = file.get(), .offset = i, .length = 4, .buffer = buffers[i]};
  directory->ReadMany(requests, [](ReadRequest&) {});
  EXPECT_EQ(std::string_view(buffers[1], 4), "1234");
  EXPECT_TRUE(absl::IsUnimplemented(directory->Link("f", *directory, "g")));
  const std::unique_ptr<WritableFile> written = directory->OpenForWrite("f", WriteMode::kOpenExisting).value();
  EXPECT_TRUE(written->Allocate(0, 4096).ok());
  EXPECT_TRUE(written->SyncRange(0, 10).ok());
  EXPECT_TRUE(written->WriteAt(5, "").ok());
  EXPECT_TRUE(absl::IsUnimplemented(written->Map(0, 10).status()));
  ASSERT_TRUE(written->Close().ok());
  for (const absl::Status& status :
       {written->Allocate(0, 1), written->SyncRange(0, 1), written->WriteAt(0, ""), written->Sync()}) {
    EXPECT_EQ(status, absl::FailedPreconditionError("/d/f: closed"));
  }
}

TEST_F(CFileSystemTest, ADatabaseWorksWithTheFewestCalls) {
  FileSystemThroughC few(&memory_, [](sepal_filesystem_t* calls) {
    WithFewestCalls(calls);
    calls->max_open_files = 40;
  });
  EXPECT_EQ(few.get()->MaxOpenFiles(), 40u);
  Options options;
  options.env.file_system = few.get();
  options.create_if_missing = true;
  for (int round = 0; round < 2; ++round) {
    const std::unique_ptr<DB> db = DB::Open(options, "/db").value();
    ASSERT_TRUE(db->Put("key" + std::to_string(round), "value").ok());
    ASSERT_TRUE(db->Flush().ok());
    EXPECT_EQ(db->Get("key0").value(), "value");
    ASSERT_TRUE(db->Checkpoint("/checkpoint" + std::to_string(round)).ok());
  }
}

TEST_F(CFileSystemTest, ADirectoryIsTheSameUnderEachPathIfItSaysSo) {
  const auto identity_of = [this](const Change& change) { return Open(change)->Identity(); };
  EXPECT_EQ(identity_of([](sepal_filesystem_t* calls) {
              calls->identity = [](void*, char* text) { std::strcpy(text, "the disk's seventh"); };
            }),
            "the disk's seventh");
  const std::string longest = identity_of([](sepal_filesystem_t* calls) {
    calls->identity = [](void*, char* text) { std::memset(text, 'x', SEPAL_MESSAGE_BYTES); };
  });
  EXPECT_EQ(longest, std::string(SEPAL_MESSAGE_BYTES - 1, 'x'));
  // Otherwise it is its path.
  EXPECT_EQ(identity_of([](sepal_filesystem_t* calls) { calls->identity = [](void*, char*) {}; }), "/d");
  EXPECT_EQ(identity_of([](sepal_filesystem_t* calls) { calls->identity = nullptr; }), "/d");
}

TEST_F(CFileSystemTest, NamesAndPathsThatAreNoneDoNotReachIt) {
  const std::unique_ptr<Directory> directory = Open([](sepal_filesystem_t*) {});
  FileSystem* const file_system = through_c_.back()->get();
  for (const absl::Status& status :
       {file_system->OpenDirectory("", true).status(), file_system->RemoveDirectory(""),
        directory->Link("f", *directory, "a/b"), directory->Link("", *directory, "g"), directory->Rename("f", ".."),
        directory->Rename(".", "g"), directory->Remove("a/b"), directory->OpenForRead("").status(),
        directory->OpenForWrite("..", WriteMode::kCreateNew).status(), directory->Lock("a/b").status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  const std::unique_ptr<Directory> foreign = memory_.OpenDirectory("/d", false).value();
  EXPECT_TRUE(absl::IsUnimplemented(directory->Link("f", *foreign, "g")));
}

}  // namespace
}  // namespace sepal
