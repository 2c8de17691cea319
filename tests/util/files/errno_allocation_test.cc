// The operating system's files say what failed, whatever making the message does to errno. Not with ThreadSanitizer
// (count_allocations.h).
#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sepal/file_system.h"
#include "tests/util/files/watched_calls.h"
#include "util/base/strings.h"

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {
// As malloc may, where it has to ask the system in another way.
thread_local bool allocations_set_errno = false;
}  // namespace

void* operator new(size_t bytes) {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) std::abort();
  if (allocations_set_errno) errno = ENOMEM;
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return operator new(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace sepal {
namespace {

TEST(ErrnoTest, AnErrorIsTheOneThatTheCallLeft) {
  const char* base = std::getenv("TMPDIR");
  std::string root = std::string(base != nullptr ? base : "/tmp") + "/sepal_errno_XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const std::unique_ptr<Directory> directory = FileSystem::Posix()->OpenDirectory(root, true).value();
  const std::unique_ptr<WritableFile> file = directory->OpenForWrite("f", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Append("bytes").ok());
  const std::unique_ptr<ReadableFile> readable = directory->OpenForRead("f").value();
  std::vector<absl::Status> statuses;
  const auto work = [&] {
    statuses.reserve(10);
    allocations_set_errno = true;
    char byte;
    statuses.push_back(readable->Read(0, 1, &byte).status());
    statuses.push_back(file->Append("more"));
    statuses.push_back(file->Allocate(0, 4096));
    statuses.push_back(file->Truncate(1));
    statuses.push_back(file->Map(0, 5).status());
    statuses.push_back(directory->OpenForRead("f").status());
    statuses.push_back(directory->Remove("f"));
    statuses.push_back(directory->Rename("f", "g"));
    statuses.push_back(directory->Link("f", *directory, "h"));
    allocations_set_errno = false;
  };
  const bool permitted = WithWatchedCalls({SYS_pread64, SYS_pwrite64, SYS_fallocate, SYS_ftruncate, SYS_mmap,
                                           SYS_openat, SYS_unlinkat, SYS_renameat2, SYS_linkat},
                                          EachFails(EIO), work);
  std::filesystem::remove_all(root);
  if (!permitted) GTEST_SKIP() << "no system call filters here";
  for (const absl::Status& status : statuses) EXPECT_TRUE(absl::IsInternal(status)) << status;
}

}  // namespace
}  // namespace sepal
