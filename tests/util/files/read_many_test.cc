// The two ways of many reads at once, io_uring and threads, give what reading one by one gives.
#include "util/files/read_many.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/util/thread/scarce_threads.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ReadManyWay = void (*)(std::span<ReadRequest>, const std::function<void(ReadRequest&)>&);

void ByRing(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) {
  ASSERT_TRUE(ReadManyByRing(requests, done));
}

class ReadManyTest : public ::testing::TestWithParam<ReadManyWay> {
 protected:
  static constexpr size_t kFileBytes = 200'000;

  void SetUp() override {
    if (GetParam() == &ByRing && !ReadManyByRing({}, [](ReadRequest&) {})) {
      GTEST_SKIP() << "this process may not use io_uring";
    }
    std::string pattern = (std::filesystem::temp_directory_path() / "sepal_read_many_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    directory_ = FileSystem::Posix()->OpenDirectory(path_, true).value();
    Random random(5);
    contents_.resize(kFileBytes);
    for (char& c : contents_) c = static_cast<char>(random.Next());
    for (const char* name : {"a", "b"}) {
      auto file = directory_->OpenForWrite(name, WriteMode::kCreateNew).value();
      ASSERT_TRUE(file->Append(contents_).ok());
    }
    Open("a", ReadMode::kBuffered);
    Open("b", ReadMode::kBuffered);
    if (directory_->capabilities().direct_reads) Open("a", ReadMode::kDirect);
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }

  void Open(const char* name, ReadMode mode) { files_.push_back(directory_->OpenForRead(name, mode).value()); }

  // Random parts, some of them beyond the end, some empty, some longer than a direct read takes at once.
  void ReadAndCompare(size_t count, uint64_t seed) {
    Random random(seed);
    std::vector<ReadRequest> requests(count);
    std::vector<std::string> buffers(count);
    for (size_t i = 0; i < count; ++i) {
      buffers[i].resize(random.OneIn(50) ? (size_t{1} << 20) + 77 : random.Uniform(12'000));
      requests[i] = {.file = files_[random.Uniform(files_.size())].get(),
                     .offset = random.Uniform(kFileBytes + 10'000),
                     .length = buffers[i].size(),
                     .buffer = buffers[i].data()};
    }
    std::vector<int> done(count);
    GetParam()(requests, [&](ReadRequest& request) { ++done[static_cast<size_t>(&request - requests.data())]; });
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(done[i], 1) << i;
      ASSERT_TRUE(requests[i].status.ok()) << requests[i].status;
      const std::string expected =
          requests[i].offset >= kFileBytes ? "" : contents_.substr(requests[i].offset, requests[i].length);
      ASSERT_EQ(buffers[i].substr(0, requests[i].bytes_read), expected) << i;
    }
  }

  std::string path_;
  std::string contents_;
  std::unique_ptr<Directory> directory_;
  std::vector<std::unique_ptr<ReadableFile>> files_;
};

TEST_P(ReadManyTest, GivesTheBytesOfEveryRequestHoweverMany) {
  for (const size_t count : {0, 1, 2, 5, 63, 64, 65, 300}) ReadAndCompare(count, count + 1);
}

TEST_P(ReadManyTest, ReadsManyRangesWithoutThreads) {
  const NoThreads no_threads;
  for (const size_t count : {2, 65, 300}) ReadAndCompare(count, count + 1);
}

TEST_P(ReadManyTest, WorksFromSeveralThreadsAtOnce) {
  std::vector<Thread> threads;
  for (uint64_t seed = 1; seed <= 4; ++seed) threads.emplace_back([this, seed] { ReadAndCompare(100, seed); });
  for (Thread& thread : threads) thread.Join();
}

TEST_P(ReadManyTest, AnOffsetThatNoFileHasFailsItsRequestAlone) {
  std::string buffers[3] = {std::string(10, 0), std::string(10, 0), std::string(10, 0)};
  ReadRequest requests[3] = {
      {.file = files_[0].get(), .offset = 7, .length = 10, .buffer = buffers[0].data()},
      {.file = files_[0].get(), .offset = uint64_t{INT64_MAX}, .length = 10, .buffer = buffers[1].data()},
      {.file = files_[1].get(), .offset = 9, .length = 10, .buffer = buffers[2].data()}};
  GetParam()(std::span(requests), [](ReadRequest&) {});
  EXPECT_EQ(buffers[0], contents_.substr(7, 10));
  EXPECT_FALSE(requests[1].status.ok());
  EXPECT_EQ(requests[1].bytes_read, 0u);
  EXPECT_EQ(buffers[2], contents_.substr(9, 10));
}

TEST_P(ReadManyTest, AChildDoesNotUseItsParentsRings) {
  ReadAndCompare(70, 1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ReadAndCompare(70, 2);
    ::_exit(HasFailure() ? 1 : 0);
  }
  ReadAndCompare(70, 3);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  ReadAndCompare(70, 4);
}

// A child that makes threads is none of a thread sanitizer's.
class ReadManyByRingTest : public ReadManyTest {};

// A child must not wait for a lock that a thread had which is not in it. The thread takes a ring and gives it back, and
// no memory: an address sanitizer's child would wait for the lock of that.
TEST_P(ReadManyByRingTest, AChildOfForkReads) {
  std::atomic<bool> stop = false;
  Thread reader([&] {
    const std::function<void(ReadRequest&)> nothing = [](ReadRequest&) {};
    while (!stop) ReadManyByRing({}, nothing);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      ReadAndCompare(2, 2);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
}

INSTANTIATE_TEST_SUITE_P(Ring, ReadManyByRingTest, ::testing::Values(&ByRing));
INSTANTIATE_TEST_SUITE_P(Ways, ReadManyTest, ::testing::Values(&ByRing, &ReadManyByThreads),
                         [](const auto& tested) { return tested.index == 0 ? "Ring" : "Threads"; });

}  // namespace
}  // namespace sepal
