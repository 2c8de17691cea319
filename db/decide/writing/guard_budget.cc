#include "db/decide/writing/guard_budget.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace sepal {
namespace {

constexpr double kBitsPerLogOfRate = 1 / (std::numbers::ln2 * std::numbers::ln2);

// Returns the bits of a run with `keys`, if a run with all keys has `level` bits, which may be below zero.
double BitsAt(double level, double keys, double all_keys) {
  return std::clamp(level + kBitsPerLogOfRate * std::log(all_keys / keys), 0.0, kMostGuardBits);
}

}  // namespace

double GuardBits(double bits_per_key, uint64_t keys, std::span<const uint64_t> others) {
  if (!(bits_per_key > 0) || keys == 0) return std::max(bits_per_key, 0.0);
  if (bits_per_key >= kMostGuardBits || others.empty()) return bits_per_key;
  std::vector<double> runs = {static_cast<double>(keys)};
  for (const uint64_t other : others) {
    if (other > 0) runs.push_back(static_cast<double>(other));
  }
  double all_keys = 0;
  for (const double run : runs) all_keys += run;
  // The bits used grow with the level, from none to more than all, depending on the largest run.
  double low = bits_per_key - kBitsPerLogOfRate * std::log(all_keys / *std::min_element(runs.begin(), runs.end()));
  double high = bits_per_key;
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    double spent = 0;
    for (const double run : runs) spent += run * BitsAt(middle, run, all_keys);
    (spent <= bits_per_key * all_keys ? low : high) = middle;
  }
  return BitsAt(low, runs.front(), all_keys);
}

double GuardBitsOfFlush(double bits_per_key, const Version& version, uint64_t entries) {
  std::vector<uint64_t> others;
  for (const LevelRun& run : version.runs()) others.push_back(run.run->entries());
  return GuardBits(bits_per_key, entries, others);
}

double GuardBitsOfCompaction(double bits_per_key, const Version& version, const CompactionPlan& plan) {
  uint64_t keys = plan.InputEntries();
  std::vector<uint64_t> others;
  for (const LevelRun& run : version.runs()) {
    uint64_t rest = run.run->entries();
    for (const CompactionInput& input : plan.inputs) {
      if (input.level != run.level || input.run != run.run->number()) continue;
      for (const TableRef& table : input.tables) rest -= std::min(rest, table->metadata().entries);
    }
    const bool joined = run.level == plan.output_level && plan.output_run == run.run->number();
    if (joined) {
      keys += rest;
    } else {
      others.push_back(rest);
    }
  }
  return GuardBits(bits_per_key, keys, others);
}

}  // namespace sepal
