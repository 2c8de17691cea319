// NewBloomFilterPolicy's filters: as policies, they set the bits a key in Sepal's tables.
#pragma once

#include <leveldb/filter_policy.h>

#include <string>

namespace sepal::compat {

// Filters that a program makes with it directly have a format of their own.
class BloomPolicy final : public leveldb::FilterPolicy {
 public:
  explicit BloomPolicy(int bits_per_key) : bits_per_key_(bits_per_key) {}

  int bits_per_key() const { return bits_per_key_; }

  const char* Name() const override { return "leveldb.BuiltinBloomFilter2"; }
  // Appends the bits, and a byte that says how many are set for each key.
  void CreateFilter(const leveldb::Slice* keys, int count, std::string* out) const override;
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override;

 private:
  const int bits_per_key_;
};

}  // namespace sepal::compat
