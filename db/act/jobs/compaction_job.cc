#include "db/act/jobs/compaction_job.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "db/act/jobs/sliced_job.h"
#include "db/act/jobs/table_series.h"
#include "db/decide/compaction/subcompactions.h"
#include "db/decide/pacing/read_ahead_share.h"
#include "db/decide/writing/output_splitter.h"
#include "table/iterate/merging_iterator.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// The tables of one input in one part, opened when they are reached.
class InputTables final : public ConcatenationSources {
 public:
  InputTables(std::span<const TableRef> tables, TableOpener* opener, KeyOrder order, uint64_t window_bytes)
      : tables_(tables.begin(), tables.end()), opener_(opener), order_(order), window_bytes_(window_bytes) {}

  size_t Count() const override { return tables_.size(); }
  size_t Find(InternalKeyView target) const override {
    const auto it = std::partition_point(tables_.begin(), tables_.end(), [&](const TableRef& table) {
      return order_.Less(table->metadata().largest.view(), target);
    });
    return static_cast<size_t>(it - tables_.begin());
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    absl::StatusOr<std::shared_ptr<const TableReader>> reader = tables_[index]->ShareReader(opener_);
    if (!reader.ok()) return NewEmptyIterator(reader.status());
    return TableReader::NewIterator(std::move(reader).value(), TableReader::ReadKind::kCompaction, window_bytes_);
  }

 private:
  const std::vector<TableRef> tables_;
  TableOpener* const opener_;
  const KeyOrder order_;
  const uint64_t window_bytes_;
};

// What a thread does in one go: a slice and the following ones, up to one that another thread has begun.
struct Part {
  absl::Status status;
  CompactionResult result;
};

std::unique_ptr<InternalIterator> OpenInputs(const CompactionJobInput& input, uint64_t window_bytes) {
  std::vector<std::unique_ptr<InternalIterator>> children;
  std::optional<std::string> prefix;
  for (const CompactionInput& run : input.plan->inputs) {
    NarrowToCommonPrefix(*run.tables.front(), *run.tables.back(), &prefix);
    children.push_back(NewConcatenatingIterator(
        std::make_unique<InputTables>(run.tables, input.opener, input.context.order, window_bytes)));
  }
  return NewMergingIterator(input.context.order, std::move(children), prefix.value_or(""));
}

std::optional<FilterStage> FilterOf(const CompactionJobInput& input, FilterStage::Emit emit) {
  if (input.context_filter == nullptr) return std::nullopt;
  std::unique_ptr<ContextFilter> filter = input.context_filter->Create(input.filter_context);
  if (filter == nullptr) return std::nullopt;
  return std::optional<FilterStage>(std::in_place, std::move(filter),
                                    FilterStageOptions{.order = input.context.order,
                                                       .newest_snapshot = input.newest_snapshot,
                                                       .bottommost = input.plan->bottommost,
                                                       .values = input.moves.store},
                                    std::move(emit));
}

absl::Status RunPart(const CompactionJobInput& input, uint64_t window_bytes, SlicedJob* job, size_t slice,
                     CompactionResult* result) {
  const TableOutputContext& context = input.context;
  const std::unique_ptr<InternalIterator> entries = OpenInputs(input, window_bytes);
  Retention retention({.order = context.order,
                       .snapshots = input.snapshots,
                       .bottommost = input.plan->bottommost,
                       .expired_through_millis = context.expired_through_millis,
                       .merge = context.options->merge_operator.get(),
                       .ranges = input.ranges.get(),
                       .filter = input.filter.get()});
  OutputSplitter splitter(
      MakeSplitterOptions(*input.plan, context.tuning.table_bytes, context.tuning.table_bytes * 10, context.order));
  TableSeries tables(context, input.plan->output_level, input.output_run);
  const auto write = [&](const InternalKeyView& key, std::string_view value, bool first_of_key) -> absl::Status {
    if (splitter.BeginsTable(key.user_key, first_of_key, tables.EstimatedBytes())) RETURN_IF_ERROR(tables.EndTable());
    return tables.Add(key, value);
  };
  std::optional<ValueMover> mover;
  if (input.moves.any()) mover.emplace(input.moves, write);
  const auto place = [&](const InternalKeyView& key, std::string_view value, bool first_of_key) {
    return mover.has_value() ? mover->Add(key, value, first_of_key) : write(key, value, first_of_key);
  };
  std::optional<FilterStage> filter = FilterOf(input, place);
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool first_of_key) {
    return filter.has_value() ? filter->Add(key, value, first_of_key) : place(key, value, first_of_key);
  };
  absl::Status status = RetainSlices(job, slice, entries.get(), &retention, emit,
                                     [&](uint64_t read) { return input.control->GoesOn(read); });
  if (status.ok() && mover.has_value()) status = mover->Drain();
  if (status.ok()) status = tables.EndTable();
  if (mover.has_value()) {
    result->value_bytes_moved = mover->bytes_moved();
    result->value_files = mover->TakeFiles();
  }
  result->counts = retention.counts();
  if (filter.has_value()) {
    result->counts.entries_out -= filter->dropped();
    result->filter_status = filter->status();
  }
  result->outputs = tables.TakeTables();
  for (TableMetadata& table : result->outputs) {
    table.swept_through = retention.SweptThrough();
    table.filtered_through = retention.FilteredThrough();
    result->bytes_written += table.size_bytes;
  }
  return status;
}

