// Filters that could stand where lane and guard do, in the least code that shows what they cost
// (docs/internals/decisions/0002 says what came of it). They speak of 64-bit hashes, as table/filter/filter.h does. For
// one thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/base/hash.h"

namespace sepal {

// A guard as a standard ribbon of width 64 (P. Dillinger and S. Walzer, "Ribbon filter: practically smaller than Bloom
// and Xor", 2021): `kBits` equations for each key over 64 neighbouring rows; solutions lie interleaved, `kBits` words
// for every 64 rows, so that a query reads one or two neighbouring pieces of memory.
template <int kBits>
class RibbonGuard {
 public:
  explicit RibbonGuard(const std::vector<uint64_t>& hashes) {
    for (double rows_per_key = 1.06;; rows_per_key += 0.02) {
      const double rows = static_cast<double>(hashes.size()) * rows_per_key + 64;
      groups_ = static_cast<size_t>(std::ceil(rows / 64));
      if (Band(hashes)) break;
    }
    Solve();
  }
  bool MayContain(uint64_t hash) const {
    const Equation e = EquationOf(hash);
    const uint64_t* const first = &words_[e.start / 64 * kBits];
    const unsigned shift = e.start % 64;
    const uint64_t low = e.coefficients << shift;
    const uint64_t high = shift == 0 ? 0 : e.coefficients >> (64 - shift);
    unsigned got = 0;
    for (int bit = 0; bit < kBits; ++bit) {
      got |= static_cast<unsigned>(std::popcount((first[bit] & low) ^ (first[kBits + bit] & high)) & 1) << bit;
    }
    return got == e.result;
  }
  size_t bits() const { return words_.size() * 64; }

 private:
  struct Equation {
    size_t start;
    uint64_t coefficients;  // the lowest bit is set
    unsigned result;
  };
  struct Row {
    uint64_t coefficients = 0;
    unsigned result = 0;
  };
  Equation EquationOf(uint64_t hash) const {
    const uint64_t other = Mix64(hash);
    return {.start = ReduceRange(hash, groups_ * 64 - 63),
            .coefficients = other | 1,
            .result = static_cast<unsigned>((hash * 0x9e3779b97f4a7c15ull) >> (64 - kBits))};
  }
  bool Band(const std::vector<uint64_t>& hashes) {
    rows_.assign(groups_ * 64, {});
    for (const uint64_t hash : hashes) {
      Equation e = EquationOf(hash);
      for (;;) {
        Row& row = rows_[e.start];
        if (row.coefficients == 0) {
          row = {e.coefficients, e.result};
          break;
        }
        e.coefficients ^= row.coefficients;
        e.result ^= row.result;
        if (e.coefficients == 0) {
          if (e.result == 0) break;
          return false;
        }
        const int zeros = std::countr_zero(e.coefficients);
        e.coefficients >>= zeros;
        e.start += static_cast<size_t>(zeros);
      }
    }
    return true;
  }
  void Solve() {
    words_.assign((groups_ + 1) * kBits, 0);
    uint64_t state[kBits] = {};  // the solutions of the 64 rows from the one that is solved
    for (size_t i = rows_.size(); i-- > 0;) {
      for (int bit = 0; bit < kBits; ++bit) {
        state[bit] <<= 1;
        const unsigned parity = static_cast<unsigned>(std::popcount(state[bit] & rows_[i].coefficients)) & 1;
        state[bit] |= parity ^ ((rows_[i].result >> bit) & 1);
        if (i % 64 == 0) words_[i / 64 * kBits + static_cast<size_t>(bit)] = state[bit];
      }
    }
    rows_ = {};
  }

  size_t groups_ = 0;
  std::vector<Row> rows_;
  std::vector<uint64_t> words_;
};

// A guard as a 3-wise binary fuse filter (T. M. Graf and D. Lemire, "Binary fuse filters: fast and smaller than xor
// filters", 2022) of fingerprints of 8 bits, or of 4, two in a byte.
template <int kBits>
class FuseGuard {
 public:
  explicit FuseGuard(const std::vector<uint64_t>& hashes) {
    const auto keys = static_cast<double>(hashes.size());
    segment_ = size_t{1} << static_cast<int>(std::log(keys) / std::log(3.33) + 2.25);
    const double factor = std::max(1.125, 0.875 + 0.25 * std::log(1e6) / std::log(keys));
    segments_ = static_cast<size_t>(std::ceil(keys * factor / static_cast<double>(segment_)));
    segments_ = std::max<size_t>(segments_, 3) - 2;
    bytes_.assign((segments_ + 2) * segment_ * kBits / 8, 0);
    while (!Peel(hashes)) ++seed_;
  }
  bool MayContain(uint64_t hash) const {
    const Slots s = SlotsOf(hash);
    return (At(s.slot[0]) ^ At(s.slot[1]) ^ At(s.slot[2])) == s.fingerprint;
  }
  size_t bits() const { return bytes_.size() * 8; }

 private:
  struct Slots {
    size_t slot[3];
    unsigned fingerprint;
  };
  Slots SlotsOf(uint64_t hash) const {
    const uint64_t h = Mix64(hash + seed_);
    const size_t first = ReduceRange(h, segments_ * segment_);
    const size_t mask = segment_ - 1;
    return {.slot = {first, (first + segment_) ^ ((h >> 18) & mask), (first + 2 * segment_) ^ (h & mask)},
            .fingerprint = static_cast<unsigned>((h ^ (h >> 32)) & ((1u << kBits) - 1))};
  }
  unsigned At(size_t slot) const {
    if constexpr (kBits == 8) return bytes_[slot];
    return (bytes_[slot / 2] >> (slot % 2 * 4)) & 15u;
  }
  void Set(size_t slot, unsigned value) {
    if constexpr (kBits == 8) {
      bytes_[slot] = static_cast<uint8_t>(value);
    } else {
      bytes_[slot / 2] = static_cast<uint8_t>(bytes_[slot / 2] | value << (slot % 2 * 4));
    }
  }
  // Takes out keys that are alone in a slot until none is left, then sets slots in the opposite order.
  bool Peel(const std::vector<uint64_t>& hashes) {
    const size_t slots = (segments_ + 2) * segment_;
    std::vector<uint32_t> counts(slots);
    std::vector<uint64_t> sums(slots);
    for (const uint64_t hash : hashes) {
      for (const size_t slot : SlotsOf(hash).slot) {
        ++counts[slot];
        sums[slot] ^= hash;
      }
    }
    std::vector<size_t> alone;
    for (size_t slot = 0; slot < slots; ++slot) {
      if (counts[slot] == 1) alone.push_back(slot);
    }
    struct Peeled {
      uint64_t hash;
      size_t slot;
    };
    std::vector<Peeled> order;
    order.reserve(hashes.size());
    while (!alone.empty()) {
      const size_t slot = alone.back();
      alone.pop_back();
      if (counts[slot] != 1) continue;
      const uint64_t hash = sums[slot];
      order.push_back({hash, slot});
      for (const size_t other : SlotsOf(hash).slot) {
        sums[other] ^= hash;
        if (--counts[other] == 1) alone.push_back(other);
      }
    }
    if (order.size() < hashes.size()) return false;
    for (size_t i = order.size(); i-- > 0;) {
      const Slots s = SlotsOf(order[i].hash);
      Set(order[i].slot, At(s.slot[0]) ^ At(s.slot[1]) ^ At(s.slot[2]) ^ s.fingerprint);
    }
    return true;
  }

  size_t segment_ = 0;
  size_t segments_ = 0;  // in which a key's first slot may lie
  uint64_t seed_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace sepal
