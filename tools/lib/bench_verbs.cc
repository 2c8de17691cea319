// sepal bench report: recordings of db_bench as a page.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/lib/bench_page.h"
#include "tools/lib/cli.h"
#include "tools/lib/verb.h"
#include "util/status.h"

namespace sepal::tools {
namespace {

// One recording, or what is wrong with it.
absl::StatusOr<nlohmann::json> ReadRecording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrFormat("%s cannot be read", path));
  nlohmann::json run = {{"name", std::filesystem::path(path).stem().string()},
                        {"samples", nlohmann::json::array()},
                        {"results", nlohmann::json::array()}};
  uint64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) {
      return absl::InvalidArgumentError(absl::StrFormat("%s: line %d is no JSON object", path, number));
    }
    if (object.contains("environment")) run["environment"] = object["environment"];
    if (object.contains("sample")) run["samples"].push_back(object["sample"]);
    if (object.contains("result")) run["results"].push_back(object["result"]);
  }
  if (!run.contains("environment") || run["results"].empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is no recording with results; db_bench --report_file=%s makes one", path, path));
  }
  return run;
}

class BenchReportVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("FILE", files_, "Recordings: what db_bench --report_file wrote; several are set side by side")
        ->required();
    app->add_option("--output,-o", output_, "Where the page goes")->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    nlohmann::json data = {{"runs", nlohmann::json::array()}};
    uint64_t results = 0;
    for (const std::string& path : files_) {
      ASSIGN_OR_RETURN(nlohmann::json run, ReadRecording(path));
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
      io.out << absl::StrFormat("%s: %d results of %d recordings; open it in a browser\n", output_, results,
                                files_.size());
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> files_;
  std::string output_ = "bench.html";
};

}  // namespace

std::vector<VerbEntry> BenchVerbs() {
  return {{"bench report", "charts of recorded benchmarks, as one file for a browser",
           "bench report before.jsonl after.jsonl --output bench.html", MakeVerb<BenchReportVerb>}};
}

}  // namespace sepal::tools
