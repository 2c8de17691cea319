// Many reads at once where io_uring is refused, breaks, or answers late: every request is read all the same. In child
// processes, since a process that was refused once does not ask again.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/child_exit.h"
#include "tests/util/files/watched_calls.h"
#include "util/files/read_many.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class ReadManyFailureTest : public ::testing::Test {
 protected:
  static constexpr size_t kFileBytes = 40'000;
  static constexpr size_t kPartBytes = 100;

  void SetUp() override {
    if (!WithWatchedCalls({SYS_io_uring_setup}, EachFails(EPERM), [] {})) GTEST_SKIP() << "no system call filters here";
    std::string pattern = (std::filesystem::temp_directory_path() / "sepal_read_many_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    directory_ = FileSystem::Posix()->OpenDirectory(path_, true).value();
    for (size_t i = 0; i < kFileBytes; ++i) contents_ += static_cast<char>(i * 7 + i / 256);
    ASSERT_TRUE(directory_->OpenForWrite("f", WriteMode::kCreateNew).value()->Append(contents_).ok());
    file_ = directory_->OpenForRead("f").value();
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }

  static bool RingPermitted() {
    return ReadManyByRing({}, [](ReadRequest&) {});
  }

  // What is wrong with the answers to `count` parts of the file, empty if nothing is.
  std::string Read(size_t count) const {
    std::vector<std::string> buffers(count, std::string(kPartBytes, '-'));
    std::vector<ReadRequest> requests(count);
    for (size_t i = 0; i < count; ++i) {
      requests[i] = {.file = file_.get(), .offset = i * 77, .length = kPartBytes, .buffer = buffers[i].data()};
    }
    std::vector<int> done(count);
    ReadManyPosix(requests, [&](ReadRequest& request) { ++done[static_cast<size_t>(&request - requests.data())]; });
    for (size_t i = 0; i < count; ++i) {
      if (done[i] != 1) return "told " + std::to_string(done[i]) + " times of " + std::to_string(i);
      if (!requests[i].status.ok()) return requests[i].status.ToString();
      if (buffers[i] != contents_.substr(i * 77, kPartBytes)) return "wrong bytes of " + std::to_string(i);
    }
    return "";
  }

  // Runs `work` in a child, where no ring is there yet.
  static void InAChild(const std::function<std::string()>& work) {
    const auto child = [&] {
      const std::string wrong = work();
      std::cerr << wrong;
      ExitChild(wrong.empty() ? 0 : 1);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "^$");
  }
  // Reads there twice, beside that judge; the second time after what the first has met.
  void ReadTwiceBeside(std::initializer_list<long> numbers, const CallJudge& judge, const std::string& name) const {
    SCOPED_TRACE(name);
    InAChild([&] {
      std::string wrong;
      WithWatchedCalls(numbers, judge, [&] {
        wrong = Read(150);
        if (wrong.empty()) wrong = Read(3);
      });
      return wrong;
    });
  }

  std::string path_;
  std::string contents_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<ReadableFile> file_;
};

TEST_F(ReadManyFailureTest, WhereRingsAreRefusedNoneIsAskedForAgain) {
  for (const int error : {ENOSYS, EPERM, EACCES}) {
    InAChild([&] {
      int asked = 0;
      std::string wrong;
      const CallJudge refuse = [&](const seccomp_data&) {
        ++asked;
        return std::optional(CallAnswer{.error = error});
      };
      WithWatchedCalls({SYS_io_uring_setup}, refuse, [&] { wrong = Read(20) + Read(20); });
      if (asked != 1) wrong += "asked " + std::to_string(asked) + " times";
      return wrong;
    });
  }
}

TEST_F(ReadManyFailureTest, ARingThatCannotBeMadeForNowIsAskedForAgain) {
  InAChild([&] {
    int asked = 0;
    std::string wrong;
    const CallJudge exhausted = [&](const seccomp_data&) {
      ++asked;
      return std::optional(CallAnswer{.error = ENOMEM});
    };
    WithWatchedCalls({SYS_io_uring_setup}, exhausted, [&] { wrong = Read(20) + Read(20); });
    if (asked != 2) wrong += "asked " + std::to_string(asked) + " times";
    return wrong;
  });
}

TEST_F(ReadManyFailureTest, ARingThatBreaksLosesNoRequest) {
  if (!RingPermitted()) GTEST_SKIP() << "this process may not use io_uring";
  ReadTwiceBeside({SYS_io_uring_enter}, EachFails(EIO), "from the start");
  ReadTwiceBeside({SYS_io_uring_enter}, OneFails(1, EBADF), "after the first 64");
  ReadTwiceBeside({SYS_io_uring_enter}, OneFails(0, EINTR), "a signal");
}

