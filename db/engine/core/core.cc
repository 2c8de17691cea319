#include "db/engine/core/core.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/fd_limited_directory.h"
#include "db/act/files/sync_failure_latch.h"
#include "db/engine/core/pinned_value_access.h"
#include "db/engine/core/shared_resources_impl.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {

namespace {

// The least number of databases to size memtables for when memory is shared.
constexpr size_t kFewestMembers = 16;

std::shared_ptr<SharedMemory> SharedBy(const Options& options) {
  return options.shared != nullptr ? SharedResourcesAccess::Of(*options.shared).memory : nullptr;
}

std::shared_ptr<DatabaseMemory> MemoryOf(std::shared_ptr<SharedMemory> shared, const Options& options,
                                         const Tuning& tuning) {
  if (shared != nullptr) return shared;
  return std::make_shared<DatabaseMemory>(options.memory_limit, tuning.memtable_bytes);
}

BlockCache CacheOf(SharedMemory* shared, MemoryBudget* budget, const Tuning& tuning, EpochDomain* epochs) {
  if (shared != nullptr) return BlockCache(&shared->cache);
  return BlockCache(budget, tuning.cached_block_bytes, epochs, tuning.drains_heap_in_simulation);
}

}  // namespace

World World::From(const Env& env) {
  return {.file_system = env.file_system != nullptr ? env.file_system : FileSystem::Posix(),
          .clock = env.clock != nullptr ? env.clock : Clock::System(),
          .executor = env.executor,
          .random_seed = env.random_seed != 0 ? env.random_seed : SystemRandomSeed()};
}

void PinKeeper::Drop() {
  if (pins_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

Core::Core(const World& w, const Options& options, const Tuning& t, std::unique_ptr<Directory> dir,
           std::unique_ptr<Directory> log_dir)
    : world(w),
      expiry(w.clock),
      time_marks(w.clock),
      tuning(t),
      read_only(options.read_only),
      read_mode(options.direct_reads ? ReadMode::kDirect : ReadMode::kBuffered),
      large_batches(options.large_batches),
      shared(SharedBy(options)),
      memory(MemoryOf(shared, options, tuning)),
      directory(std::make_unique<SyncFailureLatchDirectory>(std::make_unique<FdLimitedDirectory>(
          std::move(dir), FdLimitedDirectory::ShareOf(world.file_system->MaxOpenFiles()), options.read_only,
          shared != nullptr ? shared->memtables.member_count() : nullptr))),
      separate_log_directory(log_dir != nullptr ? std::make_unique<SyncFailureLatchDirectory>(std::move(log_dir))
                                                : nullptr),
      path(directory->path()),
      budget(memory->budget),
      memtable_chunks(memory->memtable_chunks),
      memtable_indexes(memory->memtable_indexes),
      table_buffers(memory->table_buffers),
      windows(memory->windows),
      member(shared != nullptr ? std::make_unique<MemtableGroup::Member>(&shared->memtables) : nullptr),
      read_around(budget.limit_bytes()),
      rate_limiter(options.background_bytes_per_second, world.clock),
      calls(options, w.clock, &statistics, &info_log),
      values(directory.get(), options.read_only, &cache, read_mode),
      epochs(shared != nullptr ? &shared->epochs : nullptr),
      cache(CacheOf(shared.get(), &budget, tuning, &epochs)),
      deleter(std::make_shared<ObsoleteTableDeleter>(directory.get(), &cache, options.read_only)) {}

BlockCache* PinKeeper::cache() const { return &core_->cache; }

// Retired objects may lie in the cache, so they are freed first. The last database that shares the memory empties the
// pools.
Core::~Core() {
  epochs.Collect();
  if (shared != nullptr && shared->memtables.members() == 1) ClearPools();
}

absl::Status Core::NotOpen() const {
  if (!Forked()) return absl::FailedPreconditionError(absl::StrFormat("the database in %s is closed", path));
  return absl::FailedPreconditionError(absl::StrFormat(
      "the database in %s was opened by the process that forked this one: open it after the fork", path));
}

void Core::StartKeepers() {
  for (PinKeeper*& keeper : keepers_) {
    keeper = new PinKeeper;
    keeper->Start(shared_from_this());
  }
}

void Core::ReleaseKeepers() {
  for (PinKeeper*& keeper : keepers_) {
    if (keeper != nullptr) std::exchange(keeper, nullptr)->Drop();
  }
}

void Core::PrepareBy(std::shared_ptr<TaskGroup> tasks) {
  if (shared == nullptr) {
    memtable_chunks.PrepareBy(tasks.get());
    memtable_indexes.PrepareBy(tasks.get());
    relief_ = std::make_unique<RepeatedTask>(tasks.get(), [this] { cache.Shrink(); });
    budget.RelieveBy([this] {
      if (!Forked()) relief_->Ask();
    });
  }
  removal_ = std::make_unique<RepeatedTask>(tasks.get(), [this] { RemoveUnusedFiles(); });
  epochs.TellOfLeaving([this] { AskToRemoveUnusedFiles(); });
  tasks_ = std::move(tasks);
}

// Together, the members write only a small part of the shared memory between two looks.
size_t Core::BytesPerLook() const {
  const size_t own = std::max<size_t>(tuning.memtable_bytes / 64, 1);
  return shared == nullptr ? own : std::clamp<size_t>(shared->memtables.memtable_bytes() / 1024, 1, own);
}

// An index grows if its memtable takes more than its share.
size_t Core::ExpectedBytes(size_t families) const {
  if (shared == nullptr) return std::min(tuning.memtable_bytes, 2 * tuning.memtable_bytes / families);
  const size_t members = std::max(shared->memtables.members(), kFewestMembers);
  return std::min(tuning.memtable_bytes, shared->memtables.memtable_bytes() / 2 / members / families);
}

void Core::ClearPools() {
  memtable_chunks.Clear();
  memtable_indexes.Clear();
  table_buffers.Clear();
}

void Core::GiveBackMemory() {
  epochs.Collect();
  ClearPools();
  windows.TakeBack();
}

void Core::RemoveUnusedFiles() {
  epochs.Collect();
  cache.EraseGone();
  deleter->Run();
}

void Core::AskToRemoveUnusedFiles() const {
  if (removal_ != nullptr && !Forked()) removal_->Ask();
}

void Core::PinValue(std::string_view bytes, CachePin pin, const CachePeek& peek, PinnedValue* value) {
  if (!pin) pin = cache.Pin(peek);
  if (!pin) return PinnedValueAccess::Copy(bytes, value);
  PinKeeper* keeper = keepers_[ThreadSlot()];
  keeper->Take();
  CacheFrame* frame = pin.Detach().second;
  PinnedValueAccess::Pin(
      bytes,
      [](void* owner, void* detail) {
        auto* held = static_cast<PinKeeper*>(owner);
        if (held->core()->Forked()) [[unlikely]]
          return;
        held->cache()->Unpin(static_cast<CacheFrame*>(detail));
        held->Drop();
      },
      keeper, frame, value);
}

}  // namespace sepal
