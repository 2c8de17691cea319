// The comparison with other engines, as a program (its path is COMPARE) and in parts. What is measured is not judged,
// only what must hold of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_format.h"
#include "bench/compare/child_process.h"
#include "bench/compare/recovery.h"
#include "bench/compare/report.h"
#include "tests/child_exit.h"
#include "tests/tools/temporary_directory.h"
#include "util/base/check.h"
#include "util/thread/sync.h"

namespace sepal::compare {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;

constexpr uint64_t kEntries = 20'000;
constexpr uint64_t kEntryBytes = 16 + 100;

struct Comparison {
  std::string out;
  std::vector<Measurement> measurements = {};
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Comparison Compare(uint64_t entries, const std::string& flags) {
  tools::TemporaryDirectory directory;
  const std::string command = std::string(COMPARE) + " --rounds=1 --num=" + std::to_string(entries) +
                              " --memory=64M --memtable=1M --dir=" + directory.File("databases") +
                              " --json=" + directory.File("json") + " " + flags + " > " + directory.File("out") +
                              " 2> " + directory.File("err");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << ReadAll(directory.File("err"));
  Comparison comparison{.out = ReadAll(directory.File("out"))};
  const nlohmann::json json = nlohmann::json::parse(ReadAll(directory.File("json")), nullptr, false);
  if (!json.is_discarded()) json.at("measurements").get_to(comparison.measurements);
  return comparison;
}

// Those that are asked where values lie beside their keys.
std::vector<EngineEntry> UsualEngines() {
  std::vector<EngineEntry> usual;
  for (const EngineEntry& engine : AllEngines()) {
    if (!engine.for_separated) usual.push_back(engine);
  }
  return usual;
}

const EngineEntry* FindEngine(const std::string& name) {
  for (const EngineEntry& engine : AllEngines()) {
    if (engine.name == name) return &engine;
  }
  return nullptr;
}

bool HasTables(const Measurement& m) { return m.engine != "lmdb" && m.engine != "null"; }
bool CountsLog(const Measurement& m) { return m.engine == "sepal" || m.engine == "rocksdb"; }

CompareOptions OptionsForReport() {
  CompareOptions options;
  options.threads = {1};
  options.engines = {*FindEngine("sepal"), *FindEngine("null")};
  return options;
}

Measurement Overwrite(const std::string& engine) {
  Measurement m;
  m.engine = engine;
  m.workload = "overwrite";
  m.threads = 1;
  m.operations = 900;
  m.seconds = 3;
  m.debt_seconds = 1;
  m.memory_limit_bytes = 64 << 20;
  m.peak_resident_bytes = 80 << 20;
  m.user_bytes = 10 << 20;
  return m;
}

// Ends after a while even where nobody kills it, and then says so in the pipe.
[[noreturn]] void WaitToBeKilled(int pipe_end) {
  sleep(20);
  SEPAL_CHECK(write(pipe_end, "outlived", 8) == 8);
  ExitChild(0);
}

TEST(ChildProcessTest, AKilledParentTakesItsChildrenAndTheirsWithIt) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = ForkBoundChild();
  if (child == 0) {
    if (ForkBoundChild() == 0 && ForkBoundChild() == 0) SEPAL_CHECK(write(pipe_ends[1], "a", 1) == 1);
    WaitToBeKilled(pipe_ends[1]);
  }
  close(pipe_ends[1]);
  char byte = 0;
  ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0) << "the pipe closes when the last of them is gone";
  close(pipe_ends[0]);
}

