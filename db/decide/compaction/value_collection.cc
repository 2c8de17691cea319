#include "db/decide/compaction/value_collection.h"

#include <algorithm>

namespace sepal {

namespace {

// Parts of the excess over 1 that max_space_amplification allows.
constexpr double kShadowed = 0.1;
constexpr double kBegin = 0.55;
constexpr double kEnd = 0.45;
// An option of 1 cannot be kept and counts as this; one that allows everything counts as the other.
constexpr double kLeastAmplification = 1.2;
constexpr double kMostAmplification = 1000;
// The number of full files of garbage that are no reason to begin.
constexpr uint64_t kSlackFiles = 2;
// The limit of the values moved at a time: the size of this many full files, or this part of all values.
constexpr uint64_t kMovedFiles = 4;
constexpr uint64_t kMovedPart = 16;
// Emptying a file with less garbage than this part costs more than it gains.
constexpr double kLeastGarbage = 0.05;

double Allowed(double max_space_amplification) {
  return std::clamp(max_space_amplification, kLeastAmplification, kMostAmplification) - 1;
}

uint64_t Times(uint64_t bytes, double factor) { return static_cast<uint64_t>(static_cast<double>(bytes) * factor); }

double LiveShare(const ValueFileFacts& file) {
  return static_cast<double>(file.live_bytes) / static_cast<double>(std::max<uint64_t>(file.bytes, 1));
}

// Returns the files with the most garbage, until `excess` bytes would be freed, or enough is to be moved.
std::vector<FileNumber> Worst(std::vector<ValueFileFacts> candidates, uint64_t excess, uint64_t most_moved) {
  std::sort(candidates.begin(), candidates.end(), [](const ValueFileFacts& a, const ValueFileFacts& b) {
    const double live_a = LiveShare(a);
    const double live_b = LiveShare(b);
    return live_a != live_b ? live_a < live_b : a.number < b.number;
  });
  std::vector<FileNumber> chosen;
  uint64_t freed = 0;
  uint64_t moved = 0;
  for (const ValueFileFacts& file : candidates) {
    if (freed >= excess || moved >= most_moved || LiveShare(file) > 1 - kLeastGarbage) break;
    chosen.push_back(file.number);
    freed += file.bytes - file.live_bytes;
    moved += file.live_bytes;
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

double MostShadowed(double max_space_amplification) { return kShadowed * Allowed(max_space_amplification); }

bool ValueCollection::Empties(FileNumber number) const {
  return std::binary_search(files.begin(), files.end(), number);
}

uint64_t ValueCollection::BytesToMove(const TableMetadata& table) const {
  uint64_t to_move = 0;
  for (const ValueLinks& links : table.value_links) {
    if (Empties(links.file)) to_move += links.bytes;
  }
  return to_move;
}

ValueCollection PlanValueCollection(std::vector<ValueFileFacts> files, double max_space_amplification,
                                    uint64_t file_bytes) {
  const double allowed = Allowed(max_space_amplification);
  ValueCollection plan;
  for (const ValueFileFacts& file : files) {
    plan.bytes += std::max(file.bytes, file.live_bytes);
    plan.live_bytes += file.live_bytes;
  }
  const uint64_t slack = kSlackFiles * file_bytes;
  plan.soft_bytes = Times(plan.live_bytes, 1 + kBegin * allowed) + slack;
  plan.hard_bytes =
      std::max(Times(plan.live_bytes, (1 + allowed) / (1 + kShadowed * allowed)), plan.soft_bytes) + slack;
  if (plan.bytes <= plan.soft_bytes) return plan;
  const uint64_t excess = plan.bytes - Times(plan.live_bytes, 1 + kEnd * allowed);
  plan.files = Worst(std::move(files), excess, std::max(kMovedFiles * file_bytes, plan.bytes / kMovedPart));
  return plan;
}

}  // namespace sepal