// About how many stretches of the inputs a slice has; slices differ by at most one stretch.
constexpr uint64_t kStretchesOfSlice = 8;

// Divides the inputs into stretches. A table that cannot be opened is one stretch; the part that needs it reports the
// error.
std::vector<KeyStretch> StretchesOf(const CompactionJobInput& input) {
  const uint64_t stretch_bytes = input.plan->InputBytes() / (static_cast<uint64_t>(input.max_threads) *
                                                             SlicedJob::kSlicesOfThread * kStretchesOfSlice) +
                                 1;
  std::vector<KeyStretch> stretches;
  for (const CompactionInput& run : input.plan->inputs) {
    for (const TableRef& table : run.tables) {
      const TableMetadata& m = table->metadata();
      std::vector<std::string> cuts;
      if (m.size_bytes > stretch_bytes) {
        const absl::StatusOr<const TableReader*> reader = table->OpenReader(input.opener);
        if (reader.ok()) cuts = (*reader)->EvenCuts(m.size_bytes / stretch_bytes);
      }
      AppendStretches(&stretches, input.context.order, {m.smallest.user_key, m.largest.user_key, m.size_bytes}, cuts);
    }
  }
  return stretches;
}

// Chooses as many threads as find enough work, and memory for their read-ahead.
ReadAheadShare ReadAheadFor(const CompactionJobInput& input) {
  const uint64_t parts = input.plan->InputBytes() / input.context.tuning.part_bytes;
  const auto threads = static_cast<int>(std::min(parts, static_cast<uint64_t>(std::max(input.max_threads, 1))));
  return ShareReadAhead(input.read_ahead_bytes, input.plan->inputs.size(), threads);
}

// Chooses the boundaries of a number of slices for each thread, as far as there are keys to cut at.
std::vector<std::string> BoundariesOfSlices(const CompactionJobInput& input, size_t threads) {
  if (threads < 2) return {};
  const uint64_t least = input.context.tuning.part_bytes;
  const uint64_t of_thread =
      std::min<uint64_t>(SlicedJob::kSlicesOfThread, input.plan->InputBytes() / (least * threads));
  return SubcompactionBoundaries(StretchesOf(input), input.context.order, static_cast<int>(threads * of_thread), least);
}

void AddCounts(RetentionCounts* total, const RetentionCounts& part) {
  total->entries_in += part.entries_in;
  total->entries_out += part.entries_out;
  total->hidden_dropped += part.hidden_dropped;
  total->tombstones_dropped += part.tombstones_dropped;
  total->zeroed += part.zeroed;
  total->operands_folded += part.operands_folded;
  total->covered_dropped += part.covered_dropped;
  total->expired += part.expired;
  total->refused += part.refused;
}

}  // namespace

absl::StatusOr<CompactionResult> RunCompaction(const CompactionJobInput& input) {
  CompactionResult total;
  total.bytes_read = input.plan->InputBytes();
  const ReadAheadShare read_ahead = ReadAheadFor(input);
  const auto threads = static_cast<size_t>(read_ahead.threads);
  input.control->BeginPart();
  std::vector<std::string> boundaries = BoundariesOfSlices(input, threads);
  input.control->EndPart();
  std::vector<Part> parts(boundaries.size() + 1);  // each at the index of its first slice
  SlicedJob job(input.context.order,
                {.boundaries = std::move(boundaries),
                 .most_threads = threads,
                 .threads = [&] { return input.control->Threads(); }},
                input.executor, [&](size_t first) {
                  Part* const part = &parts[first];
                  input.control->BeginPart();
                  part->status = input.control->GoesOn(0)
                                     ? RunPart(input, read_ahead.window_bytes, &job, first, &part->result)
                                     : JobEnded();
                  input.control->EndPart();
                  return part->status;
                });
  job.Run();

  absl::Status status;
  for (Part& part : parts) {
    KeepFirst(&status, part.status);
    KeepFirst(&total.filter_status, part.result.filter_status);
    AddCounts(&total.counts, part.result.counts);
    total.bytes_written += part.result.bytes_written;
    total.value_bytes_moved += part.result.value_bytes_moved;
    for (ValueFileRef& file : part.result.value_files) total.value_files.push_back(std::move(file));
    for (TableMetadata& table : part.result.outputs) total.outputs.push_back(std::move(table));
  }
  if (status.ok()) return total;
  RemoveTables(input.context.directory, input.context.cache, total.outputs);
  return status;
}

}  // namespace sepal
