// The write-ahead logs that are still needed: the oldest pinned one and all later ones. A memtable pins the oldest log
// that may hold one of its entries, until those entries are in a table. Anything else that recovery must find in the
// logs pins them in the same way.
//
// Guarded by the database mutex. Cost of a change: a step for each distinct log that is pinned.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "util/base/numbers.h"

namespace sepal {

class LogPins {
 public:
  // Moves a pin to `log`. The holder keeps the number of the log that it pins, 0 if none, in `pin`.
  void Move(FileNumber* pin, FileNumber log);
  void Release(FileNumber* pin) { Move(pin, FileNumber()); }

  // Returns the oldest log that stays needed once the pins in `gone`, which are held now, are released; the highest
  // possible number if none stays needed.
  FileNumber OldestWithout(std::span<const FileNumber> gone) const;

 private:
  struct Pinned {
    FileNumber log;
    size_t pins;
  };
  std::vector<Pinned> pinned_;  // ascending, each with a count of at least one
};

}  // namespace sepal
