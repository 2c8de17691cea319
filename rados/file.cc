#include "rados/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::rados {

constexpr uint64_t kAll = UINT64_MAX;

struct File::Sent {
  File* file = nullptr;
  uint64_t number = 0;
};

File::File(std::shared_ptr<Space> space, rados_ioctx_t home, std::string_view name, const Entry& entry)
    : space_(std::move(space)), home_(home), entry_(entry), name_(name) {}

File::~File() {
  if (lingers_) client().Unregister(this);
  MutexLock lock(&mutex_);
  while (!on_their_way_.empty()) changed_.Wait(&mutex_);
  for (auto& [space, entry] : removed_) {
    if (size_known_) entry.size = static_cast<int64_t>(size_);
    client().Bury(space, entry, objects_);
  }
}

std::string File::path() const { return space_->PathOf(Name()); }

std::string File::Name() const {
  MutexLock lock(&mutex_);
  return name_;
}

bool File::Removed() {
  MutexLock lock(&mutex_);
  return !removed_.empty();
}

void File::NoteRenamed(std::string_view name) {
  MutexLock lock(&mutex_);
  name_ = std::string(name);
}

void File::NoteRemoved(const std::string& space, const Entry& entry) {
  MutexLock lock(&mutex_);
  removed_.emplace_back(space, entry);
}

uint64_t File::Size() {
  MutexLock lock(&mutex_);
  return size_;
}

std::unique_ptr<SizeQuery> File::AskSize(uint64_t known_bytes) {
  {
    MutexLock lock(&mutex_);
    if (writing_ || size_known_) return nullptr;
  }
  return entry_.size >= 0 ? nullptr : std::make_unique<SizeQuery>(&client(), home_, entry_, known_bytes);
}

absl::Status File::LearnSize() { return LearnSize(AskSize(0).get()); }

absl::Status File::LearnSize(SizeQuery* asked) {
  uint64_t size = static_cast<uint64_t>(std::max<int64_t>(entry_.size, 0));
  if (asked != nullptr) {
    const std::string what = path();
    absl::StatusOr<uint64_t> measured = asked->Await(what);
    if (absl::IsAborted(measured.status())) {
      ASSIGN_OR_RETURN(const rados_ioctx_t io,
                       client().IoAfterFence(entry_.home.empty() ? space_->name() : entry_.home, entry_.pool));
      measured = SizeQuery(&client(), io, entry_, 0).Await(what);
    }
    ASSIGN_OR_RETURN(size, std::move(measured));
  }
  MutexLock lock(&mutex_);
  if (writing_ || size_known_) return absl::OkStatus();
  // Another client may be writing to a file of unknown size, so that it is asked for again.
  size_known_ = entry_.size >= 0;
  size_ = size;
  objects_ = (size + entry_.object_bytes - 1) / entry_.object_bytes;
  return absl::OkStatus();
}

absl::Status File::BeginWriting(FileUse use, bool anew) {
  if (!anew) {
    RETURN_IF_ERROR(LearnSize());
    // What a client that died sent beyond the end must not meet what comes now.
    MutexLock lock(&mutex_);
    const uint64_t objects = objects_;
    if (!writing_ && entry_.size < 0) RETURN_IF_ERROR(client().RemoveObjects(home_, entry_, objects, objects));
  }
  ASSIGN_OR_RETURN(const uint64_t alignment, AlignmentOf(home_));
  {
    MutexLock lock(&mutex_);
    writing_ = size_known_ = true;
    alignment_ = alignment;
    last_bytes_ = objects_ == 0 ? 0 : size_ - (objects_ - 1) * entry_.object_bytes;
    unit_ = use.kind == FileUseKind::kTable ? entry_.object_bytes
                                            : std::min(entry_.object_bytes, client().options().log_buffer_bytes);
  }
  if (use.kind != FileUseKind::kTable && !lingers_) {
    lingers_ = true;
    client().Register(this);
  }
  return absl::OkStatus();
}

