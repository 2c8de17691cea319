#include "db/act/log/write_ahead_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/no_memory.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

struct WriteAheadLog::OpenLog {
  FileNumber number;
  LogPosition start;
  LogPosition end;                    // set once it takes no more appends
  SequenceNumber last_sequence;       // likewise
  std::shared_ptr<LogOutput> output;  // null once it is synced and takes no more appends
};

namespace {

// Guarantees that fragments make progress.
constexpr size_t kMinFragmentBytes = 64;
constexpr uint64_t kMaxFragmentBytes = uint64_t{1} << 31;

// After a sync that carries at most this much, further syncs are expected to carry as little.
constexpr uint64_t kSmallSyncBytes = uint64_t{16} << 10;

// The space to reserve for a new file.
uint64_t FirstAllocation(const LogOptions& options) {
  return std::max<uint64_t>(kLogHeaderBytes, options.allocation_step_bytes);
}

bool Exists(Directory* directory, FileNumber log) {
  return !absl::IsNotFound(directory->OpenForRead(LogFileName(log)).status());
}

}  // namespace

absl::StatusOr<std::unique_ptr<WriteAheadLog>> WriteAheadLog::Create(Directory* directory, LogOptions options,
                                                                     const LogStart& start) {
  options.max_fragment_bytes = std::clamp<uint64_t>(options.max_fragment_bytes, kMinFragmentBytes, kMaxFragmentBytes);
  absl::StatusOr<std::unique_ptr<WriteAheadLog>> log = CreateOnce(directory, options, start);
  const bool may_fit = absl::IsResourceExhausted(log.status()) && options.ring_bytes > 0;
  if (!may_fit || Exists(directory, start.number)) return log;
  // The disk may have room for a log, but not for a ring as well.
  options.ring_bytes = 0;
  return CreateOnce(directory, std::move(options), start);
}

absl::StatusOr<std::unique_ptr<WriteAheadLog>> WriteAheadLog::CreateOnce(Directory* directory, LogOptions options,
                                                                         const LogStart& start) {
  std::unique_ptr<WriteAheadLog> log(new WriteAheadLog(directory, std::move(options), start));
  const LogHeader header{.database_id = log->options_.database_id,
                         .number = start.number,
                         .salt = 0,
                         .start = start.position,
                         .predecessor = start.predecessor,
                         .durable = start.durable,
                         .manifest = start.manifest,
                         .ring = {}};
  const absl::Status status = log->StartFile(header, std::nullopt).status();
  if (status.ok()) {
    RETURN_IF_ERROR(log->Carry(start));
    if (!log->output_->begun()) RETURN_IF_ERROR(log->BeginFile().status());
    return log;
  }
  // If the log was created, it names the ring, and without the ring nothing shows that the log holds no record.
  if (!Exists(directory, start.number)) log->RemoveRing();
  return status;
}

WriteAheadLog::WriteAheadLog(Directory* directory, LogOptions options, const LogStart& start)
    : directory_(directory),
      options_(std::move(options)),
      random_(options_.random_seed),
      ring_(MakeRing(start)),
      next_file_(directory, FirstAllocation(options_), options_.ring_bytes > 0, options_.tasks),
      beside_(options_.referred.executor == nullptr
                  ? nullptr
                  : std::make_unique<SideJob>(options_.referred.executor, Executor::Priority::kFlush)),
      end_(start.position.value()),
      last_sequence_(start.last_sequence.value()),
      durable_(start.position.value()) {}

WriteAheadLog::~WriteAheadLog() = default;

std::unique_ptr<LogRing> WriteAheadLog::MakeRing(const LogStart& start) {
  if (options_.ring_bytes == 0) {
    why_no_ring_ = absl::UnimplementedError("the file system cannot map files or reserve space, or is full");
    return nullptr;
  }
  LogRing::Options ring;
  ring.number = start.number;
  ring.bytes = options_.ring_bytes;
  ring.position = start.position;
  ring.budget = options_.budget;
  ring.tasks = options_.tasks;
  ring.clock = options_.clock;
  ring.on_failure = [this](const absl::Status& status) { (void)Latch(status); };
  absl::StatusOr<std::unique_ptr<LogRing>> made = LogRing::Make(directory_, std::move(ring));
  why_no_ring_ = made.status();
  return made.ok() ? std::move(made).value() : nullptr;
}

std::string WriteAheadLog::ModeText() const {
  if (ring_ == nullptr) return absl::StrFormat("one by one, without a ring: %s", why_no_ring_.message());
  return absl::StrFormat("through %s, a ring of %s", RingFileName(ring_->number()), HumanBytes(ring_->bytes()));
}

