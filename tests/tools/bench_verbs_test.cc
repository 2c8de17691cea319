// sepal bench run and compare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class BenchVerbsTest : public SepalCommandTest {
 protected:
  // A recording with the rates of some benchmarks.
  std::string Recording(const std::string& name, const std::vector<std::pair<std::string, double>>& rates,
                        int entries = 1000) {
    const std::string path = directory_.File(name + ".jsonl");
    std::ofstream file(path);
    file << nlohmann::json({{"environment", {{"entries", entries}}}}).dump() << "\n";
    for (const auto& [benchmark, rate] : rates) {
      file << nlohmann::json({{"result", {{"benchmark", benchmark}, {"ops_per_second", rate}}}}).dump() << "\n";
    }
    return path;
  }
};

TEST_F(BenchVerbsTest, RunMeasuresAndRecords) {
  const std::string recording = directory_.File("now.jsonl");
  const Outcome text = RunSepal({"bench", "run", db_, "--num=500", "--benchmarks", "fillseq,readrandom"});
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_TRUE(Has(text.out, "readrandom   :") && Has(text.out, "(500 of 500 found)")) << text.out;
  const Outcome json = RunSepal({"bench", "run", db_, "--num=500", "--benchmarks=fillseq,readrandom", "--yes", "--json",
                                 "--report_file=" + recording});
  EXPECT_EQ(json.exit, kExitOk) << json.err;
  EXPECT_TRUE(Has(json.out, "\"benchmark\":\"fillseq\"")) << json.out;
  EXPECT_EQ(LastJson(json.out).at("report_file"), recording);
  // Both what was recorded and what was printed can be compared.
  const std::string printed = directory_.File("printed.jsonl");
  std::ofstream(printed) << json.out;
  const Outcome compared = RunSepal({"bench", "compare", recording, printed, "--fail-below", "0.999", "--json"});
  EXPECT_EQ(compared.exit, kExitOk) << compared.err;
  EXPECT_EQ(LastJson(compared.out).at("benchmarks").size(), 2u);
}

TEST_F(BenchVerbsTest, TheDirectoryMayStandBehindTheBenchmarks) {
  const Outcome outcome = RunSepal({"bench", "run", "--benchmarks", "fillseq,readseq", db_, "--num=100"});
  EXPECT_EQ(outcome.exit, kExitOk) << outcome.err;
}

TEST_F(BenchVerbsTest, RunDoesNotReplaceADatabaseUnasked) {
  MakeDatabase();
  const Outcome refused = RunSepal({"bench", "run", db_, "--num=10", "--benchmarks=fillseq"});
  EXPECT_EQ(refused.exit, kExitUsage);
  EXPECT_TRUE(Has(refused.err, "--yes")) << refused.err;
  EXPECT_EQ(RunSepal({"db", "scan", db_, "--count"}).out, "1001\n");
  EXPECT_EQ(RunSepal({"bench", "run", db_, "--num=10", "--benchmarks=readseq", "--use_existing_db"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "scan", db_, "--count"}).out, "1001\n");
}

TEST_F(BenchVerbsTest, RunNamesWhatItDoesNotKnow) {
  const Outcome nowhere = RunSepal({"bench", "run", "--num=10"});
  EXPECT_EQ(nowhere.exit, kExitUsage);
  EXPECT_TRUE(Has(nowhere.err, "DIR is required")) << nowhere.err;
  const Outcome unknown = RunSepal({"bench", "run", db_, "--benchmarks=fillsec"});
  EXPECT_EQ(unknown.exit, kExitUsage);
  EXPECT_TRUE(Has(unknown.err, "unknown benchmark fillsec; known: fillseq")) << unknown.err;
  EXPECT_EQ(RunSepal({"bench", "run", db_, "--compression_type=rle"}).exit, kExitUsage);
  EXPECT_FALSE(std::filesystem::exists(db_));
}

