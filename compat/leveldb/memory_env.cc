#include "compat/leveldb/memory_env.h"

#include <leveldb/helpers/memenv.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "compat/leveldb/convert.h"

namespace sepal::compat {

namespace {

using leveldb::Slice;
using leveldb::Status;

Status NotFound(const std::string& name) { return Status::IOError(name, "File not found"); }

// A directory and a name in it.
struct Place {
  std::string directory;
  std::string name;
};

Place PlaceOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

absl::StatusOr<std::unique_ptr<Directory>> DirectoryOf(FileSystem* files, const std::string& path, bool create) {
  return files->OpenDirectory(PlaceOf(path).directory, create);
}

absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(FileSystem* files, const std::string& path) {
  const auto directory = DirectoryOf(files, path, /*create=*/false);
  if (!directory.ok()) return directory.status();
  return (*directory)->OpenForRead(PlaceOf(path).name);
}

Status ReadAt(const ReadableFile& file, uint64_t offset, size_t count, Slice* result, char* scratch) {
  const absl::StatusOr<size_t> got = file.Read(offset, count, scratch);
  *result = Slice(scratch, got.value_or(0));
  return ToStatus(got.status());
}

class SequentialMemoryFile final : public leveldb::SequentialFile {
 public:
  explicit SequentialMemoryFile(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}
  Status Read(size_t count, Slice* result, char* scratch) override {
    Status status = ReadAt(*file_, offset_, count, result, scratch);
    offset_ += result->size();
    return status;
  }
  Status Skip(uint64_t count) override {
    offset_ += count;
    return Status();
  }

 private:
  const std::unique_ptr<ReadableFile> file_;
  uint64_t offset_ = 0;
};

class RandomAccessMemoryFile final : public leveldb::RandomAccessFile {
 public:
  explicit RandomAccessMemoryFile(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}
  Status Read(uint64_t offset, size_t count, Slice* result, char* scratch) const override {
    if (offset > file_->Size().value_or(0)) return Status::IOError("Offset greater than file size.");
    return ReadAt(*file_, offset, count, result, scratch);
  }

 private:
  const std::unique_ptr<ReadableFile> file_;
};

class WritableMemoryFile final : public leveldb::WritableFile {
 public:
  explicit WritableMemoryFile(std::unique_ptr<sepal::WritableFile> file) : file_(std::move(file)) {}
  Status Append(const Slice& bytes) override { return ToStatus(file_->Append(View(bytes))); }
  Status Close() override { return Status(); }
  Status Flush() override { return Status(); }
  Status Sync() override { return Status(); }

 private:
  const std::unique_ptr<sepal::WritableFile> file_;
};

class SilentLogger final : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

// The files have no other user.
class MemoryFileLock final : public leveldb::FileLock {};

}  // namespace

Status MemoryEnv::NewSequentialFile(const std::string& name, leveldb::SequentialFile** file) {
  absl::StatusOr<std::unique_ptr<ReadableFile>> open = OpenForRead(&files_, name);
  *file = open.ok() ? new SequentialMemoryFile(*std::move(open)) : nullptr;
  return *file != nullptr ? Status() : NotFound(name);
}

Status MemoryEnv::NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** file) {
  absl::StatusOr<std::unique_ptr<ReadableFile>> open = OpenForRead(&files_, name);
  *file = open.ok() ? new RandomAccessMemoryFile(*std::move(open)) : nullptr;
  return *file != nullptr ? Status() : NotFound(name);
}

Status MemoryEnv::Writable(const std::string& name, bool keep, leveldb::WritableFile** file) {
  *file = nullptr;
  const auto directory = DirectoryOf(&files_, name, /*create=*/true);
  if (!directory.ok()) return ToStatus(directory.status());
  const std::string in_directory = PlaceOf(name).name;
  if (!keep) (*directory)->Remove(in_directory).IgnoreError();  // it need not be there
  auto open = (*directory)->OpenForWrite(in_directory, WriteMode::kOpenExisting);
  if (absl::IsNotFound(open.status())) open = (*directory)->OpenForWrite(in_directory, WriteMode::kCreateNew);
  if (open.ok()) *file = new WritableMemoryFile(*std::move(open));
  return ToStatus(open.status());
}

Status MemoryEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  return Writable(name, /*keep=*/false, file);
}

Status MemoryEnv::NewAppendableFile(const std::string& name, leveldb::WritableFile** file) {
  return Writable(name, /*keep=*/true, file);
}

bool MemoryEnv::FileExists(const std::string& name) { return OpenForRead(&files_, name).ok(); }

Status MemoryEnv::GetChildren(const std::string& directory, std::vector<std::string>* names) {
  names->clear();
  const auto open = files_.OpenDirectory(directory, /*create=*/false);
  if (!open.ok()) return Status();
  const auto listing = (*open)->List();
  if (!listing.ok()) return ToStatus(listing.status());
  for (const DirectoryEntry& entry : *listing) names->push_back(entry.name);
  std::sort(names->begin(), names->end());
  return Status();
}

Status MemoryEnv::RemoveFile(const std::string& name) {
  const auto directory = DirectoryOf(&files_, name, /*create=*/false);
  if (!directory.ok() || !(*directory)->Remove(PlaceOf(name).name).ok()) return NotFound(name);
  return Status();
}

// A directory exists as soon as a file in it does.
Status MemoryEnv::CreateDir(const std::string&) { return Status(); }
Status MemoryEnv::RemoveDir(const std::string&) { return Status(); }

Status MemoryEnv::GetFileSize(const std::string& name, uint64_t* size) {
  const absl::StatusOr<std::unique_ptr<ReadableFile>> open = OpenForRead(&files_, name);
  if (!open.ok()) return NotFound(name);
  *size = (*open)->Size().value_or(0);
  return Status();
}

Status MemoryEnv::RenameFile(const std::string& from, const std::string& to) {
  const auto directory = DirectoryOf(&files_, from, /*create=*/false);
  if (!directory.ok() || !OpenForRead(&files_, from).ok()) return NotFound(from);
  if (PlaceOf(from).directory != PlaceOf(to).directory)
    return Status::NotSupported(from, "is renamed within its directory");
  if (from == to) return Status();
  (*directory)->Remove(PlaceOf(to).name).IgnoreError();  // it need not be there
  return ToStatus((*directory)->Rename(PlaceOf(from).name, PlaceOf(to).name));
}

Status MemoryEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  *lock = new MemoryFileLock;
  return Status();
}

Status MemoryEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  return Status();
}

Status MemoryEnv::GetTestDirectory(std::string* path) {
  *path = "/test";
  return Status();
}

Status MemoryEnv::NewLogger(const std::string&, leveldb::Logger** logger) {
  *logger = new SilentLogger;
  return Status();
}

}  // namespace sepal::compat

namespace leveldb {

Env* NewMemEnv(Env* base_env) { return new sepal::compat::MemoryEnv(base_env); }

}  // namespace leveldb
