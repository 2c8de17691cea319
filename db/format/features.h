// The features of the format, beyond its first version, that a database uses. The manifest lists a feature before its
// first use, so that a library that does not know it refuses the database and names it, rather than report damage.
#pragma once

#include <cstdint>

namespace sepal {

enum class Feature : uint64_t {
  kMerges = 1,
  kRangeDeletes = 2,
  kExpiry = 4,
  kFilters = 8,  // of compactions
  kSnapshots = 16,
  kValueFiles = 32,
  kChunkedValues = 64,
  kCompressedValues = 128,  // in value files
  kSystemFamily = 256,
  kLongKeys = 512,  // longer than kMaxShortKeyBytes
  kHistories = 1024,
};

class Features {
 public:
  constexpr Features() = default;
  constexpr Features(Feature feature) : bits_(static_cast<uint64_t>(feature)) {}  // NOLINT: a set of one
  explicit constexpr Features(uint64_t bits) : bits_(bits) {}

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool Has(Feature feature) const { return (bits_ & static_cast<uint64_t>(feature)) != 0; }
  constexpr bool HasAll(Features features) const { return (bits_ & features.bits_) == features.bits_; }
  constexpr Features& operator|=(Features other) {
    bits_ |= other.bits_;
    return *this;
  }
  friend constexpr Features operator|(Features a, Features b) { return Features(a.bits_ | b.bits_); }
  friend constexpr Features operator&(Features a, Features b) { return Features(a.bits_ & b.bits_); }
  friend constexpr bool operator==(Features a, Features b) = default;

 private:
  uint64_t bits_ = 0;
};

constexpr Features operator|(Feature a, Feature b) { return Features(a) | Features(b); }

// The longest key that a library without Feature::kLongKeys accepts.
inline constexpr uint64_t kMaxShortKeyBytes = uint64_t{64} << 10;

}  // namespace sepal
