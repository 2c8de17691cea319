// A file system that the engine uses through the C interface: a table of functions over another one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "db/c/c_types.h"
#include "sepal/c_file_system.h"
#include "sepal/file_system.h"
#include "util/base/strings.h"

namespace sepal {

class FileSystemThroughC {
 public:
  // `change` may remove calls, or replace them.
  explicit FileSystemThroughC(
      FileSystem* base, const std::function<void(sepal_filesystem_t*)>& change = [](sepal_filesystem_t*) {})
      : env_(sepal_create_default_env()) {
    sepal_filesystem_t calls = {};
    calls.state = base;
    calls.max_open_files = base->MaxOpenFiles() == SIZE_MAX ? 0 : base->MaxOpenFiles();
    AddDirectoryCalls(&calls);
    AddReadCalls(&calls);
    AddWriteCalls(&calls);
    change(&calls);
    sepal_env_set_file_system(env_, &calls, sizeof calls);
  }
  ~FileSystemThroughC() { sepal_env_destroy(env_); }
  FileSystemThroughC(const FileSystemThroughC&) = delete;
  FileSystemThroughC& operator=(const FileSystemThroughC&) = delete;

  FileSystem* get() { return env_->rep.file_system; }

 private:
  template <class T>
  static T& As(void* object) {
    return *static_cast<T*>(object);
  }
  template <class T>
  static void Delete(void* object) {
    delete static_cast<T*>(object);
  }
  static int Code(const absl::Status& status, char* message) {
    const std::string_view text = ToStd(status.message()).substr(0, SEPAL_MESSAGE_BYTES - 1);
    *std::copy(text.begin(), text.end(), message) = '\0';
    return static_cast<int>(status.code());
  }
  template <class T>
  static int Give(absl::StatusOr<std::unique_ptr<T>> made, void** object, char* message) {
    if (made.ok()) *object = made->release();
    return Code(made.status(), message);
  }
  template <class T>
  static int Give(absl::StatusOr<T> made, T* value, char* message) {
    if (made.ok()) *value = *made;
    return Code(made.status(), message);
  }

  static void AddDirectoryCalls(sepal_filesystem_t* calls) {
    calls->direct_reads = 1;
    calls->open_directory = [](void* state, const char* path, unsigned char create, void** directory, char* m) {
      return Give(As<FileSystem>(state).OpenDirectory(path, create != 0), directory, m);
    };
    calls->close_directory = Delete<Directory>;
    calls->remove_directory = [](void* state, const char* path, char* m) {
      return Code(As<FileSystem>(state).RemoveDirectory(path), m);
    };
    calls->list = [](void* directory, void* list, void (*add)(void*, const char*, uint64_t), char* m) {
      const absl::StatusOr<std::vector<DirectoryEntry>> entries = As<Directory>(directory).List();
      for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
        add(list, entry.name.c_str(), entry.size_bytes);
      }
      return Code(entries.status(), m);
    };
    calls->remove = [](void* directory, const char* name, char* m) {
      return Code(As<Directory>(directory).Remove(name), m);
    };
    calls->rename = [](void* directory, const char* from, const char* to, char* m) {
      return Code(As<Directory>(directory).Rename(from, to), m);
    };
    calls->link = [](void* directory, const char* name, void* target, const char* new_name, char* m) {
      return Code(As<Directory>(directory).Link(name, As<Directory>(target), new_name), m);
    };
    calls->sync_directory = [](void* directory, char* m) { return Code(As<Directory>(directory).Sync(), m); };
    calls->free_bytes = [](void* directory, uint64_t* bytes, char* m) {
      return Give(As<Directory>(directory).FreeBytes(), bytes, m);
    };
    calls->lock = [](void* directory, const char* name, void** lock, char* m) {
      return Give(As<Directory>(directory).Lock(name), lock, m);
    };
    calls->take_over = [](void* directory, const char* name, void** lock, char* m) {
      return Give(As<Directory>(directory).Lock(name, LockRequest::kTakeOver), lock, m);
    };
    calls->check_lock = [](void* lock, char* m) { return Code(As<DirectoryLock>(lock).Check(), m); };
    calls->unlock = Delete<DirectoryLock>;
  }