absl::Status File::EndWriting() {
  MutexLock lock(&mutex_);
  return SendAndAwait();
}

// Called by librados. Nothing of the file is touched after the lock is free: it may go then.
void File::OnSent(rados_completion_t completion, void* argument) {
  const std::unique_ptr<Sent> sent(static_cast<Sent*>(argument));
  File& file = *sent->file;
  const int code = rados_aio_get_return_value(completion);
  MutexLock lock(&file.mutex_);
  if (code < 0) {
    const std::string path = file.space_->PathOf(file.name_);
    absl::Status status = file.client().Note(code, path);
    // The next holder of the lock has read it to the end and removed it.
    if (code == -ENOENT || code == -EEXIST) {
      status = absl::AbortedError(absl::StrFormat("%s: another client has taken the database over", path));
    }
    KeepFirst(&file.failure_, status);
  }
  file.on_their_way_.erase(sent->number);
  file.changed_.NotifyAll();
}

bool File::FillWrite(uint64_t object, uint64_t offset, std::string_view part, WriteOp* op) {
  const uint64_t end = offset + part.size();
  if (object >= objects_) {
    op->Create(/*exclusive=*/true);
    op->Write(part, offset);
    objects_ = object + 1;
    last_bytes_ = end;
    return true;
  }
  const bool last = object + 1 == objects_;
  const uint64_t there = last ? last_bytes_ : entry_.object_bytes;
  if (end <= there) {
    overwritten_ = object;
    overwrite_ = next_number_;
  }
  op->MustExist();
  if (alignment_ == 0 || (offset == there && offset % alignment_ == 0)) {
    op->Write(part, offset);
  } else {
    std::optional<std::string> whole = ReadBack(object, there);
    if (!whole.has_value()) return false;
    whole->resize(std::max(there, end));
    whole->replace(offset, part.size(), part);
    op->WriteFull(*whole);
  }
  if (last) last_bytes_ = std::max(there, end);
  return true;
}

std::optional<std::string> File::ReadBack(uint64_t object, uint64_t bytes) {
  while (!on_their_way_.empty()) changed_.Wait(&mutex_);
  if (!failure_.ok()) return std::nullopt;
  std::string whole(bytes, '\0');
  ++client().counts.data_reads;
  const int code = rados_read(home_, ObjectName(entry_.id, object).c_str(), whole.data(), bytes, 0);
  if (code >= 0 && static_cast<uint64_t>(code) == bytes) return whole;
  const std::string path = space_->PathOf(name_);
  KeepFirst(&failure_, code < 0 ? client().Note(code, path)
                                : absl::DataLossError(absl::StrFormat(
                                      "%s: object %d has %d bytes, of which %d were sent", path, object, code, bytes)));
  return std::nullopt;
}

void File::SendPart(uint64_t at, std::string_view part) {
  const uint64_t object = at / entry_.object_bytes;
  WriteOp op;
  if (!FillWrite(object, at % entry_.object_bytes, part, &op)) return;
  auto sent = std::make_unique<Sent>(Sent{this, next_number_++});
  on_their_way_.insert(sent->number);
  rados_completion_t completion = nullptr;
  rados_aio_create_completion2(sent.get(), &File::OnSent, &completion);
  ++client().counts.data_writes;
  client().NoteWritten(part.size());
  const int code =
      rados_aio_write_op_operate(op.get(), home_, completion, ObjectName(entry_.id, object).c_str(), nullptr, 0);
  rados_aio_release(completion);
  if (code >= 0) {
    (void)sent.release();
    return;
  }
  on_their_way_.erase(sent->number);
  KeepFirst(&failure_, client().Note(code, space_->PathOf(name_)));
}

// Objects that are new, or become longer, tell of a death by what is missing; others do not.
void File::AwaitPlace(uint64_t object) {
  while (object != overwritten_ && on_their_way_.contains(overwrite_)) changed_.Wait(&mutex_);
  while (on_their_way_.size() >= Client::InFlightWrites(entry_.object_bytes)) changed_.Wait(&mutex_);
}

