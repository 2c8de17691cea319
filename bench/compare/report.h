// Medians over the rounds, as tables for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/compare/measure.h"
#include "bench/compare/options.h"

namespace sepal::compare {

// The median of each figure over the rounds, for every engine, workload and number of threads, in order of first
// appearance.
std::vector<Measurement> Medians(const std::vector<Measurement>& all);

// Prints for each number of threads a table of throughput and ratios and one of times, bytes and memory; then, unless
// they are empty, one of bytes written for the user's bytes, one of the seconds of --duration, and one of the logs that
// were replayed.
std::string FormatTables(const std::vector<Measurement>& medians, const CompareOptions& options);

// `{schema_version, machine, command, settings, medians, measurements}`.
std::string FormatJson(const std::vector<Measurement>& all, const std::vector<std::string>& settings,
                       const std::string& command, const std::string& machine);

}  // namespace sepal::compare
