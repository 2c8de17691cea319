#include "db/act/files/value_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "db/format/value_file.h"
#include "table/file/table_writer.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

ValueFile::~ValueFile() {
  {
    MutexLock lock(&open_mutex_);
    owned_.reset();  // closed before the file may be deleted
  }
  store_->Released(*this);
}

// No other thread uses it any more. A store that was never used takes no lock, here and below, so that the histories of
// simulated threads are those of a library without it.
ValueStore::~ValueStore() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  removes_ = false;
  ends_ = true;
  held_.clear();
  active_.reset();
  outputs_.clear();
}

std::string ValueStore::PathOf(FileNumber number) const { return directory_->path() + "/" + ValueFileName(number); }

// --- which files there are ---

void ValueStore::NoteFamily(size_t separate_from) {
  if (separate_from == 0) return;
  size_t least = least_separated();
  while (separate_from < least && !least_separated_.compare_exchange_weak(least, separate_from)) {
  }
}

void ValueStore::Hold(ValueFileRef file) {
  MutexLock lock(&map_mutex_);
  held_.push_back(std::move(file));
}

void ValueStore::Start(Writing writing) { writing_ = std::move(writing); }

// The opening is the only thread yet.
void ValueStore::LetGo() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  removes_ = !beside_a_writer_;
  const std::vector<ValueFileRef> let_go = std::exchange(held_, {});
}

ValueFileRef ValueStore::Pin(FileNumber number) {
  MutexLock lock(&map_mutex_);
  std::weak_ptr<const ValueFile>& known = files_[number.value()];
  ValueFileRef file = known.lock();
  if (file == nullptr) {
    file = std::make_shared<const ValueFile>(this, number, cache_ != nullptr ? cache_->FileOf(number.value()) : 0);
    known = file;
  }
  return file;
}

void ValueStore::HoldFor(MemTable* memtable, const ValueReference& reference) {
  if (!memtable->HoldsValues(reference.file)) memtable->HoldValues(reference.file, Pin(reference.file));
  memtable->CountSeparated(reference.bytes);
}

std::shared_ptr<ObsoleteTableSink> ValueStore::SinkThatHolds(std::shared_ptr<ObsoleteTableSink> sink,
                                                             std::span<const ValueLinks> links) {
  if (links.empty()) return sink;
  struct Holder {
    std::shared_ptr<ObsoleteTableSink> sink;
    std::vector<ValueFileRef> files;
  };
  auto holder = std::make_shared<Holder>();
  holder->sink = std::move(sink);
  for (const ValueLinks& each : links) holder->files.push_back(Pin(each.file));
  ObsoleteTableSink* const inner = holder->sink.get();
  return {std::move(holder), inner};
}

void ValueStore::Released(const ValueFile& file) {
  std::shared_ptr<ObsoleteTableDeleter> deleter;
  {
    MutexLock lock(&map_mutex_);
    const auto it = files_.find(file.number_.value());
    if (it == files_.end() || !it->second.expired()) return;  // another has pinned it since
    files_.erase(it);
    if (cache_ != nullptr && !ends_ && file.reader_.load(std::memory_order_relaxed) != nullptr) {
      cache_->NoteGone(file.cache_file_);
    }
    if (!removes_) return;
    deleter = writing_.deleter;
  }
  deleter->RemoveValueFile(file.number_);
}

// --- writing ---

absl::StatusOr<ValueStore::Written> ValueStore::Append(std::string_view value) {
  ValueFileRef file;
  uint64_t offset = 0;
  {
    MutexLock lock(&append_mutex_);
    RETURN_IF_ERROR(failure_);
    if (active_ != nullptr && active_->end >= writing_.file_bytes) EndActive();
    if (active_ == nullptr) RETURN_IF_ERROR(BeginFile());
    Output& output = *active_;
    file = output.file;
    offset = output.end;
    RETURN_IF_ERROR(Reserve(offset + value.size()));
    // After a failure the next value is written in the same place.
    RETURN_IF_ERROR(output.writer->WriteAt(offset, value));
    output.end = offset + value.size();
    output.dirty = true;
    appended_.store(appended_.load(std::memory_order_relaxed) + value.size() + 1, std::memory_order_release);
  }
  return Written{ReferenceTo(file->number(), offset, value), std::move(file)};
}

void ValueStore::TakeBack(const ValueReference& reference) {
  MutexLock lock(&append_mutex_);
  const bool last = active_ != nullptr && active_->file->number() == reference.file &&
                    active_->end == reference.offset + reference.bytes;
  if (last) active_->end = reference.offset;
}

