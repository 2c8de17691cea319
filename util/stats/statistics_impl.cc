#include "util/stats/statistics_impl.h"

#include <memory>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/stats/enum_table.h"

namespace sepal {
namespace {

// Puts a new T into `entry`, unless another thread of the shared slot did so first; returns the one that is there.
template <class T>
T* MakeOnce(std::atomic<T*>* entry) {
  auto made = std::make_unique<T>();
  T* present = nullptr;
  if (!entry->compare_exchange_strong(present, made.get(), std::memory_order_acq_rel, std::memory_order_acquire)) {
    return present;
  }
  return made.release();
}

template <class T>
void Drop(std::atomic<T*>* entry) {
  std::unique_ptr<T>(entry->load(std::memory_order_acquire)).reset();
}

void Lower(std::atomic<uint64_t>* minimum, uint64_t value) {
  uint64_t seen = minimum->load(std::memory_order_relaxed);
  while (value < seen && !minimum->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void Lift(std::atomic<uint64_t>* maximum, uint64_t value) {
  uint64_t seen = maximum->load(std::memory_order_relaxed);
  while (value > seen && !maximum->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

// The count since the last reset. The mark is read first, so that the count read after it is at least as new.
uint64_t Since(const std::atomic<uint64_t>& counted, const std::atomic<uint64_t>& at_reset) {
  const uint64_t mark = at_reset.load(std::memory_order_acquire);
  return counted.load(std::memory_order_relaxed) - mark;
}

void Mark(const std::atomic<uint64_t>& counted, std::atomic<uint64_t>* at_reset) {
  at_reset->store(counted.load(std::memory_order_relaxed), std::memory_order_release);
}

template <class Figure>
struct Named {
  Figure figure;
  std::string_view name;
};

// In the order of the enumerations.
constexpr Named<Ticker> kTickerNames[] = {
    {Ticker::kGets, "get.count"},
    {Ticker::kGetHits, "get.found"},
    {Ticker::kMemtableHits, "memtable.hits"},
    {Ticker::kMultiGetKeys, "multiget.keys"},
    {Ticker::kSeeks, "iterator.seeks"},
    {Ticker::kNexts, "iterator.nexts"},
    {Ticker::kPrevs, "iterator.prevs"},
    {Ticker::kWrites, "write.entries"},
    {Ticker::kWriteBatches, "write.batches"},
    {Ticker::kBytesWritten, "write.bytes"},
    {Ticker::kLogBytes, "log.bytes"},
    {Ticker::kLogSyncs, "log.syncs"},
    {Ticker::kFlushes, "flush.count"},
    {Ticker::kFlushBytes, "flush.bytes"},
    {Ticker::kCompactions, "compaction.count"},
    {Ticker::kTrivialMoves, "compaction.trivial.moves"},
    {Ticker::kCompactionReadBytes, "compaction.read.bytes"},
    {Ticker::kCompactionWriteBytes, "compaction.write.bytes"},
    {Ticker::kCompactionEntriesIn, "compaction.entries.in"},
    {Ticker::kCompactionEntriesOut, "compaction.entries.out"},
    {Ticker::kBlockCacheHits, "cache.block.hits"},
    {Ticker::kBlockCacheMisses, "cache.block.misses"},
    {Ticker::kMetadataCacheHits, "cache.metadata.hits"},
    {Ticker::kMetadataCacheMisses, "cache.metadata.misses"},
    {Ticker::kBlockReads, "block.reads"},
    {Ticker::kBlockReadBytes, "block.read.bytes"},
    {Ticker::kThrottleMicros, "throttle.micros"},
    {Ticker::kThrottledWrites, "throttle.writes"},
    {Ticker::kSlowCalls, "call.slow"},
    {Ticker::kPacedMicros, "background.paced.micros"},
    {Ticker::kScrubBytes, "scrub.bytes"},
    {Ticker::kScrubPasses, "scrub.passes"},
    {Ticker::kScrubDamage, "scrub.damage"},
    {Ticker::kValueBytes, "value.bytes"},
    {Ticker::kValueBytesMoved, "value.bytes.moved"},
    {Ticker::kCatchUps, "catch_up.calls"},
    {Ticker::kCatchUpFailures, "catch_up.failures"},
};
static_assert(IsInOrder(kTickerNames, Ticker::kCount));

constexpr Named<Histogram> kHistogramNames[] = {
    {Histogram::kGetMicros, "get.micros"},
    {Histogram::kMultiGetMicros, "multiget.micros"},
    {Histogram::kSeekMicros, "seek.micros"},
    {Histogram::kWriteMicros, "write.micros"},
    {Histogram::kSyncMicros, "sync.micros"},
    {Histogram::kFlushMicros, "flush.micros"},
    {Histogram::kCompactionMicros, "compaction.micros"},
};
static_assert(IsInOrder(kHistogramNames, Histogram::kCount));

}  // namespace

std::string_view Name(Ticker ticker) {
  return ticker < Ticker::kCount ? kTickerNames[static_cast<size_t>(ticker)].name : "unknown";
}

std::string_view Name(Histogram histogram) {
  return histogram < Histogram::kCount ? kHistogramNames[static_cast<size_t>(histogram)].name : "unknown";
}

double LevelFilterStatistics::ObservedRate() const {
  const uint64_t found = blocks_searched - std::min(blocks_searched, false_positives);
  if (lookups <= found) return 0;
  return static_cast<double>(false_positives) / static_cast<double>(lookups - found);
}

StatisticsImpl::Shard::~Shard() {
  for (auto& histogram : histograms) Drop(&histogram);
}

StatisticsImpl::~StatisticsImpl() {
  for (auto& shard : shards_) Drop(&shard);
}

StatisticsImpl::Shard* StatisticsImpl::MakeShard(uint32_t slot) { return MakeOnce(&shards_[slot]); }

void StatisticsImpl::ThreadCounters::Record(Histogram histogram, uint64_t micros) {
  std::atomic<HistogramShard*>& entry = shard_->histograms[static_cast<size_t>(histogram)];
  HistogramShard* shard = entry.load(std::memory_order_acquire);
  if (shard == nullptr) [[unlikely]]
    shard = MakeOnce(&entry);
  Raise(shard->counted.buckets[LatencyHistogram::BucketOf(micros)], 1);
  Raise(shard->counted.sum, micros);
  Lower(&shard->minimum, micros);
  Lift(&shard->maximum, micros);
}

uint64_t StatisticsImpl::Get(Ticker ticker) const {
  SEPAL_CHECK(ticker < Ticker::kCount);
  uint64_t sum = 0;
  ForEachShard([&](const Shard& shard) { sum += shard.SinceReset(static_cast<size_t>(ticker)); });
  return sum;
}

HistogramSummary StatisticsImpl::Get(Histogram histogram) const {
  SEPAL_CHECK(histogram < Histogram::kCount);
  LatencyHistogram all;
  ForEachShard([&](const Shard& shard) {
    const HistogramShard* part = shard.histograms[static_cast<size_t>(histogram)].load(std::memory_order_acquire);
    if (part == nullptr) return;
    for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
      all.AddToBucket(bucket, Since(part->counted.buckets[bucket], part->at_reset.buckets[bucket]));
    }
    all.AddMoments(Since(part->counted.sum, part->at_reset.sum), part->minimum.load(std::memory_order_relaxed),
                   part->maximum.load(std::memory_order_relaxed));
  });
  return all.Summary();
}

LevelFilterStatistics StatisticsImpl::GetFilter(int level) const {
  LevelFilterStatistics sum;
  if (level < 0 || level >= kMaxLevels) return sum;
  ForEachShard([&](const Shard& shard) { shard.AddFilterTo(level, &sum); });
  return sum;
}

uint64_t StatisticsImpl::Shard::SinceReset(size_t ticker) const {
  return Since(counted.tickers[ticker], at_reset.tickers[ticker]);
}

void StatisticsImpl::Shard::AddFilterTo(int level, LevelFilterStatistics* sum) const {
  const FilterCounters& filter = counted.filters[static_cast<size_t>(level)];
  const FilterCounters& mark = at_reset.filters[static_cast<size_t>(level)];
  sum->lookups += Since(filter.lookups, mark.lookups);
  sum->guard_rejections += Since(filter.guard_rejections, mark.guard_rejections);
  sum->lane_rejections += Since(filter.lane_rejections, mark.lane_rejections);
  sum->blocks_searched += Since(filter.blocks_searched, mark.blocks_searched);
  sum->false_positives += Since(filter.false_positives, mark.false_positives);
}

ThreadStatistics StatisticsImpl::GetThisThread() const {
  ThreadStatistics counts;
  const Shard* shard = shards_[ThreadSlot()].load(std::memory_order_acquire);
  if (shard == nullptr) return counts;
  for (size_t i = 0; i < kTickers; ++i) counts.tickers[i] = shard->SinceReset(i);
  for (int level = 0; level < kMaxLevels; ++level) {
    shard->AddFilterTo(level, &counts.filters[static_cast<size_t>(level)]);
  }
  return counts;
}

void StatisticsImpl::Reset() {
  ForEachShard([](Shard& shard) {
    for (size_t i = 0; i < kTickers; ++i) Mark(shard.counted.tickers[i], &shard.at_reset.tickers[i]);
    for (size_t level = 0; level < kMaxLevels; ++level) {
      const FilterCounters& filter = shard.counted.filters[level];
      FilterCounters& mark = shard.at_reset.filters[level];
      Mark(filter.lookups, &mark.lookups);
      Mark(filter.guard_rejections, &mark.guard_rejections);
      Mark(filter.lane_rejections, &mark.lane_rejections);
      Mark(filter.blocks_searched, &mark.blocks_searched);
      Mark(filter.false_positives, &mark.false_positives);
    }
    for (auto& entry : shard.histograms) {
      HistogramShard* histogram = entry.load(std::memory_order_acquire);
      if (histogram == nullptr) continue;
      for (size_t i = 0; i < LatencyHistogram::kBuckets; ++i) {
        Mark(histogram->counted.buckets[i], &histogram->at_reset.buckets[i]);
      }
      Mark(histogram->counted.sum, &histogram->at_reset.sum);
      histogram->maximum.store(0, std::memory_order_relaxed);
      histogram->minimum.store(UINT64_MAX, std::memory_order_relaxed);
    }
  });
}

std::string StatisticsImpl::ToString() const {
  std::string text;
  for (size_t i = 0; i < kTickers; ++i) {
    const auto ticker = static_cast<Ticker>(i);
    if (const uint64_t count = Get(ticker); count != 0) text += absl::StrFormat("%s COUNT : %d\n", Name(ticker), count);
  }
  for (size_t i = 0; i < kHistograms; ++i) {
    const auto histogram = static_cast<Histogram>(i);
    const HistogramSummary s = Get(histogram);
    if (s.count == 0) continue;
    text += absl::StrFormat("%s P50 : %.1f P95 : %.1f P99 : %.1f P99.9 : %.1f P100 : %.0f COUNT : %d AVERAGE : %.2f\n",
                            Name(histogram), s.p50, s.p95, s.p99, s.p999, s.maximum, s.count, s.average);
  }
  for (int level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics f = GetFilter(level);
    if (f.lookups == 0) continue;
    text += absl::StrFormat(
        "filter.level.%d LOOKUPS : %d GUARD.REJECTIONS : %d LANE.REJECTIONS : %d BLOCKS.SEARCHED : %d "
        "FALSE.POSITIVES : %d OBSERVED.RATE : %.6f\n",
        level, f.lookups, f.guard_rejections, f.lane_rejections, f.blocks_searched, f.false_positives,
        f.ObservedRate());
  }
  return text;
}

}  // namespace sepal