TEST_F(BenchVerbsTest, CompareTellsRatiosOfMedians) {
  const std::string before =
      Recording("before", {{"fillseq", 1000}, {"fillseq", 3000}, {"fillseq", 2000}, {"readseq", 1234567}});
  const std::string after = Recording("after", {{"fillseq", 1000}, {"readseq", 2469134}, {"readrandom", 5}});
  const Outcome text = RunSepal({"bench", "compare", before, after});
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_EQ(text.out,
            "operations a second                before            after   ratio\n"
            "fillseq                             2,000            1,000   0.500\n"
            "readseq                         1,234,567        2,469,134   2.000\n"
            "readrandom                              -                5       -\n");
  const nlohmann::json json = LastJson(RunSepal({"bench", "compare", before, after, "--json"}).out);
  EXPECT_EQ(json.at("benchmarks").at(0).at("recordings").at(1).at("ratio"), 0.5);
  EXPECT_EQ(json.at("benchmarks").at(0).at("recordings").at(0).at("results"), 3);
  EXPECT_TRUE(json.at("benchmarks").at(2).at("recordings").at(0).is_null());
}

TEST_F(BenchVerbsTest, CompareFailsBelowABoundAndWhereABenchmarkIsMissing) {
  const std::string before = Recording("before", {{"fillseq", 1000}, {"readseq", 1000}});
  const std::string after = Recording("after", {{"fillseq", 900}, {"readseq", 1100}});
  EXPECT_EQ(RunSepal({"bench", "compare", before, after, "--fail-below", "0.9"}).exit, kExitOk);
  const Outcome low = RunSepal({"bench", "compare", before, after, "--fail-below", "0.95", "--json"});
  EXPECT_EQ(low.exit, kExitError);
  EXPECT_TRUE(Has(low.err, "fillseq: after has 0.900 of the rate of before")) << low.err;
  EXPECT_FALSE(LastJson(low.out).at("ok"));
  EXPECT_EQ(LastJson(low.out).at("code"), "FAILED_PRECONDITION");
  EXPECT_EQ(LastJson(low.out).at("exit_code"), kExitError);
  EXPECT_TRUE(Has(LastJson(low.out).at("error"), "fillseq: after has 0.900")) << low.out;
  EXPECT_EQ(LastJson(low.out).at("failures").size(), 1u);
  const Outcome missing = RunSepal({"bench", "compare", before, Recording("part", {{"fillseq", 1000}}),  //
                                    "--fail-below", "0.5"});
  EXPECT_EQ(missing.exit, kExitError);
  EXPECT_TRUE(Has(missing.err, "readseq is not in part")) << missing.err;
}

TEST_F(BenchVerbsTest, WhatARecordingLacksIsLeftOutAndLongNamesAreCut) {
  const auto write = [&](const std::string& name, const std::vector<nlohmann::json>& lines) {
    std::ofstream file(directory_.File(name));
    for (const nlohmann::json& line : lines) file << line.dump() << "\n";
    return directory_.File(name);
  };
  const nlohmann::json latency = {{"p99", 7.5}}, none = {{"p99", 0}};
  const std::string before = write(
      "before.jsonl", {{{"benchmark", "fillseq"}, {"ops_per_second", 100}, {"threads", 2}, {"latency_micros", latency}},
                       {{"benchmark", "fillseq"}, {"ops_per_second", 200}, {"threads", 2}, {"latency_micros", none}},
                       {{"benchmark", "never"}, {"ops_per_second", 0}}});
  const std::string after =
      write("a-recording-of-a-long-name.jsonl", {{{"benchmark", "fillseq"}, {"ops_per_second", 300}, {"threads", 2}},
                                                 {{"benchmark", "never"}, {"ops_per_second", 5}},
                                                 {{"benchmark", "readseq"}, {"ops_per_second", 5}},
                                                 {{"result", {{"ops_per_second", 3}}}}});
  const Outcome text = RunSepal({"bench", "compare", before, after});
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_EQ(text.err, "");  // Circumstances that were not recorded do not differ.
  EXPECT_TRUE(Has(text.out, "fillseq, 2 threads") && Has(text.out, "2.000")) << text.out;
  EXPECT_TRUE(Has(text.out, "...")) << text.out;
  EXPECT_TRUE(Has(text.out, "\n?  ")) << text.out;  // without a name
  // A benchmark that the first recording lacks is no failure of the others.
  EXPECT_EQ(RunSepal({"bench", "compare", before, after, "--fail-below", "1.5"}).exit, kExitOk);
  EXPECT_TRUE(Has(RunSepal({"bench", "run", db_, "--num=10", "--benchmarks=fillseq", "--json"}).out, "\"directory\""));
  const nlohmann::json json = LastJson(RunSepal({"bench", "compare", before, after, "--json"}).out);
  EXPECT_EQ(json.at("benchmarks").at(0).at("recordings").at(0).at("ops_per_second"), 150);
  const Outcome page = RunSepal({"bench", "report", before, "-o", directory_.File("page.html")});
  EXPECT_EQ(page.exit, kExitError);
  EXPECT_TRUE(Has(page.err, "has results and no samples")) << page.err;
}

