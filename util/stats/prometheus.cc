#include "util/stats/prometheus.h"

#include "absl/strings/str_format.h"
#include "util/stats/enum_table.h"
#include "util/stats/statistics_impl.h"

namespace sepal {
namespace {

std::string Escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

template <class Figure>
struct Described {
  Figure figure;
  std::string_view name;
  std::string_view help;
  double unit = 1;  // the factor that turns a count into the sample
};

constexpr double kMicro = 1e-6;

// In the order of the enumerations.
constexpr Described<Ticker> kTickerTexts[] = {
    {Ticker::kGets, "sepal_gets_total", "Point lookups."},
    {Ticker::kGetHits, "sepal_gets_found_total", "Point lookups that found their key."},
    {Ticker::kMemtableHits, "sepal_memtable_hits_total", "Point lookups that memtables answered."},
    {Ticker::kMultiGetKeys, "sepal_multiget_keys_total", "Keys asked for by MultiGet."},
    {Ticker::kSeeks, "sepal_iterator_seeks_total", "Seeks of iterators."},
    {Ticker::kNexts, "sepal_iterator_nexts_total", "Steps forward of iterators."},
    {Ticker::kPrevs, "sepal_iterator_prevs_total", "Steps backward of iterators."},
    {Ticker::kWrites, "sepal_write_entries_total", "Entries written by users."},
    {Ticker::kWriteBatches, "sepal_write_batches_total", "Batches written by users."},
    {Ticker::kBytesWritten, "sepal_write_bytes_total", "Bytes of keys and values written by users."},
    {Ticker::kLogBytes, "sepal_log_bytes_total", "Bytes of batches written to the log."},
    {Ticker::kLogSyncs, "sepal_log_syncs_total", "Syncs of log files."},
    {Ticker::kFlushes, "sepal_flushes_total", "Flushes of memtables."},
    {Ticker::kFlushBytes, "sepal_flush_bytes_total", "Bytes of tables written by flushes."},
    {Ticker::kCompactions, "sepal_compactions_total", "Compactions that rewrote tables."},
    {Ticker::kTrivialMoves, "sepal_compaction_moves_total", "Compactions that only moved tables."},
    {Ticker::kCompactionReadBytes, "sepal_compaction_read_bytes_total", "Bytes of tables read by compactions."},
    {Ticker::kCompactionWriteBytes, "sepal_compaction_write_bytes_total", "Bytes of tables written by compactions."},
    {Ticker::kCompactionEntriesIn, "sepal_compaction_entries_in_total", "Entries that compactions read."},
    {Ticker::kCompactionEntriesOut, "sepal_compaction_entries_out_total", "Entries that compactions kept."},
    {Ticker::kBlockCacheHits, "sepal_block_cache_hits_total", "Data blocks found in the cache."},
    {Ticker::kBlockCacheMisses, "sepal_block_cache_misses_total", "Data blocks not found in the cache."},
    {Ticker::kMetadataCacheHits, "sepal_metadata_cache_hits_total", "Leaf pages and guards found in the cache."},
    {Ticker::kMetadataCacheMisses, "sepal_metadata_cache_misses_total",
     "Leaf pages and guards not found in the cache."},
    {Ticker::kBlockReads, "sepal_block_reads_total", "Blocks of any kind read from files."},
    {Ticker::kBlockReadBytes, "sepal_block_read_bytes_total", "Bytes of blocks of any kind read from files."},
    {Ticker::kThrottleMicros, "sepal_throttle_seconds_total", "Time that writers were delayed.", kMicro},
    {Ticker::kThrottledWrites, "sepal_throttled_writes_total", "Writes that were delayed."},
    {Ticker::kSlowCalls, "sepal_slow_calls_total", "Calls slower than slow_call_micros."},
    {Ticker::kPacedMicros, "sepal_background_paced_seconds_total",
     "Time that flushes and compactions waited for their rate.", kMicro},
    {Ticker::kScrubBytes, "sepal_scrub_bytes_total", "Bytes of tables read and checked in the background."},
    {Ticker::kScrubPasses, "sepal_scrub_passes_total", "Times that all tables were checked in the background."},
    {Ticker::kScrubDamage, "sepal_scrub_damage_total",
     "Damaged blocks found in the background, counted again in each pass."},
    {Ticker::kValueBytes, "sepal_value_bytes_total", "Bytes of values written to value files."},
    {Ticker::kValueBytesMoved, "sepal_value_moved_bytes_total", "Bytes of values moved out of value files of garbage."},
    {Ticker::kCatchUps, "sepal_catch_ups_total", "Times that a reader came to what its writer had written."},
    {Ticker::kCatchUpFailures, "sepal_catch_up_failures_total", "Times that a reader could not come to it."},
};
static_assert(IsInOrder(kTickerTexts, Ticker::kCount));

constexpr Described<Histogram> kHistogramTexts[] = {
    {Histogram::kGetMicros, "sepal_get_seconds", "Latency of Get."},
    {Histogram::kMultiGetMicros, "sepal_multiget_seconds", "Latency of MultiGet."},
    {Histogram::kSeekMicros, "sepal_seek_seconds", "Latency of seeks."},
    {Histogram::kWriteMicros, "sepal_write_seconds", "Latency of writes, waits included."},
    {Histogram::kSyncMicros, "sepal_sync_seconds", "Latency of syncs of the log."},
    {Histogram::kFlushMicros, "sepal_flush_seconds", "Duration of flushes."},
    {Histogram::kCompactionMicros, "sepal_compaction_seconds", "Duration of compactions."},
};
static_assert(IsInOrder(kHistogramTexts, Histogram::kCount));

const Described<Ticker>& Describe(Ticker ticker) { return kTickerTexts[static_cast<size_t>(ticker)]; }
const Described<Histogram>& Describe(Histogram histogram) { return kHistogramTexts[static_cast<size_t>(histogram)]; }

void AddFilters(const Statistics& statistics, PrometheusText* text) {
  struct Column {
    std::string_view name, help;
    uint64_t LevelFilterStatistics::*count;
  };
  static constexpr Column kColumns[] = {
      {"sepal_filter_lookups_total", "Table files searched by point lookups.", &LevelFilterStatistics::lookups},
      {"sepal_filter_guard_rejections_total", "Files ruled out by their guard.",
       &LevelFilterStatistics::guard_rejections},
      {"sepal_filter_lane_rejections_total", "Blocks ruled out by their lane.",
       &LevelFilterStatistics::lane_rejections},
      {"sepal_filter_blocks_searched_total", "Blocks that passed both filters.",
       &LevelFilterStatistics::blocks_searched},
      {"sepal_filter_false_positives_total", "Searched blocks that did not hold the key.",
       &LevelFilterStatistics::false_positives},
  };
  for (const Column& column : kColumns) {
    text->Family(column.name, "counter", column.help);
    for (int level = 0; level < kMaxLevels; ++level) {
      text->Sample({{"level", std::to_string(level)}},
                   static_cast<double>(statistics.GetFilter(level).*(column.count)));
    }
  }
}

}  // namespace

void PrometheusText::Family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  absl::StrAppendFormat(&text_, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void PrometheusText::Comment(std::string_view comment) { absl::StrAppendFormat(&text_, "# %s\n", comment); }

void PrometheusText::Sample(Labels labels, double value, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  char separator = '{';
  for (const auto& [label, label_value] : labels) {
    absl::StrAppendFormat(&text_, "%c%s=\"%s\"", separator, label, Escaped(label_value));
    separator = ',';
  }
  if (separator == ',') text_ += '}';
  absl::StrAppendFormat(&text_, " %.15g\n", value);
}

std::string StatisticsImpl::ToPrometheus() const {
  PrometheusText text;
  for (size_t i = 0; i < kTickers; ++i) {
    const auto ticker = static_cast<Ticker>(i);
    const Described described = Describe(ticker);
    text.Family(described.name, "counter", described.help);
    text.Sample({}, static_cast<double>(Get(ticker)) * described.unit);
  }
  for (size_t i = 0; i < kHistograms; ++i) {
    const auto histogram = static_cast<Histogram>(i);
    const Described described = Describe(histogram);
    const HistogramSummary summary = Get(histogram);
    text.Family(described.name, "summary", described.help);
    text.Sample({{"quantile", "0.5"}}, summary.p50 * kMicro);
    text.Sample({{"quantile", "0.95"}}, summary.p95 * kMicro);
    text.Sample({{"quantile", "0.99"}}, summary.p99 * kMicro);
    text.Sample({{"quantile", "0.999"}}, summary.p999 * kMicro);
    text.Sample({{"quantile", "0.9999"}}, summary.p9999 * kMicro);
    text.Sample({}, summary.average * static_cast<double>(summary.count) * kMicro, "_sum");
    text.Sample({}, static_cast<double>(summary.count), "_count");
  }
  AddFilters(*this, &text);
  return text.Take();
}

}  // namespace sepal
