// Keeps the keys that a filter says are perhaps wanted (ReadOptions::key_filter), and asks it little where it leaves
// out next to nothing: a read that it is of no use to is not to pay for it.
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
  // How many keys are asked about before it is seen whether that is of use, and how many pass unasked where it is not.
  // An answer may cost a cache miss, which is several steps of a scan: one key of 257 is asked about then.
  static constexpr uint32_t kWindow = 32;
  static constexpr uint32_t kUnasked = 256 * kWindow;
  // It is of use where it leaves out one key of so many.
  static constexpr uint32_t kLeastUse = 16;

  // `filter` must outlive the sieve.
  explicit KeySieve(const KeyFilter* filter) : filter_(filter) {}

  // Whether the next key passes unasked, whatever it is.
  bool PassesUnasked() {
    if (unasked_ == 0) return false;
    --unasked_;
    return true;
  }
  // Whether it would be asked about the next key.
  bool asks() const { return unasked_ == 0; }
  bool Passes(std::string_view key) {
    if (PassesUnasked()) return true;
    const bool maybe = filter_->MayContain(key);
    Heard(1, maybe ? 0 : 1);
    return maybe;
  }
  // Which of up to kMany keys pass: bit i for keys[i]. They are asked about at once, whatever it is of use.
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
  uint32_t unasked_ = 0;  // so many more keys pass
};

}  // namespace sepal
