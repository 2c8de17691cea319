// Told what the engine does.
//
// Called from the thread that did it, with no lock of the engine held. A call that takes long holds up what comes next.
// No call may come back into the database, except for reads. Must be safe for concurrent use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/export.h"

namespace sepal {

struct FlushEvent {
  std::string column_family = {};
  uint64_t file_number = 0;  // of the first table; 0: nothing was left to write
  uint64_t entries = 0;
  uint64_t bytes_written = 0;
  uint64_t micros = 0;
  absl::Status status = {};
};

struct CompactionEvent {
  std::string column_family = {};
  int input_level = 0;
  int output_level = 0;
  int input_files = 0;
  int output_files = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t micros = 0;
  bool trivial_move = false;
  std::string reason = {};
  absl::Status status = {};
};

struct ThrottleEvent {
  // Why writes are slowed: for people.
  std::string reason = {};
  // The rate that writers are held to; 0: stopped; UINT64_MAX: no longer slowed.
  uint64_t bytes_per_second = 0;
};

struct SlowDiskEvent {
  std::string path = {};
  // "sync", "append", "read".
  std::string_view operation = {};
  uint64_t micros = 0;
};

class SEPAL_EXPORT EventListener {
 public:
  virtual ~EventListener() = default;
  virtual void OnFlushBegin(const FlushEvent&) {}
  virtual void OnFlushEnd(const FlushEvent&) {}
  virtual void OnCompactionBegin(const CompactionEvent&) {}
  virtual void OnCompactionEnd(const CompactionEvent&) {}
  virtual void OnThrottleChange(const ThrottleEvent&) {}
  virtual void OnSlowDisk(const SlowDiskEvent&) {}
  // A background job failed, or the database became read-only. `context` says where.
  virtual void OnError(std::string_view context, const absl::Status&) { (void)context; }
};

}  // namespace sepal
