#include "compat/leveldb/bloom_policy.h"

#include <algorithm>
#include <cstdint>
#include <numbers>

#include "compat/leveldb/convert.h"
#include "util/base/hash.h"

namespace sepal::compat {

namespace {

constexpr int kMostProbes = 30;
constexpr size_t kFewestBits = 64;

// Calls visit(bit) for each bit of a key, of `bits`, until it returns false. Returns whether it never did.
template <class Visit>
bool ForEachBit(const leveldb::Slice& key, int probes, uint64_t bits, Visit visit) {
  uint64_t hash = HashKey(View(key), /*seed=*/0);
  const uint64_t step = (hash >> 32) | 1;
  for (int i = 0; i < probes; ++i, hash += step) {
    if (!visit(static_cast<size_t>(hash % bits))) return false;
  }
  return true;
}

}  // namespace

void BloomPolicy::CreateFilter(const leveldb::Slice* keys, int count, std::string* out) const {
  const int probes = std::clamp(static_cast<int>(bits_per_key_ * std::numbers::ln2), 1, kMostProbes);
  const size_t wanted = static_cast<size_t>(std::max(count, 0)) * static_cast<size_t>(std::max(bits_per_key_, 0));
  const size_t bytes = (std::max(wanted, kFewestBits) + 7) / 8;
  const size_t begin = out->size();
  out->resize(begin + bytes, '\0');
  for (int i = 0; i < count; ++i) {
    ForEachBit(keys[i], probes, bytes * 8, [&](size_t bit) {
      char& byte = (*out)[begin + bit / 8];
      byte = static_cast<char>(byte | (1 << (bit % 8)));
      return true;
    });
  }
  out->push_back(static_cast<char>(probes));
}

bool BloomPolicy::KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const {
  if (filter.size() < 2) return false;
  const size_t bytes = filter.size() - 1;
  const int probes = filter[bytes];
  if (probes < 1 || probes > kMostProbes) return true;  // not one of this policy's filters
  return ForEachBit(key, probes, bytes * 8, [&](size_t bit) { return ((filter[bit / 8] >> (bit % 8)) & 1) != 0; });
}

}  // namespace sepal::compat

namespace leveldb {

const FilterPolicy* NewBloomFilterPolicy(int bits_per_key) { return new sepal::compat::BloomPolicy(bits_per_key); }

}  // namespace leveldb
