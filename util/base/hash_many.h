// Hashes of many keys at once: one loop without calls for short ones.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sepal {

// hashes[i] = HashKey(keys[i], seed).
void HashKeys(std::span<const std::string_view> keys, uint64_t seed, uint64_t* hashes);

}  // namespace sepal
