// How much memory the Bloom filters of a column family may take, and what that buys.
//
// Two filters stand before a data block: the *guard*, one cache-line-local Bloom filter of a whole table file, and the
// *lane*, a Bloom filter of one data block alone. They use different bits of one hash of the user key, so their false
// positive rates multiply. A filter never rules out a key that is present.
//
// For n keys and a target rate p, a Bloom filter is smallest with m = -n ln p / (ln 2)^2 bits and k = m/n ln 2 probes
// (Bloom 1970; Mitzenmacher and Upfal, "Probability and Computing", 5.5.3); its rate is (1 - e^(-kn/m))^k.
#pragma once

#include "sepal/export.h"

namespace sepal {

struct SEPAL_EXPORT FilterPolicy {
  // Bits for each key of a block, in that block's lane. 0: no lanes. Between 0 and 64.
  double lane_bits_per_key = 5.0;
  // Bits for each key of the column family, in guards. 0: none; the lanes alone stay correct. Between 0 and 64. Small
  // runs have more of them for each key than large ones, up to 16 (the same memory lets fewer absent keys pass then).
  double guard_bits_per_key = 8.0;

  // No filters at all: every candidate block is read.
  static FilterPolicy None() { return {.lane_bits_per_key = 0, .guard_bits_per_key = 0}; }
  // Splits `bits_per_key` between lane and guard in the proportion of the defaults.
  static FilterPolicy FromBitsPerKey(double bits_per_key);
  // The smallest policy whose combined expected rate is `rate`, which must lie in (0, 1).
  static FilterPolicy FromFalsePositiveRate(double rate);

  // The probes that make `bits_per_key` most selective: round(bits_per_key * ln 2), within [1, 16]; 0 for 0 bits.
  static int ProbesFor(double bits_per_key);
  // (1 - e^(-k/bits))^k for k = ProbesFor(bits); 1 for 0 bits.
  static double ExpectedRate(double bits_per_key);
  // The rate at which an absent key passes both filters.
  double ExpectedRate() const;

  friend bool operator==(const FilterPolicy&, const FilterPolicy&) = default;
};

}  // namespace sepal