TEST_F(BenchVerbsTest, ReportsAreWrittenWholeOrNotAtAll) {
  const std::string recording = directory_.File("r.jsonl");
  std::ofstream(recording) << R"({"environment":{"database":"a</script>b"}})"
                           << "\n"
                           << R"({"result":{"benchmark":"fillseq","ops_per_second":1}})"
                           << "\n";
  const std::string page = directory_.File("page.html");
  const Outcome made = RunSepal({"bench", "report", recording, "-o", page});
  EXPECT_EQ(made.exit, kExitOk) << made.err;
  EXPECT_TRUE(Has(made.out, "1 result of 1 recording; open it in a browser")) << made.out;
  EXPECT_TRUE(Has(Slurp(page), "a\\u003c/script>b")) << "data that ends the script";
  EXPECT_EQ(RunSepal({"bench", "report", recording, "-o", directory_.File("none/page.html")}).exit, kExitError);
  EXPECT_EQ(RunSepal({"bench", "report", recording, "-o", "/dev/full/x"}).exit, kExitError);
  EXPECT_EQ(RunSepal({"bench", "run", db_, "--num=10", "--benchmarks=fillseq", "--yes",
                      "--report_file=" + directory_.File("none/r.jsonl")})
                .exit,
            kExitError);
}

TEST_F(BenchVerbsTest, CompareSaysWhereTheCircumstancesDiffer) {
  const Outcome outcome =
      RunSepal({"bench", "compare", Recording("before", {{"fillseq", 1}}), Recording("after", {{"fillseq", 1}}, 2000)});
  EXPECT_TRUE(Has(outcome.err, "note: before has entries 1000, after has 2000")) << outcome.err;
}

TEST_F(BenchVerbsTest, WhatIsNoRecordingIsRefusedWithItsLine) {
  const std::string good = Recording("good", {{"fillseq", 1}});
  EXPECT_EQ(RunSepal({"bench", "compare", good}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"bench", "compare", good, directory_.File("none")}).exit, kExitError);
  for (const std::string text : {"no JSON\n", "{}\n", "{\"result\":3}\n", "{\"environment\":1}\n", ""}) {
    const std::string bad = directory_.File("bad");
    std::ofstream(bad) << text;
    EXPECT_EQ(RunSepal({"bench", "compare", good, bad}).exit, kExitError) << text;
    EXPECT_EQ(RunSepal({"bench", "report", bad, "--output", directory_.File("page")}).exit, kExitError) << text;
  }
  std::ofstream(directory_.File("odd")) << "{\"benchmark\":5,\"ops_per_second\":\"many\",\"threads\":[]}\n";
  EXPECT_EQ(RunSepal({"bench", "compare", good, directory_.File("odd")}).exit, kExitOk);
}

}  // namespace
}  // namespace sepal::tools
