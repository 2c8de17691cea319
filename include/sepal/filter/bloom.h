// Bloom filters: sets of keys in a few bits each, which answer "certainly absent" or "maybe present".
//
// Three layouts of the m bits, with k probes a key:
//
// - *classic*: probes anywhere (B. Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970). The
//   fewest bits: for n keys and a rate p, m = -n ln p / (ln 2)^2 and k = m/n ln 2, and the rate of false positives is
//   (1 - e^(-kn/m))^k. Each probe may miss in the cache.
// - *blocked*: all probes of a key in one line of 512 bits, so that asking costs one cache miss (F. Putze, P. Sanders,
//   J. Singler, "Cache-, hash- and space-efficient Bloom filters", 2007). At most 8 probes, and the keys of a line are
//   Poisson-distributed, which costs bits: 3 % more at a rate of 1 %, 9 % at 0.1 %, 45 % at 10^-5.
// - *partitioned*: an array of m/k bits for each probe (J. Mullin, "A second look at Bloom filters", 1983). Every probe
//   of a key has a bit of its own, and the rate is that of the classic layout, except for small filters.
//
// Keys are any bytes, of any length. They are hashed with XXH3-64 and the seed: an adversary who can choose keys and
// knows the seed can produce false positives, so a filter of hostile keys needs a secret seed.
//
// A value that can be moved. Not safe for concurrent use while it is changed.
//
//   auto filter = sepal::filters::BloomFilter::ForKeys(1'000'000, 0.001);
//   if (!filter.ok()) return filter.status();
//   filter->Add("password1");
//   if (filter->MayContain(guess)) AskTheServer(guess);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/export.h"
#include "sepal/filter/filter_bytes.h"

namespace sepal::filters {

struct FileHeader;  // filters/filter_file.h

// The hash of a key that all filters use: XXH3-64.
SEPAL_EXPORT uint64_t KeyHash(std::string_view key, uint64_t seed);

// The numbers are those of the file format.
enum class BloomLayout : uint8_t { kClassic = 1, kBlocked = 2, kPartitioned = 3 };

inline constexpr int kMostProbes = 64;
inline constexpr int kMostBlockedProbes = 8;

// The size of a Bloom filter.
struct SEPAL_EXPORT BloomShape {
  BloomLayout layout = BloomLayout::kBlocked;
  uint64_t bits = 0;
  int probes = 0;

  // The smallest shape for `keys` keys at a rate of false positives of at most `rate`. InvalidArgument for no keys, a
  // rate outside (0, 1), one that the layout cannot reach, or more than kMostFilterBytes.
  static absl::StatusOr<BloomShape> For(uint64_t keys, double rate, BloomLayout layout = BloomLayout::kBlocked);
  // The best number of probes for `keys` keys in `bits` bits.
  static absl::StatusOr<BloomShape> OfBits(uint64_t keys, uint64_t bits, BloomLayout layout = BloomLayout::kBlocked);
  // The expected rate once `keys` different keys are in it; 1 for a shape without bits or probes.
  double RateAt(uint64_t keys) const;
  // The number of keys that it holds at a rate of at most `rate`: the reverse of For.
  uint64_t KeysAt(double rate) const;

  friend bool operator==(const BloomShape&, const BloomShape&) = default;
};

class SEPAL_EXPORT BloomFilter {
 public:
  // Bits are rounded up to what the layout can hold: words of 64, lines of 512, slices of one length.
  static absl::StatusOr<BloomFilter> Create(const BloomShape& shape, uint64_t seed = 0);
  static absl::StatusOr<BloomFilter> ForKeys(uint64_t keys, double rate, BloomLayout layout = BloomLayout::kBlocked,
                                             uint64_t seed = 0);

  // Cost: one hash of the key; one cache miss (blocked) or up to k.
  void Add(std::string_view key) { AddHash(KeyHash(key, seed_)); }
  bool MayContain(std::string_view key) const { return MayContainHash(KeyHash(key, seed_)); }
  // Sets maybe[i] to the answer for keys[i]; both spans have the same length. Cache misses of 64 keys overlap.
  void MayContainMany(std::span<const std::string_view> keys, std::span<bool> maybe) const;
  // The same for keys that were hashed already (KeyHash).
  void AddHash(uint64_t hash);
  bool MayContainHash(uint64_t hash) const;

  // Union and intersection with a filter of the same shape and seed; FailedPrecondition otherwise. The union is exactly
  // the filter of both sets; the intersection admits all keys that are in both, and more false positives than a filter
  // built from these keys.
  absl::Status Merge(const BloomFilter& other);
  absl::Status Intersect(const BloomFilter& other);

  // The share of bits that are set. Cost of this and of the next two: a pass over the bits.
  double Fill() const;
  // The number of different keys, from the fill (S. J. Swamidass, P. Baldi, "Mathematical correction for fingerprint
  // similarity measures", 2007). Infinite when every bit is set.
  double EstimateKeys() const;
  // The rate of false positives that its bits have now, whatever was added.
  double CurrentRate() const;

  const BloomShape& shape() const { return shape_; }
  uint64_t seed() const { return seed_; }
  // The number of calls of Add, those on merged filters included.
  uint64_t keys() const { return keys_; }
  uint64_t MemoryBytes() const { return bits_.size(); }

  // The bytes of the file format (docs/reference/filter-format.md).
  std::string Serialize() const;
  // ParseFilter (sepal/filter/any_filter.h) reads any kind.
  static absl::StatusOr<BloomFilter> FromFile(const FileHeader& header, std::string_view body);

 private:
  BloomFilter(const BloomShape& shape, uint64_t seed, FilterBytes bits);
  absl::Status CheckSame(const BloomFilter& other) const;
  friend class TwoGenerationFilter;
  void Clear();

  BloomShape shape_;
  uint64_t seed_ = 0;
  uint64_t keys_ = 0;
  uint64_t range_ = 0;  // that a probe is reduced to: bits, bits of a slice, or lines
  FilterBytes bits_;
};

}  // namespace sepal::filters
