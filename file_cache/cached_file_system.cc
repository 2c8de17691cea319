#include "sepal/cached_file_system.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "file_cache/cached_reads.h"
#include "file_cache/page_store.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal {
namespace file_cache {
namespace {

constexpr uint64_t kFewestBytes = uint64_t{1} << 20;
constexpr uint64_t kMostBytes = uint64_t{16} << 40;  // the index is 25 GiB then

// Logs and manifests are read once; what is read again and again, and never changes once it is complete, is kept.
bool IsKept(std::string_view name) {
  const std::optional<ParsedFileName> parsed = ParseFileName(name);
  return parsed.has_value() && (parsed->kind == FileKind::kTable || parsed->kind == FileKind::kValues);
}

// Passes a table on, and keeps its pages: those that a sync has covered. What is not appended ends that.
class CachedWriter final : public WritableFile {
 public:
  CachedWriter(std::unique_ptr<WritableFile> base, std::shared_ptr<PageStore> store, std::shared_ptr<KeptFile> file)
      : base_(std::move(base)), store_(std::move(store)), file_(std::move(file)) {}
  ~CachedWriter() override {
    if (store_->InChild()) return;
    MutexLock lock(&mutex_);
    AbandonStaged();
  }

  absl::Status Append(std::string_view bytes) override {
    const absl::Status status = base_->Append(bytes);
    MutexLock lock(&mutex_);
    status.ok() ? Take(bytes) : Stop();
    return status;
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    StopNow();
    return base_->WriteAt(offset, bytes);
  }
  absl::Status Allocate(uint64_t offset, uint64_t length) override { return base_->Allocate(offset, length); }
  absl::Status SyncRange(uint64_t offset, uint64_t length) override { return base_->SyncRange(offset, length); }
  absl::Status Sync() override;
  absl::Status Truncate(uint64_t size) override {
    // A table gives back what it had reserved.
    if (size != base_->Size()) StopNow();
    return base_->Truncate(size);
  }
  absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length) override {
    StopNow();
    return base_->Map(offset, length);
  }
  uint64_t Size() const override { return base_->Size(); }
  absl::Status Close() override;
  std::string UniqueId() const override { return base_->UniqueId(); }

