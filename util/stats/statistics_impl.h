// The counters and histograms of a database, as the engine writes them.
//
// Every thread counts in its own shard, given by its thread slot: one relaxed load and store. Threads beyond the
// exclusive slots share a shard and count with an atomic addition. Shards, and the histograms in them, are created on
// first use, so that an idle thread costs nothing. Readings add the shards up.
//
// Only the thread itself stores its counts: a zero stored by another thread could be overwritten with a value that was
// read before it. So counts only grow, and a reset records their current values, from which readings then count.
//
// Safe for concurrent use. A count costs about a nanosecond.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sepal/statistics.h"
#include "util/stats/histogram.h"
#include "util/thread/thread_slot.h"

namespace sepal {

class StatisticsImpl final : public Statistics {
 private:
  using Counter = std::atomic<uint64_t>;
  static constexpr size_t kTickers = static_cast<size_t>(Ticker::kCount);
  static constexpr size_t kHistograms = static_cast<size_t>(Histogram::kCount);

  struct FilterCounters {
    Counter lookups{0};
    Counter guard_rejections{0};
    Counter lane_rejections{0};
    Counter blocks_searched{0};
    Counter false_positives{0};
  };
  struct HistogramCounters {
    std::array<Counter, LatencyHistogram::kBuckets> buckets = {};
    Counter sum{0};
  };
  struct HistogramShard {
    HistogramCounters counted;
    HistogramCounters at_reset;
    // Changed by compare-and-exchange, so that a reset may store.
    Counter minimum{UINT64_MAX};
    Counter maximum{0};
  };
  struct Counters {
    std::array<Counter, kTickers> tickers = {};
    std::array<FilterCounters, kMaxLevels> filters = {};
  };
  struct alignas(64) Shard {
    Counters counted;
    Counter sampled{0};
    std::array<std::atomic<HistogramShard*>, kHistograms> histograms = {};
    Counters at_reset;
    ~Shard();
    uint64_t SinceReset(size_t ticker) const;
    void AddFilterTo(int level, LevelFilterStatistics* sum) const;
  };

 public:
  // The calling thread's counters. One look-up serves many counts; the object must not be passed to another thread.
  class ThreadCounters {
   public:
    void Add(Ticker ticker, uint64_t n = 1) { Raise(shard_->counted.tickers[static_cast<size_t>(ticker)], n); }
    void AddFilter(int level, const LevelFilterStatistics& delta) {
      FilterCounters& filter = shard_->counted.filters[static_cast<size_t>(level)];
      RaiseIfAny(filter.lookups, delta.lookups);
      RaiseIfAny(filter.guard_rejections, delta.guard_rejections);
      RaiseIfAny(filter.lane_rejections, delta.lane_rejections);
      RaiseIfAny(filter.blocks_searched, delta.blocks_searched);
      RaiseIfAny(filter.false_positives, delta.false_positives);
    }
    void Record(Histogram histogram, uint64_t micros);
    // True for the first of the thread's calls, and then for one in `one_in`.
    bool TakesSample(uint64_t one_in) {
      const uint64_t before = shard_->sampled.load(std::memory_order_relaxed);
      Raise(shard_->sampled, 1);
      return before % one_in == 0;
    }
    // The thread's count since the beginning, regardless of resets; used for differences.
    uint64_t Get(Ticker ticker) const {
      return shard_->counted.tickers[static_cast<size_t>(ticker)].load(std::memory_order_relaxed);
    }

   private:
    friend class StatisticsImpl;
    ThreadCounters(Shard* shard, bool shared) : shard_(shard), shared_(shared) {}
    void Raise(Counter& counter, uint64_t n) {
      if (shared_) [[unlikely]] {
        counter.fetch_add(n, std::memory_order_relaxed);
      } else {
        counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
      }
    }
    void RaiseIfAny(Counter& counter, uint64_t n) {
      if (n != 0) Raise(counter, n);
    }

    Shard* shard_;
    bool shared_;
  };

  StatisticsImpl() = default;
  ~StatisticsImpl() override;
  StatisticsImpl(const StatisticsImpl&) = delete;
  StatisticsImpl& operator=(const StatisticsImpl&) = delete;

  ThreadCounters ForThisThread() {
    const uint32_t slot = ThreadSlot();
    Shard* shard = shards_[slot].load(std::memory_order_acquire);
    if (shard == nullptr) [[unlikely]]
      shard = MakeShard(slot);
    return ThreadCounters(shard, slot == kSharedThreadSlot);
  }
  void Add(Ticker ticker, uint64_t n = 1) { ForThisThread().Add(ticker, n); }
  // `level` must be below kMaxLevels.
  void AddFilter(int level, const LevelFilterStatistics& delta) { ForThisThread().AddFilter(level, delta); }
  void Record(Histogram histogram, uint64_t micros) { ForThisThread().Record(histogram, micros); }

  uint64_t Get(Ticker ticker) const override;
  HistogramSummary Get(Histogram histogram) const override;
  LevelFilterStatistics GetFilter(int level) const override;
  ThreadStatistics GetThisThread() const override;
  void Reset() override;
  std::string ToString() const override;
  std::string ToPrometheus() const override;

 private:
  Shard* MakeShard(uint32_t slot);
  // Calls visit(shard) for every existing shard.
  template <class Visit>
  void ForEachShard(Visit visit) const {
    for (const std::atomic<Shard*>& entry : shards_) {
      if (Shard* shard = entry.load(std::memory_order_acquire); shard != nullptr) visit(*shard);
    }
  }

  std::array<std::atomic<Shard*>, kThreadSlots> shards_ = {};
};

}  // namespace sepal
