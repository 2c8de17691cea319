// The cost of opening a database whose process died with everything in the log and nothing in tables.
#pragma once

#include <functional>

#include "bench/compare/measure.h"
#include "bench/compare/options.h"

namespace sepal::compare {

// Another process fills the database at `settings.path` with random keys, under memtables that hold all of them, and
// dies; then the opening is timed: entries replayed a second. Ends the process if something went to tables before the
// death. Nothing is reported of an engine without a log, or whose memtables cannot hold that much (a line on the error
// stream says so). Requires a process without other threads.
void MeasureRecovery(const EngineEntry& engine, const CompareOptions& options, EngineSettings settings,
                     const std::function<void(const Measurement&)>& report);

}  // namespace sepal::compare