TEST(SecondRatesTest, EachSecondCountsTheOperationsThatEndedInIt) {
  SecondRates rates(3);
  rates.Add(0);
  rates.Add(999'999'999);
  rates.Add(2'000'000'000);
  rates.Add(3'000'000'000);
  EXPECT_EQ(rates.counts(), (std::vector<uint64_t>{2, 0, 1}));
  SecondRates other(3);
  other.Add(1'500'000'000);
  rates.Merge(other);
  EXPECT_EQ(rates.counts(), (std::vector<uint64_t>{2, 1, 1}));
}

TEST(SecondRatesTest, TheVariationIsTheDeviationOverTheMean) {
  EXPECT_DOUBLE_EQ(CoefficientOfVariation({5, 5, 5}), 0);
  EXPECT_DOUBLE_EQ(CoefficientOfVariation({2, 4, 4, 4, 5, 5, 7, 9}), 0.4);
  EXPECT_EQ(CoefficientOfVariation({}), 0);
  EXPECT_EQ(CoefficientOfVariation({0, 0}), 0);
}

TEST(CompareReportTest, RatiosAreOfWhatWasCountedAndDashesStandForTheRest) {
  Measurement sepal = Overwrite("sepal");
  sepal.table_bytes_written = 25 << 20;
  sepal.log_bytes_written = 11 << 20;
  sepal.runs = 3;
  const std::string text = FormatTables({sepal, Overwrite("null")}, OptionsForReport());
  EXPECT_THAT(text, HasSubstr("peak MiB  peak / limit\n"));
  EXPECT_THAT(text, ContainsRegex("overwrite +sepal .* 80 +1\\.25\n"));
  EXPECT_THAT(text, ContainsRegex("overwrite +sepal +10 +25 +2\\.50 +11 +1\\.10 +3 +1\\.00\n"));
  EXPECT_THAT(text, ContainsRegex("overwrite +null +10 +- +- +- +- +- +1\\.00\n"));
  EXPECT_THAT(text, Not(HasSubstr("--duration")));
  EXPECT_THAT(text, Not(HasSubstr("log replayed")));
}

TEST(CompareReportTest, SecondsAreShownWithTheRateWithoutTheDebtAndTheLongestPut) {
  Measurement sepal = Overwrite("sepal");
  sepal.operations_of_seconds = {300, 600};
  sepal.least_of_seconds = 300;
  sepal.variation_of_seconds = 1.0 / 3;
  sepal.max_micros = 12'345;
  sepal.peak_space_bytes = 7 << 20;
  EXPECT_THAT(FormatTables({sepal}, OptionsForReport()),
              ContainsRegex("overwrite +sepal +300 +450 +300 +0\\.333 +12\\.3[45] +1\\.00 +7\n"));
}

TEST(CompareReportTest, MediansOfRounds) {
  std::vector<Measurement> rounds(3, Overwrite("sepal"));
  for (uint64_t i = 0; i < 3; ++i) {
    rounds[i].operations = 100 * (i + 1);
    rounds[i].table_bytes_written = 7 * (i + 1);
    rounds[i].runs = 3 - i;
    rounds[i].peak_resident_bytes = 5 * (i + 1);
    rounds[i].operations_of_seconds = {i};
    rounds[i].least_of_seconds = i;
    rounds[i].debt_seconds = static_cast<double>(i);
  }
  const std::vector<Measurement> medians = Medians(rounds);
  ASSERT_EQ(medians.size(), 1u);
  EXPECT_EQ(medians[0].operations, 200u);
  EXPECT_EQ(medians[0].table_bytes_written, 14u);
  EXPECT_EQ(medians[0].log_bytes_written, std::nullopt);
  EXPECT_EQ(medians[0].runs, 2u);
  EXPECT_EQ(medians[0].peak_resident_bytes, 10u);
  EXPECT_TRUE(medians[0].operations_of_seconds.empty());
  EXPECT_EQ(medians[0].least_of_seconds, 1u);
  EXPECT_EQ(medians[0].debt_seconds, 1);
}

// Paths of all files below `directory`.
std::vector<std::string> FilesBelow(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_directory()) files.push_back(std::filesystem::relative(entry.path(), directory));
  }
  return files;
}

size_t EntriesOf(const std::string& directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

// Where nobody says it, databases go below `temporary`.
int ExitOf(const std::string& temporary, const std::string& flags) {
  const std::string command = "TMPDIR=" + temporary + " " + COMPARE + " --num=1000 --rounds=1 --threads=1 " + flags +
                              " > /dev/null 2> /dev/null";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(CompareTest, WhatLiesInItsDirectoryStaysAndNothingIsAdded) {
  tools::TemporaryDirectory directory;
  const std::vector<std::string> mine = {"sepal/mine", "settings-sepal/mine", "sepal-compare/sepal/mine"};
  for (const std::string& file : mine) {
    std::filesystem::create_directories(std::filesystem::path(directory.File(file)).parent_path());
    std::ofstream(directory.File(file)) << "mine";
  }
  const std::string flags = "--engines=sepal --workloads=fillseq";
  EXPECT_EQ(ExitOf(directory.path(), flags), 0);
  EXPECT_EQ(ExitOf("/nowhere", flags + " --dir=" + directory.path()), 0);
  EXPECT_THAT(FilesBelow(directory.path()), UnorderedElementsAreArray(mine));
  EXPECT_EQ(EntriesOf(directory.path()), mine.size());
}

TEST(CompareTest, AnEngineWithoutFilesHasNothingToDropFromThePageCache) {
  tools::TemporaryDirectory directory;
  EXPECT_EQ(ExitOf(directory.path(), "--engines=null --workloads=filluniquerandom,coldreadrandom"), 0);
}

TEST(CompareTest, AComparisonThatFailsLeavesNothing) {
  tools::TemporaryDirectory directory;
  EXPECT_EQ(ExitOf(directory.path(), "--engines=sepal --workloads=fillseq --memory=1"), 1);
  EXPECT_EQ(ExitOf(directory.path(), "--engines=null --workloads=fillseq --json=/nowhere/json"), 1);
  EXPECT_EQ(EntriesOf(directory.path()), 0u);
}

TEST(CompareTest, AnInterruptedComparisonLeavesNothing) {
  tools::TemporaryDirectory directory;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // A group of its own, all of which gets what is sent to a terminal's.
    setpgid(0, 0);
    const std::string dir = "--dir=" + directory.path();
    execl(COMPARE, COMPARE, "--engines=sepal", "--workloads=fillseq", "--num=1000000000", dir.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (EntriesOf(directory.path()) > 0) kill(-child, SIGINT);
    usleep(10'000);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  EXPECT_EQ(EntriesOf(directory.path()), 0u);
}

// The line in which the comparison tells how it has set up an engine.
std::string SettingsOf(const std::string& engine, const std::string& out) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(engine) && line.find(": ") < line.find(',')) return line;
  }
  return "";
}

TEST(CompareTest, EnginesTellTheFilterBitsAndTheCompressionThatTheyHave) {
  if (FindEngine("rocksdb") == nullptr || FindEngine("leveldb") == nullptr) GTEST_SKIP() << "not installed";
  const Comparison some = Compare(
      1000, "--threads=1 --engines=sepal,rocksdb,leveldb --workloads=fillseq --bloom_bits=4.6 --no_compression");
  const Comparison none = Compare(1000, "--threads=1 --engines=rocksdb,leveldb --workloads=fillseq --bloom_bits=0");
  // LevelDB has whole bits alone.
  for (const auto& [name, bits] : {std::pair{"sepal", "4.6"}, {"rocksdb", "4.6"}, {"leveldb", "5"}}) {
    EXPECT_THAT(SettingsOf(name, some.out), AllOf(HasSubstr(std::string(" ") + bits + " bits a key"),
                                                  HasSubstr("no compression"), Not(HasSubstr("Snappy"))));
  }
  for (const char* name : {"rocksdb", "leveldb"}) {
    EXPECT_THAT(SettingsOf(name, none.out), AllOf(HasSubstr("no filter, Snappy"), Not(HasSubstr("bits a key"))));
  }
}

[[noreturn]] void OpenAndExit(const EngineEntry& engine, const std::string& path) {
  engine.open({.path = path, .memory_bytes = 8 << 20, .memtable_bytes = 1 << 20});
  ExitChild(0);
}

TEST(CompareTest, RocksDbCompactsOnAllCores) {
  const EngineEntry* rocksdb = FindEngine("rocksdb");
  if (rocksdb == nullptr) GTEST_SKIP() << "not installed";
  tools::TemporaryDirectory directory;
  const std::string path = directory.File("db");
  EXPECT_EXIT(OpenAndExit(*rocksdb, path), ::testing::ExitedWithCode(0), "");
  // Its own file says what it has.
  std::string own;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().filename().string().starts_with("OPTIONS-")) own = ReadAll(entry.path());
  }
  const int cores = Thread::HardwareConcurrency();
  EXPECT_THAT(own, HasSubstr(absl::StrFormat("max_background_jobs=%d\n", 2 * cores)));
  EXPECT_THAT(own, HasSubstr(absl::StrFormat("max_subcompactions=%d\n", cores)));
  EXPECT_THAT(SettingsOf("rocksdb", Compare(1000, "--threads=1 --engines=rocksdb --workloads=fillseq").out),
              HasSubstr(absl::StrFormat("max_background_jobs %d, max_subcompactions %d", 2 * cores, cores)));
}

