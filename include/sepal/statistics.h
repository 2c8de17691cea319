// Counters and latency histograms of a database since it was opened. Safe for concurrent use.
//
// Counting costs about a nanosecond: every thread counts in its own memory, and a reading adds these counts up. A
// reading during operations is not a snapshot of one instant, but no count is lost.
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
  kThrottleMicros,  // time that writers were delayed
  kThrottledWrites,
  kSlowCalls,        // over Options::slow_call_micros
  kPacedMicros,      // time that threads of flushes and compactions waited for Options::background_bytes_per_second
  kScrubBytes,       // bytes of tables and values that were read and checked in the background (Options::scrub_seconds)
  kScrubPasses,      // passes over all tables
  kScrubDamage,      // blocks and values that were found damaged, counted again in each pass
  kValueBytes,       // bytes of values as they were stored in value files (ColumnFamilyOptions::separate_from)
  kValueBytesMoved,  // the same that compactions moved out of value files that were mostly garbage
  kCatchUps,         // calls of DB::CatchUp that succeeded, those of Options::follow_milliseconds too
  kCatchUpFailures,  // those that failed
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

// The filters' results in point lookups, for one level.
struct LevelFilterStatistics {
  uint64_t lookups = 0;           // table files searched
  uint64_t guard_rejections = 0;  // files ruled out by their guard
  uint64_t lane_rejections = 0;   // blocks ruled out by their lane
  uint64_t blocks_searched = 0;   // blocks that passed both filters
  uint64_t false_positives = 0;   // blocks among these that did not hold the key

  // The share of lookups that reached a block, among those whose key was not in the file.
  double ObservedRate() const;
};

inline constexpr int kMaxLevels = 8;

// The counts of one thread.
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
  // The sum over all column families; zeros for a level that does not exist.
  virtual LevelFilterStatistics GetFilter(int level) const = 0;
  // The calling thread's counts (sepal/perf_context.h).
  virtual ThreadStatistics GetThisThread() const = 0;
  // Sets everything to zero; counts made concurrently may be lost.
  virtual void Reset() = 0;
  // One line for each counter, histogram and level that is not zero.
  virtual std::string ToString() const = 0;
  // Everything, zeros included, in Prometheus' text format: counters, summaries in seconds, filters by level. It is
  // built from a reading: a call takes some microseconds and does not slow the engine down.
  virtual std::string ToPrometheus() const = 0;
};

}  // namespace sepal
