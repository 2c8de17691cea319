#include "sepal/shared_resources.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/core/check_options.h"
#include "db/engine/core/shared_resources_impl.h"
#include "db/state/version/tuning.h"
#include "util/base/status.h"
#include "util/memory/mapped_memory.h"
#include "util/thread/fork.h"
#include "util/thread/thread_pool.h"

namespace sepal {
namespace {

// One database runs at most two flushes at a time; the third thread prepares what writers need meanwhile.
constexpr int kSharedFlushThreads = 3;
// The part of the limit that the active memtables of all databases may take.
constexpr size_t kMemtablesPart = 4;

}  // namespace

void SharedMemory::PrepareBy(std::shared_ptr<TaskGroup> by, uint64_t generation) {
  memtable_chunks.PrepareBy(by.get());
  memtable_indexes.PrepareBy(by.get());
  relief_ = std::make_unique<RepeatedTask>(by.get(), [this] { cache.Shrink(); });
  budget.RelieveBy([this, generation] {
    if (ForkGeneration() == generation) relief_->Ask();
  });
  tasks_ = std::move(by);
}

SharedResources::SharedResources(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SharedResources::~SharedResources() {
  if (ForkGeneration() != impl_->generation) {
    LeakAfterFork(std::move(impl_));  // its threads are the parent's
    return;
  }
  impl_->tasks->Close();
  impl_->fair.reset();
  impl_->own_executor.reset();
}

absl::StatusOr<std::shared_ptr<SharedResources>> SharedResources::Make(const SharedOptions& options) {
  Options as_of_one;
  as_of_one.memory_limit = options.memory_limit;
  as_of_one.background_threads = options.background_threads;
  RETURN_IF_ERROR(CheckOptions(as_of_one));
  const Tuning tuning = Tuning::From(as_of_one);
  const size_t bytes = BlockCache::TableBytes(options.memory_limit, tuning.cached_block_bytes);
  if (!MappedMemory::WouldFit(bytes)) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("memory_limit of %u bytes: the system refuses the %u bytes of address space that this limit "
                        "needs: lower it, or raise the process's limit of address space",
                        options.memory_limit, bytes));
  }
  auto impl = std::make_unique<Impl>();
  impl->generation = WatchForks();
  impl->memory = std::make_shared<SharedMemory>(options.memory_limit, options.memory_limit / kMemtablesPart,
                                                tuning.cached_block_bytes, tuning.drains_heap_in_simulation);
  impl->executor = options.env.executor;
  if (impl->executor == nullptr) {
    auto pool = std::make_unique<ThreadPool>(kSharedFlushThreads, tuning.compaction_threads);
    RETURN_IF_ERROR(pool->Check());
    impl->executor = pool.get();
    impl->own_executor = std::move(pool);
  }
  Clock* const clock = options.env.clock != nullptr ? options.env.clock : Clock::System();
  impl->fair =
      std::make_unique<FairExecutor>(impl->executor, clock, impl->own_executor != nullptr ? kSharedFlushThreads : 0);
  impl->tasks = std::make_shared<TaskGroup>(impl->executor, Executor::Priority::kFlush);
  impl->memory->PrepareBy(impl->tasks, impl->generation);
  return std::shared_ptr<SharedResources>(new SharedResources(std::move(impl)));
}

size_t SharedResources::memory_limit() const { return impl_->memory->budget.limit_bytes(); }
size_t SharedResources::memory_used() const { return impl_->memory->budget.total(); }
size_t SharedResources::databases() const { return impl_->memory->memtables.members(); }

absl::Status SharedResourcesAccess::Check(const Options& options) {
  if (options.shared == nullptr) return absl::OkStatus();
  if (ForkGeneration() != Of(*options.shared).generation) {
    return absl::FailedPreconditionError(
        "Options::shared was made by the process that forked this one, and its threads are not here: make it after "
        "the fork");
  }
  if (options.env.executor != nullptr) {
    return absl::InvalidArgumentError(
        "Options::shared has threads, and Env::executor is set: set SharedOptions::env.executor instead");
  }
  if (options.scrub_seconds > 0 && !options.read_only) {
    return absl::InvalidArgumentError(
        "scrub_seconds cannot be combined with Options::shared, since scrubbing needs a thread of each database: call "
        "DB::VerifyChecksums instead");
  }
  if (options.follow_milliseconds > 0) {
    return absl::InvalidArgumentError(
        "follow_milliseconds cannot be combined with Options::shared, since it needs a thread of each database: call "
        "DB::CatchUp instead");
  }
  return absl::OkStatus();
}

Options SharedResourcesAccess::WithLimits(const Options& options) {
  Options with = options;
  if (options.shared != nullptr) with.memory_limit = options.shared->memory_limit();
  return with;
}

}  // namespace sepal
