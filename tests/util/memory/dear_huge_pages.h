// As long as it lives, huge pages are dear to the process: whoever asks for cheap ones gets small ones, but for the
// first of each region that is tried.
#pragma once

#include "util/memory/huge_pages.h"

namespace sepal {

class DearHugePages {
 public:
  DearHugePages() {
    HugePages::OfProcess().JudgeBy([](uint64_t) { return true; });
  }
  ~DearHugePages() { HugePages::OfProcess().JudgeBy(HugePages::TakesOverAMillisecond); }
  DearHugePages(const DearHugePages&) = delete;
  DearHugePages& operator=(const DearHugePages&) = delete;
};

}  // namespace sepal
