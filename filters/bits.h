// Bits of a filter: bit i is bit i mod 8 of byte i / 8. A key's bits follow from its hash.
#pragma once

#include <bit>
#include <cstdint>

#include "util/base/coding.h"
#include "util/base/hash.h"

namespace sepal::filters {

inline bool TestBit(const char* bits, uint64_t i) {
  return (static_cast<unsigned char>(bits[i / 8]) >> (i % 8) & 1) != 0;
}
inline void SetBit(char* bits, uint64_t i) { bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8); }
inline void ClearBit(char* bits, uint64_t i) { bits[i / 8] = static_cast<char>(bits[i / 8] & ~(1 << i % 8)); }

// `size` is a multiple of 8.
inline uint64_t CountSetBits(const char* bits, uint64_t size) {
  uint64_t set = 0;
  for (uint64_t i = 0; i < size; i += 8) set += static_cast<uint64_t>(std::popcount(DecodeFixed64(bits + i)));
  return set;
}

// Bytes of whole 64-bit words for `bits` bits.
inline uint64_t WordBytes(uint64_t bits) { return (bits / 64 + (bits % 64 != 0)) * 8; }

// Cell i of cells of 8 or 16 bits.
inline unsigned ReadCell(const char* cells, int bits, uint64_t i) {
  return bits == 8 ? static_cast<unsigned char>(cells[i]) : DecodeFixed16(cells + 2 * i);
}
inline void WriteCell(char* cells, int bits, uint64_t i, unsigned value) {
  if (bits == 8) {
    cells[i] = static_cast<char>(value);
  } else {
    EncodeFixed16(cells + 2 * i, static_cast<uint16_t>(value));
  }
}

// Probes of a key, each in [0, range): a multiplicative generator whose high bits are reduced to the range (its
// multiplier is of G. Steele, S. Vigna, "Computationally easy, spectrally good multipliers", 2021).
class ProbeSequence {
 public:
  explicit ProbeSequence(uint64_t hash = 0) : state_(hash) {}
  uint64_t Next(uint64_t range) {
    const uint64_t probe = ReduceRange(state_, range);
    state_ *= 0xd1342543de82ef95ull;
    return probe;
  }

 private:
  uint64_t state_;
};

}  // namespace sepal::filters
