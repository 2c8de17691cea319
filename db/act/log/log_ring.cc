#include "db/act/log/log_ring.h"

#include <algorithm>
#include <utility>

#include "db/format/file_names.h"
#include "db/format/log_format.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {
namespace {

absl::StatusOr<std::unique_ptr<MappedRegion>> LockedRegion(WritableFile* file, uint64_t bytes) {
  RETURN_IF_ERROR(file->Allocate(0, kRingHeaderBytes + bytes));
  RETURN_IF_ERROR(file->Truncate(kRingHeaderBytes + bytes));
  // The length, before there is anything else.
  RETURN_IF_ERROR(file->Sync());
  ASSIGN_OR_RETURN(std::unique_ptr<MappedRegion> region, file->Map(0, kRingHeaderBytes + bytes));
  if (!region->Populate() || !region->Lock())
    return absl::UnavailableError("the process may not lock memory (ulimit -l)");
  return region;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogRing>> LogRing::Make(Directory* directory, Options options) {
  const std::string name = RingFileName(options.number);
  // A file whose name is taken is kept: numbers are used once, so it does not belong to this log, and may hold
  // another's records.
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file,
                   directory->OpenForWrite(name, WriteMode::kCreateNew,
                                           {.kind = FileUseKind::kLog, .expected_bytes = options.bytes}));
  absl::StatusOr<std::unique_ptr<MappedRegion>> region = LockedRegion(file.get(), options.bytes);
  if (region.ok()) {
    return std::unique_ptr<LogRing>(new LogRing(std::move(options), std::move(file), std::move(region).value()));
  }
  file.reset();
  directory->Remove(name).IgnoreError();  // otherwise the next opening does it
  return region.status();
}

LogRing::LogRing(Options options, std::unique_ptr<WritableFile> file, std::unique_ptr<MappedRegion> region)
    : options_(std::move(options)),
      file_(std::move(file)),
      region_(std::move(region)),
      end_(options_.position.value()),
      written_(options_.position.value()),
      filed_(options_.position.value()),
      ready_lap_(options_.position.value() / options_.bytes),
      ready_micros_(options_.clock != nullptr ? options_.clock->MonotonicMicros() : 0) {
  if (options_.budget != nullptr) options_.budget->Charge(MemoryPart::kLog, region_->Contents().size());
}

LogRing::~LogRing() {
  if (options_.budget != nullptr) options_.budget->Release(MemoryPart::kLog, region_->Contents().size());
}

uint64_t LogRing::OffsetIn(const Segment& segment, uint64_t position) {
  SEPAL_DCHECK(position >= segment.begin);
  return kLogHeaderBytes + position - segment.begin;
}

void LogRing::SwitchToLogFile(FileNumber number, std::shared_ptr<LogOutput> output) {
  const uint64_t end = end_.load(std::memory_order_relaxed);
  const bool begun = output->begun();
  bool sealed = false;
  {
    MutexLock lock(&mutex_);
    SEPAL_DCHECK(segments_.empty() || segments_.back().output->begun());
    segments_.push_back({number, end, std::move(output)});
    if (begun) (void)BeginLast();  // the header then names this log; an earlier failure is kept
    DropWritten();
    if (options_.tasks == nullptr) (void)CutSealed();  // a failure is kept
    sealed = !sealed_.empty();
  }
  file_piece_end_ = end + (kLogHeaderBytes / FilePieceBytes() + 1) * FilePieceBytes() - kLogHeaderBytes;
  // This also releases the previous file, which may soon be removed, and cuts it.
  if (!begun || sealed || written_.load(std::memory_order_acquire) < end) WriteBeside(end, end);
}

uint64_t LogRing::PassFilePieces(uint64_t end) {
  file_piece_end_ += ((end - file_piece_end_) / FilePieceBytes() + 1) * FilePieceBytes();
  return file_piece_end_ - FilePieceBytes();
}

uint64_t LogRing::FilePieceBytes() const {
  constexpr uint64_t kPageBytes = 4096;
  return PieceBytes() < kPageBytes ? PieceBytes() : PieceBytes() / kPageBytes * kPageBytes;
}

absl::Status LogRing::Begin() {
  MutexLock lock(&mutex_);
  return BeginLast();
}

absl::Status LogRing::BeginLast() {
  if (segments_.empty() || segments_.back().named) return absl::OkStatus();
  RETURN_IF_ERROR(failure_);
  Segment& last = segments_.back();
  RETURN_IF_ERROR(Keep(last.output->Begin()));
  region_->Store(0, RingHeader{options_.bytes, last.number}.Encode());
  last.named = true;
  return absl::OkStatus();
}

void LogRing::DropWritten() {
  while (segments_.size() > 1 && segments_[1].begin <= filed_) {
    const Segment& full = segments_.front();
    sealed_.push_back({full.output, OffsetIn(full, segments_[1].begin)});
    segments_.pop_front();
  }
}

// A file system that needs space to release space keeps the file as it is, which costs no record.
absl::Status LogRing::CutSealed() {
  for (const Sealed& sealed : std::exchange(sealed_, {})) {
    const absl::Status cut = sealed.output->CutTo(sealed.bytes);
    if (!absl::IsResourceExhausted(cut)) RETURN_IF_ERROR(Keep(cut));
  }
  return absl::OkStatus();
}

absl::Status LogRing::Append(std::string_view header, std::string_view payload) {
  const uint64_t begin = end_.load(std::memory_order_relaxed);
  const uint64_t end = begin + header.size() + payload.size();
  if (end - begin > PieceBytes()) [[unlikely]]
    return WriteThrough(header, payload);
  if (end - written_.load(std::memory_order_acquire) > options_.bytes) [[unlikely]] {
    // Writes about a piece more than necessary, so that there is room for the records that follow.
    RETURN_IF_ERROR(WriteOut(LogPosition(PieceEndBehind(end - options_.bytes))));
  }
  Store(begin, header);
  Store(begin + header.size(), payload);
  end_.store(end, std::memory_order_release);
  SchedulePoint(&end_);
  if (end / PieceBytes() != begin / PieceBytes()) piece_ends_[end / PieceBytes() % kPieces] = end;
  if (end >= file_piece_end_) {
    const uint64_t through = PassFilePieces(end);
    WriteBeside(through == end ? end : begin, through);
  }
  return absl::OkStatus();
}

// The range between `position`, up to which not everything is written, and the end spans so few pieces that each has
// its own entry in the array, and no record there was large.
uint64_t LogRing::PieceEndBehind(uint64_t position) const {
  const uint64_t piece = position / PieceBytes() + 1;
  SEPAL_DCHECK(piece <= end_.load(std::memory_order_relaxed) / PieceBytes());
  return piece_ends_[piece % kPieces];
}

void LogRing::Store(uint64_t position, std::string_view bytes) {
  const uint64_t place = position % options_.bytes;
  const std::string_view head = bytes.substr(0, options_.bytes - place);
  region_->Store(kRingHeaderBytes + place, head);
  if (head.size() < bytes.size()) region_->Store(kRingHeaderBytes, bytes.substr(head.size()));
}

absl::Status LogRing::WriteThrough(std::string_view header, std::string_view payload) {
  MutexLock lock(&mutex_);
  const uint64_t begin = end_.load(std::memory_order_relaxed);
  RETURN_IF_ERROR(WriteOutLocked(begin, begin));
  RETURN_IF_ERROR(BeginLast());
  const Segment segment = segments_.back();
  const uint64_t offset = OffsetIn(segment, begin);
  RETURN_IF_ERROR(Keep(segment.output->Write(offset, header)));
  RETURN_IF_ERROR(Keep(segment.output->Write(offset + header.size(), payload)));
  const uint64_t end = begin + header.size() + payload.size();
  filed_ = end;
  end_.store(end, std::memory_order_release);
  written_.store(end, std::memory_order_release);
  if (end >= file_piece_end_) (void)PassFilePieces(end);
  return absl::OkStatus();
}

absl::Status LogRing::Reserve(uint64_t end) {
  MutexLock lock(&mutex_);
  return segments_.back().output->Reserve(end);
}

// Reserving space for later records must not harm existing ones: a full disk is reported to the first record without
// space.
void LogRing::WriteBeside(uint64_t boundary, uint64_t through) {
  if (options_.tasks == nullptr) return;
  (void)options_.tasks->Run([this, boundary, through] {
    MutexLock lock(&mutex_);
    if (!WriteOutLocked(boundary, through).ok() || !CutSealed().ok() || !BeginLast().ok() || segments_.empty()) return;
    if (!MakeReady(through + PieceBytes()).ok()) return;
    const Segment& last = segments_.back();
    if (through <= last.begin) return;
    const absl::Status status = last.output->Reserve(OffsetIn(last, through) + options_.bytes);
    if (!absl::IsResourceExhausted(status)) (void)Keep(status);
  });
}

// Pages that the system has written meanwhile need its permission before they are written again: a store would wait for
// it, and could raise a signal if the permission is refused. The system writes pages that have been dirty for seconds,
// unless it is under pressure or told to write, and a writer at full speed completes a lap in ten milliseconds, so not
// every lap checks for such pages.
absl::Status LogRing::MakeReady(uint64_t position) {
  const uint64_t lap = position / options_.bytes;
  if (lap <= ready_lap_) return absl::OkStatus();
  if (options_.clock != nullptr) {
    const uint64_t now = options_.clock->MonotonicMicros();
    if (now >= ready_micros_ && now - ready_micros_ < kReadyMicros) return absl::OkStatus();
    ready_micros_ = now;
  }
  ready_lap_ = lap;
  if (region_->Populate()) return absl::OkStatus();
  return Keep(absl::InternalError("the ring of the write-ahead log can no longer be written"));
}

absl::Status LogRing::WriteOut(LogPosition through, bool zero_ahead) {
  if (!zero_ahead && written_.load(std::memory_order_acquire) >= through.value()) return absl::OkStatus();
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(WriteOutLocked(through.value(), through.value()));
  if (!zero_ahead || segments_.empty()) return absl::OkStatus();
  // Zeros only what is after everything in the file, because a record could already lie there. The log may have
  // continued in another file meanwhile.
  const Segment& last = segments_.back();
  if (filed_ < last.begin) return absl::OkStatus();
  return Keep(last.output->ZeroAhead(OffsetIn(last, filed_)));
}

absl::Status LogRing::WriteOutLocked(uint64_t boundary, uint64_t through) {
  RETURN_IF_ERROR(failure_);
  SEPAL_DCHECK(boundary <= through && through <= end_.load(std::memory_order_acquire));
  if (!segments_.empty() && through > segments_.back().begin) RETURN_IF_ERROR(BeginLast());
  while (filed_ < through) {
    const uint64_t end = segments_.size() > 1 ? std::min(through, segments_[1].begin) : through;
    RETURN_IF_ERROR(WriteToFirst(filed_, end));
    filed_ = end;
    if (end <= boundary) written_.store(end, std::memory_order_release);  // files end with a record
    DropWritten();
  }
  if (boundary > written_.load(std::memory_order_relaxed)) written_.store(boundary, std::memory_order_release);
  return options_.tasks == nullptr ? CutSealed() : absl::OkStatus();
}

absl::Status LogRing::WriteToFirst(uint64_t begin, uint64_t end) {
  const Segment& segment = segments_.front();
  while (begin < end) {
    const uint64_t place = begin % options_.bytes;
    const uint64_t size = std::min(end - begin, options_.bytes - place);
    const std::string_view bytes = region_->Contents().substr(kRingHeaderBytes + place, size);
    RETURN_IF_ERROR(Keep(segment.output->Write(OffsetIn(segment, begin), bytes)));
    begin += size;
  }
  return absl::OkStatus();
}

absl::Status LogRing::Finish() {
  MutexLock lock(&mutex_);
  const uint64_t end = end_.load(std::memory_order_relaxed);
  RETURN_IF_ERROR(WriteOutLocked(end, end));
  RETURN_IF_ERROR(CutSealed());
  RETURN_IF_ERROR(BeginLast());
  const Segment last = segments_.back();
  segments_.clear();
  return Keep(last.output->CutTo(OffsetIn(last, end)));
}

absl::Status LogRing::Keep(const absl::Status& status) {
  if (status.ok()) return status;
  KeepFirst(&failure_, status);
  if (options_.on_failure != nullptr) options_.on_failure(status);
  return status;
}

}  // namespace sepal
