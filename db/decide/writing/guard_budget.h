// How the guards' memory is shared among the runs of a tree. Pure.
//
// A lookup of an absent key asks the guard of every run and pays for each that lets it pass, so what counts is the sum
// of their rates. For all bits together it is least where the rate of a run is proportional to its keys (Dayan,
// Athanassoulis, Idreos: "Monkey", SIGMOD 2017): a run with an eighth of the keys of another has 3 / ln 2 = 4.3 bits
// more for each of its keys, which costs the other half a bit. A lookup of a present key gains as well: most keys lie
// in the largest run, below all others.
#pragma once

#include <cstdint>
#include <span>

#include "db/decide/compaction/compaction_plan.h"
#include "db/state/version/version.h"

namespace sepal {

// More would not pay: a guard has 8 probes at most.
inline constexpr double kMostGuardBits = 16;

// For each key of a run of `keys`, beside runs of `others` keys, where there are `bits_per_key` for each key of all.
double GuardBits(double bits_per_key, uint64_t keys, std::span<const uint64_t> others);

// Of the run that a flush of `entries` adds.
double GuardBitsOfFlush(double bits_per_key, const Version& version, uint64_t entries);
// For the outputs of a compaction.
double GuardBitsOfCompaction(double bits_per_key, const Version& version, const CompactionPlan& plan);

}  // namespace sepal