TEST(CompareTest, AnOutputThatCannotBeWrittenIsAnError) {
  tools::TemporaryDirectory directory;
  const int status = std::system((std::string(COMPARE) + " --rounds=1 --num=100 --engines=sepal --workloads=fillseq" +
                                  " --dir=" + directory.path() + " >/dev/full 2>/dev/null")
                                     .c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
}

TEST(CompareTest, AnOverwriteGoesOnForItsDurationAndFillsAreUnchanged) {
  const Comparison comparison = Compare(kEntries, "--threads=2 --duration=1 --workloads=fillrandom,overwrite");
  EXPECT_THAT(comparison.out, HasSubstr("overwrite for 1 s, each put timed"));
  EXPECT_THAT(comparison.out, HasSubstr("longest put ms"));
  size_t overwrites = 0;
  for (const Measurement& m : comparison.measurements) {
    SCOPED_TRACE(m.engine + " " + m.workload);
    if (m.workload == "fillrandom") {
      EXPECT_EQ(m.operations, kEntries);
      EXPECT_EQ(m.least_of_seconds, std::nullopt);
      continue;
    }
    ++overwrites;
    const std::vector<uint64_t>& each = m.operations_of_seconds;
    ASSERT_EQ(each.size(), 1u);
    // At most the last put of each thread ended too late.
    EXPECT_LE(each[0], m.operations);
    EXPECT_GE(each[0] + 2, m.operations);
    EXPECT_EQ(m.least_of_seconds, each[0]);
    EXPECT_GE(m.seconds - m.debt_seconds, 1);
    EXPECT_GE(m.debt_seconds, 0);
    EXPECT_GT(m.max_micros, 0);
  }
  EXPECT_EQ(overwrites, UsualEngines().size());
}

TEST(CompareTest, AFillTellsWhatWasWrittenAndWhatIsLeft) {
  // LevelDB counts in whole MiB for each level.
  constexpr uint64_t kMany = 100'000;
  const Comparison comparison = Compare(kMany, "--threads=1 --workloads=fillrandom,fillbatch,readrandom,deleterandom");
  EXPECT_EQ(comparison.measurements.size(), 4 * UsualEngines().size());
  for (const Measurement& m : comparison.measurements) {
    SCOPED_TRACE(m.engine + " " + m.workload);
    EXPECT_EQ(m.memory_limit_bytes, uint64_t{64} << 20);
    EXPECT_GE(m.peak_resident_bytes, m.resident_bytes);
    if (m.workload == "readrandom") {
      EXPECT_EQ(m.user_bytes, std::nullopt);
      EXPECT_EQ(m.table_bytes_written, std::nullopt);
      EXPECT_EQ(m.runs, std::nullopt);
      continue;
    }
    EXPECT_EQ(m.user_bytes, m.workload == "deleterandom" ? kMany / 2 * 16 : kMany * kEntryBytes);
    EXPECT_EQ(m.table_bytes_written.has_value(), HasTables(m));
    EXPECT_EQ(m.runs.has_value(), HasTables(m));
    EXPECT_EQ(m.log_bytes_written.has_value(), CountsLog(m));
    if (CountsLog(m)) {
      EXPECT_GT(*m.log_bytes_written, *m.user_bytes);
    }
    if (m.workload == "deleterandom" || !HasTables(m)) continue;
    EXPECT_GE(*m.runs, 1u);
    // Values compress to half.
    EXPECT_GT(*m.table_bytes_written, *m.user_bytes / 4);
    EXPECT_LT(*m.table_bytes_written, *m.user_bytes * 20);
  }
}

TEST(CompareTest, WhereValuesLieApartEnginesThatCanAreAskedBothWays) {
  const Comparison comparison =
      Compare(kEntries, "--threads=1 --separate_from=64 --workloads=fillrandom,incrementrandom,deleterangemix");
  EXPECT_EQ(comparison.measurements.size(), 3 * AllEngines().size());
  for (const Measurement& m : comparison.measurements) {
    SCOPED_TRACE(m.engine + " " + m.workload);
    EXPECT_EQ(m.operations, kEntries);
    if (m.engine != "sepal" || m.workload != "fillrandom") continue;
    // What goes to value files counts as written to tables; values of 100 bytes compress to half.
    EXPECT_GE(*m.table_bytes_written, kEntries * 50);
  }
  EXPECT_THAT(comparison.out, HasSubstr("value files"));
}

TEST(CompareTest, YcsbRunsOnWhatItHasLoadedWithEveryEngine) {
  const std::vector<std::string> workloads = {"ycsba", "ycsbb", "ycsbc", "ycsbd", "ycsbe", "ycsbf", "ycsbsettle"};
  const Comparison comparison =
      Compare(kEntries, "--threads=1,2 --workloads=ycsba,ycsbb,ycsbc,ycsbd,ycsbe,ycsbf,ycsbsettle");
  for (const EngineEntry& engine : UsualEngines()) {
    for (const int threads : {1, 2}) {
      std::vector<std::string> measured;
      for (const Measurement& m : comparison.measurements) {
        if (m.engine != engine.name || (m.threads != threads && m.workload != "ycsbsettle")) continue;
        if (std::find(measured.begin(), measured.end(), m.workload) == measured.end()) measured.push_back(m.workload);
        EXPECT_EQ(m.operations, m.workload == "ycsbe" ? kEntries / 8 : kEntries) << engine.name << " " << m.workload;
      }
      EXPECT_THAT(measured, UnorderedElementsAreArray(workloads)) << engine.name;
    }
  }
}

TEST(CompareTest, YcsbReadsDirectlyWhereItIsToldTo) {
  const Comparison comparison = Compare(kEntries, "--threads=1 --direct_reads --workloads=ycsbc");
  for (const EngineEntry& engine : UsualEngines()) {
    const auto is_its_own = [&](const Measurement& m) { return m.engine == engine.name; };
    EXPECT_EQ(std::count_if(comparison.measurements.begin(), comparison.measurements.end(), is_its_own),
              engine.has_direct_reads ? 1 : 0)
        << engine.name;
  }
}

TEST(CompareTest, ARecoveryReplaysTheWholeLog) {
  const Comparison comparison = Compare(kEntries, "--threads=1 --workloads=recovery");
  EXPECT_THAT(comparison.out, HasSubstr("log replayed"));
  EXPECT_GE(comparison.measurements.size(), 1u);
  for (const Measurement& m : comparison.measurements) {
    SCOPED_TRACE(m.engine);
    ASSERT_TRUE(m.replayed_log_bytes.has_value());
    EXPECT_GT(*m.replayed_log_bytes, kEntries * kEntryBytes);
    EXPECT_LT(*m.replayed_log_bytes, kEntries * kEntryBytes * 3 / 2);
    EXPECT_GT(m.peak_resident_bytes, 0u);
    EXPECT_GT(m.memory_limit_bytes, kEntries * kEntryBytes);
  }
}

// Fills more than one memtable, less than two, and exits with the number of runs then.
[[noreturn]] void FillLevelDb(const EngineEntry& leveldb, bool keep_in_log, const std::string& path) {
  constexpr size_t kMemtable = 64 << 10;
  std::unique_ptr<Engine> engine =
      leveldb.open({.path = path, .memory_bytes = 1 << 20, .memtable_bytes = kMemtable, .keep_in_log = keep_in_log});
  std::unique_ptr<Session> session = engine->NewSession();
  for (int i = 0; i < 30; ++i) session->Put(std::to_string(i), std::string(3000, 'v'), false);
  if (!keep_in_log) engine->FinishBackgroundWork();
  ExitChild(static_cast<int>(engine->Counters().runs.value()));
}

TEST(CompareTest, LevelDbKeepsAFullMemtableInTheLogWhereItIsToldTo) {
  const EngineEntry* leveldb = FindEngine("leveldb");
  if (leveldb == nullptr) GTEST_SKIP() << "not installed";
  tools::TemporaryDirectory directory;
  EXPECT_EXIT(FillLevelDb(*leveldb, true, directory.File("kept")), ::testing::ExitedWithCode(0), "");
  const auto with_runs = [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) > 0; };
  EXPECT_EXIT(FillLevelDb(*leveldb, false, directory.File("flushed")), with_runs, "");
}