absl::Status ValueStore::BeginFile() {
  SEPAL_CHECK(writing_.new_file_number != nullptr);
  auto output = std::make_shared<Output>();
  const FileNumber number = writing_.new_file_number();
  const std::string name = ValueFileName(number);
  absl::StatusOr<std::unique_ptr<WritableFile>> writer = directory_->OpenForWrite(
      name, WriteMode::kCreateNew, {.kind = FileUseKind::kValues, .expected_bytes = writing_.file_bytes});
  RETURN_IF_ERROR(writer.status());
  const ValueFileHeader header{database_id_, number, writing_.new_file_id()};
  if (const absl::Status written = (*writer)->Append(header.Encode()); !written.ok()) {
    directory_->Remove(name).IgnoreError();
    return written;
  }
  output->file = Pin(number);
  output->writer = *std::move(writer);
  output->end = output->space = kValueFileHeaderBytes;
  active_ = output;
  outputs_.push_back(std::move(output));
  return absl::OkStatus();
}

absl::Status ValueStore::Reserve(uint64_t end) {
  Output& output = *active_;
  if (end <= output.space) return absl::OkStatus();
  const uint64_t needed = end - output.space;
  uint64_t bytes = std::max(needed, writing_.step_bytes);
  absl::Status status = output.writer->Allocate(output.space, bytes);
  if (absl::IsResourceExhausted(status) && bytes > needed) {
    status = output.writer->Allocate(output.space, bytes = needed);
  }
  RETURN_IF_ERROR(status);
  output.space += bytes;
  return absl::OkStatus();
}

void ValueStore::EndFile() {
  if (appended_.load(std::memory_order_acquire) == 0) return;
  MutexLock lock(&append_mutex_);
  if (active_ != nullptr) EndActive();
}

// What is reserved behind the values is given back; where that fails, it is with the file.
void ValueStore::EndActive() {
  const std::shared_ptr<Output> ended = std::exchange(active_, nullptr);
  if (ended->space > ended->end) ended->writer->Truncate(ended->end).IgnoreError();
  ended->space = ended->end;
  if (!ended->dirty) std::erase(outputs_, ended);
}

absl::Status ValueStore::Sync() {
  if (durable_.load(std::memory_order_acquire) == appended_.load(std::memory_order_acquire)) [[likely]]
    return absl::OkStatus();
  MutexLock sync_lock(&sync_mutex_);
  std::vector<std::shared_ptr<Output>> outputs;
  uint64_t target = 0;
  {
    MutexLock lock(&append_mutex_);
    RETURN_IF_ERROR(failure_);
    target = appended_.load(std::memory_order_relaxed);
    for (const std::shared_ptr<Output>& output : outputs_) {
      if (std::exchange(output->dirty, false)) outputs.push_back(output);
    }
  }
  const absl::Status status = SyncOutputs(outputs);
  MutexLock lock(&append_mutex_);
  if (!status.ok()) {
    failure_ = Lasting(status, "a value file could not be synced: reopen the database");
    return failure_;
  }
  durable_.store(target, std::memory_order_release);
  const Output* const active = active_.get();
  std::erase_if(outputs_, [active](const auto& output) { return output.get() != active && !output->dirty; });
  return absl::OkStatus();
}

absl::Status ValueStore::SyncOutputs(const std::vector<std::shared_ptr<Output>>& outputs) {
  bool all_named = true;
  for (const std::shared_ptr<Output>& output : outputs) {
    RETURN_IF_ERROR(output->writer->Sync());
    all_named = all_named && output->named;
  }
  if (all_named) return absl::OkStatus();
  RETURN_IF_ERROR(directory_->Sync());
  for (const std::shared_ptr<Output>& output : outputs) output->named = true;
  return absl::OkStatus();
}

// --- reading ---

absl::StatusOr<const ReadableFile*> ValueStore::Open(const ValueFile& file) const {
  if (const ReadableFile* const open = file.reader_.load(std::memory_order_acquire)) return open;
  MutexLock lock(&file.open_mutex_);
  if (file.owned_ != nullptr) return file.owned_.get();
  const std::string path = PathOf(file.number_);
  absl::StatusOr<std::unique_ptr<ReadableFile>> opened = directory_->OpenForRead(ValueFileName(file.number_), mode_);
  if (absl::IsNotFound(opened.status())) {
    if (beside_a_writer_) {
      return absl::AbortedError(absl::StrFormat("%s was removed by the writer: open the database again", path));
    }
    return Damaged(path, 0, "a value file of the database", "a file", "none; restore it from a backup");
  }
  RETURN_IF_ERROR(opened.status());
  char bytes[kValueFileHeaderBytes];
  ASSIGN_OR_RETURN(const size_t read, (*opened)->Read(0, sizeof bytes, bytes));
  ASSIGN_OR_RETURN(const ValueFileHeader header, ValueFileHeader::Decode({bytes, read}, path));
  if (header.database_id != database_id_) {
    return Damaged(path, 16, "database id of the value file", Hex64(database_id_), Hex64(header.database_id));
  }
  if (header.number != file.number_) {
    return Damaged(path, 24, "number of the value file", ToString(file.number_), ToString(header.number));
  }
  file.owned_ = *std::move(opened);
  file.reader_.store(file.owned_.get(), std::memory_order_release);
  return file.owned_.get();
}