TEST_F(ReadManyFailureTest, ARingWhoseKernelTakesFewAtATimeOrAnswersLateLosesNoRequest) {
  if (!RingPermitted()) GTEST_SKIP() << "this process may not use io_uring";
  const auto enter = [](const seccomp_data& call, unsigned most) {
    return ::syscall(SYS_io_uring_enter, static_cast<int>(call.args[0]), most, 0, 0, nullptr, 0);
  };
  const CallJudge few = [&](const seccomp_data& call) -> std::optional<CallAnswer> {
    if (call.args[1] <= 5) return std::nullopt;
    return CallAnswer{.value = enter(call, 5)};
  };
  ReadTwiceBeside({SYS_io_uring_enter}, few, "five at a time");
  // The first call takes all, the second is interrupted, and only then the answers are there.
  const CallJudge late = [&, seen = 0](const seccomp_data& call) mutable -> std::optional<CallAnswer> {
    ++seen;
    if (seen == 1) return CallAnswer{.value = static_cast<int64_t>(call.args[1])};
    if (seen == 2) return CallAnswer{.error = EBUSY};
    if (seen > 3) return std::nullopt;
    (void)enter(call, static_cast<unsigned>(call.args[1]));
    return CallAnswer{.value = 0};
  };
  ReadTwiceBeside({SYS_io_uring_enter}, late, "answers of what was taken before");
}

TEST_F(ReadManyFailureTest, ABufferThatCannotBeWrittenFailsItsRequestAlone) {
  void* const closed = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(closed, MAP_FAILED);
  std::string buffers[2] = {std::string(10, '-'), std::string(10, '-')};
  ReadRequest requests[3] = {{.file = file_.get(), .offset = 7, .length = 10, .buffer = buffers[0].data()},
                             {.file = file_.get(), .offset = 8, .length = 10, .buffer = static_cast<char*>(closed)},
                             {.file = file_.get(), .offset = 9, .length = 10, .buffer = buffers[1].data()}};
  ReadManyPosix(requests, [](ReadRequest&) {});
  ::munmap(closed, 4096);
  EXPECT_EQ(buffers[0], contents_.substr(7, 10));
  EXPECT_TRUE(absl::IsInternal(requests[1].status)) << requests[1].status;
  EXPECT_EQ(requests[1].bytes_read, 0u);
  EXPECT_EQ(buffers[1], contents_.substr(9, 10));
}

TEST_F(ReadManyFailureTest, BatchesOfFewOrEmptyRequestsAreAnsweredToo) {
  for (const size_t count : {0, 1, 2}) EXPECT_EQ(Read(count), "");
  ReadRequest empty[2];
  for (ReadRequest& request : empty) {
    request.file = file_.get();
    request.bytes_read = 7;
  }
  int done = 0;
  ReadManyPosix(empty, [&](ReadRequest&) { ++done; });
  EXPECT_EQ(done, 2);
  for (const ReadRequest& request : empty) EXPECT_TRUE(request.status.ok() && request.bytes_read == 0);
}

TEST_F(ReadManyFailureTest, MoreThreadsThanRingsAreKeptReadBesideEachOther) {
  constexpr int kThreads = 12;
  Mutex mutex;
  CondVar changed;
  int inside = 0;
  std::vector<std::string> buffers(2 * kThreads, std::string(10, '-'));
  std::vector<Thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      ReadRequest requests[2];
      for (size_t i = 0; i < 2; ++i) {
        std::string& buffer = buffers[static_cast<size_t>(thread) * 2 + i];
        requests[i] = {.file = file_.get(), .offset = i, .length = 10, .buffer = buffer.data()};
      }
      // Nobody lets go of a ring before everybody has one.
      bool first = true;
      ReadManyPosix(requests, [&](ReadRequest&) {
        if (!std::exchange(first, false)) return;
        MutexLock lock(&mutex);
        ++inside;
        changed.NotifyAll();
        while (inside < kThreads) changed.Wait(&mutex);
      });
    });
  }
  for (Thread& thread : threads) thread.Join();
  for (size_t i = 0; i < buffers.size(); ++i) EXPECT_EQ(buffers[i], contents_.substr(i % 2, 10)) << i;
}

}  // namespace
}  // namespace sepal
