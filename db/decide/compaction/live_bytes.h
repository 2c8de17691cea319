// How much of what tables hold is live, from what is known without reading them. Pure.
#pragma once

#include <cstdint>

#include "db/state/version/version.h"

namespace sepal {

// An estimate of the bytes of the newest entries of present keys, at most all bytes. Of two that are both rather too
// low, the greater:
// - the oldest run, which holds no key twice but for the sake of snapshots (RewriteTable);
// - of the tables whose sketch is known, all but what is not live. Live are the distinct keys, less a standard error of
//   3.3 % and less all tombstones; the other entries are taken to be of the size that entries have on average in the
//   table where they are largest.
// Cost: that of Version::Keys.
uint64_t EstimatedLiveBytes(const Version& version);

// Of all entries, the part that are newest ones of present keys: by the sketches, as above. 1 where none is known.
double EstimatedLiveShare(const Version& version);

}  // namespace sepal
