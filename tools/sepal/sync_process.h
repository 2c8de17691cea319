// Channels of a sync, and the other side as a process: a shell's command, with a pipe to its standard input and one
// from its output.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/sync.h"

namespace sepal::tools {

// A channel over descriptors, which it does not close. SIGPIPE must be ignored, for writes to a pipe without a reader.
class DescriptorStream final : public SyncChannel {
 public:
  // DeadlineExceeded if the other side sends or accepts nothing for so many seconds. 0: waits without a limit.
  DescriptorStream(int in, int out, double timeout_seconds) : in_(in), out_(out), timeout_seconds_(timeout_seconds) {}
  absl::Status Read(char* to, size_t size) override;
  absl::Status Write(std::string_view bytes) override;

  bool timed_out() const { return timed_out_; }

 private:
  // Waits until `descriptor` has one of the events of poll(2).
  absl::Status Await(int descriptor, short events);

  const int in_;
  const int out_;
  const double timeout_seconds_;
  bool timed_out_ = false;
};

class SyncProcess {
 public:
  // Its standard error is this process's.
  static absl::StatusOr<std::unique_ptr<SyncProcess>> Start(const std::string& command, double timeout_seconds);
  ~SyncProcess() { Finish().IgnoreError(); }
  SyncProcess(const SyncProcess&) = delete;
  SyncProcess& operator=(const SyncProcess&) = delete;

  SyncChannel* stream() { return &stream_; }
  // Closes the pipes and waits for the process, which is terminated if it has timed out. Unavailable, with the command
  // and its end, unless its exit status is 0. Ok when it is called again.
  absl::Status Finish();

 private:
  SyncProcess(std::string command, pid_t pid, int in, int out, double timeout_seconds)
      : command_(std::move(command)), pid_(pid), in_(in), out_(out), stream_(in, out, timeout_seconds) {}

  const std::string command_;
  pid_t pid_;  // 0: it has ended
  const int in_;
  const int out_;
  DescriptorStream stream_;
};

}  // namespace sepal::tools
