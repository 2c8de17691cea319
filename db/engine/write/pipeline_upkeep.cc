// The commit pipeline's work besides writing batches: time marks (db/format/time_mark.h), and freeing entries that no
// reader needs any more.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "db/engine/write/commit_pipeline.h"
#include "db/format/time_mark.h"
#include "util/base/status.h"

namespace sepal {

SequenceNumber CommitPipeline::LowestFloor() const {
  SequenceNumber lowest = last_;
  for (const auto& [id, target] : targets_) lowest = target.family->history.Due(lowest);
  return lowest;
}

absl::Status CommitPipeline::MarkTime() {
  TimeMarkList& marks = state_->core->time_marks;
  const std::optional<TimeMarkRow> due = marks.Due(last_);
  if (!due.has_value()) [[likely]]
    return absl::OkStatus();
  std::string batch(kBatchHeaderBytes, '\0');
  PutTimeMark(&batch, *due);
  marks.Forget(LowestFloor());
  const std::vector<TimeMark> gone = marks.Forgotten();
  for (const TimeMark& mark : gone) DeleteTimeMark(&batch, mark);
  if (BatchCount(batch) > kMaxSequenceNumber.value() - last_.value()) return absl::OkStatus();  // the caller reports it
  RETURN_IF_ERROR(WriteRows(batch));
  marks.Add(due->mark);
  marks.DropForgotten(gone.size());
  return absl::OkStatus();
}

absl::Status CommitPipeline::WriteRows(std::string_view batch) {
  const uint32_t count = BatchCount(batch);
  if (count > kMaxSequenceNumber.value() - last_.value()) return NoSequenceNumbersLeft(last_);
  RETURN_IF_ERROR(Prepare(batch));
  RETURN_IF_ERROR(MakeRoom(batch.size()));
  const SequenceNumber first = last_.next();
  RETURN_IF_ERROR(Append(first, batch).status());
  Insert(batch, first);
  last_ = SequenceNumber(last_.value() + count);
  state_->visible.store(last_.value(), std::memory_order_release);
  TellWatches(batch, /*own=*/nullptr);
  return absl::OkStatus();
}

absl::Status CommitPipeline::AcceptClock() noexcept {
  constexpr size_t kMostRows = 1024;
  MutexLock lock(commit_mutex_);
  if (closed_) return Closed();
  RETURN_IF_ERROR(state_->Error());
  const std::vector<TimeMarkRow> changed = state_->core->time_marks.AcceptClock();
  for (size_t i = 0; i < changed.size();) {
    std::string batch(kBatchHeaderBytes, '\0');
    for (const size_t end = std::min(changed.size(), i + kMostRows); i < end; ++i) PutTimeMark(&batch, changed[i]);
    RETURN_IF_ERROR(WriteRows(batch));
  }
  return absl::OkStatus();
}

void CommitPipeline::ReleaseSuperseded() {
  const size_t enough = state_->core->tuning.memtable_bytes / 128;
  for (auto& [id, target] : targets_) {
    if (target.active->SupersededBytes() < enough) continue;
    StateLock lock(state_);
    if (target.family->dropped()) continue;
    MemTableReaders readers = target.family->RenewView(last_, &state_->core->epochs);
    readers.settled = target.family->history.Limit(readers.settled);
    readers.snapshots = state_->snapshots->SequencesFor(target.family->id);
    target.active->SetReaders(std::move(readers));
    views_renewed_ = true;
  }
}

}  // namespace sepal
