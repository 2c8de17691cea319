#include "util/base/hash.h"

#include "util/base/hash_many.h"
#include "util/base/vector_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sepal {
namespace {

uint64_t Hash(std::string_view bytes, uint64_t seed) {
  if (bytes.size() >= kVectorHashBytes && HasVectorHash()) return VectorHash(bytes, seed);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace

uint64_t HashKey(std::string_view user_key, uint64_t seed) { return Hash(user_key, seed); }

void HashKeys(std::span<const std::string_view> keys, uint64_t seed, uint64_t* hashes) {
  for (const std::string_view key : keys) *hashes++ = Hash(key, seed);
}

uint64_t Checksum64(std::string_view bytes, uint64_t seed) { return Hash(bytes, seed); }

uint32_t Checksum32(std::string_view bytes, uint64_t seed) { return static_cast<uint32_t>(Checksum64(bytes, seed)); }

struct RunningChecksum32::State {
  XXH3_state_t xxh3;
};

RunningChecksum32::RunningChecksum32(uint64_t seed) : state_(std::make_unique<State>()) {
  XXH3_64bits_reset_withSeed(&state_->xxh3, seed);
}
RunningChecksum32::~RunningChecksum32() = default;
void RunningChecksum32::Add(std::string_view bytes) { XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size()); }
uint32_t RunningChecksum32::value() const { return static_cast<uint32_t>(XXH3_64bits_digest(&state_->xxh3)); }

uint64_t ChecksumWithTail(std::string_view bytes, uint8_t tail) { return Mix64(Hash(bytes, 0) ^ (uint64_t{tail} + 1)); }

}  // namespace sepal
