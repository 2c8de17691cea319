#include "db/engine/core/core.h"

#include <utility>

#include "db/act/files/fd_limited_directory.h"
#include "db/act/files/sync_failure_latch.h"
#include "db/engine/core/pinned_value_access.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {

namespace {

// Of the memory limit, what windows of iterators may hold.
constexpr size_t kWindowsPart = 16;

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
      tuning(t),
      read_only(options.read_only),
      read_mode(options.direct_reads ? ReadMode::kDirect : ReadMode::kBuffered),
      large_batches(options.large_batches),
      directory(std::make_unique<SyncFailureLatchDirectory>(std::make_unique<FdLimitedDirectory>(
          std::move(dir), FdLimitedDirectory::ShareOf(world.file_system->MaxOpenFiles()), options.read_only))),
      separate_log_directory(log_dir != nullptr ? std::make_unique<SyncFailureLatchDirectory>(std::move(log_dir))
                                                : nullptr),
      path(directory->path()),
      budget(options.memory_limit),
      memtable_chunks(tuning.memtable_bytes, &budget, MemoryPart::kMemtables),
      memtable_indexes(2 * MemTable::IndexBytes(tuning.memtable_bytes), &budget, MemoryPart::kMemtables),
      table_buffers(tuning.memtable_bytes / 8, &budget, MemoryPart::kCompaction),
      read_around(options.memory_limit),
      windows(options.memory_limit / kWindowsPart, &budget),
      rate_limiter(options.background_bytes_per_second, world.clock),
      calls(options, w.clock, &statistics, &info_log),
      cache(&budget, tuning.cached_block_bytes, &epochs, tuning.drains_heap_in_simulation),
      deleter(std::make_shared<ObsoleteTableDeleter>(directory.get(), &cache)) {}

BlockCache* PinKeeper::cache() const { return &core_->cache; }

// What was retired may lie in the cache.
Core::~Core() { epochs.Collect(); }

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
  memtable_chunks.PrepareBy(tasks.get());
  memtable_indexes.PrepareBy(tasks.get());
  relief_ = std::make_unique<RepeatedTask>(tasks.get(), [this] { cache.Shrink(); });
  budget.RelieveBy([this] {
    if (!Forked()) relief_->Ask();
  });
  removal_ = std::make_unique<RepeatedTask>(tasks.get(), [this] { RemoveUnusedFiles(); });
  epochs.TellOfLeaving([this] { AskToRemoveUnusedFiles(); });
  tasks_ = std::move(tasks);
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
