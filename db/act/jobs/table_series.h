// The destination of surviving entries in flushes, compactions and repairs: one table after another, in key order.
//
// The directory is not synced (table_output.h). The caller removes the tables of a job that failed.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "db/act/jobs/sliced_job.h"
#include "db/act/jobs/table_output.h"
#include "db/decide/visibility/retention.h"
#include "table/iterate/iterator.h"

namespace sepal {

class TableSeries {
 public:
  // `context` must outlive it.
  TableSeries(const TableOutputContext& context, int level, RunNumber run)
      : context_(context), level_(level), run_(run) {}

  // Bytes of the table that is being written; 0 between tables.
  uint64_t EstimatedBytes() const { return output_ != nullptr ? output_->EstimatedBytes() : 0; }
  // Begins a table if none is being written.
  absl::Status Add(const InternalKeyView& key, std::string_view value);
  // Finishes the table that is being written, if there is one: the next entry begins another.
  absl::Status EndTable();

  // Finished and synced.
  const std::vector<TableMetadata>& tables() const { return tables_; }
  std::vector<TableMetadata> TakeTables() { return std::exchange(tables_, {}); }

 private:
  const TableOutputContext& context_;
  const int level_;
  const RunNumber run_;
  std::unique_ptr<TableOutput> output_;
  std::vector<TableMetadata> tables_;
};

inline absl::Status JobEnded() { return absl::CancelledError("the compaction was cancelled"); }

// Runs one part of a sliced job: passes entries through `retention`, from the beginning of `slice` on, as far as the
// job allows. `goes_on(n)` is called from time to time, and at the end, with the number of entries since its last call;
// if it returns false, the part gives up with Cancelled.
template <class Emit, class GoesOn>
absl::Status RetainSlices(SlicedJob* job, size_t slice, InternalIterator* entries, Retention* retention, Emit&& emit,
                          GoesOn&& goes_on) {
  if (const std::string* const begin = job->BeginOf(slice); begin != nullptr) {
    entries->Seek({*begin, kFirstTrailer});
  } else {
    entries->SeekToFirst();
  }
  uint64_t since_asked = 0;
  for (; entries->Valid() && job->Reaches(entries->key().user_key, &slice); entries->Advance(), ++since_asked) {
    if (since_asked == SlicedJob::kEntriesBetweenQuestions) {
      if (!goes_on(std::exchange(since_asked, 0))) return JobEnded();
      job->AskForHelp();
    }
    RETURN_IF_ERROR(retention->Add(entries->key(), entries->value(), emit));
  }
  RETURN_IF_ERROR(entries->status());
  if (!goes_on(since_asked)) return JobEnded();
  return retention->Finish(emit);
}

}  // namespace sepal
