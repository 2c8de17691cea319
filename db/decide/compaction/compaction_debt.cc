#include <algorithm>

#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/level_targets.h"

namespace sepal {

double CompactionScore(const Version& version, const CompactionPolicy& policy, int level) {
  const double runs = version.NumRuns(level);
  const int due = RunsDue(version, policy, level);
  if (due > 1) return runs / due;
  const double fill = static_cast<double>(version.Bytes(level)) / static_cast<double>(LevelCapacity(policy, level));
  return runs > 1 ? std::max(1.0, fill) : fill;
}

namespace {

// Returns the bytes of the next level that compacting all of `level` would rewrite.
uint64_t BytesMetBelow(const Version& version, const CompactionPolicy& policy, int level) {
  if (!JoinsRunBelow(version, policy, level)) return 0;
  const bool moves_away = level + 1 == LastLevel(version) && LastLevelMovesDown(version, policy);
  return moves_away ? 0 : version.Bytes(level + 1);
}

uint64_t DebtOfLevels(const Version& version, const CompactionPolicy& policy) {
  uint64_t debt = 0;
  uint64_t arriving = 0;
  for (int level = 0; level + 1 < kMaxLevels; ++level) {
    const uint64_t bytes = version.Bytes(level) + arriving;
    arriving = BytesDue(version, policy, level, arriving);
    if (arriving == 0) continue;
    const double part = static_cast<double>(arriving) / static_cast<double>(bytes);
    const double met = part * static_cast<double>(BytesMetBelow(version, policy, level));
    debt += arriving + static_cast<uint64_t>(met);
  }
  return debt;
}

// If tables are compacted one at a time, each byte is written once and rewrites what it overlaps below.
uint64_t DebtOfSpace(const Version& version, const CompactionPolicy& policy) {
  const uint64_t over = BytesOverSpaceBound(version, policy);
  const bool whole = ShapeOf(policy).step == CompactionStep::kWholeLevel;
  if (whole) return over > 0 ? version.Bytes() : 0;
  const double rewritten = static_cast<double>(over) * (1 + policy.fanout);
  return static_cast<uint64_t>(std::min(static_cast<double>(version.Bytes()), rewritten));
}

}  // namespace

uint64_t CompactionDebtBytes(const Version& version, const CompactionPolicy& policy, bool sketches_sought) {
  return std::max(DebtOfLevels(version, policy), sketches_sought ? DebtOfSpace(version, policy) : 0);
}

}  // namespace sepal
