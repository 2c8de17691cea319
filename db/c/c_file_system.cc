// The C interface: makes a file system from a table of functions (sepal/c_file_system.h).
#include "sepal/c_file_system.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "db/c/c_types.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/files/paths.h"

namespace {

using Calls = std::shared_ptr<const sepal_filesystem_t>;

static_assert(static_cast<int>(absl::StatusCode::kDataLoss) == sepal_data_loss);
static_assert(static_cast<int>(absl::StatusCode::kAborted) == sepal_aborted);
static_assert(static_cast<int>(absl::StatusCode::kUnimplemented) == sepal_unimplemented);
static_assert(static_cast<int>(sepal::FileUseKind::kManifest) == sepal_file_manifest);
static_assert(static_cast<int>(sepal::FileUseKind::kValues) == sepal_file_values);

// A code that absl::Status does not have is treated as an internal error.
absl::Status StatusOfCode(int code, const std::string& path, const char* call, const char* message) {
  if (code == sepal_ok) return absl::OkStatus();
  const bool known = code > 0 && code <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kInternal,
                      absl::StrCat(path, ": ", call, message[0] == '\0' ? "" : ": ", message));
}

// Makes a call with a buffer for the message.
template <class Call>
absl::Status Ask(const std::string& path, const char* name, const Call& call) {
  char message[SEPAL_MESSAGE_BYTES] = "";
  const int code = call(message);
  message[SEPAL_MESSAGE_BYTES - 1] = '\0';
  return StatusOfCode(code, path, name, message);
}

class CReadableFile final : public sepal::ReadableFile {
 public:
  CReadableFile(Calls calls, std::string path, void* file)
      : calls_(std::move(calls)), path_(std::move(path)), file_(file) {}
  ~CReadableFile() override { calls_->close_read(file_); }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    size_t bytes_read = 0;
    RETURN_IF_ERROR(
        Ask(path_, "read", [&](char* m) { return calls_->read(file_, offset, length, buffer, &bytes_read, m); }));
    RETURN_IF_ERROR(CheckLength(bytes_read, length));
    return bytes_read;
  }
  absl::StatusOr<uint64_t> Size() const override {
    uint64_t bytes = 0;
    RETURN_IF_ERROR(Ask(path_, "size", [&](char* m) { return calls_->read_size(file_, &bytes, m); }));
    return bytes;
  }
  size_t ReadCached(uint64_t offset, size_t length, char* buffer) const override {
    return calls_->read_cached != nullptr ? calls_->read_cached(file_, offset, length, buffer) : 0;
  }
  void Advise(sepal::AccessPattern pattern) const override {
    if (calls_->advise != nullptr) calls_->advise(file_, pattern == sepal::AccessPattern::kSequential);
  }
  void ReadAhead(uint64_t offset, uint64_t length) const override {
    if (calls_->read_ahead != nullptr) calls_->read_ahead(file_, offset, length);
  }

  absl::Status CheckLength(size_t bytes_read, size_t length) const {
    if (bytes_read <= length) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(path_, ": read: more bytes than requested"));
  }
  void* file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  const Calls calls_;
  const std::string path_;
  void* const file_;
};

class CMappedRegion final : public sepal::MappedRegion {
 public:
  CMappedRegion(Calls calls, void* region, size_t length)
      : calls_(std::move(calls)), region_(region), length_(length) {}
  ~CMappedRegion() override { calls_->unmap(region_); }
  void Store(size_t offset, std::string_view bytes) override {
    SEPAL_CHECK(offset <= length_ && bytes.size() <= length_ - offset);
    calls_->store(region_, offset, bytes.data(), bytes.size());
  }
  bool Populate() override { return calls_->populate == nullptr || calls_->populate(region_) != 0; }
  bool Lock() override { return calls_->lock_memory != nullptr && calls_->lock_memory(region_) != 0; }
  std::string_view Contents() const override { return {calls_->contents(region_), length_}; }

 private:
  const Calls calls_;
  void* const region_;
  const size_t length_;
};

