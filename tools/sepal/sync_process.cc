#include "tools/sepal/sync_process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "absl/strings/str_format.h"
#include "util/base/status.h"

namespace sepal::tools {

namespace {

constexpr double kLongestPollMillis = 1e9;

absl::Status Ended() { return absl::UnavailableError("the other side ended before the two databases were compared"); }

absl::Status EndedWithin() {
  return absl::UnavailableError("the other side ended in the middle of a message: is it a sepal sync-server?");
}

}  // namespace

absl::Status DescriptorStream::Await(int descriptor, short events) {
  if (timeout_seconds_ == 0) return absl::OkStatus();
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(timeout_seconds_);
  for (;;) {
    const double left = std::chrono::duration<double, std::milli>(end - Clock::now()).count();
    pollfd awaited{.fd = descriptor, .events = events, .revents = 0};
    const int ready = poll(&awaited, 1, static_cast<int>(std::clamp(std::ceil(left), 0.0, kLongestPollMillis)));
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "waiting for the other side");
    if (left > 0) continue;
    timed_out_ = true;
    return absl::DeadlineExceededError(
        absl::StrFormat("the other side has done nothing for %g s (--timeout)", timeout_seconds_));
  }
}

absl::Status DescriptorStream::Read(char* to, size_t size) {
  bool begun = false;
  while (size > 0) {
    RETURN_IF_ERROR(Await(in_, POLLIN));
    const ssize_t got = ::read(in_, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrFormat("reading from the other side: %s", strerror(errno)));
    if (got == 0) return begun ? EndedWithin() : Ended();
    begun = true;
    to += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status DescriptorStream::Write(std::string_view bytes) {
  // The number of bytes that a ready pipe accepts without waiting.
  const size_t most = timeout_seconds_ == 0 ? SIZE_MAX : PIPE_BUF;
  while (!bytes.empty()) {
    RETURN_IF_ERROR(Await(out_, POLLOUT));
    const ssize_t put = ::write(out_, bytes.data(), std::min(bytes.size(), most));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EPIPE) return Ended();
    if (put < 0) return absl::UnavailableError(absl::StrFormat("writing to the other side: %s", strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SyncProcess>> SyncProcess::Start(const std::string& command, double timeout_seconds) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "no pipe to the other side");
  if (pipe2(from, O_CLOEXEC) != 0) {
    const int error = errno;
    close(to[0]);
    close(to[1]);
    return absl::ErrnoToStatus(error, "no pipe from the other side");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  // A sync ignores SIGPIPE; the command and its children must not inherit that.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", flag = "-c", text = command;
  char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  if (error != 0) {
    close(to[1]);
    close(from[0]);
    return absl::ErrnoToStatus(error, absl::StrFormat("the command \"%s\" cannot be started", command));
  }
  return std::unique_ptr<SyncProcess>(new SyncProcess(command, pid, from[0], to[1], timeout_seconds));
}

absl::Status SyncProcess::Finish() {
  if (pid_ == 0) return absl::OkStatus();
  close(out_);
  close(in_);
  if (stream_.timed_out()) {
    kill(pid_, SIGTERM);
    kill(pid_, SIGCONT);  // A stopped process would not see the other signal.
  }
  int status = 0;
  pid_t waited;
  while ((waited = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (waited < 0) return absl::ErrnoToStatus(errno, absl::StrFormat("waiting for the command \"%s\"", command_));
  if (WIFSIGNALED(status)) {
    return absl::UnavailableError(absl::StrFormat("the command \"%s\" was ended by signal %d (%s)", command_,
                                                  WTERMSIG(status), strsignal(WTERMSIG(status))));
  }
  const int exit = WEXITSTATUS(status);
  if (exit == 0) return absl::OkStatus();
  // As shells have it.
  const std::string_view why = exit == 127 ? ": it was not found" : exit == 126 ? ": it cannot be run" : "";
  return absl::UnavailableError(absl::StrFormat("the command \"%s\" ended with exit status %d%s", command_, exit, why));
}

}  // namespace sepal::tools