 private:
  void Take(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A page that ends at byte `end` of the file.
  void Stage(std::string_view page, uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AbandonStaged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps nothing of the file.
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StopNow() {
    MutexLock lock(&mutex_);
    Stop();
  }

  const std::unique_ptr<WritableFile> base_;
  const std::shared_ptr<PageStore> store_;
  const std::shared_ptr<KeptFile> file_;
  Mutex mutex_;  // a sync may run beside the other calls
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes
  uint64_t synced_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string page_ ABSL_GUARDED_BY(mutex_);  // the last one, while it is not whole
  std::vector<PageStore::Staged> staged_ ABSL_GUARDED_BY(mutex_);
};

void CachedWriter::Take(std::string_view bytes) {
  if (stopped_) return;
  taken_ += bytes.size();
  while (page_.size() + bytes.size() >= kPageBytes) {
    const size_t rest = kPageBytes - page_.size();
    const uint64_t left = bytes.size() - rest;
    if (page_.empty()) {
      Stage(bytes.substr(0, rest), taken_ - left);
    } else {
      page_.append(bytes.substr(0, rest));
      Stage(page_, taken_ - left);
      page_.clear();
    }
    bytes.remove_prefix(rest);
  }
  page_.append(bytes);
}

void CachedWriter::Stage(std::string_view page, uint64_t end) {
  const PageName name = NameOf(file_->key, end / kPageBytes - 1, end);
  if (const std::optional<PageStore::Staged> staged = store_->Stage(name, page); staged.has_value()) {
    staged_.push_back(*staged);
  }
}

absl::Status CachedWriter::Sync() {
  size_t covered = 0;
  uint64_t bytes = 0;
  {
    MutexLock lock(&mutex_);
    covered = staged_.size();
    bytes = taken_;
  }
  const absl::Status status = base_->Sync();
  MutexLock lock(&mutex_);
  if (!status.ok()) Stop();
  if (stopped_) return status;
  file_->bytes = bytes / kPageBytes * kPageBytes;
  for (size_t i = 0; i < covered; ++i) store_->Publish(staged_[i]);
  staged_.erase(staged_.begin(), staged_.begin() + static_cast<ptrdiff_t>(covered));
  synced_ = bytes;
  return status;
}

absl::Status CachedWriter::Close() {
  const absl::Status status = base_->Close();
  MutexLock lock(&mutex_);
  AbandonStaged();
  if (!status.ok() || stopped_ || synced_ != taken_) return status;
  file_->bytes = taken_;
  if (!page_.empty()) store_->Put(NameOf(file_->key, taken_ / kPageBytes, taken_), page_);
  return status;
}

void CachedWriter::AbandonStaged() {
  for (const PageStore::Staged& staged : staged_) store_->Abandon(staged);
  staged_.clear();
}

void CachedWriter::Stop() {
  AbandonStaged();
  if (std::exchange(stopped_, true)) return;
  file_->gone = true;
  store_->Forget(file_->key, file_->bytes).IgnoreError();  // no file has these bytes any more
}

class CachedDirectory final : public Directory {
 public:
  CachedDirectory(std::unique_ptr<Directory> base, std::shared_ptr<PageStore> store)
      : base_(std::move(base)), store_(std::move(store)) {}

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  std::string Identity() const override { return base_->Identity(); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override {
    ReadManyCached(*base_, requests, done);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override;
  absl::Status SyncMany(std::span<WritableFile* const> files) override { return base_->SyncMany(files); }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override {
    RETURN_IF_ERROR(base_->Rename(from, to));
    TakeOut(from);
    return absl::OkStatus();
  }
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override {
    auto* const cached = dynamic_cast<CachedDirectory*>(&target);
    return base_->Link(name, cached != nullptr ? *cached->base_ : target, new_name);
  }
  absl::Status Sync() override { return base_->Sync(); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override {
    return base_->Lock(name, mode);
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }

 private:
  // The file that has this name and key.
  std::shared_ptr<KeptFile> KeptAs(std::string_view name, const FileKey& key);
  std::shared_ptr<KeptFile> TakeOut(std::string_view name);
  absl::Status DropForGood(std::string_view name);

  const std::unique_ptr<Directory> base_;
  const std::shared_ptr<PageStore> store_;
  Mutex mutex_;
  // Those that were opened here, so that their pages go when they do.
  std::map<std::string, std::shared_ptr<KeptFile>, std::less<>> files_ ABSL_GUARDED_BY(mutex_);
};

std::shared_ptr<KeptFile> CachedDirectory::KeptAs(std::string_view name, const FileKey& key) {
  MutexLock lock(&mutex_);
  std::shared_ptr<KeptFile>& file = files_[std::string(name)];
  if (file == nullptr || file->key != key || file->gone) file = std::make_shared<KeptFile>(key);
  return file;
}

std::shared_ptr<KeptFile> CachedDirectory::TakeOut(std::string_view name) {
  MutexLock lock(&mutex_);
  const auto found = files_.find(name);
  if (found == files_.end()) return nullptr;
  std::shared_ptr<KeptFile> file = std::move(found->second);
  files_.erase(found);
  return file;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> CachedDirectory::OpenForRead(std::string_view name, ReadMode mode) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> base, base_->OpenForRead(name, mode));
  const std::string id = IsKept(name) ? base->UniqueId() : std::string();
  const absl::StatusOr<uint64_t> bytes = id.empty() ? absl::StatusOr<uint64_t>(0) : base->Size();
  if (id.empty() || !bytes.ok()) return std::make_unique<CachedReader>(std::move(base), nullptr, nullptr, 0);
  std::shared_ptr<KeptFile> file = KeptAs(name, KeyOf(id));
  file->bytes = *bytes;
  return std::make_unique<CachedReader>(std::move(base), store_, std::move(file), *bytes);
}

absl::StatusOr<std::unique_ptr<WritableFile>> CachedDirectory::OpenForWrite(std::string_view name, WriteMode mode,
                                                                            FileUse use) {
  if (mode == WriteMode::kOpenExisting && IsKept(name)) RETURN_IF_ERROR(DropForGood(name));
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> base, base_->OpenForWrite(name, mode, use));
  const bool table = mode == WriteMode::kCreateNew && use.kind == FileUseKind::kTable && IsKept(name);
  const std::string id = table ? base->UniqueId() : std::string();
  if (id.empty()) return base;
  return std::make_unique<CachedWriter>(std::move(base), store_, KeptAs(name, KeyOf(id)));
}

absl::Status CachedDirectory::Remove(std::string_view name) {
  RETURN_IF_ERROR(base_->Remove(name));
  if (const std::shared_ptr<KeptFile> file = TakeOut(name); file != nullptr) {
    file->gone = true;
    store_->Forget(file->key, file->bytes).IgnoreError();  // no other file has its id
  }
  return absl::OkStatus();
}

// Forgets files that another client has removed: no call of Remove tells of them here.
absl::StatusOr<std::vector<DirectoryEntry>> CachedDirectory::List() {
  ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, base_->List());
  std::set<std::string_view> names;
  for (const DirectoryEntry& entry : entries) names.insert(entry.name);
  std::vector<std::shared_ptr<KeptFile>> gone;
  {
    MutexLock lock(&mutex_);
    std::erase_if(files_, [&](auto& file) {
      if (names.contains(file.first) || file.second.use_count() > 1) return false;
      gone.push_back(std::move(file.second));
      return true;
    });
  }
  for (const std::shared_ptr<KeptFile>& file : gone) store_->Forget(file->key, file->bytes).IgnoreError();
  return entries;
}

// Before a file is changed that was complete, which the engine never does. What a loss of power brings back must not be
// taken for it.
absl::Status CachedDirectory::DropForGood(std::string_view name) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> base, base_->OpenForRead(name));
  if (const std::shared_ptr<KeptFile> file = TakeOut(name); file != nullptr) {
    file->gone = true;
    RETURN_IF_ERROR(store_->Forget(file->key, file->bytes));
  }
  const std::string id = base->UniqueId();
  if (id.empty()) return store_->Sync();
  ASSIGN_OR_RETURN(const uint64_t bytes, base->Size());
  RETURN_IF_ERROR(store_->Forget(KeyOf(id), bytes));
  return store_->Sync();
}

}  // namespace
}  // namespace file_cache