class CWritableFile final : public sepal::WritableFile {
 public:
  CWritableFile(Calls calls, std::string path, void* file, uint64_t size)
      : calls_(std::move(calls)), path_(std::move(path)), file_(file), size_(size) {}
  ~CWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(std::string_view bytes) override { return WriteAt(size_, bytes); }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    if (bytes.empty()) return CheckOpen();
    RETURN_IF_ERROR(
        Call("write", [&](char* m) { return calls_->write(file_, offset, bytes.data(), bytes.size(), m); }));
    size_ = std::max(size_, offset + bytes.size());
    return absl::OkStatus();
  }
  absl::Status Allocate(uint64_t offset, uint64_t length) override {
    if (calls_->allocate == nullptr) return CheckOpen();
    return Call("allocate", [&](char* m) { return calls_->allocate(file_, offset, length, m); });
  }
  absl::Status SyncRange(uint64_t offset, uint64_t length) override {
    if (calls_->sync_range == nullptr) return CheckOpen();
    return Call("sync range", [&](char* m) { return calls_->sync_range(file_, offset, length, m); });
  }
  absl::Status Sync() override {
    return Call("sync", [&](char* m) { return calls_->sync(file_, m); });
  }
  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(Call("truncate", [&](char* m) { return calls_->truncate(file_, size, m); }));
    size_ = size;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<sepal::MappedRegion>> Map(uint64_t offset, size_t length) override {
    if (calls_->map == nullptr) return WritableFile::Map(offset, length);
    void* region = nullptr;
    RETURN_IF_ERROR(Call("map", [&](char* m) { return calls_->map(file_, offset, length, &region, m); }));
    return std::make_unique<CMappedRegion>(calls_, region, length);
  }
  uint64_t Size() const override { return size_; }
  absl::Status Close() override {
    RETURN_IF_ERROR(CheckOpen());
    return Ask(path_, "close", [&](char* m) { return calls_->close_write(std::exchange(file_, nullptr), m); });
  }

 private:
  absl::Status CheckOpen() const {
    return file_ != nullptr ? absl::OkStatus() : absl::FailedPreconditionError(absl::StrCat(path_, ": closed"));
  }
  template <class Function>
  absl::Status Call(const char* name, const Function& function) {
    RETURN_IF_ERROR(CheckOpen());
    return Ask(path_, name, function);
  }

  const Calls calls_;
  const std::string path_;
  void* file_;  // null: closed
  uint64_t size_;
};

class CDirectoryLock final : public sepal::DirectoryLock {
 public:
  CDirectoryLock(Calls calls, std::string path, void* lock)
      : calls_(std::move(calls)), path_(std::move(path)), lock_(lock) {}
  ~CDirectoryLock() override { calls_->unlock(lock_); }
  absl::Status Check() const override {
    return Ask(path_, "lock", [&](char* m) { return calls_->check_lock(lock_, m); });
  }

 private:
  const Calls calls_;
  const std::string path_;
  void* const lock_;
};

class CDirectory final : public sepal::Directory {
 public:
  CDirectory(Calls calls, std::string path, void* directory)
      : calls_(std::move(calls)), path_(std::move(path)), directory_(directory) {}
  ~CDirectory() override { calls_->close_directory(directory_); }

  sepal::Capabilities capabilities() const override {
    return {.map = calls_->map != nullptr,
            .hard_link = calls_->link != nullptr,
            .allocate = calls_->allocate != nullptr,
            .direct_reads = calls_->direct_reads != 0,
            .remote = calls_->remote != 0,
            .outlives_process = calls_->dies_with_process == 0,
            .fences = calls_->take_over != nullptr};
  }
  const std::string& path() const override { return path_; }
  std::string Identity() const override {
    if (calls_->identity == nullptr) return path_;
    char text[SEPAL_MESSAGE_BYTES] = "";
    calls_->identity(directory_, text);
    text[SEPAL_MESSAGE_BYTES - 1] = '\0';
    return text[0] != '\0' ? text : path_;
  }