// Inline where batches are appended one by one: 30 instructions of a put.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline absl::Status WriteAheadLog::WriteBatch(SequenceNumber first, std::string_view batch,
                                                                           LogPosition durable) {
  const uint64_t fragments = (batch.size() + options_.max_fragment_bytes - 1) / options_.max_fragment_bytes;
  RETURN_IF_ERROR(ReserveSpace(batch.size() + fragments * kLogRecordHeaderBytes));
  if (fragments == 1) {
    RETURN_IF_ERROR(WriteRecord(first, LogRecordKind::kFull, durable, batch));
  } else {
    std::string_view rest = batch;
    for (uint64_t i = 0; i < fragments; ++i) {
      const std::string_view fragment = rest.substr(0, options_.max_fragment_bytes);
      rest.remove_prefix(fragment.size());
      const LogRecordKind kind = i == 0         ? LogRecordKind::kFirst
                                 : rest.empty() ? LogRecordKind::kLast
                                                : LogRecordKind::kMiddle;
      RETURN_IF_ERROR(WriteRecord(first, kind, durable, fragment));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LogPosition> WriteAheadLog::Append(SequenceNumber first, std::string_view batch) {
  SEPAL_CHECK(batch.size() >= kBatchHeaderBytes);
  RETURN_IF_ERROR(Usable());
  SEPAL_CHECK(first.value() > last_sequence_.load(std::memory_order_relaxed));
  RETURN_IF_ERROR(WriteBatch(first, batch, Durable()));
  const uint32_t count = BatchCount(batch);
  const LogPosition end = header_.PositionAt(offset_);
  last_sequence_.store(first.value() + (count == 0 ? 0 : count - 1), std::memory_order_release);
  end_.store(end.value(), std::memory_order_release);
  SchedulePoint(&end_);
  return end;
}

// If power is lost before the manifest needs no earlier log, the records must not prove that those were durable.
absl::Status WriteAheadLog::Carry(const LogStart& start) {
  if (start.carried.empty()) return absl::OkStatus();
  for (const LoggedBatch& batch : start.carried) RETURN_IF_ERROR(WriteBatch(batch.first, batch.bytes, start.durable));
  const LogPosition end = header_.PositionAt(offset_);
  end_.store(end.value(), std::memory_order_release);
  return Sync(end);
}

// If the disk is full, this fails without harm, because nothing has been written.
absl::Status WriteAheadLog::ReserveSpace(uint64_t bytes) {
  const uint64_t end = offset_ + bytes;
  if (output_->HasSpace(end)) [[likely]]
    return absl::OkStatus();
  const absl::Status status = ring_ != nullptr ? ring_->Reserve(end) : output_->Reserve(end);
  if (absl::IsResourceExhausted(status))
    return Annotate(status, absl::StrFormat("no %s for the write-ahead log; nothing was written",
                                            IsNoMemory(status) ? "memory" : "space"));
  return status.ok() ? status : Latch(status);
}

absl::Status WriteAheadLog::WriteRecord(SequenceNumber first, LogRecordKind kind, LogPosition durable,
                                        std::string_view payload) {
  buffer_.resize(kLogRecordHeaderBytes);
  EncodeLogRecordHeader(buffer_.data(), header_.salt, header_.PositionAt(offset_), first, kind, durable, payload);
  absl::Status status;
  if (ring_ != nullptr) {
    status = ring_->Append(buffer_, payload);
  } else {
    buffer_.append(payload);
    status = output_->Write(offset_, buffer_);
  }
  if (!status.ok()) return Latch(status);
  offset_ += kLogRecordHeaderBytes + payload.size();
  return absl::OkStatus();
}

absl::Status WriteAheadLog::CutToRecords() {
  const absl::Status status = ring_ != nullptr ? ring_->Finish() : output_->CutTo(offset_);
  return status.ok() ? status : Latch(status);
}

void WriteAheadLog::RemoveRing() {
  if (ring_ != nullptr) directory_->Remove(RingFileName(ring_->number())).IgnoreError();
}

absl::StatusOr<FileNumber> WriteAheadLog::Rotate(FileNumber next, ManifestReference manifest) {
  RETURN_IF_ERROR(Usable());
  SEPAL_CHECK(next > header_.number);
  // The next header will name this file.
  if (!output_->begun()) RETURN_IF_ERROR(BeginFile().status());
  // Cut before the next file needs space. If that gets none, this file takes more records.
  if (ring_ == nullptr) {
    const absl::Status cut = output_->CutTo(offset_);
    if (!cut.ok() && !absl::IsResourceExhausted(cut)) return Latch(cut);
  }
  return StartFile(LogHeader{.database_id = options_.database_id,
                             .number = next,
                             .salt = 0,
                             .start = End(),
                             .predecessor = {header_.number, header_.salt, offset_},
                             .durable = Durable(),
                             .manifest = manifest,
                             .ring = {}},
                   next_file_.Take());
}

absl::StatusOr<FileNumber> WriteAheadLog::BeginFile() {
  FileNumber number;
  std::shared_ptr<LogOutput> output;
  {
    MutexLock lock(&mutex_);
    number = logs_.back().number;
    output = logs_.back().output;
  }
  if (ring_ == nullptr) {
    RETURN_IF_ERROR(BeginInOrder(output, number));
  } else if (const absl::Status begun = ring_->Begin(); !begun.ok()) {
    return Latch(begun);
  }
  return number;
}

// Syncs the current header first, if calls that wait for records have not done so meanwhile.
void WriteAheadLog::PrepareNextFile(FileNumber number) {
  std::function<void()> then;
  if (options_.in_order && ring_ == nullptr) {
    then = [this, output = output_, current = header_.number] {
      BeginInOrder(output, current).IgnoreError();  // a failure is one of the log
    };
  }
  next_file_.Prepare(number, std::move(then));
}

// Waits at the mutex for a round under way, so that it may be called with the commit lock held.
absl::Status WriteAheadLog::BeginInOrder(const std::shared_ptr<LogOutput>& output, FileNumber number) {
  if (output->begun()) return absl::OkStatus();
  MutexLock lock(&sync_mutex_);
  RETURN_IF_ERROR(Failure());
  return output->begun() ? absl::OkStatus() : SyncInOrder(std::span(&output, 1), number);
}

// Recovery knows that a file which is empty or zero throughout holds no records. Once the header may be on the disk,
// continuing in the old file would contradict it, so that failure is final. With a ring, a file that was created ahead
// takes records some time later, and its header is synced concurrently with the writer. If only the end of a file can
// be lost, the first sync covers the header too.
absl::StatusOr<FileNumber> WriteAheadLog::StartFile(LogHeader header, std::optional<PreallocatedLog::Made> made) {
  const bool ahead = made.has_value();
  if (!ahead) {
    ASSIGN_OR_RETURN(made, PreallocatedLog::Create(directory_, header.number, FirstAllocation(options_)));
  }
  header.number = made->number;
  if (ring_ != nullptr) header.ring = {ring_->number(), ring_->bytes(), /*length_is_durable=*/true};
  header.salt = Mix64(random_.Next() ^ header.number.value() * 0x9e3779b97f4a7c15ull);
  const std::shared_ptr<WritableFile> file = std::move(made->file);
  const uint64_t allocated = made->space_bytes;
  absl::Status status = ahead ? file->WriteAt(0, header.Encode()) : file->Append(header.Encode());
  const bool extended = options_.ring_bytes > 0;
  // If this fails, writes make the file longer; the next call meets any lasting failure itself.
  if (!ahead && status.ok() && extended) file->Truncate(allocated).IgnoreError();
  const bool in_order = options_.in_order && ring_ == nullptr;
  const bool begun = !in_order && (!ahead || ring_ == nullptr);
  if (status.ok() && begun) status = file->Sync();
  if (status.ok() && !ahead) status = directory_->Sync();
  if (!status.ok()) return Latch(status);

  auto output = std::make_shared<LogOutput>(file, allocated, extended, options_.allocation_step_bytes, begun, in_order);
  const std::shared_ptr<LogOutput> closed_outside_the_lock = std::exchange(output_, output);
  header_ = header;
  offset_ = kLogHeaderBytes;
  if (ring_ != nullptr) ring_->SwitchToLogFile(header.number, output);
  MutexLock lock(&mutex_);
  const SequenceNumber last_sequence(last_sequence_.load(std::memory_order_relaxed));
  if (!logs_.empty()) {
    OpenLog& full = logs_.back();
    full.end = End();
    full.last_sequence = last_sequence;
    if (Durable() >= full.end) full.output.reset();
  }
  logs_.push_back({header.number, header.start, header.start, last_sequence, std::move(output)});
  return header.number;
}

absl::Status WriteAheadLog::Sync(LogPosition through) {
  SyncCall call{.through = through};
  do {
    std::optional<SyncRound> round;
    uint64_t micros = 0;
    uint32_t seen = 0;
    {
      MutexLock lock(&mutex_);
      RETURN_IF_ERROR(failure_);
      SEPAL_CHECK(through <= End());
      if (Durable() >= through) return absl::OkStatus();
      CountCall(&call);
      micros = MicrosToWait(&call);
      seen = rounds_.Read();
      if (micros == 0) round = BeginRound();
    }
    if (round.has_value()) {
      RETURN_IF_ERROR(FinishRound(*std::move(round)));
    } else {
      rounds_.AwaitFor(seen, micros);
    }
  } while (Durable() < through);
  return absl::OkStatus();
}

void WriteAheadLog::CountCall(SyncCall* call) {
  if (std::exchange(call->counted, true)) return;
  if (syncing_ && call->through <= sync_target_) {
    group_.Join();
  } else {
    group_.Arrive();
  }
}

// The call that completes the group begins the sync itself, so that no other thread must be woken for it; otherwise the
// call that began to wait for others begins it when its time is over.
uint64_t WriteAheadLog::MicrosToWait(SyncCall* call) {
  if (syncing_) return UINT64_MAX;
  const uint64_t now = NowMicros();
  if (call->gathers && call->gathers_since == now) group_.StopWaiting();
  const bool another_gathers = group_.gathering() && !call->gathers;
  const uint64_t micros = group_.WaitMicros(now);
  if (micros == 0) return 0;
  if (another_gathers) return UINT64_MAX;
  call->gathers = true;
  call->gathers_since = now;
  return micros;
}

WriteAheadLog::SyncRound WriteAheadLog::BeginRound() {
  SyncRound round{.target = End()};
  syncing_ = true;
  sync_target_ = round.target;
  group_.Begin(NowMicros());
  for (const OpenLog& log : logs_) {
    // With a ring, the header's sync is a separate one.
    const bool header = ring_ == nullptr && log.output != nullptr && !log.output->begun();
    if (!header && (log.output == nullptr || EndOf(log) <= Durable() || log.start >= round.target)) continue;
    round.files.push_back(log.output);
    round.numbers.push_back(log.number);
  }
  round.small = round.target.value() - Durable().value() <= kSmallSyncBytes;
  return round;
}

absl::Status WriteAheadLog::FinishRound(SyncRound round) {
  absl::Status status = SyncFiles(round);
  if (!status.ok()) status = Latch(status);
  {
    MutexLock lock(&mutex_);
    group_.End(NowMicros());
    syncing_ = false;
    if (status.ok() && round.target > Durable()) durable_.store(round.target.value(), std::memory_order_release);
    for (OpenLog& log : logs_) {
      if (log.number < logs_.back().number && log.end <= Durable()) log.output.reset();
    }
  }
  rounds_.Advance();
  return status;
}

void WriteAheadLog::ForgetBefore(FileNumber number) {
  std::vector<std::shared_ptr<LogOutput>> closed_outside_the_lock;
  MutexLock lock(&mutex_);
  while (logs_.size() > 1 && logs_.front().number < number) {
    closed_outside_the_lock.push_back(std::move(logs_.front().output));
    logs_.pop_front();
  }
}

absl::StatusOr<LogEnd> WriteAheadLog::Close() {
  RETURN_IF_ERROR(Usable());
  RETURN_IF_ERROR(CutToRecords());
  RETURN_IF_ERROR(Sync(End()));
  AwaitRound();
  // Its length shows that it holds no record.
  if (offset_ == kLogHeaderBytes) {
    if (const absl::Status synced = output_->file()->Sync(); !synced.ok()) return Latch(synced);
  }
  std::vector<std::shared_ptr<LogOutput>> closed_outside_the_lock;
  {
    MutexLock lock(&mutex_);
    RETURN_IF_ERROR(failure_);
    closed_ = true;
    usable_.store(false, std::memory_order_release);
    for (OpenLog& log : logs_) closed_outside_the_lock.push_back(std::move(log.output));
  }
  RETURN_IF_ERROR(std::exchange(output_, nullptr)->file()->Close());
  return LogEnd{header_.number, offset_};
}

void WriteAheadLog::AwaitRound() {
  while (true) {
    uint32_t seen = 0;
    {
      MutexLock lock(&mutex_);
      if (!syncing_) return;
      seen = rounds_.Read();
    }
    rounds_.Await(seen);
  }
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
  rounds_.Advance();
  return failure_;
}

}  // namespace sepal
