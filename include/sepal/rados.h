// Databases on Ceph RADOS, an object store that replicates, heals and grows: a file system for `Env::file_system`.
//
//   sepal::RadosOptions where;
//   where.pool = "sepal";
//   auto rados = sepal::RadosFileSystem::Connect(where);
//   options.env.file_system = rados->get();
//   options.take_over = true;  // fence whoever has the database, on whatever machine
//
// Needs librados and the CMake target sepal::rados. What RADOS holds is laid out as rados/layout.h says.
//
// One file system is one RADOS client. Open one database with each: taking a database over fences the client that has
// it, and with it all else that this client has open.
//
// Durability: a synced write is on as many OSDs as the pool's size says. Of what was not synced a death of the process
// loses a suffix, about the last `linger` (Capabilities::outlives_process is false).
//
// Once a call fails because the cluster did not answer within `operation_timeout`, or because the client was fenced,
// every change fails; connect anew, and open with `take_over`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/cached_file_system.h"
#include "sepal/export.h"
#include "sepal/file_system.h"

namespace sepal {

struct RadosOptions {
  // The pool, which must exist and be replicated.
  std::string pool = {};
  // Another pool for tables, and for the value files that compactions write; it may be erasure-coded, with or without
  // overwrites. Empty: the same. It may be changed: files are found where they were put.
  std::string data_pool = {};
  // The user is client.NAME. It needs `mon 'allow r, allow command "osd blocklist"'` and `osd 'allow rwx pool=POOL'`,
  // for the data pool too.
  std::string user = "admin";
  // Paths; empty: where Ceph looks for them.
  std::string config_file = {};
  std::string keyring = {};
  // Bytes of each object of files to come, from 64 to 64 MiB; files keep what they were made with.
  uint64_t object_bytes = uint64_t{4} << 20;
  // Unsynced bytes of a log wait at most so long, or until there are `log_buffer_bytes`, before they are sent.
  std::chrono::milliseconds linger = std::chrono::milliseconds(20);
  uint64_t log_buffer_bytes = uint64_t{256} << 10;
  // A holder that died without letting go keeps its lock for so long, unless it is taken over.
  std::chrono::milliseconds lease = std::chrono::seconds(10);
  // How long RADOS refuses a fenced client. Its files are safe from it afterwards, too.
  std::chrono::seconds fence = std::chrono::hours(7 * 24);
  // Longer than an OSD may take to be found dead (`osd heartbeat grace`, 20 s by default).
  std::chrono::seconds operation_timeout = std::chrono::seconds(60);
  std::chrono::seconds connect_timeout = std::chrono::seconds(15);
  // Files that are removed can be read for so long by other clients that have them open, as readers beside the writer
  // do; but they take at most an eighth of the room that the pool has left, and go when this client does. 0: no time.
  std::chrono::milliseconds removal_grace = std::chrono::seconds(10);
  // A directory on a local disk for a cache of table bytes, of at most so many bytes (sepal/cached_file_system.h).
  // Empty: no cache. Each client needs a directory of its own.
  std::string cache_directory = {};
  uint64_t cache_bytes = uint64_t{10} << 30;
};

// How often the cluster was asked.
struct RadosCounts {
  uint64_t index_reads = 0;
  uint64_t index_writes = 0;
  uint64_t data_reads = 0;
  uint64_t data_writes = 0;
  uint64_t size_queries = 0;
  uint64_t removals = 0;
  uint64_t lock_calls = 0;
  uint64_t monitor_calls = 0;
};

class SEPAL_EXPORT RadosFileSystem final : public FileSystem {
 public:
  // Fails within `connect_timeout`: NotFound for a missing pool, Unavailable where no monitor answers, PermissionDenied
  // for a key that is missing or wrong, InvalidArgument for options out of range.
  static absl::StatusOr<std::unique_ptr<RadosFileSystem>> Connect(const RadosOptions& options);
  ~RadosFileSystem() override;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override;
  absl::Status RemoveDirectory(std::string_view path) override;
  std::string Notice() const override;

  // The objects of a directory that belong to no file in it and to none that is linked from it: what a client left that
  // died. Reads the list of all objects there, in the pool and in today's `data_pool`, not in one of earlier openings.
  // Removes them with `remove`, for which nobody may be writing there.
  absl::StatusOr<std::vector<std::string>> StrayObjects(std::string_view path, bool remove);
  // Waits until the objects of files that were removed are gone; their time of grace is over.
  absl::Status AwaitRemovals();
  RadosCounts Counts() const;
  // The cache of table bytes, for what it counts; null if there is none.
  const CachedFileSystem* cache() const { return cache_.get(); }

 private:
  class Impl;
  RadosFileSystem(std::unique_ptr<Impl> impl, std::unique_ptr<CachedFileSystem> cache);
  const std::unique_ptr<Impl> impl_;
  const std::unique_ptr<CachedFileSystem> cache_;
};

}  // namespace sepal
