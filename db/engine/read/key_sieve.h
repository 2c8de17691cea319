// Asks a key filter (ReadOptions::key_filter) which keys may be wanted, and asks rarely if the filter excludes almost
// nothing, so that a useless filter costs a read little.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "sepal/key_filter.h"

namespace sepal {

class KeySieve {
 public:
  // The number of keys that are asked about to see whether the filter is useful, and the number that pass unasked if it
  // is not. An answer may cost a cache miss, which takes as long as several steps of a scan; of a useless filter, one
  // key in 257 is asked about.
  static constexpr uint32_t kWindow = 32;
  static constexpr uint32_t kUnasked = 256 * kWindow;
  // The filter is useful if it excludes at least one key in so many.
  static constexpr uint32_t kLeastUse = 16;

  // `filter` must outlive the sieve.
  explicit KeySieve(const KeyFilter* filter) : filter_(filter) {}

  // Returns whether the next key passes without a question.
  bool PassesUnasked() {
    if (unasked_ == 0) return false;
    --unasked_;
    return true;
  }
  // Returns whether the filter would be asked about the next key.
  bool asks() const { return unasked_ == 0; }
  bool Passes(std::string_view key) {
    if (PassesUnasked()) return true;
    const bool maybe = filter_->MayContain(key);
    Heard(1, maybe ? 0 : 1);
    return maybe;
  }
  // Returns which of up to kMany keys pass: bit i for keys[i]. Asks about all of them at once, whether or not that is
  // useful.
  static constexpr size_t kMany = 64;
  uint64_t PassMany(std::span<const std::string_view> keys) {
    std::array<bool, kMany> maybe;
    filter_->MayContainMany(keys, std::span(maybe).first(keys.size()));
    uint64_t passing = 0;
    for (size_t i = 0; i < keys.size(); ++i) passing |= uint64_t{maybe[i]} << i;
    const auto asked = static_cast<uint32_t>(keys.size());
    Heard(asked, asked - static_cast<uint32_t>(std::popcount(passing)));
    return passing;
  }

 private:
  void Heard(uint32_t asked, uint32_t left_out) {
    asked_ += asked;
    left_out_ += left_out;
    if (asked_ < kWindow) return;
    if (left_out_ < asked_ / kLeastUse) unasked_ = kUnasked;
    asked_ = left_out_ = 0;
  }

  const KeyFilter* filter_;
  uint32_t asked_ = 0;
  uint32_t left_out_ = 0;
  uint32_t unasked_ = 0;  // the number of further keys that pass unasked
};

}  // namespace sepal
