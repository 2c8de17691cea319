// What an engine needs to open a database whose process died with everything in the log and nothing in tables.
#pragma once

#include "bench/compare/measure.h"
#include "bench/compare/options.h"

namespace sepal::compare {

// Another process fills the database at `settings.path` with random keys, under a memtable that holds all of them, and
// dies; then the opening is timed: entries replayed a second. Requires a process without other threads.
Measurement MeasureRecovery(const EngineEntry& engine, const CompareOptions& options, EngineSettings settings);

}  // namespace sepal::compare
