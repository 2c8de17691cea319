// Counters and latency histograms of a database, since it was opened. Safe for concurrent use.
//
// Counting costs about a nanosecond: every thread counts in memory of its own, and a reading adds them up. A reading
// beside running operations is not one instant, but no count is lost.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sepal/export.h"

namespace sepal {

enum class Ticker : uint8_t {
  kGets,
  kGetHits,
  kMemtableHits,
  kMultiGetKeys,
  kSeeks,
  kNexts,
  kPrevs,
  kWrites,  // entries written
  kWriteBatches,
  kBytesWritten,  // of keys and values, by users
  kLogBytes,
  kLogSyncs,
  kFlushes,
  kFlushBytes,
  kCompactions,
  kTrivialMoves,
  kCompactionReadBytes,
  kCompactionWriteBytes,
  kCompactionEntriesIn,
  kCompactionEntriesOut,
  kBlockCacheHits,
  kBlockCacheMisses,
  kMetadataCacheHits,  // leaf pages and guards
  kMetadataCacheMisses,
  kBlockReads,  // blocks of any kind read from files
  kBlockReadBytes,
  kThrottleMicros,  // that writers were held back
  kThrottledWrites,
  kSlowCalls,    // over Options::slow_call_micros
  kPacedMicros,  // that threads of flushes and compactions waited for Options::background_bytes_per_second
  kScrubBytes,   // of tables that were read and checked in the background (Options::scrub_seconds)
  kScrubPasses,  // over all tables
  kScrubDamage,  // blocks that were found damaged, in each pass anew
  kCount,
};

enum class Histogram : uint8_t {
  kGetMicros,
  kMultiGetMicros,
  kSeekMicros,
  kWriteMicros,
  kSyncMicros,
  kFlushMicros,
  kCompactionMicros,
  kCount
};

SEPAL_EXPORT std::string_view Name(Ticker ticker);
SEPAL_EXPORT std::string_view Name(Histogram histogram);

// What the filters of one level did for point lookups.
struct LevelFilterStatistics {
  uint64_t lookups = 0;           // table files asked
  uint64_t guard_rejections = 0;  // files ruled out by their guard
  uint64_t lane_rejections = 0;   // blocks ruled out by their lane
  uint64_t blocks_searched = 0;   // blocks that both filters let through
  uint64_t false_positives = 0;   // of these, blocks without the key

  // Of the lookups whose key was absent from the file: the share that reached a block.
  double ObservedRate() const;
};

inline constexpr int kMaxLevels = 8;

// What one thread has counted.
struct ThreadStatistics {
  std::array<uint64_t, static_cast<size_t>(Ticker::kCount)> tickers = {};
  std::array<LevelFilterStatistics, kMaxLevels> filters = {};
};

struct HistogramSummary {
  uint64_t count = 0;
  double average = 0, minimum = 0, maximum = 0;
  double p50 = 0, p95 = 0, p99 = 0, p999 = 0, p9999 = 0;
};

class SEPAL_EXPORT Statistics {
 public:
  virtual ~Statistics() = default;
  virtual uint64_t Get(Ticker ticker) const = 0;
  virtual HistogramSummary Get(Histogram histogram) const = 0;
  // Of all column families together. Zeros for a level that does not exist.
  virtual LevelFilterStatistics GetFilter(int level) const = 0;
  // The share of the calling thread (sepal/perf_context.h).
  virtual ThreadStatistics GetThisThread() const = 0;
  // Sets everything back to zero; counts made meanwhile may be lost.
  virtual void Reset() = 0;
  // A line for each counter, histogram and level that is not zero.
  virtual std::string ToString() const = 0;
  // All of it, zeros too, in Prometheus' text format: counters, summaries in seconds, filters by level. Built from
  // readings: it costs some microseconds, and the engine nothing.
  virtual std::string ToPrometheus() const = 0;
};

}  // namespace sepal
