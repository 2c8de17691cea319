#include "db/act/log_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/check.h"
#include "util/coding.h"
#include "util/status.h"

namespace sepal {

struct WriteAheadLog::OpenLog {
  FileNumber number;
  LogPosition start;
  LogPosition end;                     // once it takes no more appends
  SequenceNumber last_sequence;        // likewise
  std::shared_ptr<WritableFile> file;  // null once it is synced and takes no more appends
};

namespace {

// So that fragments always make progress.
constexpr size_t kMinFragmentBytes = 64;
constexpr uint64_t kMaxFragmentBytes = uint64_t{1} << 31;

constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kZeroAheadBytes = uint64_t{64} << 10;

// Of a new file.
uint64_t FirstAllocation(const LogOptions& options) {
  return std::max<uint64_t>(kLogHeaderBytes, options.allocation_step_bytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WriteAheadLog>> WriteAheadLog::Create(Directory* directory, LogOptions options,
                                                                     const LogStart& start) {
  options.max_fragment_bytes = std::clamp<uint64_t>(options.max_fragment_bytes, kMinFragmentBytes, kMaxFragmentBytes);
  std::unique_ptr<WriteAheadLog> log(new WriteAheadLog(directory, std::move(options), start));
  const LogHeader header{.database_id = log->options_.database_id,
                         .number = start.number,
                         .salt = 0,
                         .start = start.position,
                         .predecessor = start.predecessor,
                         .durable = start.durable,
                         .manifest = start.manifest};
  RETURN_IF_ERROR(log->StartFile(header, std::nullopt).status());
  return log;
}

WriteAheadLog::WriteAheadLog(Directory* directory, LogOptions options, const LogStart& start)
    : directory_(directory),
      options_(std::move(options)),
      random_(options_.random_seed),
      window_(options_.allocation_step_bytes, options_.budget, options_.tasks),
      next_file_(directory, FirstAllocation(options_), options_.map, options_.tasks),
      end_(start.position.value()),
      last_sequence_(start.last_sequence.value()),
      durable_(start.position.value()) {}

WriteAheadLog::~WriteAheadLog() = default;

absl::StatusOr<LogPosition> WriteAheadLog::Append(SequenceNumber first, std::string_view batch, bool to_be_synced) {
  SEPAL_CHECK(batch.size() >= kBatchHeaderBytes);
  RETURN_IF_ERROR(Usable());
  SEPAL_CHECK(first.value() > last_sequence_.load(std::memory_order_relaxed));
  const LogPosition durable = Durable();
  const uint64_t fragments = (batch.size() + options_.max_fragment_bytes - 1) / options_.max_fragment_bytes;
  RETURN_IF_ERROR(ReserveSpace(batch.size() + fragments * kLogRecordHeaderBytes));
  if (fragments == 1) {
    RETURN_IF_ERROR(WriteRecord(first, LogRecordKind::kFull, durable, batch, to_be_synced));
  } else {
    std::string_view rest = batch;
    for (uint64_t i = 0; i < fragments; ++i) {
      const std::string_view fragment = rest.substr(0, options_.max_fragment_bytes);
      rest.remove_prefix(fragment.size());
      const LogRecordKind kind = i == 0         ? LogRecordKind::kFirst
                                 : rest.empty() ? LogRecordKind::kLast
                                                : LogRecordKind::kMiddle;
      RETURN_IF_ERROR(WriteRecord(first, kind, durable, fragment, to_be_synced));
    }
  }
  const uint32_t count = BatchCount(batch);
  const LogPosition end = header_.PositionAt(offset_);
  last_sequence_.store(first.value() + (count == 0 ? 0 : count - 1), std::memory_order_release);
  end_.store(end.value(), std::memory_order_release);
  SchedulePoint(&end_);
  return end;
}

// Fails without harm when the disk is full: nothing has been written.
absl::Status WriteAheadLog::ReserveSpace(uint64_t bytes) {
  const uint64_t needed = offset_ + bytes;
  const bool ahead = window_.WantsSpaceAhead() && !disk_was_full_;
  const uint64_t wanted = needed + (ahead ? std::min(options_.allocation_step_bytes, LogWindow::kAheadBytes) : 0);
  if (wanted <= allocated_) return absl::OkStatus();
  absl::Status status = Allocate(std::max(wanted - allocated_, options_.allocation_step_bytes));
  if (absl::IsResourceExhausted(status)) {
    disk_was_full_ = true;
    if (needed <= allocated_) return absl::OkStatus();
    status = Allocate(needed - allocated_);
  }
  if (absl::IsResourceExhausted(status))
    return Annotate(status, "no space for the write-ahead log; nothing was written");
  return status.ok() ? status : Latch(status);
}

absl::Status WriteAheadLog::Allocate(uint64_t length) {
  RETURN_IF_ERROR(file_->Allocate(allocated_, length));
  allocated_ += length;
  ExtendToAllocated();
  return absl::OkStatus();
}

// Where that fails the file goes on by writing, which extends it too, and meets any lasting failure itself.
void WriteAheadLog::ExtendToAllocated() {
  if (window_.enabled() && !file_->Truncate(allocated_).ok()) window_.Disable();
}

absl::Status WriteAheadLog::WriteRecord(SequenceNumber first, LogRecordKind kind, LogPosition durable,
                                        std::string_view payload, bool to_be_synced) {
  const size_t record_bytes = kLogRecordHeaderBytes + payload.size();
  buffer_.resize(kLogRecordHeaderBytes);
  EncodeLogRecordHeader(buffer_.data(), header_.salt, header_.PositionAt(offset_), first, kind, durable, payload);
  if (to_be_synced || !window_.Store(offset_, buffer_, payload, allocated_)) {
    buffer_.append(payload);
    SEPAL_DCHECK(buffer_.size() == record_bytes);
    const absl::Status status = extended_ ? file_->WriteAt(offset_, buffer_) : file_->Append(buffer_);
    if (!status.ok()) return Latch(status);
    RETURN_IF_ERROR(ZeroAhead(offset_ + record_bytes, record_bytes));
  }
  offset_ += record_bytes;
  return absl::OkStatus();
}

// Blocks that are reserved and were never written read as zeros, and the first sync of each has to make it durable that
// they were: a write of the file's metadata, which takes longer than a small record. So they are written as zeros, many
// at once, where syncs come often.
absl::Status WriteAheadLog::ZeroAhead(uint64_t end, size_t record_bytes) {
  const bool pays = window_.synced_in_pieces() && record_bytes <= kZeroAheadBytes / 4;
  if (!extended_ || !pays || end <= zeroed_) return absl::OkStatus();
  const uint64_t begin = (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  if (begin >= allocated_) return absl::OkStatus();
  zeros_.resize(kBlockBytes);
  const uint64_t behind = std::min(begin + kZeroAheadBytes, allocated_);
  // One by one, so that the system keeps them apart: of what it keeps together it counts all as written by each sync
  // (/proc/PID/io), whatever goes to the disk.
  for (zeroed_ = begin; zeroed_ + kBlockBytes <= behind; zeroed_ += kBlockBytes) {
    const absl::Status status = file_->WriteAt(zeroed_, zeros_);
    if (absl::IsResourceExhausted(status)) {
      zeroed_ = UINT64_MAX;  // a file system that writes all in new places: nothing is gained there
      return absl::OkStatus();
    }
    if (!status.ok()) return Latch(status);
  }
  return absl::OkStatus();
}

absl::Status WriteAheadLog::CutToRecords() {
  window_.Unmap();
  if (!std::exchange(extended_, false)) return absl::OkStatus();
  const absl::Status status = file_->Truncate(offset_);
  return status.ok() ? status : Latch(status);
}

absl::StatusOr<FileNumber> WriteAheadLog::Rotate(FileNumber next, ManifestReference manifest) {
  RETURN_IF_ERROR(Usable());
  SEPAL_CHECK(next > header_.number);
  return StartFile(LogHeader{.database_id = options_.database_id,
                             .number = next,
                             .salt = 0,
                             .start = End(),
                             .predecessor = {header_.number, header_.salt, offset_},
                             .durable = Durable(),
                             .manifest = manifest},
                   next_file_.Take());
}

// A file that is empty, or zero throughout, is known to recovery as one that holds nothing. Once the header may be
// there, going on in the old file would contradict it, so that failure is final.
absl::StatusOr<FileNumber> WriteAheadLog::StartFile(LogHeader header, std::optional<NextLogFile::Made> made) {
  const bool ahead = made.has_value();
  const uint64_t allocated = FirstAllocation(options_);
  if (!ahead) {
    made.emplace(NextLogFile::Made{.number = header.number, .file = nullptr});
    ASSIGN_OR_RETURN(made->file, NextLogFile::Create(directory_, header.number, allocated));
  }
  header.number = made->number;
  header.salt = Mix64(random_.Next() ^ header.number.value() * 0x9e3779b97f4a7c15ull);
  const std::shared_ptr<WritableFile> file = std::move(made->file);
  absl::Status status = ahead ? file->WriteAt(0, header.Encode()) : file->Append(header.Encode());
  bool extended = made->extended;
  if (!ahead) extended = status.ok() && options_.map && file->Truncate(allocated).ok();  // as ExtendToAllocated
  if (status.ok()) status = file->Sync();
  if (status.ok() && !ahead) status = directory_->Sync();
  if (!status.ok()) return Latch(status);

  const std::shared_ptr<WritableFile> closed_outside_the_lock = std::exchange(file_, file);
  header_ = header;
  offset_ = kLogHeaderBytes;
  allocated_ = allocated;
  zeroed_ = 0;
  disk_was_full_ = false;
  extended_ = options_.map;
  window_.SetFile(file, extended);
  MutexLock lock(&mutex_);
  const SequenceNumber last_sequence(last_sequence_.load(std::memory_order_relaxed));
  if (!logs_.empty()) {
    OpenLog& full = logs_.back();
    full.end = End();
    full.last_sequence = last_sequence;
    if (Durable() >= full.end) full.file.reset();
  }
  logs_.push_back({header.number, header.start, header.start, last_sequence, file});
  return header.number;
}

absl::Status WriteAheadLog::Sync(LogPosition through) {
  std::vector<std::shared_ptr<WritableFile>> files;  // closed, where nobody else holds them, outside the lock
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(failure_);
  SEPAL_CHECK(through <= End());
  if (Durable() >= through) return absl::OkStatus();
  CountCall(through);
  bool gathers = false;
  while (Durable() < through) {
    RETURN_IF_ERROR(failure_);
    if (!WaitForOthers(&gathers)) RETURN_IF_ERROR(SyncRound(&files));
  }
  return absl::OkStatus();
}

void WriteAheadLog::CountCall(LogPosition through) {
  if (syncing_ && through <= sync_target_) {
    group_.Join();
  } else {
    group_.Arrive();
  }
}

// Who makes the group complete begins the sync itself, so that nobody has to wake for that; and whoever began to wait
// for others begins it when their time is over.
bool WriteAheadLog::WaitForOthers(bool* gathers) {
  if (!syncing_) {
    const bool another_gathers = group_.gathering() && !*gathers;
    const uint64_t micros = group_.WaitMicros(NowMicros());
    if (micros == 0) return false;
    if (!another_gathers) {
      *gathers = true;
      const uint64_t before = NowMicros();
      changed_.WaitFor(&mutex_, micros);
      if (NowMicros() == before) group_.StopWaiting();
      return true;
    }
  }
  changed_.Wait(&mutex_);
  return true;
}

absl::Status WriteAheadLog::SyncRound(std::vector<std::shared_ptr<WritableFile>>* files) {
  const LogPosition target = End();
  syncing_ = true;
  sync_target_ = target;
  group_.Begin(NowMicros());
  files->clear();
  std::vector<FileNumber> numbers;
  for (const OpenLog& log : logs_) {
    if (log.file == nullptr || EndOf(log) <= Durable()) continue;
    files->push_back(log.file);
    numbers.push_back(log.number);
  }
  window_.OnSync(target.value() - Durable().value());
  mutex_.Unlock();
  absl::Status status;
  for (size_t i = 0; i < numbers.size() && status.ok(); ++i) status = SyncFile((*files)[i].get(), numbers[i]);
  if (!status.ok()) status = Latch(status);
  mutex_.Lock();
  group_.End(NowMicros());
  syncing_ = false;
  if (status.ok() && target > Durable()) durable_.store(target.value(), std::memory_order_release);
  changed_.NotifyAll();
  RETURN_IF_ERROR(status);
  for (OpenLog& log : logs_) {
    if (log.number < logs_.back().number && log.end <= Durable()) log.file.reset();
  }
  return absl::OkStatus();
}

absl::Status WriteAheadLog::SyncFile(WritableFile* file, FileNumber number) const {
  if (options_.on_sync == nullptr) return file->Sync();
  const uint64_t begin = options_.clock->MonotonicMicros();
  const absl::Status status = file->Sync();
  options_.on_sync(directory_->path() + "/" + LogFileName(number), options_.clock->MonotonicMicros() - begin);
  return status;
}

void WriteAheadLog::ForgetBefore(FileNumber number) {
  std::vector<std::shared_ptr<WritableFile>> closed_outside_the_lock;
  MutexLock lock(&mutex_);
  while (logs_.size() > 1 && logs_.front().number < number) {
    closed_outside_the_lock.push_back(std::move(logs_.front().file));
    logs_.pop_front();
  }
}

absl::StatusOr<LogEnd> WriteAheadLog::Close() {
  RETURN_IF_ERROR(Usable());
  RETURN_IF_ERROR(CutToRecords());
  RETURN_IF_ERROR(Sync(End()));
  std::vector<std::shared_ptr<WritableFile>> closed_outside_the_lock;
  {
    MutexLock lock(&mutex_);
    while (syncing_) changed_.Wait(&mutex_);
    RETURN_IF_ERROR(failure_);
    closed_ = true;
    usable_.store(false, std::memory_order_release);
    for (OpenLog& log : logs_) closed_outside_the_lock.push_back(std::move(log.file));
  }
  RETURN_IF_ERROR(std::exchange(file_, nullptr)->Close());
  return LogEnd{header_.number, offset_};
}

LogPosition WriteAheadLog::EndOf(const OpenLog& log) const {
  return log.number == logs_.back().number ? End() : log.end;
}

std::vector<LiveLog> WriteAheadLog::Live() const {
  MutexLock lock(&mutex_);
  std::vector<LiveLog> live;
  live.reserve(logs_.size());
  for (const OpenLog& log : logs_) {
    const LogPosition end = EndOf(log);
    const bool current = log.number == logs_.back().number;
    live.push_back({log.number, log.start, end,
                    current ? SequenceNumber(last_sequence_.load(std::memory_order_acquire)) : log.last_sequence,
                    kLogHeaderBytes + end.value() - log.start.value(), end <= Durable()});
  }
  return live;
}

uint64_t WriteAheadLog::LiveBytes() const {
  MutexLock lock(&mutex_);
  uint64_t bytes = 0;
  for (const OpenLog& log : logs_) bytes += kLogHeaderBytes + EndOf(log).value() - log.start.value();
  return bytes;
}

absl::Status WriteAheadLog::Failure() const {
  MutexLock lock(&mutex_);
  return failure_;
}

absl::Status WriteAheadLog::Usable() const {
  if (usable_.load(std::memory_order_acquire)) [[likely]]
    return absl::OkStatus();
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(failure_);
  return closed_ ? absl::FailedPreconditionError("the write-ahead log is closed") : absl::OkStatus();
}

absl::Status WriteAheadLog::Latch(const absl::Status& error) {
  MutexLock lock(&mutex_);
  KeepFirst(&failure_, Lasting(error,
                               "the write-ahead log failed: the outcome of the write is unknown; reopen the "
                               "database"));
  usable_.store(false, std::memory_order_release);
  changed_.NotifyAll();
  return failure_;
}

}  // namespace sepal
