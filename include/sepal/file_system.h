// The storage interface of the engine.
//
// The engine opens a directory once and names files relative to it. The contract is small enough for an object store:
// it needs no rename over an existing file, no mapping, no hard links and no cheap metadata. A file system declares
// what it offers beyond that in its capabilities.
//
// Durability: bytes are durable once `WritableFile::Sync` has returned ok after they were written; a name (created,
// removed, linked) is durable once `Directory::Sync` has returned ok after the change. Before that, a power loss may
// keep any subset of unsynced sectors and of unsynced directory changes, in any order. After a failed sync nothing may
// be assumed of the bytes that it covered, and a later successful sync says nothing about them.
//
// Errors: `NotFound` for a missing name, `AlreadyExists` for a taken one, `PermissionDenied`, `ResourceExhausted` for a
// full disk or too many open files, `Unavailable` for a lock that is held elsewhere, `Unimplemented` for what the
// capabilities do not offer, `Internal` or `DataLoss` for I/O errors. Every message names the path.
//
// All classes here are safe for concurrent use, except that one `WritableFile` is used by one thread at a time. Only
// its `Sync` and `Map` may run concurrently with any other call but `Close`; so `Allocate` and `Truncate` may run
// during a `Sync`.
//
// An implementation of these classes must be compiled with the headers of the library that it is linked with, since
// later versions add virtual methods. The table of functions in c_file_system.h grows only at its end and states its
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/export.h"

namespace sepal {

struct Capabilities {
  bool map = false;        // WritableFile::Map
  bool hard_link = false;  // Directory::Link
  bool allocate =
      false;  // WritableFile::Allocate reserves space, so that later writes to it do not fail for lack of space
  bool direct_reads = false;  // ReadMode::kDirect bypasses the operating system's page cache
};

enum class ReadMode : uint8_t { kBuffered, kDirect };
enum class AccessPattern : uint8_t { kRandom, kSequential };

class ReadableFile;

// One request of `Directory::ReadMany`, which fills `status` and `bytes_read`. Fewer bytes than requested mean the end
// of the file.
struct ReadRequest {
  const ReadableFile* file = nullptr;
  uint64_t offset = 0;
  size_t length = 0;
  char* buffer = nullptr;
  size_t bytes_read = 0;
  absl::Status status = {};
};

class SEPAL_EXPORT ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // Reads up to `length` bytes at `offset` into `buffer` and returns how many were read: fewer than `length` only at
  // the end of the file.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const = 0;
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  // Like Read, but returns only what a cache of the system holds, without waiting for the disk. Fewer bytes, or 0, say
  // nothing about the file's size. Returns 0 if there is no such cache or if that cannot be known.
  virtual size_t ReadCached(uint64_t offset, size_t length, char* buffer) const {
    (void)offset;
    (void)length;
    (void)buffer;
    return 0;
  }
  // A hint; has no effect on results.
  virtual void Advise(AccessPattern pattern) const { (void)pattern; }
  // A hint that [offset, offset + length) will be read soon. Starts to load it into a cache of the system, if reads go
  // through one, and does not wait. Has no effect on results.
  virtual void ReadAhead(uint64_t offset, uint64_t length) const {
    (void)offset;
    (void)length;
  }
};

// A part of a file that is mapped for writing. `Store` copies into memory: the bytes survive the death of the process
// at once, and a power loss once the file is synced.
class SEPAL_EXPORT MappedRegion {
 public:
  virtual ~MappedRegion() = default;
  virtual void Store(size_t offset, std::string_view bytes) = 0;
  // Makes the system provide the region's memory now, so that no `Store` waits for it. Does not change the bytes.
  // Returns false if a `Store` would raise a signal, for example because the disk is full; the region must not be used
  // then. May be called concurrently with every other call, also with one that makes the file shorter.
  virtual bool Populate() { return true; }
  // Makes the system keep the region in memory until the region is destroyed, so that no `Store` waits for the disk.
  // Returns false if it does not: the system has no such call, or the process may not lock more memory.
  virtual bool Lock() { return false; }
  // The bytes of the region. A caller that reads bytes which another thread stores must synchronise with it; stores to
  // other bytes do not matter.
  virtual std::string_view Contents() const = 0;
};