  static void AddReadCalls(sepal_filesystem_t* calls) {
    calls->open_for_read = [](void* directory, const char* name, unsigned char direct, void** file, char* m) {
      const ReadMode mode = direct != 0 ? ReadMode::kDirect : ReadMode::kBuffered;
      return Give(As<Directory>(directory).OpenForRead(name, mode), file, m);
    };
    calls->close_read = Delete<ReadableFile>;
    calls->read = [](void* file, uint64_t offset, size_t length, char* buffer, size_t* bytes_read, char* m) {
      return Give(As<ReadableFile>(file).Read(offset, length, buffer), bytes_read, m);
    };
    calls->read_size = [](void* file, uint64_t* bytes, char* m) {
      return Give(As<ReadableFile>(file).Size(), bytes, m);
    };
    calls->advise = [](void* file, unsigned char sequential) {
      As<ReadableFile>(file).Advise(sequential != 0 ? AccessPattern::kSequential : AccessPattern::kRandom);
    };
    calls->read_ahead = [](void* file, uint64_t offset, uint64_t length) {
      As<ReadableFile>(file).ReadAhead(offset, length);
    };
    calls->read_cached = [](void* file, uint64_t offset, size_t length, char* buffer) {
      return As<ReadableFile>(file).ReadCached(offset, length, buffer);
    };
    calls->read_many = [](void*, sepal_read_t* const* reads, size_t count) {
      for (sepal_read_t* r : std::span(reads, count)) {
        r->code = Give(As<ReadableFile>(r->file).Read(r->offset, r->length, r->buffer), &r->bytes_read, r->message);
      }
    };
  }

  static void AddWriteCalls(sepal_filesystem_t* calls) {
    calls->open_for_write = [](void* directory, const char* name, unsigned char create_new, void** file, uint64_t* size,
                               char* m) {
      const WriteMode mode = create_new != 0 ? WriteMode::kCreateNew : WriteMode::kOpenExisting;
      const int code = Give(As<Directory>(directory).OpenForWrite(name, mode), file, m);
      if (code == sepal_ok) *size = As<WritableFile>(*file).Size();
      return code;
    };
    calls->open_for_write_as = [](void* directory, const char* name, unsigned char create_new, int kind,
                                  uint64_t expected_bytes, void** file, uint64_t* size, char* m) {
      const WriteMode mode = create_new != 0 ? WriteMode::kCreateNew : WriteMode::kOpenExisting;
      const FileUse use = {.kind = static_cast<FileUseKind>(kind), .expected_bytes = expected_bytes};
      const int code = Give(As<Directory>(directory).OpenForWrite(name, mode, use), file, m);
      if (code == sepal_ok) *size = As<WritableFile>(*file).Size();
      return code;
    };
    calls->close_write = [](void* file, char* m) {
      return Code(std::unique_ptr<WritableFile>(static_cast<WritableFile*>(file))->Close(), m);
    };
    calls->write = [](void* file, uint64_t offset, const char* bytes, size_t size, char* m) {
      return Code(As<WritableFile>(file).WriteAt(offset, {bytes, size}), m);
    };
    calls->sync = [](void* file, char* m) { return Code(As<WritableFile>(file).Sync(), m); };
    calls->truncate = [](void* file, uint64_t size, char* m) { return Code(As<WritableFile>(file).Truncate(size), m); };
    calls->allocate = [](void* file, uint64_t offset, uint64_t length, char* m) {
      return Code(As<WritableFile>(file).Allocate(offset, length), m);
    };
    calls->sync_range = [](void* file, uint64_t offset, uint64_t length, char* m) {
      return Code(As<WritableFile>(file).SyncRange(offset, length), m);
    };
    calls->map = [](void* file, uint64_t offset, size_t length, void** region, char* m) {
      return Give(As<WritableFile>(file).Map(offset, length), region, m);
    };
    calls->store = [](void* region, size_t offset, const char* bytes, size_t size) {
      As<MappedRegion>(region).Store(offset, {bytes, size});
    };
    calls->contents = [](void* region) { return As<MappedRegion>(region).Contents().data(); };
    calls->unmap = Delete<MappedRegion>;
    calls->lock_memory = [](void* region) -> unsigned char { return As<MappedRegion>(region).Lock() ? 1 : 0; };
    calls->populate = [](void* region) -> unsigned char { return As<MappedRegion>(region).Populate() ? 1 : 0; };
  }

  sepal_env_t* const env_;
};

}  // namespace sepal
