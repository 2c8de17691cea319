// Keeps the keys that a filter says are perhaps wanted (ReadOptions::key_filter), and asks it little where it leaves
// out next to nothing: a read that it is of no use to is not to pay for it.
#pragma once

#include <cstdint>
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
  bool Passes(std::string_view key) {
    if (PassesUnasked()) return true;
    const bool maybe = filter_->MayContain(key);
    if (!maybe) ++left_out_;
    if (++asked_ == kWindow) {
      if (left_out_ < kWindow / kLeastUse) unasked_ = kUnasked;
      asked_ = left_out_ = 0;
    }
    return maybe;
  }

 private:
  const KeyFilter* filter_;
  uint32_t asked_ = 0;
  uint32_t left_out_ = 0;
  uint32_t unasked_ = 0;  // so many more keys pass
};

}  // namespace sepal
