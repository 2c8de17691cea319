// Told what the engine does.
//
// Called from the thread that did it. A call that takes long holds up what comes next, and of OnError, which may come
// amid a write, other writes: none may wait for another thread's call of the database. No call may come back into the
// database, except for reads. Must be safe for concurrent use.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/export.h"
#include "sepal/perf_context.h"

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
  // "sync": the only one so far.
  std::string_view operation = {};
  uint64_t micros = 0;
};

// A part of a table that cannot be read, found by scrubbing (Options::scrub_seconds).
struct DamageEvent {
  std::string column_family = {};
  uint64_t file_number = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // The keys that it holds, as far as the index tells: behind `after`, up to and with `through`. Unset: from the
  // first, to the last of the table.
  std::optional<std::string> after = {};
  std::optional<std::string> through = {};
  absl::Status status = {};
};

// A call of a user that took longer than Options::slow_call_micros.
struct SlowCallEvent {
  // "get", "multiget", "seek", "next", "prev", "write", "sync".
  std::string_view call = {};
  std::string column_family = {};  // empty: the log's, or a batch's, that may concern several
  // The first of the call, at most 64 bytes of it; of a step of an iterator a key that it passed.
  std::string key = {};
  uint64_t micros = 0;
  // Where they went (sepal/perf_context.h); what is left over went to the processor and to waiting for it.
  std::array<uint64_t, kPerfParts> part_micros = {};
  uint64_t block_reads = 0;
  uint64_t block_read_bytes = 0;
  // What took most: the name of a part, or "processor".
  std::string_view reason = {};
};

class SEPAL_EXPORT EventListener {
 public:
  virtual ~EventListener() = default;
  // Two flushes of a column family may run at a time, and the end of the newer may be told first.
  virtual void OnFlushBegin(const FlushEvent&) {}
  virtual void OnFlushEnd(const FlushEvent&) {}
  virtual void OnCompactionBegin(const CompactionEvent&) {}
  virtual void OnCompactionEnd(const CompactionEvent&) {}
  virtual void OnThrottleChange(const ThrottleEvent&) {}
  virtual void OnSlowDisk(const SlowDiskEvent&) {}
  // Called in each pass anew, as long as the table is there.
  virtual void OnDamage(const DamageEvent&) {}
  // Called by the thread whose call it was, before the call returns.
  virtual void OnSlowCall(const SlowCallEvent&) {}
  // Writing has ended, for a write or a job that failed; or background work waits for space, and goes on once there is
  // some (told at each look, four times a second); or a compaction met damage. `context` says which. The property
  // "sepal.background-error", which is "OK" until writing has ended, tells the first from the others.
  virtual void OnError(std::string_view context, const absl::Status&) { (void)context; }
};

}  // namespace sepal
