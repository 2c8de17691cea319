// The other side of a sync as a process: a shell's command, with a pipe to its standard input and one from its output.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sync/sync_stream.h"

namespace sepal::tools {

class SyncProcess {
 public:
  // Its standard error is this process's.
  static absl::StatusOr<std::unique_ptr<SyncProcess>> Start(const std::string& command);
  // Ends the pipes and waits for the process.
  ~SyncProcess();
  SyncProcess(const SyncProcess&) = delete;
  SyncProcess& operator=(const SyncProcess&) = delete;

  ByteStream* stream() { return &stream_; }

 private:
  SyncProcess(pid_t pid, int in, int out) : pid_(pid), in_(in), out_(out), stream_(in, out) {}

  const pid_t pid_;
  const int in_;
  const int out_;
  DescriptorStream stream_;
};

}  // namespace sepal::tools