CachedFileSystem::CachedFileSystem(FileSystem* remote, std::string path, std::shared_ptr<file_cache::PageStore> store,
                                   absl::Status status)
    : remote_(remote), path_(std::move(path)), store_(std::move(store)), status_(std::move(status)) {}
CachedFileSystem::~CachedFileSystem() = default;

absl::StatusOr<std::unique_ptr<CachedFileSystem>> CachedFileSystem::Open(FileSystem* remote,
                                                                         const CacheOptions& options) {
  if (options.directory.empty()) return absl::InvalidArgumentError("cache: no directory is given");
  if (options.bytes < file_cache::kFewestBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("cache: %d bytes are too few: at least %d", options.bytes, file_cache::kFewestBytes));
  }
  if (options.bytes > file_cache::kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("cache: %d bytes are too many: at most %d, and 25 bytes of memory go with each 16 KiB",
                        options.bytes, file_cache::kMostBytes));
  }
  absl::StatusOr<std::unique_ptr<file_cache::PageStore>> store = file_cache::PageStore::Open(options);
  const absl::Status status = store.status();
  return std::unique_ptr<CachedFileSystem>(
      new CachedFileSystem(remote, options.directory, store.ok() ? *std::move(store) : nullptr, status));
}

absl::StatusOr<std::unique_ptr<Directory>> CachedFileSystem::OpenDirectory(std::string_view path, bool create) {
  if (store_ == nullptr) return remote_->OpenDirectory(path, create);
  ASSIGN_OR_RETURN(std::unique_ptr<Directory> base, remote_->OpenDirectory(path, create));
  return std::make_unique<file_cache::CachedDirectory>(std::move(base), store_);
}

absl::Status CachedFileSystem::CacheStatus() const { return store_ != nullptr ? store_->failure() : status_; }

CacheCounts CachedFileSystem::Counts() const { return store_ != nullptr ? store_->Counts() : CacheCounts{}; }

std::string CachedFileSystem::Notice() const {
  const absl::Status status = CacheStatus();
  const CacheCounts counts = Counts();
  std::string notice = store_ == nullptr ? absl::StrCat("there is no cache of table bytes in ", path_)
                                         : absl::StrFormat("the cache of table bytes in %s has %u of %u bytes", path_,
                                                           counts.bytes, counts.capacity_bytes);
  if (!status.ok()) absl::StrAppend(&notice, ": ", status.ToString());
  const std::string remote = remote_->Notice();
  return remote.empty() ? notice : absl::StrCat(remote, "; ", notice);
}

}  // namespace sepal
