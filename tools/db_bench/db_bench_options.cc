#include "tools/db_bench/db_bench_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sepal/merge_operator.h"
#include "sepal/options_text.h"
#include "tools/db_bench/db_bench_workloads.h"
#include "tools/files/tool_files.h"
#include "tools/terminal/cli.h"
#include "util/base/compression.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr size_t kDefaultMemtableBytes = size_t{64} << 20;

// Flags that users of other engines have in their scripts, for values that this engine derives itself.
constexpr char kIgnoredBenchFlags[] =
    "open_files cache_type cache_numshardbits cache_index_and_filter_blocks pin_l0_filter_and_index_blocks_in_cache "
    "partition_index_and_filters use_ribbon_filter whole_key_filtering max_write_buffer_number target_file_size_base "
    "max_file_size max_bytes_for_level_base max_bytes_for_level_multiplier num_levels "
    "level_compaction_dynamic_level_bytes level0_file_num_compaction_trigger level0_slowdown_writes_trigger "
    "level0_stop_writes_trigger subcompactions use_direct_io_for_flush_and_compaction mmap_read "
    "format_version checksum_type verify_checksum perf_level stats_per_interval "
    "reuse_logs comparisons multiread_batched async_io key_dist_a key_dist_b "
    "keyrange_dist_a keyrange_dist_b keyrange_dist_c keyrange_dist_d keyrange_num value_k value_sigma iter_k "
    "iter_sigma sine_mix_rate keys_per_prefix memtablerep";

