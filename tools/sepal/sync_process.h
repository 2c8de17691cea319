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

// Over descriptors, which it does not close. A write to a pipe whose reader is gone needs SIGPIPE to be ignored.
class DescriptorStream final : public SyncChannel {
 public:
  DescriptorStream(int in, int out) : in_(in), out_(out) {}
  absl::Status Read(char* to, size_t size) override;
  absl::Status Write(std::string_view bytes) override;

 private:
  const int in_;
  const int out_;
};

class SyncProcess {
 public:
  // Its standard error is this process's.
  static absl::StatusOr<std::unique_ptr<SyncProcess>> Start(const std::string& command);
  ~SyncProcess() { Finish().IgnoreError(); }
  SyncProcess(const SyncProcess&) = delete;
  SyncProcess& operator=(const SyncProcess&) = delete;

  SyncChannel* stream() { return &stream_; }
  // Ends the pipes and waits for the process. Unavailable, with the command and how it ended, unless its exit status
  // is 0. Ok when it is called again.
  absl::Status Finish();

 private:
  SyncProcess(std::string command, pid_t pid, int in, int out)
      : command_(std::move(command)), pid_(pid), in_(in), out_(out), stream_(in, out) {}

  const std::string command_;
  pid_t pid_;  // 0: it has ended
  const int in_;
  const int out_;
  DescriptorStream stream_;
};

}  // namespace sepal::tools
