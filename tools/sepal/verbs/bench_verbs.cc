// sepal bench run|compare|report: measuring, and what to make of recordings.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sepal/file_system.h"
#include "tools/db_bench/db_bench_runner.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/new_place.h"
#include "tools/sepal/pictures/bench_comparison.h"
#include "tools/sepal/pictures/bench_page.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

class BenchRunVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("DIR", options_.db, "Directory of the database")->required();
    app->add_flag("--yes", yes_, "Replace the database that is in DIR without asking");
    options_.AddFlags(app);
  }

  absl::Status Run(const Streams& io) override {
    options_.json = json;
    if (!options_.report_file.empty()) options_.histogram = true;
    if (const absl::Status known = options_.CheckBenchmarks(); !known.ok()) {
      return absl::CancelledError(known.message());
    }
    RETURN_IF_ERROR(CheckLink(options_.db));
    ASSIGN_OR_RETURN(const Options engine_options, options_.EngineOptions());
    if (!options_.use_existing_db && ToolFiles()->OpenDirectory(options_.db, /*create=*/false).ok()) {
      RETURN_IF_ERROR(Confirm(io, yes_,
                              absl::StrFormat("a fill* benchmark deletes the database in %s "
                                              "(--use_existing_db keeps it)",
                                              options_.db)));
    }
    RETURN_IF_ERROR(RunBenchmarks(options_, engine_options, io.out, io.err));
    if (json) {
      nlohmann::json line = JsonHead();
      line["directory"] = options_.db;
      if (!options_.report_file.empty()) line["report_file"] = options_.report_file;
      io.out << ToLine(line) << "\n";
    }
    return absl::OkStatus();
  }

 private:
  DbBenchOptions options_;
  bool yes_ = false;
};

class BenchCompareVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("FILE", files_,
                    "Recordings, two or more: what --report_file wrote or --json printed; the first is what the others "
                    "are compared with")
        ->required()
        ->expected(2, 64);
    app->add_option("--fail-below", fail_below_,
                    "Exit status 1 if a rate is less than this share of the first one's, or a benchmark is missing")
        ->check(CLI::PositiveNumber);
  }

  absl::Status Run(const Streams& io) override {
    std::vector<nlohmann::json> runs;
    for (const std::string& path : files_) {
      ASSIGN_OR_RETURN(nlohmann::json run, ReadRecording(path));
      runs.push_back(std::move(run));
    }
    const BenchComparison comparison = CompareRecordings(runs);
    for (const std::string& difference : comparison.differences) io.err << "note: " << difference << "\n";
    const std::vector<std::string> failures =
        fail_below_ > 0 ? comparison.Below(fail_below_) : std::vector<std::string>();
    const absl::Status status =
        failures.empty() ? absl::OkStatus() : absl::FailedPreconditionError(absl::StrJoin(failures, "; "));
    if (json) {
      nlohmann::json line = comparison.ToJson();
      line.update(JsonHead(status));
      line["failures"] = failures;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << comparison.ToText();
    }
    for (const std::string& failure : failures) io.err << "sepal " << name << ": " << failure << "\n";
    reported = true;
    return status;
  }

 private:
  std::vector<std::string> files_;
  double fail_below_ = 0;
};

class BenchReportVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("FILE", files_, "Recordings: what db_bench --report_file wrote; several are set side by side")
        ->required();
    app->add_option("--output,-o", output_, "The HTML file to write")->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    nlohmann::json data = {{"runs", nlohmann::json::array()}};
    uint64_t results = 0;
    for (const std::string& path : files_) {
      ASSIGN_OR_RETURN(nlohmann::json run, ReadRecording(path));
      if (!run.contains("environment")) {
        return absl::InvalidArgumentError(
            absl::StrFormat("%s has results and no samples; db_bench --report_file=%s records both", path, path));
      }
      results += run["results"].size();
      data["runs"].push_back(std::move(run));
    }
    RETURN_IF_ERROR(WriteWhole(output_, BenchPage(data)));
    if (json) {
      nlohmann::json line = JsonHead();
      line["output"] = output_;
      line["results"] = results;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: %s of %s; open it in a browser\n", output_, Counted(results, "result"),
                                Counted(files_.size(), "recording"));
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> files_;
  std::string output_ = "bench.html";
};

}  // namespace

std::vector<VerbEntry> BenchVerbs() {
  return {{"bench run", "run benchmarks, with the flags of db_bench",
           "bench run /tmp/bench --benchmarks fillrandom,readrandom --report_file now.jsonl", MakeVerb<BenchRunVerb>},
          {"bench compare", "compare the rates of recorded benchmarks",
           "bench compare before.jsonl after.jsonl --fail-below 0.95", MakeVerb<BenchCompareVerb>},
          {"bench report", "draw charts of recorded benchmarks, as one HTML file",
           "bench report before.jsonl after.jsonl --output bench.html", MakeVerb<BenchReportVerb>}};
}

}  // namespace sepal::tools
