// A listener that the engine calls on events.
//
// Each method is called from the thread in which the event happened, and delays what that thread does next. OnError may
// be called in the middle of a write, and then delays other writes too, so no method may wait for a database call of
// another thread. A method may call the database only to read. Must be safe for concurrent use.
//
// In events of flushes and compactions an empty family name stands for the database's own rows (prepared transactions).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/abi.h"
#include "sepal/export.h"
#include "sepal/perf_context.h"

namespace sepal {

struct FlushEvent {
  std::string column_family = {};
  uint64_t file_number = 0;  // the first table's; 0: nothing was left to write
  uint64_t entries = 0;
  uint64_t bytes_written = 0;
  uint64_t micros = 0;  // of the job, which may have flushed other families too
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
  uint64_t value_bytes_moved = 0;  // from value files that were mostly garbage into others
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t micros = 0;
  bool trivial_move = false;
  std::string reason = {};
  absl::Status status = {};
};

struct ThrottleEvent {
  // Why writes are slowed down, for people to read.
  std::string reason = {};
  // The rate to which writers are limited; 0: stopped; UINT64_MAX: no longer limited.
  uint64_t bytes_per_second = 0;
};

struct SlowDiskEvent {
  std::string path = {};
  // "sync" is the only one so far.
  std::string_view operation = {};
  uint64_t micros = 0;
};

// A part of a table, or a value in a value file, that scrubbing (Options::scrub_seconds) could not read. For a value,
// the file is the value file, and `after` and `through` are both its key.
struct DamageEvent {
  std::string column_family = {};
  uint64_t file_number = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  // The keys that the part holds, as far as the index tells: after `after`, up to and including `through`. Unset: from
  // the first key, or to the last key of the table.
  std::optional<std::string> after = {};
  std::optional<std::string> through = {};
  absl::Status status = {};
};

// The wall clock, by which keys expire, ran further ahead than the monotonic clock accounts for, or is believed again.
struct ClockDoubtEvent {
  // True: the clock is in doubt from now on. Reads still go by it, but keys that have expired by it alone are not
  // removed. False: it is believed again.
  bool in_doubt = false;
  std::chrono::system_clock::time_point wall_time = {};
  // Keys that expired before this time may be removed.
  std::chrono::system_clock::time_point removal_time = {};
  // Both times and what can be done about the doubt, for people to read.
  std::string message = {};
};

// A call that took longer than Options::slow_call_micros.
struct SlowCallEvent {
  // "get", "multiget", "seek", "next", "prev", "write", "sync".
  std::string_view call = {};
  std::string column_family = {};  // empty for the log, and for a batch, which may concern several
  // The call's first key, at most 64 bytes of it; for a step of an iterator, a key that it passed.
  std::string key = {};
  uint64_t micros = 0;
  // How the time was spent (sepal/perf_context.h); the remainder was spent on the processor or waiting for it.
  std::array<uint64_t, kPerfParts> part_micros = {};
  uint64_t block_reads = 0;
  uint64_t block_read_bytes = 0;
  // The largest share: the name of a part, or "processor".
  std::string_view reason = {};
};

class SEPAL_EXPORT EventListener {
 public:
  virtual ~EventListener() = default;
  // Two flushes of a column family may run at once, and the end of the newer one may be reported first.
  virtual void OnFlushBegin(const FlushEvent&) {}
  virtual void OnFlushEnd(const FlushEvent&) {}
  virtual void OnCompactionBegin(const CompactionEvent&) {}
  virtual void OnCompactionEnd(const CompactionEvent&) {}
  virtual void OnThrottleChange(const ThrottleEvent&) {}
  virtual void OnSlowDisk(const SlowDiskEvent&) {}
  // Called again in each pass, as long as the table exists.
  virtual void OnDamage(const DamageEvent&) {}
  // Called when a job, a read of the property "sepal.clock" or the periodic check of the clock (at most once a minute)
  // notices it.
  virtual void OnClockDoubt(const ClockDoubtEvent&) {}
  // Called by the thread that made the call, before the call returns.
  virtual void OnSlowCall(const SlowCallEvent&) {}
  // Called in six cases, which `context` tells apart: the database has stopped accepting writes because a write or a
  // job failed; background work waits for disk space and continues once there is some (called at each check, four times
  // a second); background work gets no memory from the system, and tries again up to twenty times (called each time)
  // before the first case applies; a compaction met damage; a filter with context failed (sepal/context_filter.h); or a
  // view cannot follow its writer (Options::follow_milliseconds; called once for a series of equal failures). In the
  // first case alone the property "sepal.background-error" is no longer "OK".
  virtual void OnError(std::string_view context, const absl::Status&) { (void)context; }
};

}  // namespace sepal
