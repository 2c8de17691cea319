#include "compat/leveldb/lru_cache.h"

#include <utility>

namespace sepal::compat {

struct LruCache::Entry : leveldb::Cache::Handle {
  std::string key;
  void* value = nullptr;
  size_t charge = 0;
  Deleter deleter = nullptr;
  int holders = 0;  // handles, and the cache
  Order::iterator place = {};
};

LruCache::~LruCache() {
  MutexLock lock(&mutex_);
  for (const auto& [key, entry] : entries_) Drop(entry);
}

void LruCache::Drop(Entry* entry) {
  if (--entry->holders > 0) return;
  entry->deleter(ToSlice(entry->key), entry->value);
  delete entry;
}

void LruCache::Remove(std::string_view key) {
  const auto it = entries_.find(std::string(key));
  if (it == entries_.end()) return;
  Entry* const entry = it->second;
  entries_.erase(it);
  order_.erase(entry->place);
  charge_ -= entry->charge;
  Drop(entry);
}

void LruCache::Evict(size_t charge) {
  for (auto it = order_.begin(); charge_ > charge && it != order_.end();) {
    const Entry* const entry = *it++;
    if (entry->holders == 1) Remove(std::string(entry->key));
  }
}

leveldb::Cache::Handle* LruCache::Insert(const leveldb::Slice& key, void* value, size_t charge, Deleter deleter) {
  MutexLock lock(&mutex_);
  auto* const entry = new Entry;
  entry->key = key.ToString();
  entry->value = value;
  entry->charge = charge;
  entry->deleter = deleter;
  entry->holders = 1;
  if (capacity_ == 0) return entry;  // only the caller has it
  Remove(entry->key);
  ++entry->holders;
  charge_ += charge;
  entry->place = order_.insert(order_.end(), entry);
  entries_[entry->key] = entry;
  Evict(capacity_);
  return entry;
}

leveldb::Cache::Handle* LruCache::Lookup(const leveldb::Slice& key) {
  MutexLock lock(&mutex_);
  const auto it = entries_.find(key.ToString());
  if (it == entries_.end()) return nullptr;
  Entry* const entry = it->second;
  ++entry->holders;
  order_.splice(order_.end(), order_, entry->place);
  return entry;
}

void LruCache::Release(Handle* handle) {
  MutexLock lock(&mutex_);
  Drop(static_cast<Entry*>(handle));
  Evict(capacity_);
}

void* LruCache::Value(Handle* handle) { return static_cast<Entry*>(handle)->value; }

void LruCache::Erase(const leveldb::Slice& key) {
  MutexLock lock(&mutex_);
  Remove(View(key));
}

uint64_t LruCache::NewId() {
  MutexLock lock(&mutex_);
  return ++last_id_;
}

void LruCache::Prune() {
  MutexLock lock(&mutex_);
  Evict(0);
}

size_t LruCache::TotalCharge() const {
  MutexLock lock(&mutex_);
  return charge_;
}

}  // namespace sepal::compat

namespace leveldb {

Cache* NewLRUCache(size_t capacity) { return new sepal::compat::LruCache(capacity); }

}  // namespace leveldb
