// Hashes and checksums. All are XXH3 (Y. Collet, xxhash.com); the names tell their uses.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace sepal {

// Hashes a user key for filters, tags and the memtable's index. The seed is chosen at random for each database, so that
// an attacker cannot choose keys that collide.
uint64_t HashKey(std::string_view user_key, uint64_t seed);

// Mixes the bits of one word: the finaliser of MurmurHash3 (A. Appleby, public domain).
inline uint64_t Mix64(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdull;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ull;
  h ^= h >> 33;
  return h;
}

// Maps `h` to [0, n): the high word of the product (D. Lemire, "Fast random integer generation in an interval", 2019).
// Uses the high bits of `h`.
inline uint64_t ReduceRange(uint64_t h, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(h) * n) >> 64);
}

// A checksum of bytes in a context that the seed represents (a salt, a position, a predecessor's checksum).
uint64_t Checksum64(std::string_view bytes, uint64_t seed);
uint32_t Checksum32(std::string_view bytes, uint64_t seed);
// Checksum32 of bytes that come in parts.
class RunningChecksum32 {
 public:
  explicit RunningChecksum32(uint64_t seed);
  ~RunningChecksum32();
  RunningChecksum32(const RunningChecksum32&) = delete;
  RunningChecksum32& operator=(const RunningChecksum32&) = delete;
  void Add(std::string_view bytes);
  uint32_t value() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};
// The checksum of `bytes` followed by one more byte, without a seed.
uint64_t ChecksumWithTail(std::string_view bytes, uint8_t tail);

}  // namespace sepal
