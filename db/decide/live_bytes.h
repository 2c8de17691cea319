// How much of what tables hold is live, from what is known without reading them. Pure.
#pragma once

#include <cstdint>

#include "db/state/version.h"

namespace sepal {

// An estimate of the bytes of the newest entries of present keys, at most all bytes. Of two that are both rather too
// low, the greater:
// - the oldest run, which holds no key twice;
// - the distinct keys in tables whose sketch is known, less a standard error of 3.3 % and less all tombstones, as a
// part
//   of these tables' entries. Entries are taken to be of one size.
// Cost: 1 KiB of sketch for each table, some 50 ns.
uint64_t EstimatedLiveBytes(const Version& version);

}  // namespace sepal
