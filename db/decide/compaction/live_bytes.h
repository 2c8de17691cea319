// Estimates how much of the tables' contents is live, without reading them. Pure.
#pragma once

#include <cstdint>

#include "db/state/version/version.h"

namespace sepal {

// Estimates the bytes of the newest entries of present keys, at most all bytes. The greater of two estimates that tend
// to be too low:
// - the oldest run, which holds no key twice, except for snapshots (RewriteTable);
// - the tables whose sketch is known, without entries that are not live. The number of live entries is that of distinct
//   keys, less a standard error of 3.3 % and less all tombstones; the other entries are assumed to have the average
//   entry size of the table where it is largest.
// Cost: that of Version::Keys.
uint64_t EstimatedLiveBytes(const Version& version);

// Estimates the share of all entries that are the newest ones of present keys, from the sketches, as above; 1 if none
// is known.
double EstimatedLiveShare(const Version& version);

}  // namespace sepal
