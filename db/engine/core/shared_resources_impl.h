// The implementation of the resources that databases share.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "db/engine/core/database_memory.h"
#include "sepal/options.h"
#include "sepal/shared_resources.h"
#include "util/thread/fair_executor.h"

namespace sepal {

// Members are destroyed in reverse order: the executor goes first, then what its last tasks may still be using.
struct SharedResources::Impl {
  uint64_t generation = 0;  // the fork generation that made this
  std::shared_ptr<SharedMemory> memory;
  std::unique_ptr<Executor> own_executor;  // null if the user gave one
  Executor* executor = nullptr;
  std::unique_ptr<FairExecutor> fair;
  std::shared_ptr<TaskGroup> tasks;
};

struct SharedResourcesAccess {
  static const SharedResources::Impl& Of(const SharedResources& shared) { return *shared.impl_; }
  // FailedPrecondition in a forked child; InvalidArgument for options that cannot be combined with `shared`.
  static absl::Status Check(const Options& options);
  // Returns the options with the limits of the shared memory; unchanged if nothing is shared.
  static Options WithLimits(const Options& options);
};

}  // namespace sepal
