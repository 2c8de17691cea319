#include "util/stats/prometheus.h"

#include "absl/strings/str_format.h"
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

struct Described {
  std::string_view name;
  std::string_view help;
  double unit = 1;  // the factor that turns a count into the sample
};

constexpr double kMicro = 1e-6;

Described Describe(Ticker ticker) {
  switch (ticker) {
    case Ticker::kGets:
      return {"sepal_gets_total", "Point lookups."};
    case Ticker::kGetHits:
      return {"sepal_gets_found_total", "Point lookups that found their key."};
    case Ticker::kMemtableHits:
      return {"sepal_memtable_hits_total", "Point lookups that memtables answered."};
    case Ticker::kMultiGetKeys:
      return {"sepal_multiget_keys_total", "Keys asked for by MultiGet."};
    case Ticker::kSeeks:
      return {"sepal_iterator_seeks_total", "Seeks of iterators."};
    case Ticker::kNexts:
      return {"sepal_iterator_nexts_total", "Steps forward of iterators."};
    case Ticker::kPrevs:
      return {"sepal_iterator_prevs_total", "Steps backward of iterators."};
    case Ticker::kWrites:
      return {"sepal_write_entries_total", "Entries written by users."};
    case Ticker::kWriteBatches:
      return {"sepal_write_batches_total", "Batches written by users."};
    case Ticker::kBytesWritten:
      return {"sepal_write_bytes_total", "Bytes of keys and values written by users."};
    case Ticker::kLogBytes:
      return {"sepal_log_bytes_total", "Bytes of batches written to the log."};
    case Ticker::kLogSyncs:
      return {"sepal_log_syncs_total", "Syncs of log files."};
    case Ticker::kFlushes:
      return {"sepal_flushes_total", "Flushes of memtables."};
    case Ticker::kFlushBytes:
      return {"sepal_flush_bytes_total", "Bytes of tables written by flushes."};
    case Ticker::kCompactions:
      return {"sepal_compactions_total", "Compactions that rewrote tables."};
    case Ticker::kTrivialMoves:
      return {"sepal_compaction_moves_total", "Compactions that only moved tables."};
    case Ticker::kCompactionReadBytes:
      return {"sepal_compaction_read_bytes_total", "Bytes of tables read by compactions."};
    case Ticker::kCompactionWriteBytes:
      return {"sepal_compaction_write_bytes_total", "Bytes of tables written by compactions."};
    case Ticker::kCompactionEntriesIn:
      return {"sepal_compaction_entries_in_total", "Entries that compactions read."};
    case Ticker::kCompactionEntriesOut:
      return {"sepal_compaction_entries_out_total", "Entries that compactions kept."};
    case Ticker::kBlockCacheHits:
      return {"sepal_block_cache_hits_total", "Data blocks found in the cache."};
    case Ticker::kBlockCacheMisses:
      return {"sepal_block_cache_misses_total", "Data blocks not found in the cache."};
    case Ticker::kMetadataCacheHits:
      return {"sepal_metadata_cache_hits_total", "Leaf pages and guards found in the cache."};
    case Ticker::kMetadataCacheMisses:
      return {"sepal_metadata_cache_misses_total", "Leaf pages and guards not found in the cache."};
    case Ticker::kBlockReads:
      return {"sepal_block_reads_total", "Blocks of any kind read from files."};
    case Ticker::kBlockReadBytes:
      return {"sepal_block_read_bytes_total", "Bytes of blocks of any kind read from files."};
    case Ticker::kThrottleMicros:
      return {"sepal_throttle_seconds_total", "Time that writers were delayed.", kMicro};
    case Ticker::kThrottledWrites:
      return {"sepal_throttled_writes_total", "Writes that were delayed."};
    case Ticker::kSlowCalls:
      return {"sepal_slow_calls_total", "Calls slower than slow_call_micros."};
    case Ticker::kPacedMicros:
      return {"sepal_background_paced_seconds_total", "Time that flushes and compactions waited for their rate.",
              kMicro};
    case Ticker::kScrubBytes:
      return {"sepal_scrub_bytes_total", "Bytes of tables read and checked in the background."};
    case Ticker::kScrubPasses:
      return {"sepal_scrub_passes_total", "Times that all tables were checked in the background."};
    case Ticker::kScrubDamage:
      return {"sepal_scrub_damage_total", "Damaged blocks found in the background, counted again in each pass."};
    case Ticker::kCount:
      break;
  }
  return {};
}

Described Describe(Histogram histogram) {
  switch (histogram) {
    case Histogram::kGetMicros:
      return {"sepal_get_seconds", "Latency of Get."};
    case Histogram::kMultiGetMicros:
      return {"sepal_multiget_seconds", "Latency of MultiGet."};
    case Histogram::kSeekMicros:
      return {"sepal_seek_seconds", "Latency of seeks."};
    case Histogram::kWriteMicros:
      return {"sepal_write_seconds", "Latency of writes, waits included."};
    case Histogram::kSyncMicros:
      return {"sepal_sync_seconds", "Latency of syncs of the log."};
    case Histogram::kFlushMicros:
      return {"sepal_flush_seconds", "Duration of flushes."};
    case Histogram::kCompactionMicros:
      return {"sepal_compaction_seconds", "Duration of compactions."};
    case Histogram::kCount:
      break;
  }
  return {};
}

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
