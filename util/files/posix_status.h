// The operating system's error numbers as statuses, and file descriptors that close themselves.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace sepal {

// Returns `path: operation: reason` with the code that the file-system contract prescribes for `error`, an errno.
absl::Status PosixError(int error, std::string_view path, std::string_view operation);

// Keeps the errno of the last call before anything else is called, because building a message allocates memory and may
// change errno. In `LastError().Of(path, operation)` the object is made before the arguments.
class LastError {
 public:
  LastError() : number_(errno) {}
  absl::Status Of(std::string_view path, std::string_view operation) const {
    return PosixError(number_, path, operation);
  }

 private:
  const int number_;
};

// Never holds descriptor 0, 1 or 2, which `open` returns in a program that has closed its standard streams: anything
// printed there would overwrite the file.
class UniqueFd {
 public:
  UniqueFd() = default;
  // Takes ownership of `fd` or, if it is a standard stream's, replaces it by a duplicate. If none can be made, the
  // object is invalid, and errno says why.
  explicit UniqueFd(int fd) : fd_(fd < 0 || fd > STDERR_FILENO ? fd : MovedUp(fd)) {}
  ~UniqueFd() { Close(); }
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    const int fd = std::exchange(other.fd_, -1);
    Close();
    fd_ = fd;
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Returns 0 or an errno. On Linux the descriptor is closed even if close() was interrupted.
  int Close() {
    if (fd_ < 0) return 0;
    const int result = ::close(std::exchange(fd_, -1));
    return result == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  static int MovedUp(int fd) {
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(fd);
    errno = error;
    return moved;
  }

  int fd_ = -1;
};

// Calls `function` until it is not interrupted by a signal.
template <typename Function>
auto RetryInterrupted(Function function) {
  auto result = function();
  while (result < 0 && errno == EINTR) result = function();
  return result;
}

}  // namespace sepal