class SEPAL_EXPORT WritableFile {
 public:
  // Closes without syncing and ignores errors; call Close to see them.
  virtual ~WritableFile() = default;
  // Appends at the end of the file as this object knows it. After a failure any prefix of the bytes may have been
  // written, and the end stays where it was.
  virtual absl::Status Append(std::string_view bytes) = 0;
  // Writes at any offset. A write past the end extends the file, and fills the gap with zeros. After a failure any part
  // of the bytes may have been written.
  virtual absl::Status WriteAt(uint64_t offset, std::string_view bytes) = 0;
  // Reserves space for [offset, offset + length), so that writes there do not fail for lack of space. Does not change
  // the size of the file. Does nothing without the capability.
  virtual absl::Status Allocate(uint64_t offset, uint64_t length) = 0;
  // Starts writing [offset, offset + length) to the disk and returns; does not make it durable.
  virtual absl::Status SyncRange(uint64_t offset, uint64_t length) = 0;
  // Makes the file's size and all bytes that were written before the call durable.
  virtual absl::Status Sync() = 0;
  // Makes the file `size` bytes long; growth is filled with zeros. Space that was reserved beyond `size` is released,
  // even if the size does not change, unless the file grows.
  virtual absl::Status Truncate(uint64_t size) = 0;
  // Maps existing bytes of the file. InvalidArgument for an empty range or one beyond the end; Unimplemented without
  // the capability, which is the default.
  virtual absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length);
  // The end of the file as this object knows it.
  virtual uint64_t Size() const = 0;
  // Closes without syncing. Every later call except Size returns `FailedPrecondition`. Regions stay mapped.
  virtual absl::Status Close() = 0;
};

enum class WriteMode : uint8_t {
  kCreateNew,     // fails with AlreadyExists if the name is taken
  kOpenExisting,  // keeps the contents; the end is the file's size; fails with NotFound if there is no such file
};

// A lock that is held until the object is destroyed.
class SEPAL_EXPORT DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
  // Ok while this process holds the lock; an error in a forked child, or if the lock file was replaced.
  virtual absl::Status Check() const = 0;
};

struct DirectoryEntry {
  std::string name;
  uint64_t size_bytes = 0;
};

class SEPAL_EXPORT Directory {
 public:
  virtual ~Directory() = default;
  // Never changes.
  virtual Capabilities capabilities() const = 0;
  virtual const std::string& path() const = 0;
  // A string that is the same for every opening of one directory, under whatever path. The default is the path, which
  // takes two paths to one directory for two directories.
  virtual std::string Identity() const { return path(); }

  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name,
                                                                    ReadMode mode = ReadMode::kBuffered) = 0;
  // Reads all requests, in any order and possibly concurrently, and calls `done` for each one as it completes, in the
  // calling thread. Returns after the last. The files must have been opened by this directory. The default reads them
  // one by one.
  virtual void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const;
  // The engine writes a file through one object at a time, while any number of readers read it. A reader sees
  // everything that was written before its read.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode) = 0;
  // Lists the regular files in the directory, in no particular order.
  virtual absl::StatusOr<std::vector<DirectoryEntry>> List() = 0;
  // Removes the name; NotFound if it does not exist. Files that are open under it can still be read and written.
  virtual absl::Status Remove(std::string_view name) = 0;
  // Renames `from` to `to`; AlreadyExists if `to` exists.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;
  // Creates another name for the same bytes in `target`; AlreadyExists if the name exists there. Unimplemented if
  // `target` is a directory of another file system class, and without the capability, which is the default. An error if
  // the two are on different file systems.
  virtual absl::Status Link(std::string_view name, Directory& target, std::string_view new_name);
  // Makes all creations, removals, renames and links that returned before the call durable.
  virtual absl::Status Sync() = 0;
  // Takes the exclusive lock that the file `name` stands for. The file is created if it is missing, and never removed.
  // `Unavailable` if the lock is taken; the message names the holder if it is known.
  virtual absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name) = 0;
  // The number of bytes that this process may still write here; UINT64_MAX if the file system does not count them. A
  // hint: the engine checks it before a flush or compaction, which waits if there is too little; if the call fails, the
  // engine tries to write regardless.
  virtual absl::StatusOr<uint64_t> FreeBytes() = 0;
};

class SEPAL_EXPORT FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Opens a directory. If it is missing, it is created, with its missing parents, if `create` is set; otherwise
  // `NotFound`. The names of all created directories are durable when this returns: the engine does not sync parents.
  virtual absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) = 0;
  // Removes an empty directory; an error if it is missing or not empty.
  virtual absl::Status RemoveDirectory(std::string_view path) = 0;
  // The number of files that the process may have open at once.
  virtual size_t MaxOpenFiles() const { return SIZE_MAX; }

  // The file system of the operating system, shared by all users. Directories are created with mode 0700 and files with
  // 0600; files are opened relative to their directory, and symbolic links are not followed.
  static FileSystem* Posix();
};

}  // namespace sepal
