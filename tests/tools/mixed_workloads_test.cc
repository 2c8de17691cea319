// db_bench's keys, the benchmarks that mix reads and writes, and the flags that other engines' users know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sepal/db.h"
#include "tests/tools/temporary_directory.h"
#include "tools/db_bench/bench_thread.h"
#include "tools/db_bench/db_bench_runner.h"
#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

using ::testing::HasSubstr;

class MixedWorkloadsTest : public testing::Test {
 protected:
  Outcome Run(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"db_bench", "--db=" + path_, "--memory_limit=16MiB"});
    std::vector<const char*> argv;
    for (const std::string& flag : flags) argv.push_back(flag.c_str());
    std::ostringstream out, err;
    Outcome outcome;
    outcome.exit = DbBenchMain(static_cast<int>(argv.size()), argv.data(), out, err);
    outcome.out = out.str();
    outcome.err = err.str();
    return outcome;
  }
  std::map<std::string, nlohmann::json> Results(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
    std::map<std::string, nlohmann::json> results;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) {
      nlohmann::json result = nlohmann::json::parse(line);
      const std::string name = result.at("benchmark");
      results[name] = std::move(result);
    }
    return results;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("db");
};

TEST_F(MixedWorkloadsTest, NoBenchmarkRepeatsTheKeysOfAnother) {
  DbBenchOptions options;
  const auto keys = [&](const char* benchmark, uint64_t place, int thread) {
    BenchShared shared;
    shared.options = &options;
    shared.seed = SeedOf(options.seed, benchmark, place);
    BenchThread bench(&shared, thread, 0);
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 10; ++i) numbers.push_back(bench.RandomNumber());
    return numbers;
  };
  std::set<std::vector<uint64_t>> all;
  for (const char* benchmark : {"fillrandom", "readrandom"}) {
    for (const uint64_t place : {0, 1}) {
      for (const int thread : {0, 1}) all.insert(keys(benchmark, place, thread));
    }
  }
  EXPECT_EQ(all.size(), 8u);
  EXPECT_EQ(keys("readrandom", 1, 0), keys("readrandom", 1, 0));
}

// They were the same, in the same order: all were found.
TEST_F(MixedWorkloadsTest, ReadsDoNotFollowTheOrderOfTheWrites) {
  const auto results = Results(Run({"--num=20000", "--json", "--benchmarks=fillrandom,readrandom"}));
  const double share = results.at("readrandom").at("found").get<double>() / 20000;
  EXPECT_NEAR(share, 1 - std::exp(-1), 0.02);
}

TEST_F(MixedWorkloadsTest, EveryBenchmarkRunsWithSeveralThreadsAndFamilies) {
  const auto results = Results(Run(
      {"--num=3000", "--reads=300", "--writes=200", "--threads=2", "--num_column_families=3", "--json",
       "--benchmarks=fill100K,filluniquerandom,multireadwhilewriting,seekrandomwhilewriting,readwhilewriting,"
       "readrandomwriterandom,updaterandom,mixgraph,seekordered,prefixscanrandom,multireadrandom,readseq,ycsba,ycsbb,"
       "ycsbc,ycsbd,ycsbe,ycsbf,verifychecksum,compactall"}));
  EXPECT_EQ(results.size(), 20u);
  for (const auto& [name, result] : results) {
    const bool once = name == "verifychecksum" || name == "compactall";
    EXPECT_GT(result.at("operations"), once ? 0 : 5) << name;
    if (name.ends_with("whilewriting")) {
      EXPECT_TRUE(result.contains("writes_per_second")) << name;
    }
  }
  for (const char* name : {"readwhilewriting", "multireadwhilewriting", "seekrandomwhilewriting", "prefixscanrandom",
                           "ycsbc", "updaterandom", "seekordered"}) {
    // All keys are there; seeks find them in the family of their number.
    if (std::string_view(name) == "seekordered") continue;
    EXPECT_EQ(results.at(name).at("found"), results.at(name).at("asked")) << name;
  }
  const std::unique_ptr<DB> db = DB::Open({}, path_).value();
  EXPECT_THAT(db->ColumnFamilyNames(), testing::ElementsAre("default", "family1", "family2"));
  uint64_t entries = 0;
  for (const std::string& name : db->ColumnFamilyNames()) {
    const auto family = db->FindColumnFamily(name).value();
    const auto it = db->NewIterator(*family);
    uint64_t here = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++here;
    EXPECT_GE(here, 1000u);
    entries += here;
  }
  EXPECT_GT(entries, 3000u);  // ycsbd and ycsbe have inserted
}

TEST_F(MixedWorkloadsTest, APrefixIsScannedWhole) {
  const auto results = Results(Run({"--num=1000", "--reads=50", "--prefix_size=15", "--value_size=84", "--json",
                                    "--benchmarks=fillseq,prefixscanrandom"}));
  EXPECT_EQ(results.at("prefixscanrandom").at("bytes"), 50 * 10 * 100);
  EXPECT_EQ(Run({"--prefix_size=17", "--benchmarks=prefixscanrandom"}).exit, kExitUsage);
}

