// The memory of a column family's Bloom filters, and the false positive rate that results.
//
// Two filters stand before a data block: the *guard*, one cache-line-local Bloom filter of a whole table file, and the
// *lane*, a Bloom filter of one data block. They use different bits of one hash of the user key, so their false
// positive rates multiply. A filter never rules out a key that is present.
//
// For n keys and a target rate p, a Bloom filter is smallest with m = -n ln p / (ln 2)^2 bits and k = m/n ln 2 probes
// (Bloom 1970; Mitzenmacher and Upfal, "Probability and Computing", 5.5.3); its rate is (1 - e^(-kn/m))^k.
#pragma once

#include "sepal/export.h"

namespace sepal {

struct SEPAL_EXPORT FilterPolicy {
  // Bits per key of a block, in that block's lane; between 0 and 64. 0: no lanes.
  double lane_bits_per_key = 5.0;
  // Bits per key of the column family, in guards; between 0 and 64. 0: no guards; the lanes alone are sufficient for
  // correctness. Small runs get more bits per key than large ones, up to 16, which rules out more absent keys for the
  // same memory.
  double guard_bits_per_key = 8.0;

  // No filters: every candidate block is read.
  static FilterPolicy None() { return {.lane_bits_per_key = 0, .guard_bits_per_key = 0}; }
  // Splits `bits_per_key` between lane and guard in the proportion of the defaults.
  static FilterPolicy FromBitsPerKey(double bits_per_key);
  // Returns the smallest policy whose combined expected rate is `rate`, which must lie in (0, 1).
  static FilterPolicy FromFalsePositiveRate(double rate);

  // The number of probes that makes `bits_per_key` most selective: round(bits_per_key * ln 2), within [1, 16]; 0 for 0
  // bits.
  static int ProbesFor(double bits_per_key);
  // (1 - e^(-k/bits))^k for k = ProbesFor(bits); 1 for 0 bits.
  static double ExpectedRate(double bits_per_key);
  // The rate at which an absent key passes both filters.
  double ExpectedRate() const;

  friend bool operator==(const FilterPolicy&, const FilterPolicy&) = default;
};

}  // namespace sepal
