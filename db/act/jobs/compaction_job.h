// Carries out a plan that rewrites tables: reads the input tables in key order, keeps what must survive, and writes the
// output tables.
//
// The plan is cut into slices by key ranges, which threads share out among themselves (db/act/jobs/slices.h): at any
// time as many as the control grants and the executor has to spare. The calling thread is one of them, so that a job
// never waits for a thread that it does not get. Neighbouring slices that one thread processes form a part, with tables
// of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/jobs/filter_stage.h"
#include "db/act/jobs/table_output.h"
#include "db/act/jobs/value_mover.h"
#include "db/decide/compaction/compaction_plan.h"
#include "db/decide/visibility/retention.h"
#include "db/state/version/table_file.h"
#include "sepal/env.h"

namespace sepal {

// Controls a job. All threads of the job call it concurrently.
class CompactionControl {
 public:
  virtual ~CompactionControl() = default;
  // Called before and after a thread works on files; BeginPart may wait.
  virtual void BeginPart() = 0;
  virtual void EndPart() = 0;
  // The number of threads that the job may have now, at least 1; it may grow.
  virtual int Threads() = 0;
  // Called between entries of a part, `entries` of which were read since the last call. May wait. Returns false if the
  // job must give up, with Cancelled.
  virtual bool GoesOn(uint64_t entries) = 0;
};

struct CompactionJobInput {
  TableOutputContext context;
  std::shared_ptr<const CompactionPlan> plan;
  TableOpener* opener = nullptr;
  // As for Retention.
  std::vector<SequenceNumber> snapshots;
  // As for Retention: those of the version, or null if there are none.
  RangeTombstonesRef ranges = nullptr;
  // As for Retention.
  std::shared_ptr<const StripeFilter> filter = nullptr;
  ValueMoves moves = {};
  // The family's; null if it has none.
  std::shared_ptr<const ContextFilterFactory> context_filter = nullptr;
  FilterContext filter_context = {};
  // The newest of the held snapshots, which were listed no earlier than `snapshots`.
  std::optional<SequenceNumber> newest_snapshot = {};
  RunNumber output_run;
  int max_threads = 1;
  // The memory in which all threads together read ahead.
  uint64_t read_ahead_bytes = uint64_t{64} << 20;
  Executor* executor = nullptr;
  CompactionControl* control = nullptr;
};

struct CompactionResult {
  // Finished and synced, in key order; the directory is not synced.
  std::vector<TableMetadata> outputs;
  RetentionCounts counts;
  // The first error of the context filter; the output is complete without the filter.
  absl::Status filter_status;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  // Bytes of values that were written but not synced. The files must be held until the outputs are in a version.
  uint64_t value_bytes_moved = 0;
  std::vector<ValueFileRef> value_files;
};

// On an error no output is left behind.
absl::StatusOr<CompactionResult> RunCompaction(const CompactionJobInput& input);

}  // namespace sepal
