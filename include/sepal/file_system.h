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
// One process may hold several clients of one store, each a file system object of its own; a file system without the
// capability `fences` has one. A lock belongs to a client (`DirectoryLock`).
//
// Errors: `NotFound` for a missing name, `AlreadyExists` for a taken one, `PermissionDenied`, `ResourceExhausted` for a
// full disk or too many open files, `Unavailable` for a lock that is held elsewhere, `Aborted` for a client that lost
// its lock to another, `Unimplemented` for calls without their capability, `Internal` or `DataLoss` for I/O errors.
// Every message names the path.
//
// Time-outs: a call over a network may fail because no answer came in time. The effect of such a write may have
// happened, not have happened, or happen later. So the client must not write again: to continue, open a new client,
// whose `Lock` with `kTakeOver` fences the old one.
//
// Fork: a child may destroy objects that its parent made. The destructors then touch nothing that is shared with the
// parent or with a store, and wait for no thread. In the child every other call except `DirectoryLock::Check` is
// undefined.
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
  bool remote = false;        // each call that waits takes a round trip, so that few large ones are better
  // Written bytes survive the death of the process at once. If not set, the death of the process, or of its machine,
  // loses bytes that no sync has covered: of each file a suffix in the order of writing.
  bool outlives_process = true;
  bool fences = false;  // LockRequest::kTakeOver, with the guarantees of DirectoryLock
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
  // Like Read, but returns only bytes in a cache of the system, without waiting for the disk. Fewer bytes, or 0, say
  // nothing about the file's size. Returns 0 if there is no such cache or if its contents are unknown.
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
  // A name for the file's bytes that no other file has, had or will have, for caches that keep copies of them
  // elsewhere. Empty if there is none, and for a file that any client was writing when it was opened. A later opening
  // with kOpenExisting may change the bytes under the same name.
  virtual std::string UniqueId() const { return {}; }
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
  // Returns false if the system cannot do that, or the process may not lock more memory.
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
  // the size of the file. Without the capability it reserves nothing, but may fail with ResourceExhausted if space is
  // known to be short.
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
  // The UniqueId that readers see once the file is closed (ReadableFile::UniqueId), or empty.
  virtual std::string UniqueId() const { return {}; }
};

enum class WriteMode : uint8_t {
  kCreateNew,     // fails with AlreadyExists if the name is taken
  kOpenExisting,  // keeps the contents; the end is the file's size; fails with NotFound if there is no such file
};

// The use of a file: a hint for file systems that place or buffer files by their use. Has no effect on results.
// `kValues`: value files that the log refers to and needs. `kTable`: tables, and value files that no log refers to
// while they are written; most of these files are completely written before their first sync. Later versions may have
// more kinds.
enum class FileUseKind : uint8_t { kOther, kLog, kTable, kManifest, kValues };
struct FileUse {
  FileUseKind kind = FileUseKind::kOther;
  uint64_t expected_bytes = 0;  // about what will be written; 0: unknown
};

enum class LockRequest : uint8_t {
  kIfFree,    // fails with Unavailable while another holds the lock
  kTakeOver,  // fences another client that holds the lock, and takes it; Unimplemented without the capability `fences`
};

// A lock on a directory, held until the object is destroyed.
//
// Fencing is the file system's duty, because the engine does not call `Check` before each write. With the capability
// `fences`, once the `Lock` of another client has returned (because it took the lock over, or because the lock expired
// while its holder slept), no call of the earlier holder changes the directory any more, whether it began before or
// after: either it fails with `Aborted`, now and for ever, or its effect is visible to the new holder from the start. A
// `Sync` of the earlier holder returns ok only if the new holder sees the bytes that it covered. The earlier holder can
// still read. Its unsynced writes may be lost, as when its process dies.
//
// A client cannot take a lock over from itself: that fails with Unavailable.
class SEPAL_EXPORT DirectoryLock {
 public:
  virtual ~DirectoryLock() = default;
  // Ok while this client holds the lock, as far as is known: it never waits for a network. An error in a forked child,
  // or if the lock file was replaced; Aborted once another has taken the lock over.
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
  // treats two paths to one directory as two directories.
  virtual std::string Identity() const { return path(); }

  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name,
                                                                    ReadMode mode = ReadMode::kBuffered) = 0;
  // Reads all requests, in any order and possibly concurrently, and calls `done` for each one as it completes, in the
  // calling thread. Returns after the last. The files must have been opened by this directory. The default reads them
  // one by one.
  virtual void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const;
  // The engine writes a file through one object at a time, while any number of readers read it. A reader of the same
  // client sees everything that was written before its read.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                                     FileUse use = {}) = 0;
  // Calls `Sync` on all of these files, in any order and possibly concurrently. They were opened by this directory, or
  // wrap such files. After an error nothing may be assumed of any of them. The default syncs one by one.
  virtual absl::Status SyncMany(std::span<WritableFile* const> files);
  // Lists the regular files in the directory, in no particular order.
  virtual absl::StatusOr<std::vector<DirectoryEntry>> List() = 0;
  // Removes the name; NotFound if it does not exist. Files that this client has open under it can still be read and
  // written; those that another client has open may fail with Aborted from then on.
  virtual absl::Status Remove(std::string_view name) = 0;
  // Renames `from` to `to`; AlreadyExists if `to` exists.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;
  // Creates another name for the same bytes in `target`; AlreadyExists if the name exists there. Unimplemented if
  // `target` is a directory of another file system class, and without the capability, which is the default. An error if
  // the two are on different file systems.
  virtual absl::Status Link(std::string_view name, Directory& target, std::string_view new_name);
  // Makes all creations, removals, renames and links that returned before the call durable. Does nothing if they are
  // durable when they return.
  virtual absl::Status Sync() = 0;
  // Takes the exclusive lock on the file `name`, which is created if it is missing, and never removed. `Unavailable` if
  // the lock is taken; the message names the holder if it is known.
  virtual absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name,
                                                              LockRequest mode = LockRequest::kIfFree) = 0;
  // The number of bytes that this process may still write here; UINT64_MAX if the file system does not count them. A
  // hint: the engine checks it before a flush or compaction, which waits if there is too little; if the call fails, the
  // engine tries to write regardless. Never waits for a network: a remote store returns the last known number.
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
  // A line that the operator of the database should know, for the info log of each opening; empty: none.
  virtual std::string Notice() const { return {}; }

  // The file system of the operating system, shared by all users. Directories are created with mode 0700 and files with
  // 0600; files are opened relative to their directory, and symbolic links are not followed.
  static FileSystem* Posix();
};

}  // namespace sepal
