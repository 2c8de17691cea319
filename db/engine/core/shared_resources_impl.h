// The inside of what databases share, for those that do.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "db/engine/core/database_memory.h"
#include "sepal/options.h"
#include "sepal/shared_resources.h"
#include "util/thread/fair_executor.h"

namespace sepal {

// Members are destroyed in the reverse of their order: the executor first, then what its last tasks may still be
// leaving.
struct SharedResources::Impl {
  uint64_t generation = 0;  // of forks
  std::shared_ptr<SharedMemory> memory;
  std::unique_ptr<Executor> own_executor;  // null: the user's
  Executor* executor = nullptr;
  std::unique_ptr<FairExecutor> fair;
  std::shared_ptr<TaskGroup> tasks;
};

struct SharedResourcesAccess {
  static const SharedResources::Impl& Of(const SharedResources& shared) { return *shared.impl_; }
  // FailedPrecondition in a child made by `fork`; InvalidArgument for options that cannot be combined with it.
  static absl::Status Check(const Options& options);
  // With the limit that counts. As they are, where nothing is shared.
  static Options WithLimits(const Options& options);
};

}  // namespace sepal