absl::Status ValueStore::Read(const ValueReference& reference, char* value) {
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  ASSIGN_OR_RETURN(const size_t read, open->Read(reference.offset, reference.bytes, value));
  return Check(reference, {value, read});
}

absl::Status ValueStore::Check(const ValueReference& reference, std::string_view value) const {
  if (IsValueOf(reference, value)) [[likely]]
    return absl::OkStatus();
  if (value.size() < reference.bytes) {
    return Damaged(PathOf(reference.file), reference.offset, "separated value",
                   absl::StrFormat("%u bytes", reference.bytes), absl::StrFormat("%u", value.size()));
  }
  return Damaged(PathOf(reference.file), reference.offset, "checksum of a separated value", Hex64(reference.checksum),
                 Hex64(ReferenceTo(reference.file, reference.offset, value).checksum));
}

CachePin ValueStore::FindCached(const ValueReference& reference) { return FindCached(*Pin(reference.file), reference); }

CachePin ValueStore::FindCached(const ValueFile& file, const ValueReference& reference) {
  CachePin pin = cache_->Lookup({file.cache_file_, reference.offset});
  // A damaged reference may name the place of another value.
  return pin && pin.bytes().size() == reference.bytes ? std::move(pin) : CachePin();
}

CachePin ValueStore::Keep(const ValueFile& file, const ValueReference& reference, BlockBuffer buffer, bool fill_cache) {
  if (!fill_cache || reference.bytes > kLoneValueBytes) return cache_->PinUncached(std::move(buffer));
  return cache_->Insert({file.cache_file_, reference.offset}, std::move(buffer), MemoryPart::kDataBlocks);
}

absl::StatusOr<CachePin> ValueStore::Fetch(const ValueReference& reference, bool fill_cache) {
  const ValueFileRef file = Pin(reference.file);
  if (CachePin pin = FindCached(*file, reference)) return pin;
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  BlockBuffer buffer(reference.bytes);
  ASSIGN_OR_RETURN(const size_t read, open->Read(reference.offset, reference.bytes, buffer.data()));
  RETURN_IF_ERROR(Check(reference, {buffer.data(), read}));
  return Keep(*file, reference, std::move(buffer), fill_cache);
}

void ValueStore::FetchMany(std::span<const ValueReference> references, bool fill_cache,
                           const std::function<void(size_t i, absl::StatusOr<CachePin> value)>& done) {
  struct Missing {
    size_t index;
    ValueFileRef file;
    BlockBuffer buffer;
  };
  std::vector<Missing> missing;
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < references.size(); ++i) {
    const ValueReference& reference = references[i];
    ValueFileRef file = Pin(reference.file);
    if (CachePin pin = FindCached(*file, reference)) {
      done(i, std::move(pin));
      continue;
    }
    const absl::StatusOr<const ReadableFile*> open = Open(*file);
    if (!open.ok()) {
      done(i, open.status());
      continue;
    }
    Missing& next = missing.emplace_back(Missing{i, std::move(file), BlockBuffer(reference.bytes)});
    requests.push_back(
        {.file = *open, .offset = reference.offset, .length = reference.bytes, .buffer = next.buffer.data()});
  }
  if (requests.empty()) return;
  directory_->ReadMany(requests, [&](ReadRequest& request) {
    Missing& of = missing[static_cast<size_t>(&request - requests.data())];
    const ValueReference& reference = references[of.index];
    absl::Status status = request.status;
    if (status.ok()) status = Check(reference, {request.buffer, request.bytes_read});
    if (!status.ok()) return done(of.index, std::move(status));
    done(of.index, Keep(*of.file, reference, std::move(of.buffer), fill_cache));
  });
}

absl::Status ValueStore::Read(const ValueReference& reference, std::string* value) {
  value->resize(reference.bytes);
  return Read(reference, value->data());
}

}  // namespace sepal
