// Which write-ahead logs are still needed: all from the oldest pinned one on. A memtable pins the oldest log that may
// hold an entry of it, until its entries are in a table. Whatever else is to be found in the logs after a crash pins
// them the same way.
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
  // The holder keeps the number of the log that it pins; 0: none. It takes `log` in place of that one.
  void Move(FileNumber* pin, FileNumber log);
  void Release(FileNumber* pin) { Move(pin, FileNumber()); }

  // The oldest that is needed once the pins of `gone`, which are there now, are released; the highest number there is
  // if none is.
  FileNumber OldestWithout(std::span<const FileNumber> gone) const;

 private:
  struct Pinned {
    FileNumber log;
    size_t pins;
  };
  std::vector<Pinned> pinned_;  // ascending, each with at least one
};

}  // namespace sepal
