// NewLRUCache's cache. It sets the memory of databases; a program may also use it for its own objects.
#pragma once

#include <leveldb/cache.h>

#include <list>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "compat/leveldb/convert.h"
#include "util/thread/sync.h"

namespace sepal::compat {

// Safe for concurrent use. An entry lives until it has left the cache and its last handle was released; then its
// deleter runs, with the lock held.
class LruCache final : public leveldb::Cache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}
  ~LruCache() override;

  size_t capacity() const { return capacity_; }

  using Deleter = void (*)(const leveldb::Slice& key, void* value);
  Handle* Insert(const leveldb::Slice& key, void* value, size_t charge, Deleter deleter) override;
  Handle* Lookup(const leveldb::Slice& key) override;
  void Release(Handle* handle) override;
  void* Value(Handle* handle) override;
  void Erase(const leveldb::Slice& key) override;
  uint64_t NewId() override;
  void Prune() override;
  size_t TotalCharge() const override;

 private:
  struct Entry;
  using Order = std::list<Entry*>;

  void Drop(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(std::string_view key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes entries without handles, least recently used first, until `charge` is left.
  void Evict(size_t charge) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t capacity_;
  mutable Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t charge_ ABSL_GUARDED_BY(mutex_) = 0;
  Order order_ ABSL_GUARDED_BY(mutex_);  // of those in the cache, least recently used first
  absl::flat_hash_map<std::string, Entry*> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal::compat
