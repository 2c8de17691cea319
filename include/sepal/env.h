// The environment that a database runs in: storage, time, threads and randomness. Every part can be replaced, so that
// the whole engine runs in a deterministic simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "sepal/export.h"
#include "sepal/file_system.h"

namespace sepal {

// Safe for concurrent use.
class SEPAL_EXPORT Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds of a clock that never goes back, since an arbitrary start.
  virtual uint64_t MonotonicMicros() = 0;
  // Microseconds since 1970, for display, for file properties and for puts that expire; may jump.
  virtual uint64_t UnixMicros() = 0;
  // Blocks the calling thread.
  virtual void SleepMicros(uint64_t micros) = 0;

  static Clock* System();
};

// Runs background work. Work of the same priority starts in the order in which it was scheduled. A piece of work may
// wait for others that have started, but never for one that has not, so one thread is enough; flushes gain from a
// second thread, and from a third for the memtables that writers will need next.
class SEPAL_EXPORT Executor {
 public:
  enum class Priority : uint8_t {
    kFlush,       // short; writers may wait for it
    kCompaction,  // long
    kScrub,  // only with Options::scrub_seconds or follow_milliseconds: one task for each database, which runs until
             // that is closed and mostly waits, so that it needs a thread of its own
  };
  // Returns after all scheduled work has run.
  virtual ~Executor() = default;
  // The engine calls Schedule with locks held, so `work` must not run before Schedule returns, and never in the calling
  // thread. `work` does not throw, and may schedule more work. Safe for concurrent use.
  virtual void Schedule(Priority priority, std::function<void()> work) = 0;
  // The number of compaction tasks that can run at once.
  virtual int CompactionConcurrency() const = 0;
  // Like Schedule, but the work starts no earlier than after `micros`, and takes no thread until then. Returns false,
  // and schedules nothing, if the executor cannot do that; the engine works without it (docs/guide/expiry.md). Work
  // that is not due yet when the executor is destroyed is dropped.
  virtual bool ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) {
    static_cast<void>(priority), static_cast<void>(micros), static_cast<void>(work);
    return false;
  }
};

// A null member stands for the default: the POSIX file system, the system clock, or a thread pool that the database
// owns. Objects that are set must outlive the database. A file system must also outlive everything that the database
// returned, since the last of these objects closes files.
struct Env {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
  Executor* executor = nullptr;
  // The seed for everything that is chosen at random (salts, ids, hash seeds). 0: from the operating system.
  uint64_t random_seed = 0;
};

}  // namespace sepal
