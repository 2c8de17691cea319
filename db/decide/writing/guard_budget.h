// How the guards' memory is shared among the runs of a tree. Pure.
//
// A lookup of an absent key asks the guard of every run and pays for each that lets it pass, so the sum of their rates
// counts. For a given number of bits it is least if the rate of a run is proportional to its keys (Dayan,
// Athanassoulis, Idreos: "Monkey", SIGMOD 2017): a run with an eighth of the keys of another has 3 / ln 2 = 4.3 more
// bits for each of its keys, which costs the other half a bit. A lookup of a present key gains too: most keys are in
// the largest run, below all others.
#pragma once

#include <cstdint>
#include <span>

#include "db/decide/compaction/compaction_plan.h"
#include "db/state/version/version.h"

namespace sepal {

// More would not help, because a guard has at most 8 probes.
inline constexpr double kMostGuardBits = 16;

// Returns the bits for each key of a run of `keys`, beside runs of `others` keys, if there are `bits_per_key` for each
// key of all.
double GuardBits(double bits_per_key, uint64_t keys, std::span<const uint64_t> others);

// For the run that a flush of `entries` adds.
double GuardBitsOfFlush(double bits_per_key, const Version& version, uint64_t entries);
// For the outputs of a compaction.
double GuardBitsOfCompaction(double bits_per_key, const Version& version, const CompactionPlan& plan);

}  // namespace sepal
