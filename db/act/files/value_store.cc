#include "db/act/files/value_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/value_steps.h"
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

// No other thread uses it any more. A store that was never used takes no locks, so that simulated threads have the same
// histories as without it.
ValueStore::~ValueStore() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  removes_ = false;
  ends_ = true;
  held_.clear();
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

// The opening is still the only thread, here and below.
void ValueStore::Start(const Writing& writing) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  deleter_ = writing.deleter;
  ValueOutputs outputs{.directory = directory_,
                       .database_id = database_id_,
                       .new_file_number = writing.new_file_number,
                       .new_file_id = writing.new_file_id,
                       .pin = [this](FileNumber number) { return Pin(number); },
                       .ended = [this](FileNumber number, uint64_t bytes) { NoteEnded(number, bytes); },
                       .file_bytes = writing.file_bytes,
                       .step_bytes = writing.step_bytes};
  outputs_ = outputs;
  fresh_.Start(outputs);
  outputs.pacing = writing.compactions;
  outputs.use = FileUseKind::kTable;
  moved_.Start(std::move(outputs));
}

void ValueStore::LetGo() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  removes_ = !beside_a_writer_;
  const std::vector<ValueFileRef> let_go = std::exchange(held_, {});
}

ValueFileRef ValueStore::Pin(FileNumber number) {
  MutexLock lock(&map_mutex_);
  Known& known = files_[number.value()];
  known.state.number = number;
  ValueFileRef file = known.file.lock();
  if (file == nullptr) {
    file = std::make_shared<const ValueFile>(this, number, cache_ != nullptr ? cache_->FileOf(number.value()) : 0);
    known.file = file;
  }
  return file;
}

void ValueStore::NoteEnded(FileNumber number, uint64_t bytes) {
  MutexLock lock(&map_mutex_);
  const auto it = files_.find(number.value());
  if (it != files_.end()) it->second.state.ended_bytes = bytes;
  ended_changes_.fetch_add(1, std::memory_order_release);
}

void ValueStore::NoteUnreadable(FileNumber number) {
  MutexLock lock(&map_mutex_);
  const auto it = files_.find(number.value());
  if (it != files_.end()) it->second.state.unreadable = true;
  ended_changes_.fetch_add(1, std::memory_order_release);
}

std::vector<ValueStore::FileState> ValueStore::Files() const {
  std::vector<FileState> files;
  MutexLock lock(&map_mutex_);
  for (const auto& [number, known] : files_) files.push_back(known.state);
  return files;
}

class ValueStore::MemTableHold {
 public:
  MemTableHold(ValueStore* store, ValueFileRef file) : store_(store), file_(std::move(file)) {
    store_->CountMemTables(file_->number(), 1);
  }
  ~MemTableHold() { store_->CountMemTables(file_->number(), -1); }
  MemTableHold(const MemTableHold&) = delete;
  MemTableHold& operator=(const MemTableHold&) = delete;

 private:
  ValueStore* const store_;
  const ValueFileRef file_;
};

void ValueStore::CountMemTables(FileNumber number, int more) {
  MutexLock lock(&map_mutex_);
  files_.at(number.value()).state.memtables += more;
  ended_changes_.fetch_add(1, std::memory_order_release);
}

void ValueStore::HoldFor(MemTable* memtable, const ValueReference& reference) {
  if (!memtable->HoldsValues(reference.file)) {
    memtable->HoldValues(reference.file, std::make_shared<const MemTableHold>(this, Pin(reference.file)));
  }
  // An opening reads almost nothing of a chunked value.
  if (!reference.chunked) memtable->CountSeparated(reference.stored_bytes);
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
    if (it == files_.end() || !it->second.file.expired()) return;  // another thread has pinned it since
    files_.erase(it);
    if (cache_ != nullptr && !ends_ && file.reader_.load(std::memory_order_relaxed) != nullptr) {
      cache_->NoteGone(file.cache_file_);
    }
    if (!removes_) return;
    deleter = deleter_;
  }
  deleter->RemoveValueFile(file.number_);
}

// --- reading ---