  absl::StatusOr<std::unique_ptr<sepal::ReadableFile>> OpenForRead(std::string_view name,
                                                                   sepal::ReadMode mode) override {
    const std::string text(name);
    const bool direct = mode == sepal::ReadMode::kDirect && calls_->direct_reads != 0;
    void* file = nullptr;
    RETURN_IF_ERROR(
        Call("open", name, [&](char* m) { return calls_->open_for_read(directory_, text.c_str(), direct, &file, m); }));
    return std::make_unique<CReadableFile>(calls_, PathOf(name), file);
  }
  void ReadMany(std::span<sepal::ReadRequest> requests,
                const std::function<void(sepal::ReadRequest&)>& done) const override;
  absl::StatusOr<std::unique_ptr<sepal::WritableFile>> OpenForWrite(std::string_view name, sepal::WriteMode mode,
                                                                    sepal::FileUse use) override {
    const std::string text(name);
    const bool create = mode == sepal::WriteMode::kCreateNew;
    void* file = nullptr;
    uint64_t size = 0;
    RETURN_IF_ERROR(Call("open", name, [&](char* m) {
      if (calls_->open_for_write_as == nullptr) {
        return calls_->open_for_write(directory_, text.c_str(), create, &file, &size, m);
      }
      return calls_->open_for_write_as(directory_, text.c_str(), create, static_cast<int>(use.kind), use.expected_bytes,
                                       &file, &size, m);
    }));
    return std::make_unique<CWritableFile>(calls_, PathOf(name), file, size);
  }
  absl::StatusOr<std::vector<sepal::DirectoryEntry>> List() override {
    std::vector<sepal::DirectoryEntry> entries;
    const auto add = [](void* list, const char* name, uint64_t size) {
      static_cast<std::vector<sepal::DirectoryEntry>*>(list)->push_back({.name = name, .size_bytes = size});
    };
    RETURN_IF_ERROR(Ask(path_, "list", [&](char* m) { return calls_->list(directory_, &entries, add, m); }));
    return entries;
  }
  absl::Status Remove(std::string_view name) override {
    const std::string text(name);
    return Call("remove", name, [&](char* m) { return calls_->remove(directory_, text.c_str(), m); });
  }
  absl::Status Rename(std::string_view from, std::string_view to) override {
    RETURN_IF_ERROR(sepal::CheckFileName(path_, to));
    const std::string old_name(from), new_name(to);
    return Call("rename", from,
                [&](char* m) { return calls_->rename(directory_, old_name.c_str(), new_name.c_str(), m); });
  }
  absl::Status Link(std::string_view name, sepal::Directory& target, std::string_view new_name) override {
    auto* const other = dynamic_cast<CDirectory*>(&target);
    if (calls_->link == nullptr || other == nullptr) return Directory::Link(name, target, new_name);
    RETURN_IF_ERROR(sepal::CheckFileName(other->path_, new_name));
    const std::string text(name), new_text(new_name);
    return Call("link", name, [&](char* m) {
      return calls_->link(directory_, text.c_str(), other->directory_, new_text.c_str(), m);
    });
  }
  absl::Status Sync() override {
    return Ask(path_, "sync", [&](char* m) { return calls_->sync_directory(directory_, m); });
  }
  absl::StatusOr<std::unique_ptr<sepal::DirectoryLock>> Lock(std::string_view name, sepal::LockRequest mode) override {
    const std::string text(name);
    const auto take = mode == sepal::LockRequest::kTakeOver ? calls_->take_over : calls_->lock;
    if (take == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat(PathOf(name), ": lock: there is no take_over in the table of calls"));
    }
    void* lock = nullptr;
    RETURN_IF_ERROR(Call("lock", name, [&](char* m) { return take(directory_, text.c_str(), &lock, m); }));
    return std::make_unique<CDirectoryLock>(calls_, PathOf(name), lock);
  }
  absl::StatusOr<uint64_t> FreeBytes() override {
    uint64_t bytes = 0;
    RETURN_IF_ERROR(Ask(path_, "free space", [&](char* m) { return calls_->free_bytes(directory_, &bytes, m); }));
    return bytes;
  }

 private:
  std::string PathOf(std::string_view name) const { return absl::StrCat(path_, "/", sepal::ToAbsl(name)); }
  template <class Function>
  absl::Status Call(const char* call, std::string_view name, const Function& function) const {
    RETURN_IF_ERROR(sepal::CheckFileName(path_, name));
    return Ask(PathOf(name), call, function);
  }

  const Calls calls_;
  const std::string path_;
  void* const directory_;
};