void AddSizes(CLI::App* app, DbBenchOptions* o) {
  AddCount(app, "--num", &o->num, "Entries of the database, and operations of each thread", {.least = 1})
      ->capture_default_str();
  AddCountOrNone(app, "--reads", &o->reads, "Reads of each thread; -1: as --num")->capture_default_str();
  AddCountOrNone(app, "--writes", &o->writes, "Writes of each thread; -1: as --num")->capture_default_str();
  AddSeconds(app, "--duration", &o->duration_seconds,
             "Run each benchmark for this time, not for a number of operations");
  AddCount(app, "--threads", &o->threads, "Threads", {.least = 1, .most = 1024})->capture_default_str();
  AddCount(app, "--seed", &o->seed, "Seed of keys and values; each benchmark of a run draws others from it")
      ->capture_default_str();
  AddCount(app, "--key_size", &o->key_size, "Bytes of a key", {.least = 8, .most = 60000})->capture_default_str();
  AddCount(app, "--value_size", &o->value_size, "Bytes of a value", {.most = 1 << 30})->capture_default_str();
  AddCount(app, "--batch_size", &o->batch_size, "Entries of a batch (fillbatch: 1000 and multiread*: 64 if 1)",
           {.least = 1, .most = 1 << 20})
      ->capture_default_str();
  AddCount(app, "--num_column_families", &o->num_column_families,
           "Column families, over which keys are spread by their numbers", {.least = 1, .most = 100'000})
      ->capture_default_str();
  AddCount(app, "--prefix_size", &o->prefix_size,
           "Bytes of a key that prefixscanrandom scans by; 0: all but two, which 100 keys share", {.most = 60000})
      ->capture_default_str();
  AddBytes(app, "--benchmark_write_rate_limit", &o->benchmark_write_rate_limit,
           "Bytes a second that all writing threads together put; 0: no limit");
  AddCount(app, "--writes_per_second", &o->writes_per_second,
           "Writes a second of all writing threads together; 0: no limit");
  app->add_option("--compression_ratio", o->compression_ratio, "Compressed size of values divided by their size")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
}

void AddEngineFlags(CLI::App* app, DbBenchOptions* o) {
  app->add_option("--compression_type,--compression", o->compression_type, "none (0), snappy (1), lz4 or zstd")
      ->check(CLI::IsMember({"none", "0", "snappy", "1", "lz4", "zstd"}))
      ->capture_default_str()
      ->group("Engine");
  AddBytes(app, "--memory_limit", &o->memory_limit, "Limit for all memory: memtables, block cache, filters, iterators")
      ->group("Engine");
  AddBytes(app, "--cache_size", &o->cache_size,
           "Block cache: without --memory_limit, the limit is this and two write buffers")
      ->group("Engine");
  AddBytes(app, "--write_buffer_size", &o->write_buffer_size,
           "All active memtables together; 0: derived from --memory_limit, 64MiB beside --cache_size")
      ->group("Engine");
  app->add_option("--bloom_bits", o->bloom_bits, "Filter bits per key, lane and guard together; 0: no filters")
      ->check(CLI::Range(-1.0, 128.0))
      ->group("Engine");
  AddBytes(app, "--block_size", &o->block_size, "Bytes of a block before compression")
      ->capture_default_str()
      ->group("Engine");
  app->add_option("--compaction_style", o->compaction_style, "lazy, leveled (0) or universal (1)")
      ->check(CLI::IsMember({"lazy", "leveled", "0", "universal", "1"}))
      ->capture_default_str()
      ->group("Engine");
  AddBytes(app, "--separate_from", &o->separate_from, "Values from so many bytes on go to value files; 0: none")
      ->capture_default_str()
      ->group("Engine");
  AddBytes(app, "--last_level_inline_below", &o->last_level_inline_below,
           "Values in value files of fewer bytes come back into the tables of the last level; 0: none")
      ->capture_default_str()
      ->group("Engine");
  app->add_option("--max_space_amplification", o->max_space_amplification,
                  "Bytes of tables divided by bytes of live data")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str()
      ->group("Engine");
  AddBytes(app, "--rate_limiter_bytes_per_sec", &o->rate_limiter_bytes_per_sec,
           "Bytes that flushes and compactions write per second; 0: no limit")
      ->group("Engine");
  AddCount(app, "--background_threads,--max_background_jobs", &o->background_threads, "Compaction threads; 0: derived",
           {.most = 64})
      ->group("Engine");
  app->add_option("--wal_dir", o->wal_dir, "Directory of the write-ahead logs (default: that of the database)")
      ->group("Engine");
  app->add_option("--options", o->options_file,
                  "File of engine options, as sepal options show prints it; what it says goes before the flags")
      ->check(CLI::ExistingFile)
      ->group("Engine");
  app->add_flag("--use_direct_reads", o->use_direct_reads, "Read tables with direct I/O, bypassing the page cache")
      ->group("Engine");
  app->add_flag("--use_existing_db", o->use_existing_db, "Use the existing database; skips fill* benchmarks")
      ->group("Engine");
  CLI::Option* const sync =
      app->add_flag("--sync", o->sync, "Every write is durable before it returns")->group("Engine");
  app->add_flag("--disable_wal", o->disable_wal, "Do not write to the write-ahead log (fillsync still does)")
      ->group("Engine")
      ->excludes(sync);
}

}  // namespace

absl::StatusOr<Options> DbBenchOptions::EngineOptions() const {
  Options options;
  options.env.file_system = FilesFor({db, wal_dir});
  options.create_if_missing = !use_existing_db;
  options.log_directory = wal_dir;
  options.memtable_bytes = write_buffer_size;
  if (memory_limit > 0) {
    options.memory_limit = memory_limit;
  } else if (cache_size > 0) {
    if (options.memtable_bytes == 0) options.memtable_bytes = kDefaultMemtableBytes;
    options.memory_limit = cache_size + 2 * options.memtable_bytes;
  }
  options.direct_reads = use_direct_reads;
  options.background_threads = background_threads;
  options.latency_histograms = histogram || statistics;
  options.family.block_bytes = block_size;
  if (bloom_bits == 0) {
    options.family.filter_policy = FilterPolicy::None();
  } else if (bloom_bits > 0) {
    options.family.filter_policy = FilterPolicy::FromBitsPerKey(bloom_bits);
  }
  if (const std::string_view name = MergeOperatorName(); name == "uint64add") {
    options.family.merge_operator = MergeOperators::Add64();
  } else if (name == "stringappend") {
    options.family.merge_operator = MergeOperators::Append();
  } else if (name == "max") {
    options.family.merge_operator = MergeOperators::Max();
  }
  options.background_bytes_per_second = rate_limiter_bytes_per_sec;
  if (compaction_style == "leveled" || compaction_style == "0") {
    options.family.compaction_style = CompactionStyle::kLeveled;
  } else if (compaction_style == "universal" || compaction_style == "1") {
    options.family.compaction_style = CompactionStyle::kUniversal;
  }
  options.family.max_space_amplification = max_space_amplification;
  options.family.separate_from = separate_from;
  options.family.last_level_inline_below = last_level_inline_below;
  options.family.ttl = std::chrono::milliseconds(static_cast<int64_t>(ttl_seconds * 1000));
  const std::optional<CompressionKind> compression = CompressionFromName(Codec());
  if (!compression.has_value()) return absl::InvalidArgumentError(absl::StrCat("unknown codec ", compression_type));
  options.family.compression = *compression;
  return options_file.empty() ? options : OptionsFromFile(options_file, options);
}

std::string_view DbBenchOptions::MergeOperatorName() const {
  if (!merge_operator.empty()) return merge_operator;
  const bool merges = std::any_of(benchmarks.begin(), benchmarks.end(),
                                  [](const std::string& name) { return name.find("merge") != std::string::npos; });
  return merges ? "uint64add" : "";
}

void DbBenchOptions::AddFlags(CLI::App* app) {
  AddChoices(AddList(app, "--benchmarks", &benchmarks, "Benchmarks, in order")->capture_default_str(),
             absl::StrSplit(BenchmarkNames(), ' '));
  AddSizes(app, this);
  app->add_option("--readwritepercent", readwritepercent, "Share of reads in readrandomwriterandom")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app->add_option("--mergereadpercent", mergereadpercent, "Share of merges in readrandommergerandom")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  AddCount(app, "--merge_keys", &merge_keys, "Keys that mergerandom merges; 0: --num");
  app->add_option("--merge_operator", merge_operator,
                  "uint64add (the default where a benchmark merges), stringappend or max")
      ->check(CLI::IsMember({"uint64add", "stringappend", "max"}));
  AddCount(app, "--transaction_sets", &transaction_sets, "Keys that randomtransaction reads for update and writes",
           {.least = 1})
      ->capture_default_str();
  app->add_flag("--transaction_db", transaction_db,
                "Transactions lock their keys rather than check them at the commit");
  app->add_flag("--transaction_serializable", transaction_serializable, "Transactions are serializable");
  AddCount(app, "--writes_per_range_tombstone", &writes_per_range_tombstone,
           "Delete a range after so many entries that fill* and overwrite put; 0: never");
  AddCount(app, "--range_tombstone_width", &range_tombstone_width, "Keys of a range that is deleted", {.least = 1})
      ->capture_default_str();
  AddCount(app, "--max_num_range_tombstones", &max_num_range_tombstones,
           "Ranges that each thread deletes beside its puts; 0: no limit");
  app->add_flag("--expand_range_tombstones", expand_range_tombstones,
                "Delete the keys of a range one by one, rather than the range");
  AddSeconds(app, "--ttl_seconds", &ttl_seconds, "Puts expire after this; 0: never");
  app->add_option("--mix_get_ratio", mix_get_ratio, "Share of gets in mixgraph")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--mix_put_ratio", mix_put_ratio, "Share of puts in mixgraph")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app->add_option("--mix_seek_ratio", mix_seek_ratio, "Share of scans in mixgraph")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  AddCount(app, "--seek_nexts", &seek_nexts, "Steps after each seek of seekrandom")->capture_default_str();
  app->add_flag("--reverse_iterator", reverse_iterator, "Step backward");
  app->add_flag("--histogram", histogram, "Measure and print the latency of every operation");
  app->add_flag("--statistics", statistics, "Print the engine's statistics at the end");
  AddSeconds(app, "--stats_interval_seconds", &stats_interval_seconds, "Print the rate to standard error this often");
  app->add_option("--report_file", report_file,
                  "Record the run here, for sepal bench report and compare (implies --histogram)");
  AddSeconds(app, "--report_interval_seconds", &report_interval_seconds, "Time between samples of the recording")
      ->capture_default_str();
  AddEngineFlags(app, this);
}

std::string DbBenchOptions::Codec() const {
  return compression_type == "0" ? "none" : compression_type == "1" ? "snappy" : compression_type;
}

absl::Status DbBenchOptions::CheckBenchmarks() const {
  if (std::abs(mix_get_ratio + mix_put_ratio + mix_seek_ratio - 1) > 1e-6) {
    return absl::InvalidArgumentError("--mix_get_ratio, --mix_put_ratio and --mix_seek_ratio must add up to 1");
  }
  if (prefix_size > key_size) return absl::InvalidArgumentError("--prefix_size is larger than --key_size");
  for (const std::string& benchmark : benchmarks) {
    if (FindWorkload(benchmark) != nullptr) continue;
    if (benchmark == "compact1") {
      return absl::InvalidArgumentError(
          "compact1: Sepal does not compact single levels on request; compact rewrites all of them, compact0 brings "
          "down "
          "what is in level 0, and waitforcompaction waits until no compaction is due");
    }
    return absl::InvalidArgumentError(absl::StrCat("unknown benchmark ", benchmark, "; known: ", BenchmarkNames()));
  }
  return absl::OkStatus();
}

std::string DbBenchOptions::DefaultDirectory() {
  return std::filesystem::temp_directory_path() / absl::StrFormat("sepal-bench-%d", getuid());
}

std::unique_ptr<CLI::App> DbBenchApp(DbBenchOptions* o, std::ostream& err) {
  auto app = std::make_unique<CLI::App>(
      "Benchmarks the engine.\n\nExample: db_bench --benchmarks=fillrandom,readrandom,readmissing --num=1000000 "
      "--threads=2 --histogram\n\nBenchmarks: " +
          BenchmarkNames(),
      "db_bench");
  app->add_option("--db", o->db,
                  "Directory of the database; fill* benchmarks replace an existing one without asking, "
                  "unless --use_existing_db is given");
  o->AddFlags(app.get());
  app->add_flag("--json", o->json, "Print JSON, one object a line, rather than text");
  AddIgnored(app.get(), kIgnoredBenchFlags, err);
  return app;
}

std::optional<int> ParseDbBenchFlags(int argc, const char* const* argv, DbBenchOptions* o, std::ostream& out,
                                     std::ostream& err) {
  const std::unique_ptr<CLI::App> app = DbBenchApp(o, err);
  TakeCalledName(app.get(), argv);
  if (std::optional<int> exit = ParseFlags(app.get(), NormalizeArguments(argc, argv), out, err)) return exit;
  if (const absl::Status known = o->CheckBenchmarks(); !known.ok()) {
    err << app->get_name() << ": " << ToStd(known.message()) << "\n";
    return kExitUsage;
  }
  if (!o->report_file.empty()) o->histogram = true;
  if (o->db.empty()) o->db = DbBenchOptions::DefaultDirectory();
  return std::nullopt;
}

}  // namespace sepal::tools
