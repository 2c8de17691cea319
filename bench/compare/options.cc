#include "bench/compare/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "absl/strings/str_format.h"
#include "bench/compare/scenario.h"

namespace sepal::compare {
namespace {

#ifdef SEPAL_COMPARE_ROCKSDB
constexpr bool kHaveRocksDb = true;
#else
constexpr bool kHaveRocksDb = false;
#endif

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  for (const EngineEntry& engine : AllEngines()) names.emplace_back(engine.name);
  return names;
}

[[noreturn]] void UsageError(CLI::App& app, const std::string& message) {
  std::exit(app.exit(CLI::ValidationError(message), std::cout, std::cerr) == 0 ? 0 : 2);
}

void ChooseEngines(CLI::App& app, const std::vector<std::string>& names, CompareOptions* options) {
  for (const std::string& name : names) {
    const auto all = AllEngines();
    const auto found = std::find_if(all.begin(), all.end(), [&](const EngineEntry& e) { return name == e.name; });
    if (found == all.end()) UsageError(app, "--engines: " + name + " is unknown or was not installed at build time");
    if (!found->for_separated || options->separate_from > 0) options->engines.push_back(*found);
  }
}

// The workloads, with what each does.
std::string DescribeWorkloads() {
  std::string text = "Workloads:\n";
  for (const WorkloadEntry& entry : AllWorkloads()) {
    absl::StrAppendFormat(&text, "  %-20s %s\n", entry.name, entry.description);
  }
  return text;
}

void AddDataOptions(CLI::App* app, CompareOptions* options) {
  app->add_option("--memory", options->memory_bytes, "Memory for block cache, memtables and filters together")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app->add_option("--memtable", options->memtable_bytes, "One memtable")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app->add_option("--key_size", options->key_bytes, "Bytes of a key")
      ->capture_default_str()
      ->check(CLI::Range(8, 1024));
  app->add_option("--value_size", options->value_bytes, "Bytes of a value")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app->add_option("--compression_ratio", options->compression_ratio, "Compressed size over plain size of values")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1.0));
  app->add_option("--bloom_bits", options->filter_bits_per_key, "Filter bits for each key")->capture_default_str();
  app->add_flag("!--no_compression", options->compress, "No engine compresses");
  app->add_option("--separate_from", options->separate_from,
                  "Values from so many bytes on lie apart from their keys, in Sepal's value files and RocksDB's blob "
                  "files, beside engines that have them inline; 0: none")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app->add_flag("--clustered", options->clustered,
                "Keys in clusters of 1,000 numbers, a million apart, rather than all in a row");
}

void AddPaceOptions(CLI::App* app, CompareOptions* options) {
  app->add_option("--writes_per_second", options->writes_per_second, "Of the writer in readwhilewriting")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  app->add_option("--arrivals_per_second", options->arrivals_per_second, "Of puts in openloop")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000'000));
  app->add_option("--open_loop_seconds", options->open_loop_seconds, "How long openloop goes on")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
}

}  // namespace

std::span<const EngineEntry> AllEngines() {
  static const std::vector<EngineEntry> engines = {
      {"sepal", OpenSepal, false, true, true},
      {"sepal_inline", OpenSepalInline, false, true, true, /*for_separated=*/true},
#ifdef SEPAL_COMPARE_ROCKSDB
      {"rocksdb", OpenRocksDb, true, true, true},
      {"blobdb", OpenBlobDb, true, true, true, /*for_separated=*/true},
#endif
#ifdef SEPAL_COMPARE_LEVELDB
      // Two memtables of at most 1 GiB.
      {"leveldb", OpenLevelDb, true, false, true, /*for_separated=*/false, uint64_t{2} << 30},
#endif
#ifdef SEPAL_COMPARE_LMDB
      {"lmdb", OpenLmdb, false, false, false},
#endif
      {"null", OpenNull, false, true, false},
  };
  return engines;
}

CompareOptions ParseOptions(int argc, char** argv) {
  CompareOptions options;
  bool quick = false;
  std::vector<std::string> engines = EngineNames();
  CLI::App app{
      "Compares Sepal with other engines: same keys, values, durability, memory and filter bits.\n\n"
      "Example: compare --num=2000000 --threads=1,2 --rounds=3 --markdown --json=result.json"};
  app.footer(DescribeWorkloads());
  app.add_option("--num", options.entries, "Entries")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads, "Numbers of threads, one table for each")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--rounds", options.rounds, "Rounds; medians are shown")
      ->capture_default_str()
      ->check(CLI::Range(1, 99));
  app.add_option(
         "--duration", options.duration_seconds,
         "Seconds that overwrite, and each of YCSB's workloads, goes on, instead of --num operations; then the rate of "
         "each second and the longest operation are shown too. The wait for background work comes after, and counts")
      ->check(CLI::Range(1, 86'400));
  app.add_flag("--quick", quick, "One round of 200,000 entries, unless --num and --rounds say otherwise");
  app.add_option("--engines", engines, "Engines, by name")->delimiter(',')->capture_default_str();
  app.add_option("--workloads", options.workloads, "Workloads, by name; default all")->delimiter(',');
  AddDataOptions(&app, &options);
  AddPaceOptions(&app, &options);
  app.add_flag("--direct_reads", options.direct_reads,
               "The cold workloads, and YCSB's, read past the operating system's cache; engines that cannot are left "
               "out of them");
  app.add_option("--seed", options.seed, "Seed of keys and values")->capture_default_str();
  app.add_option("--dir", options.directory,
                 "Where a new directory for the databases is made, and removed at the end; default the temporary one");
  app.add_option("--json", options.json_path, "Write every measurement to this file, as JSON");
  app.add_flag("--markdown", options.markdown, "Print the tables as Markdown");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  if (quick) {
    if (app.count("--num") == 0) options.entries = 200'000;
    if (app.count("--rounds") == 0) options.rounds = 1;
  }
  ChooseEngines(app, engines, &options);
  for (const std::string& workload : options.workloads) {
    if (!IsWorkload(workload)) UsageError(app, "--workloads: unknown workload " + workload);
  }
  if (options.directory.empty()) options.directory = std::filesystem::temp_directory_path();
  if (!kHaveRocksDb) std::cerr << "note: built without RocksDB\n";
  return options;
}

}  // namespace sepal::compare
