// Everything that the engine asks of storage.
//
// The engine opens a directory once and names files relative to it. The contract is kept small enough for an object
// store: no rename over an existing file, no mapping, no hard link and no cheap metadata is needed; what a file system
// offers beyond that it says in its capabilities.
//
// Durability: bytes are durable once `WritableFile::Sync` has returned ok; a name (created, removed, linked) is durable
// once `Directory::Sync` has returned ok after it. Before that, power loss may keep any subset of unsynced sectors and
// of unsynced directory changes, in any order. After a failed sync nothing may be assumed of the bytes it covered, and
// a later sync that succeeds says nothing about them.
//
// Errors: `NotFound` for a missing name, `AlreadyExists` for a taken one, `PermissionDenied`, `ResourceExhausted` for a
// full disk or too many open files, `Unavailable` for a lock that another holds, `Unimplemented` for what the
// capabilities do not offer, `Internal` or `DataLoss` for I/O errors. Every message names the path.
//
// All classes here are safe for concurrent use, except that one `WritableFile` is used by one thread at a time apart
// from `Sync` and `Map`, which may run beside everything but `Close`: so may `Allocate` and `Truncate` beside a `Sync`.
//
// Who implements these classes compiles with the headers of the library that is linked: calls are added to them. The
// table of calls in c_file_system.h grows at its end, and says its size.
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
#include "sepal/export.h"

namespace sepal {

struct Capabilities {
  bool map = false;           // WritableFile::Map
  bool hard_link = false;     // Directory::Link
  bool allocate = false;      // WritableFile::Allocate reserves space that later writes cannot fail to get
  bool direct_reads = false;  // ReadMode::kDirect bypasses the operating system's cache
};

enum class ReadMode : uint8_t { kBuffered, kDirect };
enum class AccessPattern : uint8_t { kRandom, kSequential };

class ReadableFile;

// One part of a `Directory::ReadMany`, which fills `status` and `bytes_read`; fewer bytes than asked for means the end
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
  // Reads up to `length` bytes at `offset` into `buffer`; returns how many. Fewer than asked for only at the end.
  virtual absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const = 0;
  virtual absl::StatusOr<uint64_t> Size() const = 0;
  // Like Read, but of no more than is there without a wait for the disk, in a cache of the system: fewer bytes, or 0,
  // mean nothing but that. Without such a cache, and where nobody knows, 0.
  virtual size_t ReadCached(uint64_t offset, size_t length, char* buffer) const {
    (void)offset;
    (void)length;
    (void)buffer;
    return 0;
  }
  // A hint; no effect on results.
  virtual void Advise(AccessPattern pattern) const { (void)pattern; }
  // A hint: [offset, offset + length) will be read soon. Starts to bring it into memory, where reads go through a cache
  // of the system, and does not wait for it; no effect on results.
  virtual void ReadAhead(uint64_t offset, uint64_t length) const {
    (void)offset;
    (void)length;
  }
};

// Bytes of a file mapped for writing. `Store` is a copy into memory: it survives the death of the process, not the loss
// of power, until the file is synced.
class SEPAL_EXPORT MappedRegion {
 public:
  virtual ~MappedRegion() = default;
  virtual void Store(size_t offset, std::string_view bytes) = 0;
  // Has the system provide the region's memory now, so that no `Store` waits for it; without effect on the bytes. False
  // where a `Store` would end in a signal, for want of space on the disk for one; the region is of no use then. Safe
  // beside every other call, also one that makes the file shorter.
  virtual bool Populate() { return true; }
  // Has the system keep the region's memory until the region goes, so that no `Store` waits for the disk. False where
  // it does not: there is no such call, or no more memory that the process may lock.
  virtual bool Lock() { return false; }
  // The region's bytes. Reading beside a `Store` to the same bytes needs the caller's own order; beside one to others,
  // none.
  virtual std::string_view Contents() const = 0;
};

