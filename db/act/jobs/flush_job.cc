#include "db/act/jobs/flush_job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "db/act/jobs/sliced_job.h"
#include "db/act/jobs/table_series.h"
#include "db/decide/visibility/retention.h"
#include "db/decide/writing/flush_splitter.h"
#include "table/iterate/merging_iterator.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// A flush's table that ends before its memtable does has at least this part of the memtable's bytes.
constexpr uint64_t kSmallestPartOfMemtable = 16;

// Cuts by the keys of the largest memtable.
SlicedJob::Cut CutIntoSlices(const FlushInput& input) {
  if (input.executor == nullptr) return {};
  uint64_t bytes = 0;
  const MemTable* largest = input.memtables.front().get();
  for (const std::shared_ptr<const MemTable>& memtable : input.memtables) {
    bytes += memtable->DataBytes();
    if (memtable->EntryCount() > largest->EntryCount()) largest = memtable.get();
  }
  const uint64_t slices = bytes / input.context.tuning.part_bytes;
  const auto threads = static_cast<uint64_t>(std::max(1, input.max_threads));
  if (slices < 2 || threads < 2) return {};
  return {.boundaries = largest->CutKeys(std::min(slices, threads * SlicedJob::kSlicesOfThread)),
          .most_threads = std::min(slices, threads),
          .threads = input.threads != nullptr ? input.threads : [most = input.max_threads] { return most; }};
}

// What one part wrote, even if it was not completed.
struct FlushedPart {
  std::vector<TableMetadata> tables;
  absl::Status status;
};

// Writes the keys from the beginning of a slice on, as far as the job allows. Writes nothing if no entry survives.
absl::Status FlushPart(const FlushInput& input, SlicedJob* job, size_t slice, std::vector<TableMetadata>* tables) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const std::shared_ptr<const MemTable>& memtable : input.memtables) children.push_back(memtable->NewIterator());
  const KeyOrder& order = input.context.order;
  const std::unique_ptr<InternalIterator> entries = NewMergingIterator(order, std::move(children));

  TableSeries series(input.context, /*level=*/0, RunNumber(0));
  FlushSplitter splitter({.min_ascending = input.context.tuning.range_keys,
                          .min_table_bytes = input.context.tuning.memtable_bytes / kSmallestPartOfMemtable,
                          .continues = job->BeginOf(slice) != nullptr});
  Retention retention({.order = order,
                       .snapshots = input.snapshots,
                       .bottommost = false,
                       .expired_through_millis = input.context.expired_through_millis,
                       .merge = input.context.options->merge_operator.get(),
                       .keeps_single_deletes = input.keeps_single_deletes,
                       .ranges = input.ranges,
                       .filter = input.filter,
                       .keys_stay = true});
  const auto bytes = [&] { return series.EstimatedBytes(); };
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool first_of_key) -> absl::Status {
    if (splitter.BeginsTable(key.sequence(), first_of_key, bytes)) RETURN_IF_ERROR(series.EndTable());
    return series.Add(key, value);
  };
  absl::Status status = RetainSlices(job, slice, entries.get(), &retention, emit, [](uint64_t) { return true; });
  if (status.ok()) status = series.EndTable();
  *tables = series.TakeTables();
  for (TableMetadata& table : *tables) {
    table.swept_through = retention.SweptThrough();
    table.filtered_through = retention.FilteredThrough();
  }
  return status;
}

}  // namespace

absl::StatusOr<std::vector<TableMetadata>> FlushMemTables(const FlushInput& input) {
  SlicedJob::Cut cut = CutIntoSlices(input);
  std::vector<FlushedPart> parts(cut.boundaries.size() + 1);  // each at the index of its first slice
  SlicedJob job(input.context.order, std::move(cut), input.executor, [&](size_t slice) {
    parts[slice].status = FlushPart(input, &job, slice, &parts[slice].tables);
    return parts[slice].status;
  });
  job.Run();

  absl::Status status;
  std::vector<TableMetadata> tables;
  for (FlushedPart& part : parts) {
    KeepFirst(&status, part.status);
    for (TableMetadata& table : part.tables) {
      table.run = RunNumber(tables.empty() ? table.number.value() : tables.front().run.value());
      tables.push_back(std::move(table));
    }
  }
  if (status.ok()) return tables;
  RemoveTables(input.context.directory, nullptr, tables);
  return status;
}

}  // namespace sepal
