#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/tools/temporary_directory.h"
#include "tools/lib/cli.h"
#include "tools/lib/db_bench_runner.h"
#include "tools/lib/db_bench_workloads.h"

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

TEST(DbBenchTest, ItSpeaksUnderTheNameThatItWasCalledBy) {
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

TEST(DbBenchTest, DurationEndsABenchmark) {
  TemporaryDirectory directory;
  const Outcome outcome = RunDbBench({"--db=" + directory.File("db"), "--num=100", "--memory_limit=16MiB", "--json",
                                      "--duration=0.05s", "--benchmarks=fillrandom"});
  ASSERT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_GE(JsonLines(outcome.out).at(0).at("seconds"), 0.05);
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

TEST(DbBenchTest, LanesMayBeOfFingerprints) {
  DbBenchOptions flags;
  std::ostringstream out, err;
  const char* argv[] = {"db_bench", "--bloom_bits=21", "--lanes=fingerprint"};
  ASSERT_EQ(ParseDbBenchFlags(3, argv, &flags, out, err), std::nullopt) << err.str();
  const absl::StatusOr<Options> options = flags.EngineOptions();
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->family.filter_policy.lane_kind, FilterKind::kFingerprint);
  EXPECT_NEAR(options->family.filter_policy.lane_bits_per_key, 12.9, 0.1);
}

}  // namespace
}  // namespace sepal::tools
