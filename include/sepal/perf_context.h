// What the calls of one thread did, and where their time went.
//
//   sepal::PerfContext perf(db.get());   // from here on, on this thread
//   db->Get("key");
//   std::cout << perf.ToString();
//   perf.Reset();                        // before the next call
//
// Counts are those of sepal/statistics.h, kept by every thread anyway: they cost nothing more. Times are measured only
// while a context lives on the thread: a call then reads the clock twice, and twice again around each wait and file
// call. Without one a call pays a load of a thread's own variable or two.
//
// Made, read and destroyed on one thread, within the life of the database. Contexts may be nested, each destroyed
// before those that are older. Not for iterators that another thread made: their counts stay with the thread that steps
// them. Counts of steps within a block come when the iterator leaves the block. The counts of threads beyond the first
// 127 of the process may hold those of other such threads.
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

// Where the time of a call goes.
enum class PerfPart : uint8_t {
  kThrottle,  // held back, since flushes or compactions do not keep up or memory is short
  kLock,      // waiting for another writer
  kRead,      // reading tables
  kLog,       // writing the log
  kSync,      // waiting until the log is on the disk
  kCount,
};
inline constexpr size_t kPerfParts = static_cast<size_t>(PerfPart::kCount);

SEPAL_EXPORT std::string_view Name(PerfPart part);

class SEPAL_EXPORT PerfContext {
 public:
  explicit PerfContext(DB* db);
  ~PerfContext();
  PerfContext(const PerfContext&) = delete;
  PerfContext& operator=(const PerfContext&) = delete;

  // Begins anew.
  void Reset();

  // Since the beginning.
  uint64_t Get(Ticker ticker) const;
  LevelFilterStatistics GetFilter(int level) const;
  // In calls altogether, and in each part of that.
  uint64_t CallMicros() const;
  uint64_t Micros(PerfPart part) const;
  // A line for each that is not zero.
  std::string ToString() const;

 private:
  const Statistics* const statistics_;
  Clock* const outer_clock_;
  ThreadStatistics counts_;
  std::array<uint64_t, kPerfParts> micros_ = {};
  uint64_t call_micros_ = 0;
};

}  // namespace sepal
