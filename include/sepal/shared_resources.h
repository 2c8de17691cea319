// Memory and threads that several databases of a process share.
//
// Without this each database has a memory limit and threads of its own: a hundred open ones have a hundred block caches
// and some five hundred threads. With it they share one limit, so that active databases use the memory that idle ones
// do not need, and a few threads, fairly:
//
//   sepal::SharedOptions limits;
//   limits.memory_limit = size_t{1} << 30;
//   auto shared = sepal::SharedResources::Make(limits);
//   sepal::Options options;
//   options.shared = *shared;      // for each database
//
// When the memtables of all databases together are full, those that hold the most are flushed. A flush of one never
// waits for compactions of others, and no database has all threads while others wait. A database that is closed leaves
// the cache. A database whose disk is full or fails keeps its data in memory, and does not stop the others.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "sepal/env.h"
#include "sepal/export.h"

namespace sepal {

struct SharedOptions {
  // Memory limit of all databases together, in bytes, in place of Options::memory_limit. Each open database needs some
  // of it, even if it is empty: with the minimum of 8 MiB, a dozen databases can be open.
  size_t memory_limit = size_t{256} << 20;
  // Maximum number of threads for compactions, at most 1024; 0: one for each core, at most 8. There are three more for
  // flushes.
  int background_threads = 0;
  // The clock, and an executor in place of these threads; both must outlive all databases. The other members are
  // ignored.
  Env env = {};
};

// Safe for concurrent use. Shared ownership: each database keeps a reference until it is destroyed, so that the caller
// may release its own at any time. A callback of a database must not release the last reference.
//
// A child made by `fork` cannot open databases with an object that its parent made.
class SEPAL_EXPORT SharedResources {
 public:
  // InvalidArgument for a limit or a number of threads that no database would take; ResourceExhausted if the system
  // refuses the threads or the address space.
  static absl::StatusOr<std::shared_ptr<SharedResources>> Make(const SharedOptions& options = {});
  ~SharedResources();
  SharedResources(const SharedResources&) = delete;
  SharedResources& operator=(const SharedResources&) = delete;

  size_t memory_limit() const;
  // The part of it that all databases use at the moment, the block cache included.
  size_t memory_used() const;
  // The number of databases that share it: those that are open, and closed ones of which an iterator, say, still
  // exists.
  size_t databases() const;

 private:
  struct Impl;
  friend struct SharedResourcesAccess;
  explicit SharedResources(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