TEST_F(MixedWorkloadsTest, WritersKeepToTheirRates) {
  const auto by_count =
      Results(Run({"--num=100", "--threads=2", "--writes_per_second=1000", "--json", "--benchmarks=fillrandom"}));
  EXPECT_GE(by_count.at("fillrandom").at("seconds"), 0.19);
  const auto by_bytes = Results(
      Run({"--num=100", "--value_size=84", "--benchmark_write_rate_limit=100k", "--json", "--benchmarks=fillseq"}));
  EXPECT_GE(by_bytes.at("fillseq").at("seconds"), 0.09);
  const Outcome beside =
      Run({"--num=1000", "--duration=0.2s", "--writes_per_second=100", "--benchmarks=readwhilewriting"});
  EXPECT_THAT(beside.out, HasSubstr(" beside ")) << beside.err;
}

TEST_F(MixedWorkloadsTest, LogsLieWhereWalDirSays) {
  const std::string logs = directory_.File("logs");
  ASSERT_EQ(Run({"--num=100", "--wal_dir=" + logs, "--benchmarks=fillseq"}).exit, kExitOk);
  EXPECT_FALSE(std::filesystem::is_empty(logs));
  EXPECT_TRUE(DB::Open({.log_directory = logs}, path_).ok());
}

TEST_F(MixedWorkloadsTest, FlagsOfOtherEnginesAreUnderstoodOrRefusedInWords) {
  for (const auto& [compression, codec] :
       std::map<std::string, std::string>{{"0", "none"}, {"1", "snappy"}, {"zstd", "zstd"}}) {
    const Outcome outcome = Run({"--num=0.1k", "--compression=" + compression, "--benchmarks=fillseq"});
    EXPECT_THAT(outcome.out, HasSubstr("Compression: " + codec + "\n")) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Entries:     100\n"));
  }
  EXPECT_EQ(Run({"--num=1e2", "--reads=-1", "--write_buffer_size=1.5MiB", "--benchmarks=fillseq"}).exit, kExitOk);
  const auto refused = [&](const char* flag, const char* words) {
    const Outcome outcome = Run({flag, "--benchmarks=fillseq"});
    EXPECT_EQ(outcome.exit, kExitUsage) << flag;
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  refused("--num=1Q", "is not a whole number: write 1000, 10k, 1.5M or 1e6");
  refused("--num=0", "0 is too small: at least 1");
  refused("--reads=-2", "is not a whole number");
  refused("--threads=2k", "2k is too large: at most 1024");
  refused("--cache_size=1X", "is not a size");
  refused("--mix_get_ratio=0.5", "must add up to 1");
  const Outcome compact = Run({"--benchmarks=compact1"});
  EXPECT_EQ(compact.exit, kExitUsage);
  EXPECT_THAT(compact.err, HasSubstr("does not compact single levels"));
}

TEST_F(MixedWorkloadsTest, Compact0LeavesNothingInLevel0AndDoesNothingWhereNothingIs) {
  const Outcome outcome = Run({"--num=1k", "--benchmarks=fillrandom,flush,compact0,levelstats,compact0"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("compact0"));
  const std::unique_ptr<DB> db = DB::Open({.read_only = true}, path_).value();
  EXPECT_EQ(db->GetProperty("sepal.num-files-at-level0").value_or(""), "0");
  EXPECT_EQ(db->GetProperty("sepal.num-runs").value_or(""), "1");
}

TEST_F(MixedWorkloadsTest, RangesAreDeletedBesidePutsAndByThemselves) {
  const Outcome fill = Run({"--benchmarks=fillseq", "--num=1000", "--writes_per_range_tombstone=100",
                            "--range_tombstone_width=20", "--max_num_range_tombstones=3", "--json"});
  EXPECT_EQ(Results(fill).at("fillseq").at("operations"), 1000);
  const auto left = [&] {
    const std::unique_ptr<DB> db = DB::Open(Options(), path_).value();
    const std::unique_ptr<Iterator> it = db->NewIterator();
    int count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    EXPECT_TRUE(it->status().ok());
    return count;
  };
  const int beside = left();
  EXPECT_LT(beside, 1000);
  EXPECT_GE(beside, 940);
  const Outcome ranges =
      Run({"--benchmarks=deleterangerandom", "--use_existing_db", "--num=1000", "--writes=50", "--json"});
  EXPECT_EQ(Results(ranges).at("deleterangerandom").at("operations"), 50);
  EXPECT_LT(left(), beside / 2);
  const Outcome expanded = Run({"--benchmarks=fillseq", "--num=1000", "--writes_per_range_tombstone=100",
                                "--expand_range_tombstones", "--ttl_seconds=3600", "--json"});
  EXPECT_EQ(Results(expanded).at("fillseq").at("operations"), 1000);
  EXPECT_LT(left(), 1000);
}

TEST_F(MixedWorkloadsTest, TransactionsOfEachKindCommitFromSeveralThreads) {
  const std::vector<std::vector<std::string>> kinds = {
      {}, {"--transaction_db"}, {"--transaction_serializable"}, {"--transaction_sets=5", "--threads=3"}};
  for (const std::vector<std::string>& flags : kinds) {
    std::vector<std::string> all = {"--benchmarks=fillseq,randomtransaction", "--num=500", "--writes=400", "--json"};
    all.insert(all.end(), flags.begin(), flags.end());
    const auto results = Results(Run(all));
    EXPECT_GE(results.at("randomtransaction").at("operations"), 400);
  }
}

}  // namespace
}  // namespace sepal::tools
