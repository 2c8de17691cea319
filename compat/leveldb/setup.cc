#include "compat/leveldb/setup.h"

#include <leveldb/env.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "compat/leveldb/bloom_policy.h"
#include "compat/leveldb/info_log.h"
#include "compat/leveldb/lru_cache.h"
#include "compat/leveldb/memory_env.h"
#include "sepal/shared_resources.h"
#include "util/thread/fork.h"
#include "util/thread/thread_pool.h"

namespace sepal::compat {

namespace {

using leveldb::Status;

constexpr char kMemoryVariable[] = "SEPAL_LEVELDB_MEMORY_LIMIT";
constexpr size_t kLeastMemory = size_t{128} << 20;
constexpr size_t kMostMemory = size_t{1} << 40;
// LevelDB's default if no cache is given.
constexpr size_t kDefaultCacheBytes = size_t{8} << 20;
constexpr size_t kMostMemtableBytes = size_t{64} << 20;
constexpr int kMostThreads = 8;
constexpr int kFlushThreads = 3;

// Belongs to this process: a forked child has none of its parent's threads. It lives as long as the process.
Executor* SharedExecutor() {
  static Mutex* const mutex = new Mutex;
  static Executor* shared = nullptr;
  static uint64_t made_in = 0;
  MutexLock lock(mutex);
  const uint64_t generation = WatchForks();
  if (shared != nullptr && made_in == generation) return shared;
  auto pool = std::make_unique<ThreadPool>(kFlushThreads, std::clamp(Thread::HardwareConcurrency(), 1, kMostThreads));
  // If there are no threads, the database tries to get its own, and reports what is missing.
  if (!pool->Check().ok()) return nullptr;
  made_in = generation;
  shared = pool.release();
  return shared;
}

// The resources that databases of this process with the same cache, or without one, share: at least `bytes` of memory,
// and the threads of all. Null: there are none, and the database tries to get its own.
std::shared_ptr<SharedResources> SharedMemoryOf(const leveldb::Cache* cache, size_t bytes) {
  struct Key {
    const leveldb::Cache* cache;
    uint64_t generation;  // of forks
    auto operator<=>(const Key&) const = default;
  };
  static Mutex* const mutex = new Mutex;
  static auto* const all = new std::map<Key, std::weak_ptr<SharedResources>>;
  Executor* const executor = SharedExecutor();
  if (executor == nullptr) return nullptr;
  MutexLock lock(mutex);
  std::erase_if(*all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<SharedResources>& known = (*all)[{cache, WatchForks()}];
  std::shared_ptr<SharedResources> shared = known.lock();
  // A database that needs more gets its own, which later ones share.
  if (shared != nullptr && shared->memory_limit() >= bytes) return shared;
  absl::StatusOr<std::shared_ptr<SharedResources>> made =
      SharedResources::Make({.memory_limit = bytes, .env = {.executor = executor}});
  if (!made.ok()) return nullptr;
  known = *made;
  return *std::move(made);
}

Status MemoryLimit(const leveldb::Options& given, size_t* bytes) {
  if (const char* const text = std::getenv(kMemoryVariable)) {
    const char* const end = text + std::strlen(text);
    const auto [stopped, error] = std::from_chars(text, end, *bytes);
    if (error == std::errc() && stopped == end) return Status();
    return Status::InvalidArgument(std::string(kMemoryVariable) + "=" + text, "is not a number of bytes");
  }
  const auto* const cache = dynamic_cast<const LruCache*>(given.block_cache);
  const size_t cached = cache != nullptr ? cache->capacity() : kDefaultCacheBytes;
  *bytes = std::clamp(std::min(cached, kMostMemory) + 4 * std::min(given.write_buffer_size, kMostMemory), kLeastMemory,
                      kMostMemory);
  return Status();
}

ColumnFamilyOptions FamilyOptions(const leveldb::Options& given) {
  ColumnFamilyOptions family;
  family.compression = given.compression == leveldb::kNoCompression ? CompressionKind::kNone : CompressionKind::kSnappy;
  family.block_bytes = std::clamp(given.block_size, size_t{256}, size_t{1} << 20);
  if (const auto* const bloom = dynamic_cast<const BloomPolicy*>(given.filter_policy)) {
    family.filter_policy = FilterPolicy::FromBitsPerKey(std::clamp(bloom->bits_per_key(), 1, 64));
  }
  return family;
}

}  // namespace

Status MakeSetup(const leveldb::Options& given, Setup* setup) {
  Options& options = setup->options;
  if (auto* const memory = dynamic_cast<MemoryEnv*>(given.env)) {
    setup->in_memory = true;
    options.env.file_system = memory->files();
  } else if (given.env != nullptr && given.env != leveldb::Env::Default()) {
    return Status::NotSupported("Sepal's libleveldb takes no Env but Env::Default() and NewMemEnv's");
  }
  const Status status = MemoryLimit(given, &options.memory_limit);
  if (!status.ok()) return status;
  options.create_if_missing = given.create_if_missing;
  options.error_if_exists = given.error_if_exists;
  options.large_batches = true;
  const leveldb::Cache* const cache = std::getenv(kMemoryVariable) != nullptr ? nullptr : given.block_cache;
  options.shared = SharedMemoryOf(cache, options.memory_limit);
  if (options.shared != nullptr) options.memory_limit = options.shared->memory_limit();
  options.memtable_bytes = std::min(options.memory_limit / 4, kMostMemtableBytes);
  options.memtable_bytes = std::clamp(given.write_buffer_size, options.memtable_bytes, options.memory_limit / 2);
  options.family = FamilyOptions(given);
  if (given.comparator->Name() != kBytewiseName) {
    setup->comparator = std::make_unique<ComparatorOfProgram>(given.comparator);
    options.family.comparator = setup->comparator.get();
  }
  if (given.info_log != nullptr) {
    options.info_log = false;
    options.listeners.push_back(std::make_shared<InfoLog>(given.info_log));
  }
  return Status();
}

}  // namespace sepal::compat

namespace leveldb {

Options::Options() : comparator(BytewiseComparator()), env(Env::Default()) {}

}  // namespace leveldb