// While it waits, others write on, and wait for their turn to send. So it takes the bytes out of the buffer at first.
void File::Send(uint64_t end) {
  const uint64_t turn = next_turn_++;
  while (turn_ != turn) changed_.Wait(&mutex_);
  uint64_t at = buffer_begin_;
  std::string taken;
  if (end >= at + buffer_.size()) {
    taken.swap(buffer_);
  } else if (end > at) {
    taken = buffer_.substr(0, end - at);
    buffer_.erase(0, taken.size());
  }
  buffer_begin_ += taken.size();
  std::string_view rest = taken;
  while (!rest.empty() && failure_.ok()) {
    const std::string_view part = rest.substr(0, entry_.object_bytes - at % entry_.object_bytes);
    AwaitPlace(at / entry_.object_bytes);
    if (failure_.ok()) SendPart(at, part);
    at += part.size();
    rest.remove_prefix(part.size());
  }
  if (buffer_.empty()) {
    taken.clear();
    buffer_.swap(taken);  // its memory
  }
  ++turn_;
  changed_.NotifyAll();
}

absl::Status File::AwaitSent() {
  const uint64_t turns = next_turn_;
  while (turn_ < turns) changed_.Wait(&mutex_);
  const uint64_t end = next_number_;
  while (!on_their_way_.empty() && *on_their_way_.begin() < end) changed_.Wait(&mutex_);
  return failure_;
}

absl::Status File::SendAndAwait() {
  if (failure_.ok()) KeepFirst(&failure_, space_->Lost());
  if (!buffer_.empty() && failure_.ok()) Send(kAll);
  return AwaitSent();
}

void File::SendWhatLingers() {
  // Whoever holds the lock is sending, or fills the buffer.
  if (!mutex_.TryLock()) return;
  const bool idle = turn_ == next_turn_ && on_their_way_.empty();
  if (writing_ && !buffer_.empty() && idle && failure_.ok()) Send(kAll);
  mutex_.Unlock();
}

absl::Status File::Put(uint64_t offset, std::string_view bytes) {
  RETURN_IF_ERROR(failure_);
  while (!buffer_.empty() && offset != buffer_begin_ + buffer_.size()) {
    Send(kAll);
    RETURN_IF_ERROR(failure_);
  }
  if (buffer_.empty()) buffer_begin_ = offset;
  buffer_.append(bytes);
  size_ = std::max(size_, offset + bytes.size());
  // Up to a whole unit, so that objects are written at once.
  const uint64_t whole = (buffer_begin_ + buffer_.size()) / unit_ * unit_;
  if (whole > buffer_begin_) Send(whole);
  return failure_;
}

absl::Status File::Write(uint64_t offset, std::string_view bytes) {
  constexpr uint64_t kZerosAtOnce = uint64_t{1} << 20;
  MutexLock lock(&mutex_);
  if (bytes.empty()) return failure_;
  while (size_ < offset) {
    const uint64_t gap = std::min(offset - size_, kZerosAtOnce);
    RETURN_IF_ERROR(Put(size_, std::string(gap, '\0')));
  }
  return Put(offset, bytes);
}

void File::BeginSync() {
  MutexLock lock(&mutex_);
  if (!buffer_.empty() && failure_.ok()) Send(kAll);
}

absl::Status File::Sync() {
  MutexLock lock(&mutex_);
  return SendAndAwait();
}