TEST(CompareTest, LevelDbTakesALargeMemtableForALargeOne) {
  const EngineEntry* leveldb = FindEngine("leveldb");
  if (leveldb == nullptr) GTEST_SKIP() << "not installed";
  tools::TemporaryDirectory directory;
  const std::string path = directory.File("db");
  const std::unique_ptr<Engine> engine =
      leveldb->open({.path = path, .memory_bytes = 1 << 20, .memtable_bytes = size_t{3} << 30});
  const std::unique_ptr<Session> session = engine->NewSession();
  for (int i = 0; i < 100; ++i) session->Put(std::to_string(i), std::string(3000, 'v'), false);
  // A full memtable would have begun another log.
  uintmax_t largest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".log") largest = std::max(largest, entry.file_size());
  }
  EXPECT_GT(largest, 300'000u);
}

TEST(CompareTest, AnEngineWhoseMemtablesAreTooSmallHasNoRecovery) {
  EngineEntry small = *FindEngine("sepal");
  small.most_memtable_bytes = kEntries * kEntryBytes;
  CompareOptions options;
  options.entries = kEntries;
  testing::internal::CaptureStderr();
  MeasureRecovery(small, options, {.path = "/nowhere", .entry_bytes = kEntryBytes},
                  [](const Measurement&) { ADD_FAILURE(); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "note: recovery without sepal, whose memtables cannot hold 20000 entries\n");
}

}  // namespace
}  // namespace sepal::compare
