#include "tools/sepal/sync_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"

namespace sepal::tools {

absl::Status DescriptorStream::Read(char* to, size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(in_, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::UnavailableError(absl::StrFormat("reading from the other side: %s", strerror(errno)));
    if (got == 0) return absl::UnavailableError("the other side ended before the two databases were compared");
    to += got;
    size -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status DescriptorStream::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(out_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return absl::UnavailableError(absl::StrFormat("writing to the other side: %s", strerror(errno)));
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<SyncProcess>> SyncProcess::Start(const std::string& command) {
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
  std::string shell = "sh", flag = "-c", text = command;
  char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, "/bin/sh", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  if (error != 0) {
    close(to[1]);
    close(from[0]);
    return absl::ErrnoToStatus(error, absl::StrFormat("the command \"%s\" cannot be started", command));
  }
  return std::unique_ptr<SyncProcess>(new SyncProcess(pid, from[0], to[1]));
}

SyncProcess::~SyncProcess() {
  close(out_);
  close(in_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace sepal::tools