class SEPAL_EXPORT WritableFile {
 public:
  // Closes without syncing; errors are lost. Call Close to see them.
  virtual ~WritableFile() = default;
  // Writes at the end of the file as this object knows it. On failure any prefix of the bytes may have been written,
  // and the end stays where it was.
  virtual absl::Status Append(std::string_view bytes) = 0;
  // Writes anywhere. Past the end the file grows to hold the bytes, and zeroes come before them. On failure any part of
  // the bytes may have been written.
  virtual absl::Status WriteAt(uint64_t offset, std::string_view bytes) = 0;
  // Reserves space for [offset, offset + length), so that writes there do not fail for want of it. The size of the file
  // does not change. A no-op where the capability is absent.
  virtual absl::Status Allocate(uint64_t offset, uint64_t length) = 0;
  // Starts writing [offset, offset + length) to the disk and returns; durability is not implied.
  virtual absl::Status SyncRange(uint64_t offset, uint64_t length) = 0;
  // Makes all bytes that were written before the call, and the size, durable.
  virtual absl::Status Sync() = 0;
  // Makes the file `size` bytes long; zeroes come behind what it has. What was reserved behind `size` is given back,
  // also where the size stays, unless the file becomes longer.
  virtual absl::Status Truncate(uint64_t size) = 0;
  // Maps bytes that the file has: InvalidArgument for others, and for none. Unimplemented without the capability, as by
  // default.
  virtual absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length);
  // The end of the file as this object knows it.
  virtual uint64_t Size() const = 0;
  // Closes without syncing. Every later call but Size gives `FailedPrecondition`. Regions stay mapped.
  virtual absl::Status Close() = 0;
};

enum class WriteMode : uint8_t {
  kCreateNew,     // fails with AlreadyExists if the name is taken
  kOpenExisting,  // keeps what is there; the end is the file's size; fails with NotFound if there is no such file
};

// Held until destroyed.
class SEPAL_EXPORT DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
  // Ok while this process holds the lock; an error in a forked child, and if the lock file was replaced.
  virtual absl::Status Check() const = 0;
};

struct DirectoryEntry {
  std::string name;
  uint64_t size_bytes = 0;
};

class SEPAL_EXPORT Directory {
 public:
  virtual ~Directory() = default;
  // The same at every call.
  virtual Capabilities capabilities() const = 0;
  virtual const std::string& path() const = 0;
  // The same for all who opened one directory, under whatever path. By default the path: two paths of one directory
  // pass for two.
  virtual std::string Identity() const { return path(); }

  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name,
                                                                    ReadMode mode = ReadMode::kBuffered) = 0;
  // Reads all requests, in any order and possibly at once, and calls `done` for each as it is filled, in the calling
  // thread; returns after the last. The files must have been opened by this directory. The default reads one by one.
  virtual void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const;
  // The engine writes a file through one object at a time, beside any number of readers, which see what was written
  // before they read.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode) = 0;
  // The regular files in the directory, in no particular order.
  virtual absl::StatusOr<std::vector<DirectoryEntry>> List() = 0;
  // Removes the name; NotFound if there is none. Files that are open under it can be read and written to the end.
  virtual absl::Status Remove(std::string_view name) = 0;
  // Renames `from` to `to`, which must not exist: AlreadyExists.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;
  // Another name for the same bytes, in `target`, where it must not exist: AlreadyExists. Unimplemented for a directory
  // of another kind, and without the capability, as by default; an error where the two are on different file systems.
  virtual absl::Status Link(std::string_view name, Directory& target, std::string_view new_name);
  // Makes all creations, removals, renames and links that returned before the call durable.
  virtual absl::Status Sync() = 0;
  // Takes the exclusive lock that the file `name` (made if missing, never removed) stands for. `Unavailable`, naming
  // the holder where known, if it is taken.
  virtual absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name) = 0;
  // Bytes that this process may still write here; UINT64_MAX where the file system does not count them. A hint: asked before a flush or merge, which waits if they are too
  // few; after an error the engine writes and sees.
  virtual absl::StatusOr<uint64_t> FreeBytes() = 0;
};

class SEPAL_EXPORT FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Opens a directory; `NotFound` if it is missing and `create` is false. Missing parents are created too. The names of
  // all that are created are durable at return: nobody syncs the parents.
  virtual absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) = 0;
  // Removes an empty directory; an error if it is not empty or not there.
  virtual absl::Status RemoveDirectory(std::string_view path) = 0;
  // Files that the process may have open at once.
  virtual size_t MaxOpenFiles() const { return SIZE_MAX; }

  // The operating system's, shared by all. Directories are made with mode 0700 and files with 0600; files are opened
  // relative to their directory and symbolic links are not followed.
  static FileSystem* Posix();
};

}  // namespace sepal
