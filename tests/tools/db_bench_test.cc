#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/tools/full_disk.h"
#include "tests/tools/temporary_directory.h"
#include "tools/db_bench/db_bench_runner.h"
#include "tools/db_bench/db_bench_workloads.h"
#include "tools/db_bench/filter_savings.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"

namespace sepal::tools {
namespace {

Outcome RunDbBench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "db_bench");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out, err;
  Outcome outcome;
  outcome.exit = DbBenchMain(static_cast<int>(argv.size()), argv.data(), out, err);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// The result lines of `--json`, by benchmark.
std::vector<nlohmann::json> JsonLines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(DbBenchTest, TheProgramSpeaksUnderTheNameThatItWasCalledBy) {
  const auto run = [](const char* flag) {
    const char* argv[] = {"/usr/bin/sepal_db_bench", flag};
    std::ostringstream out, err;
    DbBenchMain(2, argv, out, err);
    return out.str() + err.str();
  };
  EXPECT_THAT(run("--help"), ::testing::HasSubstr("Example: sepal_db_bench --benchmarks"));
  EXPECT_THAT(run("--bechmarks=x"), ::testing::HasSubstr("sepal_db_bench: there is no flag"));
  EXPECT_THAT(run("--bechmarks=x"), ::testing::HasSubstr("sepal_db_bench --help lists the flags"));
  EXPECT_THAT(run("--benchmarks=x"), ::testing::HasSubstr("sepal_db_bench: unknown benchmark"));
}

TEST(DbBenchTest, AResultIsOneLineOfTheKnownForm) {
  BenchResult result;
  result.name = "readrandom";
  result.operations = 1000;
  result.seconds = 0.5;
  result.thread_seconds = 1;
  result.bytes = 1 << 20;
  result.found = 632;
  result.asked = 1000;
  EXPECT_EQ(FormatResult(result),
            "readrandom   :    1000.000 micros/op 2000 ops/sec 0.500 seconds 1000 operations;    2.0 MB/s (632 of 1000 "
            "found)");
}

TEST(DbBenchTest, EveryBenchmarkRunsAndPrintsItsLine) {
  TemporaryDirectory directory;
  const std::string benchmarks =
      "fillseq,fillrandom,fillsync,fillbatch,filluniquerandom,overwrite,readrandom,readmissing,readhot,readseq,"
      "readreverse,seekrandom,multireadrandom,readwhilewriting,readrandomwriterandom,deleteseq,deleterandom,flush,"
      "waitforcompaction,compact";
  const Outcome outcome = RunDbBench({"--db=" + directory.File("db"), "--num=2000", "--threads=2",
                                      "--memory_limit=16MiB", "--benchmarks=" + benchmarks});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  std::istringstream names(benchmarks);
  for (std::string name; std::getline(names, name, ',');) {
    const std::regex line("(^|\n)" + name +
                          R"( *: +[0-9.]+ micros/op [0-9]+ ops/sec [0-9.]+ seconds [0-9]+ operations;)");
    EXPECT_TRUE(std::regex_search(outcome.out, line)) << name << "\n" << outcome.out;
  }
}

TEST(DbBenchTest, ReadsAreCountedAsFoundOrNot) {
  TemporaryDirectory directory;
  const Outcome outcome = RunDbBench({"--db=" + directory.File("db"), "--num=1000", "--memory_limit=16MiB", "--json",
                                      "--benchmarks=filluniquerandom,flush,readrandom,readmissing,multireadrandom"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  const std::vector<nlohmann::json> lines = JsonLines(outcome.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].at("operations"), 1000);
  EXPECT_EQ(lines[2].at("found"), 1000);
  EXPECT_EQ(lines[3].at("found"), 0);
  EXPECT_EQ(lines[3].at("asked"), 1000);
  EXPECT_EQ(lines[4].at("found"), lines[4].at("asked"));
  for (const nlohmann::json& line : lines) {
    EXPECT_EQ(line.at("schema_version"), 1);
    EXPECT_GT(line.at("ops_per_second"), 0);
  }
}

TEST(DbBenchTest, HistogramsAndReportsArePrintedWhenAskedFor) {
  TemporaryDirectory directory;
  const Outcome outcome =
      RunDbBench({"--db=" + directory.File("db"), "-num=500", "-histogram=1", "--statistics", "--memory_limit=16MiB",
                  "--benchmarks=fillseq,flush,readmissing,stats,levelstats,sstables,filters"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  for (const char* expected : {"Microseconds per op:", "P99.9:", "STATISTICS:", "filters saved"}) {
    EXPECT_NE(outcome.out.find(expected), std::string::npos) << expected << "\n" << outcome.out;
  }
}

TEST(DbBenchTest, AnExistingDatabaseIsKeptWhenAskedFor) {
  TemporaryDirectory directory;
  const std::string db = "--db=" + directory.File("db");
  ASSERT_EQ(RunDbBench({db, "--num=300", "--memory_limit=16MiB", "--benchmarks=fillseq"}).exit, kExitOk);
  const Outcome outcome = RunDbBench(
      {db, "--num=300", "--memory_limit=16MiB", "--use_existing_db=1", "--json", "--benchmarks=fillrandom,readseq"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_NE(outcome.err.find("fillrandom: skipped"), std::string::npos);
  const std::vector<nlohmann::json> lines = JsonLines(outcome.out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].at("operations"), 300);
}

// All entries of a database, in order.
std::vector<std::pair<std::string, std::string>> EntriesOfDatabase(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> entries;
  const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({.memory_limit = size_t{16} << 20}, path);
  EXPECT_TRUE(db.ok()) << db.status();
  if (!db.ok()) return entries;
  const std::unique_ptr<Iterator> iterator = (*db)->NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    entries.emplace_back(iterator->key(), iterator->value());
  }
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  return entries;
}

uint64_t BytesOfLogFiles(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".log") bytes += entry.file_size();
  }
  return bytes;
}

TEST(DbBenchTest, WithoutTheLogNothingIsWrittenToItAndEverythingIsThereAfterwards) {
  TemporaryDirectory directory;
  const std::string logged = directory.File("logged");
  const std::string unlogged = directory.File("unlogged");
  const auto fill = [](const std::string& path, std::vector<std::string> more) {
    more.insert(more.end(), {"--db=" + path, "--num=1000", "--value_size=100", "--memory_limit=16MiB", "--statistics",
                             "--benchmarks=fillrandom"});
    return RunDbBench(std::move(more));
  };
  const Outcome with = fill(logged, {});
  ASSERT_EQ(with.exit, kExitOk) << with.err;
  EXPECT_NE(with.out.find("log.bytes COUNT : "), std::string::npos) << with.out;
  EXPECT_GT(BytesOfLogFiles(logged), 100'000u);
  const Outcome without = fill(unlogged, {"--disable_wal"});
  ASSERT_EQ(without.exit, kExitOk) << without.err;
  EXPECT_NE(without.out.find("write.entries COUNT : 1000"), std::string::npos) << without.out;
  EXPECT_EQ(without.out.find("log.bytes COUNT : "), std::string::npos) << without.out;
  EXPECT_LT(BytesOfLogFiles(unlogged), 10'000u);
  // The numbers are drawn from the same seed.
  const auto entries = EntriesOfDatabase(unlogged);
  EXPECT_GT(entries.size(), 500u);
  EXPECT_EQ(entries, EntriesOfDatabase(logged));
}

TEST(DbBenchTest, DurationEndsABenchmark) {
  TemporaryDirectory directory;
  const Outcome outcome = RunDbBench({"--db=" + directory.File("db"), "--num=100", "--memory_limit=16MiB", "--json",
                                      "--duration=0.05s", "--benchmarks=fillrandom"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_GE(JsonLines(outcome.out).at(0).at("seconds"), 0.05);
}

TEST(DbBenchTest, BatchesStepsAndCountsAreAsGiven) {
  TemporaryDirectory directory;
  const std::string db = "--db=" + directory.File("db");
  const Outcome outcome = RunDbBench(
      {db, "--num=100", "--reads=30", "--writes=50", "--batch_size=7", "--seek_nexts=3", "--memory_limit=16MiB",
       "--json", "--benchmarks=fillrandom,fillseq,fillbatch,seekrandom,multireadrandom,deleteseq"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  const std::vector<nlohmann::json> lines = JsonLines(outcome.out);
  EXPECT_EQ(lines.at(0).at("operations"), 50);
  EXPECT_EQ(lines.at(1).at("operations"), 100);
  EXPECT_EQ(lines.at(3).at("operations"), 30);
  const Outcome backward =
      RunDbBench({db, "--num=100", "--seek_nexts=3", "--reverse_iterator", "--memory_limit=16MiB", "--json",
                  "--benchmarks=filluniquerandom,seekrandom,compact,resetstats,memstats,options"});
  ASSERT_EQ(backward.exit, kExitOk) << backward.err;
  EXPECT_EQ(JsonLines(backward.out).at(1).at("operations"), 100);
  EXPECT_EQ(JsonLines(backward.out).at(3).at("report"), "resetstats");
  // More threads than numbers, and the rate at every interval.
  const Outcome few = RunDbBench({db, "--num=2", "--threads=4", "--memory_limit=16MiB", "--duration=0.15s",
                                  "--stats_interval_seconds=0.001", "--benchmarks=fillrandom"});
  EXPECT_EQ(few.exit, kExitOk) << few.err;
  EXPECT_NE(few.err.find(" ops/sec in the last "), std::string::npos) << few.err;
  EXPECT_EQ(RunDbBench({db, "--num=2", "--threads=4", "--memory_limit=16MiB", "--benchmarks=filluniquerandom"}).exit,
            kExitOk);
}

TEST(DbBenchTest, HelpThatCannotBeWrittenIsAnError) {
  FullDisk full;
  std::ostream out(&full);
  std::ostringstream err;
  const char* argv[] = {"db_bench", "--help"};
  EXPECT_EQ(DbBenchMain(2, argv, out, err), kExitError);
}

TEST(DbBenchTest, WhatCannotBeRecordedOrMadeIsAnError) {
  TemporaryDirectory directory;
  const std::string db = "--db=" + directory.File("db");
  const auto run = [&](const std::string& flag) {
    return RunDbBench({db, "--num=200", "--memory_limit=16MiB", "--benchmarks=fillseq", flag});
  };
  const Outcome nowhere = run("--report_file=" + directory.File("none/r.jsonl"));
  EXPECT_EQ(nowhere.exit, kExitError);
  EXPECT_NE(nowhere.err.find("cannot be written"), std::string::npos) << nowhere.err;
  const Outcome full = run("--report_file=/dev/full");
  EXPECT_EQ(full.exit, kExitError);
  EXPECT_NE(full.err.find("cannot be written whole"), std::string::npos) << full.err;
  const std::string file = directory.File("file");
  std::ofstream(file) << "x";
  EXPECT_EQ(RunDbBench({"--db=" + file + "/db", "--num=10", "--benchmarks=fillseq"}).exit, kExitError);
  // Nothing but reports of a database that is not there: it is made for them.
  EXPECT_EQ(RunDbBench({"--db=" + directory.File("fresh"), "--memory_limit=16MiB", "--benchmarks=stats"}).exit,
            kExitOk);
}

TEST(DbBenchTest, ADatabaseThatIsOpenOrSkippedAltogetherIsLeftAlone) {
  TemporaryDirectory directory;
  const std::string path = directory.File("db");
  const std::unique_ptr<DB> open = DB::Open({.create_if_missing = true}, path).value();
  const Outcome refused = RunDbBench({"--db=" + path, "--num=10", "--benchmarks=fillseq"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_NE(refused.err.find("in use by"), std::string::npos) << refused.err;
  const Outcome skipped = RunDbBench({"--db=" + path, "--use_existing_db", "--benchmarks=fillseq"});
  EXPECT_EQ(skipped.exit, kExitOk);
  EXPECT_NE(skipped.err.find("fillseq: skipped"), std::string::npos) << skipped.err;
}

TEST(DbBenchTest, TimedBenchmarksOfBatchesEndToo) {
  TemporaryDirectory directory;
  const Outcome outcome = RunDbBench({"--db=" + directory.File("db"), "--num=50", "--memory_limit=16MiB", "--json",
                                      "--statistics", "--duration=0.03s", "--batch_size=20",
                                      "--benchmarks=fillseq,deleteseq,readwhilewriting,multireadrandom,seekrandom"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  std::vector<nlohmann::json> lines = JsonLines(outcome.out);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines.back().at("report"), "statistics");
  EXPECT_THAT(lines.back().at("text").get<std::string>(), ::testing::HasSubstr("write.batches COUNT : "));
  lines.pop_back();
  for (const nlohmann::json& line : lines) EXPECT_GE(line.at("seconds"), 0.03) << line;
}

TEST(DbBenchTest, ABenchmarkSaysBeforehandHowManyOperationsItWillDo) {
  TemporaryDirectory directory;
  DbBenchOptions options;
  options.num = 4000;
  options.reads = 320;
  options.writes = 500;
  options.threads = 3;
  const Outcome outcome = RunDbBench(
      {"--db=" + directory.File("db"), "--num=4000", "--reads=320", "--writes=500", "--threads=3",
       "--memory_limit=16MiB", "--json",
       "--benchmarks=fillseq,fillrandom,fillsync,fillbatch,filluniquerandom,overwrite,readrandom,readmissing,"
       "readhot,readseq,readreverse,seekrandom,multireadrandom,readwhilewriting,readrandomwriterandom,"
       "deleteseq,deleterandom"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  for (const nlohmann::json& line : JsonLines(outcome.out)) {
    const std::string name = line.at("benchmark");
    EXPECT_EQ(TotalOperations(*FindWorkload(name), options), line.at("operations")) << name;
  }
  options.duration_seconds = 1;
  EXPECT_EQ(TotalOperations(*FindWorkload("fillseq"), options), 0u);
  EXPECT_EQ(TotalOperations(*FindWorkload("compact"), DbBenchOptions()), 0u);
}

// As --statistics tells it; 0 for what is not told.
uint64_t CountIn(const std::string& statistics, const std::string& ticker) {
  const size_t at = statistics.find(ticker + " COUNT : ");
  return at == std::string::npos ? 0 : std::stoull(statistics.substr(at + ticker.size() + 9));
}

TEST(DbBenchTest, TheWriterBesideReadersSyncsWhereItIsToldTo) {
  for (const bool sync : {true, false}) {
    TemporaryDirectory directory;
    std::vector<std::string> flags = {
        "--db=" + directory.File("db"), "--num=1000", "--memory_limit=16MiB", "--statistics", "--duration=0.1s",
        "--benchmarks=readwhilewriting"};
    if (sync) flags.emplace_back("--sync");
    // On a busy machine the writer may come late; other syncs than its own are few.
    const uint64_t enough = sync ? 1 : 100;
    Outcome outcome;
    do {
      outcome = RunDbBench(flags);
      ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
    } while (CountIn(outcome.out, "write.batches") < enough);
    EXPECT_EQ(CountIn(outcome.out, "log.syncs") >= CountIn(outcome.out, "write.batches"), sync) << outcome.out;
  }
}

TEST(DbBenchTest, AbsentKeysAreAskedForAndNotFound) {
  TemporaryDirectory directory;
  const std::string db = "--db=" + directory.File("db");
  ASSERT_EQ(RunDbBench({db, "--num=10", "--memory_limit=16MiB", "--benchmarks=fillseq"}).exit, kExitOk);
  const Outcome outcome = RunDbBench({db, "--num=1000", "--reads=200", "--memory_limit=16MiB", "--use_existing_db",
                                      "--json", "--benchmarks=multireadrandom,seekrandom,readrandom"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  for (const nlohmann::json& line : JsonLines(outcome.out)) EXPECT_LT(line.at("found"), line.at("asked")) << line;
}

TEST(DbBenchTest, ADamagedDatabaseEndsABenchmarkWithExitStatusThree) {
  TemporaryDirectory directory;
  const std::string path = directory.File("db");
  ASSERT_EQ(RunDbBench({"--db=" + path, "--num=3000", "--memory_limit=16MiB", "--benchmarks=fillseq,flush"}).exit,
            kExitOk);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (int at = 50; at < 100'000; at += 1000) {
      file.seekp(at);
      file << "damage";
    }
  }
  for (const char* benchmark : {"readrandom", "readseq", "readreverse", "seekrandom", "multireadrandom", "compact",
                                "readrandomwriterandom", "readhot"}) {
    const Outcome outcome = RunDbBench({"--db=" + path, "--num=3000", "--memory_limit=16MiB", "--use_existing_db",
                                        std::string("--benchmarks=") + benchmark});
    EXPECT_EQ(outcome.exit, kExitDamage) << benchmark << outcome.err;
    EXPECT_NE(outcome.err.find(benchmark), std::string::npos) << outcome.err;
  }
}

TEST(DbBenchTest, AResultOfNothingHasNoRates) {
  const nlohmann::json json = nlohmann::json::parse(FormatResultJson(BenchResult(), /*histogram=*/true));
  EXPECT_EQ(json.at("ops_per_second"), 0);
  EXPECT_EQ(json.at("micros_per_op"), 0);
  EXPECT_EQ(json.at("latency_micros").at("p99"), 0);
  EXPECT_EQ(json.at("latency_micros").at("mean"), 0);
  EXPECT_EQ(LatencyHistogram().MinimumNanos(), 0u);
  LatencyHistogram endless;
  endless.Add(UINT64_MAX);
  EXPECT_EQ(endless.PercentileNanos(50), static_cast<double>(UINT64_MAX));
  EXPECT_EQ(FilterSavings().ToString().find("filters saved 0 of 0 block reads"), 0u) << FilterSavings().ToString();
  BenchResult timeless;
  timeless.bytes = 100;
  EXPECT_NE(FormatResult(timeless).find("  0.0 MB/s"), std::string::npos) << FormatResult(timeless);
}

TEST(DbBenchTest, MistakesAreUsageErrorsAndTouchNothing) {
  TemporaryDirectory directory;
  const std::string path = directory.File("db");
  EXPECT_EQ(RunDbBench({"--db=" + path, "--benchmarks=fillsec"}).exit, kExitUsage);
  EXPECT_EQ(RunDbBench({"--db=" + path, "--compression_type=rle"}).exit, kExitUsage);
  EXPECT_EQ(RunDbBench({"--db=" + path, "--nun=5"}).exit, kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(DbBenchTest, AMissingDatabaseThatShouldExistIsAnError) {
  TemporaryDirectory directory;
  const Outcome outcome = RunDbBench(
      {"--db=" + directory.File("none"), "--use_existing_db", "--memory_limit=16MiB", "--benchmarks=readrandom"});
  EXPECT_EQ(outcome.exit, kExitError);
  EXPECT_NE(outcome.err.find("none"), std::string::npos) << outcome.err;
}

TEST(DbBenchTest, FlagsBecomeTheEnginesOptions) {
  DbBenchOptions flags;
  std::ostringstream out, err;
  const char* argv[] = {"db_bench",
                        "--cache_size=100MiB",
                        "--write_buffer_size=8MiB",
                        "--bloom_bits=0",
                        "--block_size=16KiB",
                        "--compression=zstd",
                        "--compaction_style=0",
                        "--rate_limiter_bytes_per_sec=3MiB",
                        "--max_space_amplification=1.5"};
  ASSERT_EQ(ParseDbBenchFlags(9, argv, &flags, out, err), std::nullopt) << err.str();
  const absl::StatusOr<Options> options = flags.EngineOptions();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->memory_limit, size_t{116} << 20);
  EXPECT_EQ(options->memtable_bytes, size_t{8} << 20);
  EXPECT_EQ(options->family.filter_policy, FilterPolicy::None());
  EXPECT_EQ(options->family.block_bytes, size_t{16} << 10);
  EXPECT_EQ(options->family.compression, CompressionKind::kZstd);
  EXPECT_EQ(options->family.compaction_style, CompactionStyle::kLeveled);
  EXPECT_EQ(options->background_bytes_per_second, uint64_t{3} << 20);
  EXPECT_EQ(options->family.max_space_amplification, 1.5);
}

TEST(DbBenchTest, ACacheSizeHasTwoWriteBuffersBesideIt) {
  DbBenchOptions flags;
  flags.cache_size = 8 << 20;
  const Options options = flags.EngineOptions().value();
  EXPECT_EQ(options.memtable_bytes, size_t{64} << 20);
  EXPECT_EQ(options.memory_limit, (size_t{8} << 20) + 2 * options.memtable_bytes);
  // Of a limit that is given they are derived.
  flags.memory_limit = 32 << 20;
  EXPECT_EQ(flags.EngineOptions().value().memtable_bytes, 0u);
}

TEST(DbBenchTest, CompactionStylesHaveNamesAndNumbers) {
  for (const auto& [text, style] :
       std::vector<std::pair<std::string, CompactionStyle>>{{"lazy", CompactionStyle::kLazyLeveling},
                                                            {"leveled", CompactionStyle::kLeveled},
                                                            {"0", CompactionStyle::kLeveled},
                                                            {"universal", CompactionStyle::kUniversal},
                                                            {"1", CompactionStyle::kUniversal}}) {
    DbBenchOptions flags;
    flags.compaction_style = text;
    flags.statistics = text == "1";
    EXPECT_EQ(flags.EngineOptions().value().family.compaction_style, style) << text;
    EXPECT_EQ(flags.EngineOptions().value().latency_histograms, text == "1");
  }
  DbBenchOptions unknown;
  unknown.compression_type = "rle";
  EXPECT_TRUE(absl::IsInvalidArgument(unknown.EngineOptions().status()));
}

}  // namespace
}  // namespace sepal::tools
