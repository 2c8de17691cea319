// Makes a failing case smaller: parts of it are left out as long as it still fails.
//
// A seed stands for a list of parts (operations, a fault) that are drawn each by itself, so that one can be left out
// and the others stay what they were. A smaller case is named after the seed and the parts that are kept, and, where
// the schedule is drawn too, the draw under which it fails:
//
//   seed=17 keep=3,9-12 draw=2
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reliability/harness.h"

namespace sepal::reliability {

// A set of part numbers; everything if it is made from a name that says nothing of it.
class Parts {
 public:
  static Parts All() { return Parts(); }
  explicit Parts(std::vector<uint32_t> sorted) : all_(false), numbers_(std::move(sorted)) {}
  // Of "... keep=3,9-12 ...".
  static Parts InName(std::string_view name);

  bool Has(uint32_t number) const;
  // "3,9-12"
  std::string ToString() const;

 private:
  Parts() = default;
  bool all_ = true;
  std::vector<uint32_t> numbers_ = {};
};

struct SeededCase {
  uint64_t seed = 0;
  Parts parts = Parts::All();
  uint64_t draw = 0;  // 0: the seed's own schedule
};

// The smallest subset of the numbers below `count` that was found for which `fails` holds, as it does for all of them.
// After A. Zeller and R. Hildebrandt, "Simplifying and isolating failure-inducing input" (2002). Calls `fails` at most
// `tries` times.
std::vector<uint32_t> ShrinkParts(uint32_t count, uint64_t tries,
                                  const std::function<bool(const std::vector<uint32_t>&)>& fails);

// Runs a case of so many parts: what was wrong, or empty.
using RunSeeded = std::function<std::string(const SeededCase&)>;
// As ForEachSeed, but a seed that fails is made smaller, and told of together with the smaller case. `draws`: how many
// schedules are tried for each subset; 1 where the schedule is no part of the case.
void ForEachSeedShrinking(Search* search, uint32_t parts, uint64_t draws, const RunSeeded& run);

}  // namespace sepal::reliability
