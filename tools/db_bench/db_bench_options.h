// db_bench's flags, with the names of LevelDB's and RocksDB's db_bench.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sepal::tools {

struct DbBenchOptions {
  std::vector<std::string> benchmarks = {"fillseq",     "fillsync", "fillrandom", "overwrite", "readrandom", "readseq",
                                         "readreverse", "compact",  "readrandom", "readseq",   "readreverse"};
  std::string db = {};
  std::string wal_dir = {};       // empty: in db
  std::string options_file = {};  // empty: none
  uint64_t num = 1'000'000;
  int64_t reads = -1;   // -1: num
  int64_t writes = -1;  // -1: num
  double duration_seconds = 0;
  int threads = 1;
  uint64_t seed = 301;
  int key_size = 16;
  int value_size = 100;
  int batch_size = 1;
  int num_column_families = 1;
  int prefix_size = 0;                      // 0: key_size - 2
  uint64_t benchmark_write_rate_limit = 0;  // bytes a second; 0: no limit
  uint64_t writes_per_second = 0;           // 0: no limit
  std::string compression_type = "snappy";
  double compression_ratio = 0.5;
  uint64_t cache_size = 0;  // 0: not given
  uint64_t memory_limit = 0;
  uint64_t write_buffer_size = 0;
  bool use_direct_reads = false;
  double bloom_bits = -1;  // -1: the engine's default
  uint64_t block_size = 4096;
  std::string compaction_style = "lazy";
  int background_threads = 0;
  uint64_t rate_limiter_bytes_per_sec = 0;
  double max_space_amplification = ColumnFamilyOptions().max_space_amplification;
  size_t separate_from = 0;
  size_t last_level_inline_below = 0;
  bool use_existing_db = false;
  bool sync = false;
  bool disable_wal = false;
  bool histogram = false;
  bool statistics = false;
  bool json = false;
  int readwritepercent = 90;
  int mergereadpercent = 70;
  uint64_t merge_keys = 0;          // 0: num
  std::string merge_operator = {};  // empty: as the benchmarks need
  uint64_t transaction_sets = 2;    // keys of a transaction
  bool transaction_db = false;      // transactions take locks
  bool transaction_serializable = false;
  uint64_t writes_per_range_tombstone = 0;  // of fill* and overwrite; 0: no deletes of ranges
  uint64_t range_tombstone_width = 100;     // numbers of keys
  uint64_t max_num_range_tombstones = 0;    // of each thread; 0: no limit
  bool expand_range_tombstones = false;
  double ttl_seconds = 0;  // 0: puts do not expire
  double mix_get_ratio = 0.83, mix_put_ratio = 0.14, mix_seek_ratio = 0.03;
  int seek_nexts = 0;
  bool reverse_iterator = false;
  double stats_interval_seconds = 0;
  std::string report_file = {};  // empty: none
  double report_interval_seconds = 0.25;

  // The operator: uint64add if a benchmark merges and none is named; empty: none.
  std::string_view MergeOperatorName() const;
  uint64_t Reads() const { return reads < 0 ? num : static_cast<uint64_t>(reads); }
  size_t ValueSize() const { return static_cast<size_t>(value_size); }
  // Bytes of the prefix that prefixscanrandom scans by.
  size_t PrefixSize() const { return static_cast<size_t>(prefix_size > 0 ? prefix_size : key_size - 2); }
  // LevelDB's --compression=0 and 1 are none and snappy.
  std::string Codec() const;
  uint64_t Writes() const { return writes < 0 ? num : static_cast<uint64_t>(writes); }
  // All flags but --db, --json and those that mean nothing here.
  void AddFlags(CLI::App* app);
  // InvalidArgument if a benchmark is not known.
  absl::Status CheckBenchmarks() const;
  // The default place of the database.
  static std::string DefaultDirectory();
  // The engine's options. Without --memory_limit, --cache_size and two write buffers make the limit. The file of
  // --options overrides all other flags.
  absl::StatusOr<Options> EngineOptions() const;
};

// The flags; notes on ignored ones go to `err`. Both must outlive the result.
std::unique_ptr<CLI::App> DbBenchApp(DbBenchOptions* options, std::ostream& err);
// Fills `options`; an exit code if the program should end now.
std::optional<int> ParseDbBenchFlags(int argc, const char* const* argv, DbBenchOptions* options, std::ostream& out,
                                     std::ostream& err);

}  // namespace sepal::tools