absl::Status File::Shrink(uint64_t size) {
  RETURN_IF_ERROR(SendAndAwait());
  const uint64_t last = size / entry_.object_bytes;
  // From the end, so that a death in between leaves no gap.
  while (objects_ > last) {
    const uint64_t object = objects_ - 1;
    WriteOp op;
    op.MustExist();
    const uint64_t kept = size % entry_.object_bytes;
    if (object == last && alignment_ == 0) {
      op.Truncate(kept);
    } else if (object == last) {
      const std::optional<std::string> whole = ReadBack(object, last_bytes_);
      if (!whole.has_value()) return failure_;
      op.WriteFull(std::string_view(*whole).substr(0, kept));
    } else {
      op.Remove();
    }
    ++client().counts.data_writes;
    const int code = op.Run(home_, ObjectName(entry_.id, object));
    if (code < 0) {
      KeepFirst(&failure_, client().Note(code, space_->PathOf(name_)));
      return failure_;
    }
    if (object == last) {
      last_bytes_ = kept;
      break;
    }
    --objects_;
    last_bytes_ = entry_.object_bytes;
  }
  size_ = size;
  return absl::OkStatus();
}

absl::Status File::Truncate(uint64_t size) {
  {
    MutexLock lock(&mutex_);
    if (size == size_) return failure_;  // nothing is reserved behind
    if (size < size_) return Shrink(size);
  }
  return Write(size - 1, std::string_view("\0", 1));
}

absl::Status File::CheckRoom(uint64_t end) {
  const std::optional<uint64_t> free = client().FreeBytes();
  MutexLock lock(&mutex_);
  const uint64_t more = end > size_ ? end - size_ : 0;
  if (!free.has_value() || more <= *free) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s: %d more bytes, and the pool has room for %d", space_->PathOf(name_), more, *free));
}

absl::Status File::LearnGrowth(uint64_t end) {
  uint64_t known_bytes = 0;
  {
    MutexLock lock(&mutex_);
    if (end <= size_ || writing_ || size_known_ || entry_.size >= 0) return absl::OkStatus();
    known_bytes = size_;
  }
  return LearnSize(AskSize(known_bytes).get());
}

absl::StatusOr<size_t> File::PrepareRead(uint64_t offset, size_t length) {
  RETURN_IF_ERROR(LearnGrowth(offset + length));
  MutexLock lock(&mutex_);
  if (offset >= size_) return size_t{0};
  const size_t count = std::min<uint64_t>(length, size_ - offset);
  if (count == 0) return count;
  if (offset + count > buffer_begin_ && offset < buffer_begin_ + buffer_.size()) {
    RETURN_IF_ERROR(SendAndAwait());
  } else if (turn_ != next_turn_ || !on_their_way_.empty()) {
    RETURN_IF_ERROR(AwaitSent());
  }
  return count;
}

void File::BeginRead(uint64_t offset, size_t length, char* buffer, rados_callback_t done, void* argument,
                     std::vector<Part>* parts) {
  while (length > 0) {
    const uint64_t in_object = offset % entry_.object_bytes;
    Part& part = parts->emplace_back(
        Part{Pending(argument, done), offset / entry_.object_bytes, in_object,
             static_cast<size_t>(std::min<uint64_t>(length, entry_.object_bytes - in_object)), buffer});
    ++client().counts.data_reads;
    const int code = rados_aio_read(home_, ObjectName(entry_.id, part.object).c_str(), part.pending.get(), buffer,
                                    part.length, in_object);
    if (code < 0) {
      part.pending.Failed(code);
      if (done != nullptr) done(nullptr, argument);
    }
    offset += part.length;
    buffer += part.length;
    length -= part.length;
  }
}

absl::Status File::FinishRead(Part* part) {
  int code = part->pending.Await();
  if (code == -ESHUTDOWN) {
    client().Note(code, path()).IgnoreError();
    ASSIGN_OR_RETURN(const rados_ioctx_t io,
                     client().IoAfterFence(entry_.home.empty() ? space_->name() : entry_.home, entry_.pool));
    code = rados_read(io, ObjectName(entry_.id, part->object).c_str(), part->buffer, part->length, part->offset);
  }
  if (code == -ENOENT) {
    return absl::AbortedError(absl::StrFormat("%s: another client has removed the file", path()));
  }
  if (code < 0) return client().Note(code, path());
  if (static_cast<size_t>(code) < part->length) std::memset(part->buffer + code, 0, part->length - code);
  return absl::OkStatus();
}

}  // namespace sepal::rados
