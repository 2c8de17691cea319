// Options drawn from a seed, so that histories meet every shape of the tree.
#pragma once

#include <string>

#include "db/state/version/tuning.h"
#include "sepal/options.h"
#include "util/base/random.h"

namespace sepal::model {

// The comparators that a family may be made with: bytewise, reverse, and one that is blind to case.
const Comparator* RandomComparator(Random* random);
// Everything but the comparator, which stays as it is.
void RandomizeFamily(Random* random, ColumnFamilyOptions* options);
Tuning RandomTuning(Random* random);
std::string Describe(const ColumnFamilyOptions& options, const Tuning& tuning);

}  // namespace sepal::model
