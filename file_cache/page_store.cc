#include "file_cache/page_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/thread/fork.h"

namespace sepal::file_cache {
namespace {

constexpr uint32_t kNone = UINT32_MAX;
// Of the directory's bytes, for what is no page and no entry of one.
constexpr uint64_t kReservedBytes = 4096;
constexpr size_t kLoadBytes = (size_t{1} << 20) / kEntryBytes * kEntryBytes;
// So many slots are given out after the disk was full before room on it is tried again.
constexpr uint32_t kClaimsWithoutRoom = 256;
// The hand passes at most so many used pages, and then evicts the next one, used or not.
constexpr uint32_t kMostPassed = 4096;
constexpr uint64_t kIndexBytesOfSlot = sizeof(Entry) + 2 * sizeof(uint32_t) + 1;

uint64_t OffsetOf(uint32_t slot) { return uint64_t{slot} * kPageBytes; }
uint64_t EntryOffset(uint32_t slot) { return kHeaderBytes + uint64_t{slot} * kEntryBytes; }

// Opens a file that may be missing.
absl::StatusOr<std::unique_ptr<WritableFile>> OpenOrCreate(Directory* directory, std::string_view name) {
  absl::StatusOr<std::unique_ptr<WritableFile>> file = directory->OpenForWrite(name, WriteMode::kOpenExisting);
  if (absl::IsNotFound(file.status())) file = directory->OpenForWrite(name, WriteMode::kCreateNew);
  return file;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PageStore>> PageStore::Open(const CacheOptions& options) {
  FileSystem* const files = options.file_system != nullptr ? options.file_system : FileSystem::Posix();
  ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory, files->OpenDirectory(options.directory, /*create=*/true));
  absl::StatusOr<std::unique_ptr<DirectoryLock>> lock = directory->Lock(kLockName);
  if (absl::IsUnavailable(lock.status())) {
    return absl::UnavailableError(
        absl::StrCat(options.directory, ": another has this cache, and each needs a directory of its own"));
  }
  RETURN_IF_ERROR(lock.status());
  const uint64_t slots = (options.bytes - kReservedBytes) / (kPageBytes + kEntryBytes);
  std::unique_ptr<PageStore> store(
      new PageStore(std::move(directory), *std::move(lock), std::min<uint64_t>(slots, kNone - 1)));
  RETURN_IF_ERROR(store->OpenFiles());
  RETURN_IF_ERROR(store->Load());
  return store;
}

PageStore::PageStore(std::unique_ptr<Directory> directory, std::unique_ptr<DirectoryLock> lock, uint64_t capacity)
    : directory_(std::move(directory)),
      lock_(std::move(lock)),
      capacity_(static_cast<uint32_t>(capacity)),
      born_in_(WatchForks()),
      entries_(capacity),
      states_(capacity, State::kFree),
      buckets_(capacity, kNone),
      next_(capacity, kNone) {}

bool PageStore::InChild() const { return ForkGeneration() != born_in_; }

absl::Status PageStore::OpenFiles() {
  MutexLock lock(&write_mutex_);
  RETURN_IF_ERROR(OpenIndex());
  ASSIGN_OR_RETURN(pages_, OpenOrCreate(directory_.get(), kPagesName));
  // It may have been larger.
  if (index_->Size() > EntryOffset(capacity_)) RETURN_IF_ERROR(index_->Truncate(EntryOffset(capacity_)));
  if (pages_->Size() > OffsetOf(capacity_)) RETURN_IF_ERROR(pages_->Truncate(OffsetOf(capacity_)));
  ASSIGN_OR_RETURN(reader_, directory_->OpenForRead(kPagesName));
  reader_->Advise(AccessPattern::kRandom);
  return absl::OkStatus();
}

absl::Status PageStore::OpenIndex() {
  absl::StatusOr<std::unique_ptr<ReadableFile>> old = directory_->OpenForRead(kIndexName);
  if (old.ok()) {
    std::string header(kHeaderBytes, '\0');
    const absl::StatusOr<size_t> got = (*old)->Read(0, header.size(), header.data());
    if (got.ok() && IsHeader(std::string_view(header).substr(0, *got))) {
      ASSIGN_OR_RETURN(index_, directory_->OpenForWrite(kIndexName, WriteMode::kOpenExisting));
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(directory_->Remove(kIndexName));
  }
  ASSIGN_OR_RETURN(index_, directory_->OpenForWrite(kIndexName, WriteMode::kCreateNew));
  return index_->Append(EncodeHeader());
}

absl::Status PageStore::Load() {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> index, directory_->OpenForRead(kIndexName));
  index->Advise(AccessPattern::kSequential);
  const auto buffer = std::make_unique_for_overwrite<char[]>(kLoadBytes);
  size_t entries = 0;
  for (uint32_t slot = 0; slot < capacity_; slot += static_cast<uint32_t>(entries)) {
    ASSIGN_OR_RETURN(const size_t got, index->Read(EntryOffset(slot), kLoadBytes, buffer.get()));
    entries = std::min<size_t>(got / kEntryBytes, capacity_ - slot);
    if (entries == 0) break;
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < entries; ++i) TakeEntry(begun_++, DecodeEntry(buffer.get() + i * kEntryBytes));
  }
  MutexLock lock(&mutex_);
  // The lowest are given out first.
  std::reverse(free_.begin(), free_.end());
  return absl::OkStatus();
}

void PageStore::TakeEntry(uint32_t slot, const Entry& entry) {
  if (entry.tag != 0 && !Look(entry.tag).has_value()) return Link(slot, entry);
  free_.push_back(slot);
}

// --- the index ---

uint32_t* PageStore::BucketOf(uint64_t tag) { return &buckets_[ReduceRange(tag, capacity_)]; }

std::optional<uint32_t> PageStore::Look(uint64_t tag) {
  for (uint32_t slot = *BucketOf(tag); slot != kNone; slot = next_[slot]) {
    if (entries_[slot].tag == tag) return slot;
  }
  return std::nullopt;
}

void PageStore::Link(uint32_t slot, const Entry& entry) {
  uint32_t* const bucket = BucketOf(entry.tag);
  entries_[slot] = entry;
  states_[slot] = State::kHeld;
  next_[slot] = std::exchange(*bucket, slot);
  ++held_;
}

void PageStore::Unlink(uint32_t slot) {
  uint32_t* at = BucketOf(entries_[slot].tag);
  while (*at != slot) at = &next_[*at];
  *at = next_[slot];
  entries_[slot] = {};
  --held_;
}

void PageStore::Release(uint32_t slot) {
  states_[slot] = State::kFree;
  free_.push_back(slot);
}

std::optional<uint32_t> PageStore::Claim() {
  // What is staged must leave room for what is read.
  if (staged_ >= capacity_ / 2) return std::nullopt;
  if (no_room_ > 0) --no_room_;
  if (no_room_ == 0 && !tried_.has_value() && !without_room_.empty()) {
    tried_ = without_room_.back();
    without_room_.pop_back();
    return tried_;
  }
  if (!free_.empty()) {
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (begun_ < capacity_ && no_room_ == 0) return begun_++;
  return Evict();
}

// In the second round no page has been used.
std::optional<uint32_t> PageStore::Evict() {
  for (uint64_t i = 0; i < uint64_t{2} * begun_; ++i) {
    const uint32_t slot = hand_;
    hand_ = hand_ + 1 < begun_ ? hand_ + 1 : 0;
    if (states_[slot] == State::kUsed && i < kMostPassed) {
      states_[slot] = State::kHeld;
    } else if (states_[slot] == State::kHeld || states_[slot] == State::kUsed) {
      Unlink(slot);
      ++counts_.evictions;
      return slot;
    }
  }
  return std::nullopt;
}

std::optional<PageStore::Place> PageStore::Find(const PageName& name, bool use) {
  MutexLock lock(&mutex_);
  const std::optional<uint32_t> slot = Look(name.tag);
  if (!slot.has_value()) return std::nullopt;
  if (use) states_[*slot] = State::kUsed;
  return Place{*slot, entries_[*slot].checksum};
}

// --- reading ---

ReadRequest PageStore::RequestFor(const Place& place, const PageName& name, char* buffer) const {
  return {.file = reader_.get(), .offset = OffsetOf(place.slot), .length = name.length, .buffer = buffer};
}

void PageStore::ReadMany(std::span<ReadRequest> requests) const {
  if (requests.size() > 1) return directory_->ReadMany(requests, [](ReadRequest&) {});
  for (ReadRequest& request : requests) {
    const absl::StatusOr<size_t> got = reader_->Read(request.offset, request.length, request.buffer);
    request.status = got.status();
    request.bytes_read = got.value_or(0);
  }
}

bool PageStore::ReadCached(const Place& place, const PageName& name, char* buffer) {
  return reader_->ReadCached(OffsetOf(place.slot), name.length, buffer) == name.length &&
         Verify(place, name, {buffer, name.length});
}

void PageStore::ReadAhead(const Place& place, const PageName& name) const {
  reader_->ReadAhead(OffsetOf(place.slot), name.length);
}

bool PageStore::Verify(const Place& place, const PageName& name, std::string_view bytes) {
  if (bytes.size() == name.length && Checksum64(bytes, name.seed) == place.checksum) return true;
  MutexLock lock(&mutex_);
  if (entries_[place.slot] == Entry{name.tag, place.checksum}) {
    Unlink(place.slot);
    Release(place.slot);
    ++counts_.damaged;
  }
  return false;
}

// --- filling ---

std::optional<PageStore::Staged> PageStore::Stage(const PageName& name, std::string_view bytes) {
  SEPAL_CHECK(bytes.size() == name.length);
  Staged staged{.slot = 0, .entry = {name.tag, Checksum64(bytes, name.seed)}};
  {
    MutexLock lock(&mutex_);
    if (Look(name.tag).has_value()) return std::nullopt;
    const std::optional<uint32_t> slot = Claim();
    if (!slot.has_value()) return std::nullopt;
    staged.slot = *slot;
    states_[*slot] = State::kStaged;
    ++staged_;
  }
  absl::Status written;
  {
    MutexLock lock(&write_mutex_);
    written = pages_->WriteAt(OffsetOf(staged.slot), bytes);
  }
  MutexLock lock(&mutex_);
  const bool was_tried = tried_ == staged.slot;
  if (was_tried) tried_.reset();
  if (written.ok()) {
    if (was_tried) {
      free_.insert(free_.end(), without_room_.begin(), without_room_.end());
      without_room_.clear();
    }
    return staged;
  }
  --staged_;
  NoteFailedWrite(staged.slot, written);
  return std::nullopt;
}

void PageStore::NoteFailedWrite(uint32_t slot, const absl::Status& status) {
  KeepFirst(&failure_, status);
  ++counts_.failed_writes;
  if (!absl::IsResourceExhausted(status)) return Release(slot);
  // The disk is full.
  states_[slot] = State::kFree;
  no_room_ = kClaimsWithoutRoom;
  if (slot + 1 == begun_) {
    --begun_;
  } else {
    without_room_.push_back(slot);
  }
  if (hand_ >= begun_) hand_ = 0;
}

void PageStore::Publish(const Staged& staged) {
  {
    MutexLock lock(&mutex_);
    --staged_;
    // Another thread may have been faster.
    if (Look(staged.entry.tag).has_value()) return Release(staged.slot);
    Link(staged.slot, staged.entry);
    ++counts_.filled;
  }
  WriteEntry(staged.slot).IgnoreError();  // it is counted, and the page is found until the store is opened anew
}

void PageStore::Abandon(const Staged& staged) {
  MutexLock lock(&mutex_);
  --staged_;
  Release(staged.slot);
}

void PageStore::Put(const PageName& name, std::string_view bytes) {
  if (const std::optional<Staged> staged = Stage(name, bytes); staged.has_value()) Publish(*staged);
}

absl::Status PageStore::WriteEntry(uint32_t slot) {
  MutexLock write_lock(&write_mutex_);
  char bytes[kEntryBytes];
  {
    MutexLock lock(&mutex_);
    EncodeEntry(entries_[slot], bytes);
  }
  absl::Status written = index_->WriteAt(EntryOffset(slot), {bytes, kEntryBytes});
  if (written.ok()) return written;
  MutexLock lock(&mutex_);
  KeepFirst(&failure_, written);
  ++counts_.failed_writes;
  return written;
}

absl::Status PageStore::Forget(const FileKey& file, uint64_t file_bytes) {
  absl::Status first;
  for (uint64_t number = 0; number * kPageBytes < file_bytes; ++number) {
    uint32_t slot = 0;
    {
      MutexLock lock(&mutex_);
      const std::optional<uint32_t> found = Look(NameOf(file, number, file_bytes).tag);
      if (!found.has_value()) continue;
      slot = *found;
      Unlink(slot);
      Release(slot);
    }
    KeepFirst(&first, WriteEntry(slot));
  }
  return first;
}

absl::Status PageStore::Sync() {
  MutexLock lock(&write_mutex_);
  return index_->Sync();
}

absl::Status PageStore::failure() const {
  MutexLock lock(&mutex_);
  return failure_;
}

CacheCounts PageStore::Counts() const {
  MutexLock lock(&mutex_);
  CacheCounts counts = counts_;
  counts.hits = hits_.load(std::memory_order_relaxed);
  counts.misses = misses_.load(std::memory_order_relaxed);
  counts.bytes = OffsetOf(held_);
  counts.capacity_bytes = OffsetOf(capacity_);
  counts.memory_bytes = kIndexBytesOfSlot * capacity_ + free_.capacity() * sizeof(uint32_t);
  return counts;
}

}  // namespace sepal::file_cache
