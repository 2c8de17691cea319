#include "db/act/jobs/compaction_job.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "db/act/jobs/sliced_job.h"
#include "db/decide/compaction/subcompactions.h"
#include "db/decide/pacing/read_ahead_share.h"
#include "db/decide/writing/output_splitter.h"
#include "table/iterate/merging_iterator.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// The tables that an input gives to one part, opened when they are reached.
class InputTables final : public ConcatenationSources {
 public:
  InputTables(std::span<const TableRef> tables, TableOpener* opener, KeyOrder order, uint64_t window_bytes)
      : tables_(tables.begin(), tables.end()), opener_(opener), order_(order), window_bytes_(window_bytes) {}

  size_t Count() const override { return tables_.size(); }
  size_t Find(InternalKeyView target) const override {
    size_t i = 0;
    while (i < tables_.size() && order_.Less(tables_[i]->metadata().largest.view(), target)) ++i;
    return i;
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

// What a thread does in one go: a slice and, as far as nobody else has begun with them, those behind it.
struct Part {
  absl::Status status;
  CompactionResult result;
};

absl::Status Ended() { return absl::CancelledError("the compaction was cancelled"); }

class PartRunner {
 public:
  PartRunner(const CompactionJobInput& input, uint64_t window_bytes, SlicedJob* job, size_t first, Part* part)
      : input_(input),
        window_bytes_(window_bytes),
        job_(job),
        part_(part),
        slice_(first),
        order_(input.context.order),
        retention_({.order = order_, .snapshots = input.snapshots, .bottommost = input.plan->bottommost}),
        splitter_(MakeSplitterOptions(*input.plan, input.context.tuning.table_bytes,
                                      input.context.tuning.table_bytes * 10, order_)) {}

  absl::Status Run() {
    const std::unique_ptr<InternalIterator> entries = OpenInputs();
    const auto emit = [this](const InternalKeyView& key, std::string_view value, bool first_of_key) {
      return Emit(key, value, first_of_key);
    };
    if (const std::string* const begin = job_->BeginOf(slice_); begin != nullptr) {
      entries->Seek({*begin, kFirstTrailer});
    } else {
      entries->SeekToFirst();
    }
    uint64_t since_asked = 0;
    for (; entries->Valid() && job_->Reaches(entries->key().user_key, &slice_); entries->Advance(), ++since_asked) {
      if (since_asked == SlicedJob::kEntriesBetweenQuestions) {
        if (!input_.control->GoesOn(std::exchange(since_asked, 0))) return Ended();
        job_->AskForHelp();
      }
      RETURN_IF_ERROR(retention_.Add(entries->key(), entries->value(), emit));
    }
    RETURN_IF_ERROR(entries->status());
    if (!input_.control->GoesOn(since_asked)) return Ended();
    RETURN_IF_ERROR(retention_.Finish(emit));
    if (output_ != nullptr) RETURN_IF_ERROR(FinishOutput());
    part_->result.counts = retention_.counts();
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<InternalIterator> OpenInputs() const {
    std::vector<std::unique_ptr<InternalIterator>> children;
    std::optional<std::string> prefix;
    for (const CompactionInput& run : input_.plan->inputs) {
      NarrowToCommonPrefix(*run.tables.front(), *run.tables.back(), &prefix);
      children.push_back(
          NewConcatenatingIterator(std::make_unique<InputTables>(run.tables, input_.opener, order_, window_bytes_)));
    }
    return NewMergingIterator(order_, std::move(children), prefix.value_or(""));
  }

  absl::Status Emit(const InternalKeyView& key, std::string_view value, bool first_of_key) {
    const uint64_t bytes = output_ != nullptr ? output_->EstimatedBytes() : 0;
    if (splitter_.BeginsTable(key.user_key, first_of_key, bytes) && output_ != nullptr) {
      RETURN_IF_ERROR(FinishOutput());
    }
    if (output_ == nullptr) {
      ASSIGN_OR_RETURN(output_, TableOutput::Create(input_.context, input_.plan->output_level));
    }
    return output_->Add(key, value);
  }

  absl::Status FinishOutput() {
    ASSIGN_OR_RETURN(TableMetadata table, output_->Finish(input_.output_run));
    output_.reset();
    part_->result.bytes_written += table.size_bytes;
    part_->result.outputs.push_back(std::move(table));
    return absl::OkStatus();
  }

  const CompactionJobInput& input_;
  const uint64_t window_bytes_;
  SlicedJob* const job_;
  Part* const part_;
  size_t slice_;  // that it is in
  const KeyOrder order_;
  Retention retention_;
  OutputSplitter splitter_;
  std::unique_ptr<TableOutput> output_;
};

// How many stretches the inputs of a slice fall into, about: slices differ by no more than one of them.
constexpr uint64_t kStretchesOfSlice = 8;

// The inputs, stretch by stretch. A table that cannot be opened is one; the part that needs it will say why.
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

// As many threads as find enough to do, and memory to read ahead in.
MergeWindows WindowsFor(const CompactionJobInput& input) {
  const uint64_t parts = input.plan->InputBytes() / input.context.tuning.part_bytes;
  const auto threads = static_cast<int>(std::min(parts, static_cast<uint64_t>(std::max(input.max_threads, 1))));
  return ShareMergeWindows(input.read_ahead_bytes, input.plan->inputs.size(), threads);
}

// As many slices for each thread, as far as there are keys to cut at.
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
}

}  // namespace

absl::StatusOr<CompactionResult> RunCompaction(const CompactionJobInput& input) {
  CompactionResult total;
  total.bytes_read = input.plan->InputBytes();
  const MergeWindows windows = WindowsFor(input);
  const auto threads = static_cast<size_t>(windows.threads);
  input.control->BeginPart();
  std::vector<std::string> boundaries = BoundariesOfSlices(input, threads);
  input.control->EndPart();
  std::vector<Part> parts(boundaries.size() + 1);  // each at the slice that it begins with
  SlicedJob job(input.context.order,
                {.boundaries = std::move(boundaries),
                 .most_threads = threads,
                 .threads = [&] { return input.control->Threads(); }},
                input.executor, [&](size_t first) {
                  Part* const part = &parts[first];
                  input.control->BeginPart();
                  part->status =
                      input.control->GoesOn(0) ? PartRunner(input, windows.bytes, &job, first, part).Run() : Ended();
                  input.control->EndPart();
                  return part->status;
                });
  job.Run();

  absl::Status status;
  for (Part& part : parts) {
    KeepFirst(&status, part.status);
    AddCounts(&total.counts, part.result.counts);
    total.bytes_written += part.result.bytes_written;
    for (TableMetadata& table : part.result.outputs) total.outputs.push_back(std::move(table));
  }
  if (status.ok()) return total;
  RemoveTables(input.context.directory, input.context.cache, total.outputs);
  return status;
}

}  // namespace sepal
