// The workloads, and the scenarios that combine them: each scenario opens one new database in one process.
//
//   fillseq, fillrandom, fillbatch, fillsync   a scenario each
//   ycsbload                                   and then, on its database, YCSB's, without a pause
//   filluniquerandom                           and then, on its database, all the others in the order of AllWorkloads
//
// Fills, overwrites and deletions are timed until no background work is left.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "bench/compare/engine.h"
#include "bench/compare/measure.h"
#include "bench/compare/options.h"

namespace sepal::compare {

struct WorkloadEntry {
  const char* name;
  const char* description;
};
std::span<const WorkloadEntry> AllWorkloads();
bool IsWorkload(const std::string& name);

// The names of the scenarios that have something to do.
std::vector<std::string> ScenariosFor(const CompareOptions& options);

// Runs one scenario with one engine in this process; `report` receives each measurement.
void RunScenario(const std::string& scenario, const EngineEntry& engine, int threads, int round,
                 const CompareOptions& options, const std::function<void(const Measurement&)>& report);

}  // namespace sepal::compare
