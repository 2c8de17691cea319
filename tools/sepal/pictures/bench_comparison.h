// Recordings of db_bench beside each other: rates and their ratios.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sepal::tools {

// A recording: {"name", "samples": [...], "results": [...]} and, of a file that --report_file wrote, "environment".
// Lines that --json printed are results too. InvalidArgument, with the line, for anything else.
absl::StatusOr<nlohmann::json> ReadRecording(const std::string& path);

struct BenchComparison {
  // Of one benchmark in one recording: the medians, where it was run more than once there.
  struct Cell {
    double ops_per_second = 0;
    double p99_micros = 0;  // 0: not measured
    size_t results = 0;
  };
  struct Row {
    std::string benchmark;                   // "readrandom", "readrandom, 4 threads"
    std::vector<std::optional<Cell>> cells;  // one for each recording

    // The rate as a share of the first recording's.
    std::optional<double> Ratio(size_t recording) const;
  };

  std::vector<std::string> recordings;
  std::vector<Row> rows;  // in the order of the first recording
  // In what the environments differ, in sentences.
  std::vector<std::string> differences;

  // What is below `ratio`, and what the first recording has and others lack; in sentences.
  std::vector<std::string> Below(double ratio) const;
  std::string ToText() const;
  nlohmann::json ToJson() const;
};

BenchComparison CompareRecordings(const std::vector<nlohmann::json>& runs);

}  // namespace sepal::tools
