// What the calls of one thread did, and where their time went.
//
//   sepal::PerfContext perf(*db);       // from here on, on this thread
//   db->Get("key");
//   std::cout << perf.ToString();
//   perf.Reset();                        // before the next call
//
// Counts are those of sepal/statistics.h, which every thread keeps anyway, so they cost nothing more. Times are
// measured only while a context exists on the thread: a call then reads the clock twice, and twice more around each
// wait and file operation. Without a context a call pays one or two loads of a thread-local variable.
//
// A context is created, read and destroyed on one thread, while the database exists. Contexts may be nested; the newest
// is destroyed first. Do not use one for iterators that another thread created: their counts go to the thread that
// steps them. Steps within a block are counted when the iterator leaves the block. Beyond the first 127 threads of the
// process, threads share counters, so a context of such a thread may include counts of others.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sepal/export.h"
#include "sepal/statistics.h"

namespace sepal {

class Clock;
class DB;

// The parts into which the time of a call is divided.
enum class PerfPart : uint8_t {
  kThrottle,  // delayed, because flushes or compactions fall behind or memory is short
  kLock,      // waiting for another writer
  kRead,      // reading tables
  kLog,       // writing the log
  kSync,      // waiting until the log is synced to the disk
  kCount,
};
inline constexpr size_t kPerfParts = static_cast<size_t>(PerfPart::kCount);

SEPAL_EXPORT std::string_view Name(PerfPart part);

class SEPAL_EXPORT PerfContext {
 public:
  explicit PerfContext(DB& db);
  ~PerfContext();
  PerfContext(const PerfContext&) = delete;
  PerfContext& operator=(const PerfContext&) = delete;

  // Starts again from zero.
  void Reset();

  // The counts since the beginning or the last Reset.
  uint64_t Get(Ticker ticker) const;
  LevelFilterStatistics GetFilter(int level) const;
  // The time of all calls, and each part's share of it.
  uint64_t CallMicros() const;
  uint64_t Micros(PerfPart part) const;
  // One line for each value that is not zero.
  std::string ToString() const;

 private:
  const Statistics* const statistics_;
  Clock* const outer_clock_;
  ThreadStatistics counts_;
  std::array<uint64_t, kPerfParts> micros_ = {};
  uint64_t call_micros_ = 0;
};

}  // namespace sepal
