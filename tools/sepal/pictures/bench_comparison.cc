#include "tools/sepal/pictures/bench_comparison.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"

namespace sepal::tools {
namespace {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double NumberIn(const nlohmann::json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

std::string TitleOf(const nlohmann::json& result) {
  const auto named = result.find("benchmark");
  const std::string benchmark = named != result.end() && named->is_string() ? named->get<std::string>() : "?";
  const auto threads = static_cast<int>(NumberIn(result, "threads"));
  return threads > 1 ? absl::StrFormat("%s, %d threads", benchmark, threads) : benchmark;
}

BenchComparison::Cell CellOf(const std::vector<nlohmann::json>& results) {
  std::vector<double> rates, latencies;
  for (const nlohmann::json& result : results) {
    rates.push_back(NumberIn(result, "ops_per_second"));
    if (!result.contains("latency_micros")) continue;
    if (const double p99 = NumberIn(result["latency_micros"], "p99"); p99 > 0) latencies.push_back(p99);
  }
  return {.ops_per_second = Median(rates), .p99_micros = Median(latencies), .results = results.size()};
}

// "1,234,567"
std::string Grouped(double number) {
  std::string digits = absl::StrFormat("%.0f", number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

std::string Cut(const std::string& text, size_t limit) {
  return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

void TakeLine(const nlohmann::json& object, nlohmann::json* run) {
  if (object.contains("environment") && object["environment"].is_object())
    (*run)["environment"] = object["environment"];
  if (object.contains("sample")) (*run)["samples"].push_back(object["sample"]);
  if (object.contains("result")) (*run)["results"].push_back(object["result"]);
  if (object.contains("benchmark")) (*run)["results"].push_back(object);
}

}  // namespace

absl::StatusOr<nlohmann::json> ReadRecording(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(
        absl::StrFormat("%s cannot be read; sepal bench run DIR --report_file %s records one", path, path));
  }
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
    TakeLine(object, &run);
    if (!run["results"].empty() && !run["results"].back().is_object()) {
      return absl::InvalidArgumentError(absl::StrFormat("%s: line %d is no result", path, number));
    }
  }
  if (run["results"].empty()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is no recording with results; db_bench --report_file=%s makes one", path, path));
  }
  return run;
}

std::optional<double> BenchComparison::Row::Ratio(size_t recording) const {
  if (!cells[0].has_value() || !cells[recording].has_value() || cells[0]->ops_per_second <= 0) return std::nullopt;
  return cells[recording]->ops_per_second / cells[0]->ops_per_second;
}

BenchComparison CompareRecordings(const std::vector<nlohmann::json>& runs) {
  BenchComparison comparison;
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::vector<nlohmann::json>>> results;
  for (size_t i = 0; i < runs.size(); ++i) {
    comparison.recordings.push_back(runs[i].at("name"));
    for (const nlohmann::json& result : runs[i].at("results")) {
      const std::string title = TitleOf(result);
      auto& row = results[title];
      if (row.empty()) {
        order.push_back(title);
        row.resize(runs.size());
      }
      row[i].push_back(result);
    }
  }
  for (const std::string& title : order) {
    BenchComparison::Row row{.benchmark = title, .cells = {}};
    for (const std::vector<nlohmann::json>& some : results[title]) {
      row.cells.push_back(some.empty() ? std::nullopt : std::optional(CellOf(some)));
    }
    comparison.rows.push_back(std::move(row));
  }
  for (size_t i = 1; i < runs.size(); ++i) {
    if (!runs[0].contains("environment") || !runs[i].contains("environment")) continue;
    for (const char* key : {"machine", "version", "entries", "key_bytes", "value_bytes", "threads", "sync",
                            "compression", "memory_limit"}) {
      const nlohmann::json first = runs[0]["environment"].value(key, nlohmann::json()),
                           other = runs[i]["environment"].value(key, nlohmann::json());
      if (first == other) continue;
      comparison.differences.push_back(absl::StrFormat("%s has %s %s, %s has %s", comparison.recordings[0], key,
                                                       first.dump(), comparison.recordings[i], other.dump()));
    }
  }
  return comparison;
}

std::vector<std::string> BenchComparison::Below(double ratio) const {
  std::vector<std::string> sentences;
  for (const Row& row : rows) {
    for (size_t i = 1; i < recordings.size(); ++i) {
      if (row.cells[0].has_value() && !row.cells[i].has_value()) {
        sentences.push_back(absl::StrFormat("%s is not in %s", row.benchmark, recordings[i]));
      }
      const std::optional<double> here = row.Ratio(i);
      if (!here.has_value() || *here >= ratio) continue;
      sentences.push_back(absl::StrFormat("%s: %s has %.3f of the rate of %s, less than %g", row.benchmark,
                                          recordings[i], *here, recordings[0], ratio));
    }
  }
  return sentences;
}

std::string BenchComparison::ToText() const {
  constexpr size_t kWidth = 16;
  std::string text = absl::StrFormat("%-24s %*s", "operations a second", kWidth, Cut(recordings[0], kWidth));
  for (size_t i = 1; i < recordings.size(); ++i) {
    absl::StrAppendFormat(&text, " %*s %7s", kWidth, Cut(recordings[i], kWidth), "ratio");
  }
  text += "\n";
  for (const Row& row : rows) {
    absl::StrAppendFormat(&text, "%-24s", row.benchmark);
    for (size_t i = 0; i < recordings.size(); ++i) {
      absl::StrAppendFormat(&text, " %*s", kWidth,
                            row.cells[i].has_value() ? Grouped(row.cells[i]->ops_per_second) : "-");
      if (i == 0) continue;
      const std::optional<double> ratio = row.Ratio(i);
      absl::StrAppendFormat(&text, " %7s", ratio.has_value() ? absl::StrFormat("%.3f", *ratio) : "-");
    }
    text += "\n";
  }
  return text;
}

nlohmann::json BenchComparison::ToJson() const {
  nlohmann::json json = {
      {"recordings", recordings}, {"differences", differences}, {"benchmarks", nlohmann::json::array()}};
  for (const Row& row : rows) {
    nlohmann::json one = {{"benchmark", row.benchmark}, {"recordings", nlohmann::json::array()}};
    for (size_t i = 0; i < recordings.size(); ++i) {
      nlohmann::json cell;
      if (row.cells[i].has_value()) {
        cell = {{"ops_per_second", row.cells[i]->ops_per_second}, {"results", row.cells[i]->results}};
        if (row.cells[i]->p99_micros > 0) cell["p99_micros"] = row.cells[i]->p99_micros;
        if (const std::optional<double> ratio = row.Ratio(i); ratio.has_value()) cell["ratio"] = *ratio;
      }
      one["recordings"].push_back(std::move(cell));
    }
    json["benchmarks"].push_back(std::move(one));
  }
  return json;
}

}  // namespace sepal::tools