void CDirectory::ReadMany(std::span<sepal::ReadRequest> requests,
                          const std::function<void(sepal::ReadRequest&)>& done) const {
  if (calls_->read_many == nullptr) return Directory::ReadMany(requests, done);
  std::vector<sepal_read_t> reads(requests.size());
  std::vector<sepal_read_t*> pointers(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    reads[i] = {.file = static_cast<const CReadableFile*>(requests[i].file)->file(),
                .offset = requests[i].offset,
                .length = requests[i].length,
                .buffer = requests[i].buffer,
                .bytes_read = 0,
                .code = sepal_ok,
                .message = ""};
    pointers[i] = &reads[i];
  }
  calls_->read_many(directory_, pointers.data(), pointers.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& file = static_cast<const CReadableFile&>(*requests[i].file);
    reads[i].message[SEPAL_MESSAGE_BYTES - 1] = '\0';
    requests[i].status = StatusOfCode(reads[i].code, file.path(), "read", reads[i].message);
    if (requests[i].status.ok()) requests[i].status = file.CheckLength(reads[i].bytes_read, reads[i].length);
    requests[i].bytes_read = requests[i].status.ok() ? reads[i].bytes_read : 0;
    done(requests[i]);
  }
}

// Returns the name of a required function that is missing in the table; null if there is none.
const char* MissingCall(const sepal_filesystem_t& c) {
  const std::pair<bool, const char*> needed[] = {{c.open_directory != nullptr, "open_directory"},
                                                 {c.close_directory != nullptr, "close_directory"},
                                                 {c.remove_directory != nullptr, "remove_directory"},
                                                 {c.list != nullptr, "list"},
                                                 {c.remove != nullptr, "remove"},
                                                 {c.rename != nullptr, "rename"},
                                                 {c.sync_directory != nullptr, "sync_directory"},
                                                 {c.free_bytes != nullptr, "free_bytes"},
                                                 {c.lock != nullptr, "lock"},
                                                 {c.check_lock != nullptr, "check_lock"},
                                                 {c.unlock != nullptr, "unlock"},
                                                 {c.open_for_read != nullptr, "open_for_read"},
                                                 {c.close_read != nullptr, "close_read"},
                                                 {c.read != nullptr, "read"},
                                                 {c.read_size != nullptr, "read_size"},
                                                 {c.open_for_write != nullptr, "open_for_write"},
                                                 {c.close_write != nullptr, "close_write"},
                                                 {c.write != nullptr, "write"},
                                                 {c.sync != nullptr, "sync"},
                                                 {c.truncate != nullptr, "truncate"}};
  for (const auto& [there, name] : needed) {
    if (!there) return name;
  }
  const int mapping = (c.map != nullptr) + (c.store != nullptr) + (c.contents != nullptr) + (c.unmap != nullptr);
  return mapping == 0 || mapping == 4 ? nullptr : "map, store, contents or unmap (all four or none)";
}

class CFileSystem final : public sepal::FileSystem {
 public:
  explicit CFileSystem(const sepal_filesystem_t& calls) : calls_(std::make_shared<sepal_filesystem_t>(calls)) {}

  absl::StatusOr<std::unique_ptr<sepal::Directory>> OpenDirectory(std::string_view path, bool create) override {
    ASSIGN_OR_RETURN(const std::string text, sepal::CleanPath(path));
    if (const char* missing = MissingCall(*calls_); missing != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("sepal_env_set_file_system: there is no ", missing));
    }
    void* directory = nullptr;
    RETURN_IF_ERROR(Ask(text, "open", [&](char* m) {
      return calls_->open_directory(calls_->state, text.c_str(), create, &directory, m);
    }));
    return std::make_unique<CDirectory>(calls_, text, directory);
  }
  absl::Status RemoveDirectory(std::string_view path) override {
    ASSIGN_OR_RETURN(const std::string text, sepal::CleanPath(path));
    return Ask(text, "remove", [&](char* m) { return calls_->remove_directory(calls_->state, text.c_str(), m); });
  }
  size_t MaxOpenFiles() const override { return calls_->max_open_files == 0 ? SIZE_MAX : calls_->max_open_files; }

 private:
  const Calls calls_;
};

}  // namespace

extern "C" void sepal_env_set_file_system(sepal_env_t* env, const sepal_filesystem_t* file_system, size_t size) {
  env->file_systems.push_back(std::make_unique<CFileSystem>(sepal::FromCaller(file_system, size)));
  env->rep.file_system = env->file_systems.back().get();
}