absl::StatusOr<const ReadableFile*> ValueStore::Open(const ValueFile& file) const {
  if (const ReadableFile* const open = file.reader_.load(std::memory_order_acquire)) return open;
  MutexLock lock(&file.open_mutex_);
  if (file.owned_ != nullptr) return file.owned_.get();
  const std::string path = PathOf(file.number_);
  absl::StatusOr<std::unique_ptr<ReadableFile>> opened =
      directory_->OpenForRead(ValueFileName(file.number_), read_mode_);
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

absl::Status ValueStore::ReadStored(const ValueReference& reference, char* stored) {
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  ASSIGN_OR_RETURN(const size_t read, open->Read(reference.offset, reference.stored_bytes, stored));
  return Check(reference, {stored, read});
}

absl::Status ValueStore::Check(const ValueReference& reference, std::string_view stored) const {
  if (IsStoredOf(reference, stored)) [[likely]]
    return absl::OkStatus();
  if (stored.size() < reference.stored_bytes) {
    return Damaged(PathOf(reference.file), reference.offset, "separated value",
                   absl::StrFormat("%u bytes", reference.stored_bytes), absl::StrFormat("%u", stored.size()));
  }
  return Damaged(PathOf(reference.file), reference.offset, "checksum of a separated value", Hex64(reference.checksum),
                 Hex64(ChecksumAs(reference, stored)));
}

CachePin ValueStore::FindCached(const ValueReference& reference) {
  CachePin pin = cache_->Lookup(KeyOf(reference));
  // A damaged reference may name the place of another value.
  return pin && pin.bytes().size() == reference.value_bytes() ? std::move(pin) : CachePin();
}

CachePin ValueStore::Keep(const ValueReference& reference, BlockBuffer value, bool fill_cache) {
  if (!fill_cache || reference.value_bytes() > kLoneValueBytes) return cache_->PinUncached(std::move(value));
  return cache_->Insert(KeyOf(reference), std::move(value), MemoryPart::kDataBlocks);
}

absl::StatusOr<CachePin> ValueStore::Show(const ValueReference& reference, BlockBuffer stored, bool fill_cache) {
  if (!reference.compressed()) return Keep(reference, std::move(stored), fill_cache);
  const std::string path = PathOf(reference.file);
  RETURN_IF_ERROR(CheckUncompressedSize(path, reference, stored.view()));
  BlockBuffer value(reference.value_bytes());
  RETURN_IF_ERROR(DecompressValue(path, reference, stored.view(), value.data()));
  return Keep(reference, std::move(value), fill_cache);
}

absl::StatusOr<CachePin> ValueStore::Fetch(const ValueReference& reference, bool fill_cache) {
  if (CachePin pin = FindCached(reference)) return pin;
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  BlockBuffer stored(reference.stored_bytes);
  ASSIGN_OR_RETURN(const size_t read, open->Read(reference.offset, reference.stored_bytes, stored.data()));
  RETURN_IF_ERROR(Check(reference, {stored.data(), read}));
  return Show(reference, std::move(stored), fill_cache);
}

void ValueStore::FetchMany(std::span<const ValueReference> references, bool fill_cache,
                           const std::function<void(size_t i, absl::StatusOr<CachePin> value)>& done) {
  FetchAll(references, /*as_stored=*/false, fill_cache, done);
}

void ValueStore::FetchStored(std::span<const ValueReference> references,
                             const std::function<void(size_t i, absl::StatusOr<CachePin> stored)>& done) {
  FetchAll(references, /*as_stored=*/true, /*fill_cache=*/false, done);
}

void ValueStore::FetchAll(std::span<const ValueReference> references, bool as_stored, bool fill_cache,
                          const Fetched& done) {
  struct Missing {
    size_t index;
    ValueFileRef file;
    BlockBuffer buffer;
  };
  std::vector<Missing> missing;
  std::vector<ReadRequest> requests;
  for (size_t i = 0; i < references.size(); ++i) {
    const ValueReference& reference = references[i];
    // The cache has values in their decompressed form.
    if (CachePin pin = as_stored && reference.compressed() ? CachePin() : FindCached(reference)) {
      done(i, std::move(pin));
      continue;
    }
    ValueFileRef file = Pin(reference.file);
    const absl::StatusOr<const ReadableFile*> open = Open(*file);
    if (!open.ok()) {
      done(i, open.status());
      continue;
    }
    Missing& next = missing.emplace_back(Missing{i, std::move(file), BlockBuffer(reference.stored_bytes)});
    requests.push_back(
        {.file = *open, .offset = reference.offset, .length = reference.stored_bytes, .buffer = next.buffer.data()});
  }
  if (requests.empty()) return;
  directory_->ReadMany(requests, [&](ReadRequest& request) {
    Missing& of = missing[static_cast<size_t>(&request - requests.data())];
    const ValueReference& reference = references[of.index];
    absl::Status status = request.status;
    if (status.ok()) status = Check(reference, {request.buffer, request.bytes_read});
    if (!status.ok()) return done(of.index, std::move(status));
    if (as_stored) return done(of.index, cache_->PinUncached(std::move(of.buffer)));
    done(of.index, Show(reference, std::move(of.buffer), fill_cache));
  });
}

absl::Status ValueStore::Read(const ValueReference& reference, std::string* value) {
  if (!reference.compressed()) return ReadStored(reference, value);
  BlockBuffer stored(reference.stored_bytes);
  RETURN_IF_ERROR(ReadStored(reference, stored.data()));
  return Decompress(reference, stored.view(), value);
}

absl::Status ValueStore::ReadStored(const ValueReference& reference, std::string* stored) {
  stored->resize(reference.stored_bytes);
  return ReadStored(reference, stored->data());
}

absl::Status ValueStore::Decompress(const ValueReference& reference, std::string_view stored,
                                    std::string* value) const {
  const std::string path = PathOf(reference.file);
  RETURN_IF_ERROR(CheckUncompressedSize(path, reference, stored));
  value->resize(reference.value_bytes());
  return DecompressValue(path, reference, stored, value->data());
}

absl::Status ValueStore::Verify(const ValueReference& reference) {
  if (!reference.chunked && reference.stored_bytes <= kValueStepBytes) {
    return ReadStored(reference, BlockBuffer(reference.stored_bytes).data());
  }
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  return ReadInSteps(*open, PathOf(reference.file), reference);
}

absl::Status ValueStore::CheckChunkSums(const ValueReference& reference) {
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  return ReadChunkSums(*open, PathOf(reference.file), reference).status();
}

// In the cache, they have the key of their place in the file.
absl::StatusOr<CachePin> ValueStore::FetchChunkSums(const ValueReference& reference, bool fill_cache) {
  const CacheKey key{cache_->FileOf(reference.file.value()), reference.sums_offset()};
  CachePin cached = cache_->Lookup(key);
  if (cached && cached.bytes().size() == reference.sums_bytes()) return cached;
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  ASSIGN_OR_RETURN(const std::string sums, ReadChunkSums(*open, PathOf(reference.file), reference));
  BlockBuffer buffer(sums.size());
  std::memcpy(buffer.data(), sums.data(), sums.size());
  if (!fill_cache) return cache_->PinUncached(std::move(buffer));
  return cache_->Insert(key, std::move(buffer), MemoryPart::kDataBlocks);
}

absl::Status ValueStore::ReadPart(const ValueReference& reference, uint64_t at, std::span<char> to, bool fill_cache) {
  CachePin value = FindCached(reference);
  const bool small = !reference.chunked && reference.value_bytes() <= kLoneValueBytes;
  if (!value && (small || reference.compressed())) {
    ASSIGN_OR_RETURN(value, Fetch(reference, fill_cache));
  }
  if (value) {
    std::memcpy(to.data(), value.bytes().data() + at, to.size());
    return absl::OkStatus();
  }
  const ValueFileRef file = Pin(reference.file);
  ASSIGN_OR_RETURN(const ReadableFile* const open, Open(*file));
  const std::string path = PathOf(reference.file);
  if (reference.chunked) {
    ASSIGN_OR_RETURN(const CachePin sums, FetchChunkSums(reference, fill_cache));
    return sepal::ReadPart(*open, path, reference, sums.bytes(), at, to);
  }
  return ReadInSteps(*open, path, reference, [&](uint64_t step_at, std::string_view step) {
    const uint64_t begin = std::max(at, step_at);
    const uint64_t end = std::min(at + to.size(), step_at + step.size());
    if (begin < end) std::memcpy(to.data() + (begin - at), step.data() + (begin - step_at), end - begin);
    return absl::OkStatus();
  });
}

}  // namespace sepal
