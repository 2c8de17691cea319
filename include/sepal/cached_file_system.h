// A cache of table bytes in a local directory, for a file system whose reads take round trips: a file system over
// another one, for `Env::file_system`.
//
//   auto cached = sepal::CachedFileSystem::Open(&remote, {.directory = "/ssd/sepal", .bytes = uint64_t{100} << 30});
//   options.env.file_system = cached->get();
//
// Needs the CMake target sepal::file_cache. `RadosOptions::cache_directory` does the same for databases on Ceph.
//
// What is cached: the bytes of tables, as they are written and as they are read, and those of value files that are
// complete, as they are read; of files that `ReadableFile::UniqueId` tells apart, and of no others. All else passes
// through, and so does every change: the cache holds copies only, and may be removed at any time.
//
// Laws: no read returns other bytes than the remote file's, and none fails because of the local disk. Each page has a
// checksum over the name of its file, its place and its bytes; one that is torn, lost, damaged or another file's is
// read from the remote file again. The directory never takes more than `bytes`. It survives restarts, and crashes too,
// without a sync. A directory has one holder: a second one goes on without a cache, as one does whose directory cannot
// be used; `CacheStatus` says so, and `LOG` at each opening of a database.
//
// Cost: 25 bytes of memory for each 16 KiB of `bytes`, of which `Open` reads 16 from the local disk.
//
// Safe for concurrent use. Handles may outlive it, but not the file systems below.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/export.h"
#include "sepal/file_system.h"

namespace sepal {

namespace file_cache {
class PageStore;
}

struct CacheOptions {
  // On a local disk; made if it is missing. It belongs to the cache.
  std::string directory = {};
  // The most that the directory may take; from 1 MiB to 16 TiB.
  uint64_t bytes = uint64_t{10} << 30;
  // Where `directory` lies. Null: the operating system's.
  FileSystem* file_system = nullptr;
};

// Pages are of 16 KiB. Those of `Open` on; null for all if there is no cache.
struct CacheCounts {
  uint64_t hits = 0;           // pages that reads found
  uint64_t misses = 0;         // pages that they had to ask for
  uint64_t filled = 0;         // pages that were added
  uint64_t evictions = 0;      // pages that made room
  uint64_t damaged = 0;        // pages that were not what they should be; after a crash, also those that it tore
  uint64_t failed_writes = 0;  // of the local disk
  uint64_t bytes = 0;          // of the pages that are there now
  uint64_t capacity_bytes = 0;
  uint64_t memory_bytes = 0;  // of the index
};

class SEPAL_EXPORT CachedFileSystem final : public FileSystem {
 public:
  // `remote` must outlive this object and its handles. InvalidArgument for options out of range, and no other error.
  static absl::StatusOr<std::unique_ptr<CachedFileSystem>> Open(FileSystem* remote, const CacheOptions& options);
  ~CachedFileSystem() override;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override;
  absl::Status RemoveDirectory(std::string_view path) override { return remote_->RemoveDirectory(path); }
  size_t MaxOpenFiles() const override { return remote_->MaxOpenFiles(); }
  std::string Notice() const override;

  // Ok while all is cached that may be; otherwise why there is no cache, or the first failure to write to it.
  absl::Status CacheStatus() const;
  CacheCounts Counts() const;

 private:
  CachedFileSystem(FileSystem* remote, std::string path, std::shared_ptr<file_cache::PageStore> store,
                   absl::Status status);

  FileSystem* const remote_;
  const std::string path_;                              // of the cache
  const std::shared_ptr<file_cache::PageStore> store_;  // null: no cache
  const absl::Status status_;                           // of Open
};

}  // namespace sepal
