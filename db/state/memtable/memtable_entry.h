// One update in a memtable: a header, then the bytes of key and value, in one piece of the arena.
//
// It is written completely before its address is published (release), and never changed afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "table/key/internal_key.h"

namespace sepal {

class MemTableEntry {
 public:
  static constexpr size_t kAlignment = 8;
  static size_t Bytes(std::string_view user_key, std::string_view value) {
    return kHeaderBytes + user_key.size() + value.size();
  }

  // Creates an entry in `memory`, which must have room for it. Lengths are below 4 GiB.
  static MemTableEntry* Make(char* memory, Trailer trailer, std::string_view user_key, std::string_view value,
                             uint32_t hash) {
    auto* entry = new (memory) MemTableEntry(trailer, user_key.size(), value.size(), hash);
    char* bytes = memory + kHeaderBytes;
    if (!user_key.empty()) std::memcpy(bytes, user_key.data(), user_key.size());
    if (!value.empty()) std::memcpy(bytes + user_key.size(), value.data(), value.size());
    return entry;
  }

  Trailer trailer() const { return trailer_; }
  std::string_view user_key() const { return {bytes(), key_bytes_}; }
  std::string_view value() const { return {bytes() + key_bytes_, value_bytes_}; }
  InternalKeyView key() const { return {user_key(), trailer_}; }
  uint64_t data_bytes() const { return uint64_t{key_bytes_} + value_bytes_; }
  uint32_t hash() const { return hash_; }

  // The previous entry of the same bucket of the hash index, or null. Set once, before publication.
  const MemTableEntry* older() const { return older_; }
  void set_older(const MemTableEntry* older) { older_ = older; }

  void Prefetch() const { __builtin_prefetch(this); }
  // Prefetches the cache line after the header's, with the end of the key and the beginning of the value.
  void PrefetchRest() const { __builtin_prefetch(reinterpret_cast<const char*>(this) + 64); }
  // Prefetches all of a small entry.
  void PrefetchAll() const {
    Prefetch();
    PrefetchRest();
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 128);
  }

 private:
  // Excludes the padding at the end.
  static constexpr size_t kHeaderBytes = 28;

  MemTableEntry(Trailer trailer, size_t key_bytes, size_t value_bytes, uint32_t hash)
      : trailer_(trailer),
        key_bytes_(static_cast<uint32_t>(key_bytes)),
        value_bytes_(static_cast<uint32_t>(value_bytes)),
        hash_(hash) {}
  const char* bytes() const { return reinterpret_cast<const char*>(this) + kHeaderBytes; }

  const MemTableEntry* older_ = nullptr;
  const Trailer trailer_;
  const uint32_t key_bytes_;
  const uint32_t value_bytes_;
  const uint32_t hash_;
};

}  // namespace sepal
