// The world that a database runs in: storage, time, threads and chance. Every part can be replaced, so that the whole
// engine runs in a deterministic simulation.
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
  // Microseconds of a clock that never goes back, from an arbitrary start.
  virtual uint64_t MonotonicMicros() = 0;
  // Microseconds since 1970, for people and file properties; may jump.
  virtual uint64_t UnixMicros() = 0;
  // Blocks the calling thread.
  virtual void SleepMicros(uint64_t micros) = 0;

  static Clock* System();
};

// Runs background work. Work of the same priority starts in the order it was scheduled. Work may wait for other work
// that has begun, never for any that has not, so that one thread is enough; flushes gain by two, and by a third for
// what writers are about to need.
class SEPAL_EXPORT Executor {
 public:
  enum class Priority : uint8_t {
    kFlush,       // short, and writers may wait for it
    kCompaction,  // long
    kScrub,       // only with Options::scrub_seconds: one piece a database, which runs until that is closed and mostly
                  // waits, so that it needs a thread of its own
  };
  // Returns after every scheduled piece of work has run.
  virtual ~Executor() = default;
  // `work` must not run before this returns: the engine calls it with its locks held. So never in the calling thread.
  // `work` does not throw, and may schedule more work. Safe for concurrent use.
  virtual void Schedule(Priority priority, std::function<void()> work) = 0;
  // How many pieces of compaction work can run at once.
  virtual int CompactionConcurrency() const = 0;
};

// Null members take the system's: the POSIX file system, the system clock, a thread pool owned by the database, and a
// seed from the operating system. What is set must outlive the database, and a file system
// also what that handed out, whose last reference closes files.
struct Env {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
  Executor* executor = nullptr;
  // For everything that is chosen at random (salts, ids, hash seeds). 0: from the operating system.
  uint64_t random_seed = 0;
};

}  // namespace sepal
