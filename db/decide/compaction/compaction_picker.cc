#include "db/decide/compaction/compaction_picker.h"

#include <algorithm>

#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"

namespace sepal {

CompactionPlan PickCompaction(const PickerInput& input) {
  const BusyTables busy(input);
  switch (input.policy.style) {
    case CompactionStyle::kLazyLeveling:
      return PickLazyLeveling(input, busy);
    case CompactionStyle::kLeveled:
      return PickLeveled(input, busy);
    case CompactionStyle::kUniversal:
      return PickUniversal(input, busy);
  }
  return {};
}

double CompactionScore(const Version& version, const CompactionPolicy& policy, int level) {
  const double runs = static_cast<double>(version.NumRuns(level)) / RunsDue(policy, level);
  if (level == 0) return runs;
  const double fill = static_cast<double>(version.Bytes(level)) / static_cast<double>(LevelCapacity(policy, level));
  switch (policy.style) {
    case CompactionStyle::kLazyLeveling:
      return level < LastLevel(version) ? runs : fill;
    case CompactionStyle::kLeveled:
      return version.NumRuns(level) > 1 ? std::max(1.0, fill) : fill;
    case CompactionStyle::kUniversal:
      return runs;
  }
  return 0;
}

namespace {

uint64_t LazyDebt(const Version& version, const CompactionPolicy& policy) {
  const int last = LastLevel(version);
  uint64_t debt = 0;
  uint64_t arriving = 0;  // from the level above, as one run
  for (int level = 0; level < last; ++level) {
    const int runs = version.NumRuns(level) + (arriving > 0 ? 1 : 0);
    if (runs < RunsDue(policy, level)) {
      arriving = 0;
      continue;
    }
    arriving += version.Bytes(level);
    debt += arriving;
    const bool joins = level + 1 == last && version.Bytes(last) <= LastLevelCapacity(version, policy);
    if (joins) debt += version.Bytes(last);
  }
  return debt;
}

uint64_t UniversalDebt(const Version& version, const CompactionPolicy& policy) {
  uint64_t debt = 0;
  uint64_t arriving = 0;  // from the level above, as one run
  for (int level = 0; level + 1 < kMaxLevels; ++level) {
    const int runs = version.NumRuns(level) + (arriving > 0 ? 1 : 0);
    arriving = runs < RunsDue(policy, level) ? 0 : arriving + version.Bytes(level);
    debt += arriving;
  }
  return debt;
}

uint64_t LeveledDebt(const Version& version, const CompactionPolicy& policy) {
  uint64_t debt = 0;
  uint64_t arriving = 0;
  if (version.NumRuns(0) >= RunsDue(policy, 0)) {
    arriving = version.Bytes(0);
    debt = arriving + version.Bytes(1);
  }
  for (int level = 1; level + 1 < kMaxLevels; ++level) {
    const uint64_t bytes = version.Bytes(level) + arriving;
    const uint64_t target = version.NumRuns(level) > 1 ? 0 : LevelCapacity(policy, level);
    if (bytes <= target) {
      arriving = 0;
      continue;
    }
    arriving = bytes - target;
    // Each byte is written once and rewrites what it overlaps below.
    const double overlap = std::min(static_cast<double>(policy.fanout),
                                    static_cast<double>(version.Bytes(level + 1)) / static_cast<double>(bytes));
    debt += arriving + static_cast<uint64_t>(overlap * static_cast<double>(arriving));
  }
  return debt;
}

// Each byte that goes down for the sake of space is written once, and rewrites what it overlaps below.
uint64_t LeveledSpaceDebt(const Version& version, const CompactionPolicy& policy, bool sketches_sought) {
  if (!sketches_sought) return 0;
  const double over = static_cast<double>(BytesOverSpaceBound(version, policy));
  return static_cast<uint64_t>(std::min(static_cast<double>(version.Bytes()), over * (1 + policy.fanout)));
}

}  // namespace

uint64_t CompactionDebtBytes(const Version& version, const CompactionPolicy& policy, bool sketches_sought) {
  const uint64_t space_debt = sketches_sought && ExceedsSpace(version, policy) ? version.Bytes() : 0;
  switch (policy.style) {
    case CompactionStyle::kLazyLeveling:
      return std::max(LazyDebt(version, policy), space_debt);
    case CompactionStyle::kLeveled:
      return std::max(LeveledDebt(version, policy), LeveledSpaceDebt(version, policy, sketches_sought));
    case CompactionStyle::kUniversal:
      return std::max(UniversalDebt(version, policy), space_debt);
  }
  return 0;
}

}  // namespace sepal
