#include "db/act/compaction_job.h"

#include <optional>
#include <span>
#include <utility>

#include "db/decide/output_splitter.h"
#include "db/decide/subcompactions.h"
#include "table/merging_iterator.h"
#include "util/side_by_side.h"
#include "util/status.h"

namespace sepal {

namespace {

// The tables that an input gives to one part, opened when they are reached.
class InputTables final : public ConcatenationSources {
 public:
  InputTables(std::span<const TableRef> tables, TableOpener* opener, KeyOrder order)
      : tables_(tables.begin(), tables.end()), opener_(opener), order_(order) {}

  size_t Count() const override { return tables_.size(); }
  size_t Find(InternalKeyView target) const override {
    size_t i = 0;
    while (i < tables_.size() && order_.Less(tables_[i]->metadata().largest.view(), target)) ++i;
    return i;
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    absl::StatusOr<std::shared_ptr<const TableReader>> reader = tables_[index]->ShareReader(opener_);
    if (!reader.ok()) return NewEmptyIterator(reader.status());
    return TableReader::NewIterator(std::move(reader).value(), TableReader::ReadKind::kCompaction);
  }

 private:
  const std::vector<TableRef> tables_;
  TableOpener* const opener_;
  const KeyOrder order_;
};

// User keys in [begin, end); unset ends are open.
struct Part {
  std::optional<std::string> begin;
  std::optional<std::string> end;
  absl::Status status;
  CompactionResult result;
};

constexpr uint64_t kEntriesBetweenQuestions = 1024;

absl::Status Ended() { return absl::CancelledError("the compaction was ended"); }

class PartRunner {
 public:
  PartRunner(const CompactionJobInput& input, Part* part)
      : input_(input),
        part_(part),
        order_(input.context.order),
        retention_({.order = order_, .snapshots = input.snapshots, .bottommost = input.plan->bottommost}),
        splitter_(MakeSplitterOptions(*input.plan, input.context.tuning.table_bytes,
                                      input.context.tuning.table_bytes * 10, order_)) {}

  absl::Status Run() {
    const std::unique_ptr<InternalIterator> entries = OpenInputs();
    const auto emit = [this](const InternalKeyView& key, std::string_view value, bool first_of_key) {
      return Emit(key, value, first_of_key);
    };
    if (part_->begin.has_value()) {
      entries->Seek({*part_->begin, kFirstTrailer});
    } else {
      entries->SeekToFirst();
    }
    uint64_t since_asked = 0;
    for (; entries->Valid() && !AtEnd(entries->key()); entries->Advance(), ++since_asked) {
      if (since_asked == kEntriesBetweenQuestions) {
        if (!input_.control->GoesOn(std::exchange(since_asked, 0))) return Ended();
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
      children.push_back(NewConcatenatingIterator(std::make_unique<InputTables>(run.tables, input_.opener, order_)));
    }
    return NewMergingIterator(order_, std::move(children), prefix.value_or(""));
  }

  bool AtEnd(const InternalKeyView& key) const {
    return part_->end.has_value() && !order_.Less(key.user_key, *part_->end);
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
  Part* const part_;
  const KeyOrder order_;
  Retention retention_;
  OutputSplitter splitter_;
  std::unique_ptr<TableOutput> output_;
};

// How many stretches the inputs of a part fall into, about: parts differ by no more than one of them.
constexpr uint64_t kStretchesOfPart = 64;

// The inputs, stretch by stretch. A table that cannot be opened is one; the part that needs it will say why.
std::vector<KeyStretch> StretchesOf(const CompactionJobInput& input) {
  const uint64_t stretch_bytes =
      input.plan->InputBytes() / (static_cast<uint64_t>(input.max_parts) * kStretchesOfPart) + 1;
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

std::vector<Part> CutIntoParts(const CompactionJobInput& input) {
  const uint64_t least = input.context.tuning.part_bytes;
  std::vector<std::string> boundaries;
  if (input.max_parts > 1 && input.plan->InputBytes() >= 2 * least) {
    boundaries = SubcompactionBoundaries(StretchesOf(input), input.context.order, input.max_parts, least);
  }
  std::vector<Part> parts(boundaries.size() + 1);
  for (size_t i = 0; i < boundaries.size(); ++i) {
    parts[i].end = boundaries[i];
    parts[i + 1].begin = boundaries[i];
  }
  return parts;
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
  input.control->BeginPart();
  std::vector<Part> parts = CutIntoParts(input);
  input.control->EndPart();
  WorkSideBySide(input.executor, Executor::Priority::kCompaction, parts.size(), [&](size_t i) {
    input.control->BeginPart();
    parts[i].status = input.control->GoesOn(0) ? PartRunner(input, &parts[i]).Run() : Ended();
    input.control->EndPart();
  });

  absl::Status status;
  for (Part& part : parts) {
    KeepFirst(&status, part.status);
    AddCounts(&total.counts, part.result.counts);
    total.bytes_written += part.result.bytes_written;
    for (TableMetadata& table : part.result.outputs) total.outputs.push_back(std::move(table));
  }
  if (status.ok()) return total;
  RemoveTables(input.context.directory, total.outputs);
  return status;
}

}  // namespace sepal
