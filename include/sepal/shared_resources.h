// Memory and threads that several databases of a process share.
//
// Without this each database has a memory limit and threads of its own: a hundred open ones have a hundred block caches
// and some five hundred threads. With it all of them keep to one limit, in which those that are used have what the
// others do not need, and share a few threads, fairly:
//
//   sepal::SharedOptions limits;
//   limits.memory_limit = size_t{1} << 30;
//   auto shared = sepal::SharedResources::Make(limits);
//   sepal::Options options;
//   options.shared = *shared;      // for each database
//
// When the memtables of all databases together are full, those that hold the most are flushed. A flush of one never
// waits for compactions of others, and no database has all threads while others wait. A database that is closed leaves
// the cache. One whose disk is full or fails keeps what it holds in memory, and does not stop the others.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "sepal/env.h"
#include "sepal/export.h"

namespace sepal {

struct SharedOptions {
  // Memory of all databases together, in bytes, as Options::memory_limit is that of one. Each open database needs some
  // of it for itself, whatever it holds: with the least, 8 MiB, a dozen of them get on.
  size_t memory_limit = size_t{256} << 20;
  // Maximum number of threads for compactions, at most 1024; 0: one for each core, at most 8. There are three more for
  // flushes.
  int background_threads = 0;
  // The clock, and an executor that takes the place of these threads; both must outlive all databases. The rest is of
  // no use here.
  Env env = {};
};

// Safe for concurrent use. Shared ownership: each database keeps it until it is destroyed, so that the caller may let
// go of it at any time. It must not be let go of last by a callback of a database.
//
// A child made by `fork` cannot open databases with what its parent made.
class SEPAL_EXPORT SharedResources {
 public:
  // InvalidArgument for a limit or a number of threads that no database would take; ResourceExhausted if the system
  // refuses the threads or the address space.
  static absl::StatusOr<std::shared_ptr<SharedResources>> Make(const SharedOptions& options = {});
  ~SharedResources();
  SharedResources(const SharedResources&) = delete;
  SharedResources& operator=(const SharedResources&) = delete;

  size_t memory_limit() const;
  // What all databases use of it at the moment, the block cache included.
  size_t memory_used() const;
  // How many databases share it: those that are open, and those of which an iterator, say, is still there.
  size_t databases() const;

 private:
  struct Impl;
  friend struct SharedResourcesAccess;
  explicit SharedResources(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal
