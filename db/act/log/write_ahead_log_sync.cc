// The work of a sync of the log, in the thread that makes it.
#include <memory>
#include <span>
#include <vector>

#include "db/act/log/write_ahead_log.h"
#include "db/format/file_names.h"
#include "util/base/status.h"
#include "util/thread/side_job.h"

namespace sepal {

// Records may become durable before what they refer to, by this sync or by the system: a recovery treats such a record
// as incomplete. The proof that a record was synced is written only when both are durable.
absl::Status WriteAheadLog::SyncFiles(const SyncRound& round) {
  if (options_.in_order && ring_ == nullptr && !round.files.empty()) {
    MutexLock lock(&sync_mutex_);
    RETURN_IF_ERROR(Failure());
    return SyncInOrder(round.files, round.numbers.back());
  }
  const LogOptions::Referred& referred = options_.referred;
  if (referred.due == nullptr || !referred.due()) return SyncRecords(round);
  absl::Status synced;
  beside_->Offer([&] { synced = referred.sync(); });
  const absl::Status records = SyncRecords(round);
  const bool helped = beside_->Settle();
  RETURN_IF_ERROR(records);
  return helped ? synced : referred.sync();
}

absl::Status WriteAheadLog::SyncRecords(const SyncRound& round) {
  if (ring_ != nullptr) RETURN_IF_ERROR(ring_->WriteOut(round.target, /*zero_ahead=*/round.small));
  for (size_t i = 0; i < round.files.size(); ++i) RETURN_IF_ERROR(SyncFile(round.files[i].get(), round.numbers[i]));
  return absl::OkStatus();
}

absl::Status WriteAheadLog::SyncFile(LogOutput* file, FileNumber number) const {
  if (options_.on_sync == nullptr) return file->Sync();
  const uint64_t begin = options_.clock->MonotonicMicros();
  const absl::Status status = file->Sync();
  options_.on_sync(directory_->path() + "/" + LogFileName(number), options_.clock->MonotonicMicros() - begin);
  return status;
}

absl::Status WriteAheadLog::SyncInOrder(std::span<const std::shared_ptr<LogOutput>> outputs, FileNumber last) {
  absl::Status status = options_.referred.sync != nullptr ? options_.referred.sync() : absl::OkStatus();
  if (!status.ok()) return Latch(status);
  std::vector<WritableFile*> files;
  for (const std::shared_ptr<LogOutput>& output : outputs) files.push_back(output->file().get());
  const uint64_t begin = NowMicros();
  status = directory_->SyncMany(files);
  if (options_.on_sync != nullptr) {
    options_.on_sync(directory_->path() + "/" + LogFileName(last), NowMicros() - begin);
  }
  if (!status.ok()) return Latch(status);
  for (const std::shared_ptr<LogOutput>& output : outputs) output->NoteSynced();
  return absl::OkStatus();
}

}  // namespace sepal
