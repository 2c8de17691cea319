#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

// A table with one version of each key may look as if it had this many: sketches err by 3.3 % (one standard deviation),
// and of a few keys two or three may look like one. A table whose sequence numbers are not set to 0, as under range
// tombstones, would be picked forever.
constexpr double kMostOfOne = 1.15;
constexpr double kKeysTakenForOthers = 3;

// Returns the reason why the table is worth rewriting; empty if it is not.
std::string WhyRewrite(const CompactionPolicy& policy, const TableFile& table) {
  const TableMetadata& m = table.metadata();
  if (IsDense(policy, TotalsOf(m))) return DenseReason(absl::StrFormat("table %d", m.number.value()), TotalsOf(m));
  if (m.size_bytes < policy.min_rest_bytes) return {};
  const double versions = table.EntriesPerKey();
  if (versions <= std::max(policy.max_space_amplification, kMostOfOne)) return {};
  const auto entries = static_cast<double>(m.entries);
  if (entries - entries / versions <= kKeysTakenForOthers) return {};
  return absl::StrFormat("table %d holds %.1f versions of each key", m.number.value(), versions);
}

// Before the sketches were sought, uses what was known when the tables were added to the version.
template <class Tables>
double MostEntriesPerKey(const PickerInput& input, const Tables& tables) {
  if (const KeySums* const kept = tables.kept_keys()) return kept->most_entries_per_key;
  if (!input.sketches_sought) return tables.sums().most_entries_per_key;
  KeySums sums;
  tables.AddKeys(&sums);
  return sums.most_entries_per_key;
}

// Returns false if none of the tables, a run or a chunk, is worth rewriting.
template <class Tables>
bool MayHoldOne(const PickerInput& input, const Tables& tables) {
  const TableSums& sums = tables.sums();
  if (!sums.least_newest.has_value() || *sums.least_newest > input.oldest_snapshot) return false;
  return MayHoldDense(input.policy, sums) || MostEntriesPerKey(input, tables) > input.policy.max_space_amplification;
}

}  // namespace

CompactionPlan RewriteTable(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const int deepest = version.DeepestLevel();
  if (deepest < 1 || version.NumRuns(deepest) != 1) return {};
  // One compaction at a time, because one into this level must wait for those under way.
  if (busy.Writes(deepest)) return {};
  const Run& run = *version.level(deepest).front();
  const auto may_hold = [&](const auto& tables) { return MayHoldOne(input, tables); };
  return FirstOf(run, may_hold, [&](const TableRef& table) {
    const TableMetadata& m = table->metadata();
    // Entries that a snapshot separates from older ones would survive, and the table would be picked forever; so would
    // one whose sequence numbers are all 0, which holds no key twice.
    if (m.highest_sequence > input.oldest_snapshot || m.highest_sequence == SequenceNumber(0)) return CompactionPlan();
    std::string why = WhyRewrite(input.policy, *table);
    if (why.empty()) return CompactionPlan();
    PlanDraft draft(input, deepest);
    draft.Add(deepest, run, {table});
    draft.StayInRun(run.number());
    return draft.Blocked(busy) ? CompactionPlan() : std::move(draft).Finish(std::move(why), false);
  });
}

}  // namespace sepal
