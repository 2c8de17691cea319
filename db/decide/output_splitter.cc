#include "db/decide/output_splitter.h"

#include "db/decide/level_targets.h"

namespace sepal {

OutputSplitterOptions MakeSplitterOptions(const CompactionPlan& plan, const CompactionPolicy& policy, KeyOrder order) {
  return {.order = order,
          .max_table_bytes = policy.max_table_bytes,
          .max_overlap_bytes = MaxOverlapBytes(policy),
          .grandparents = plan.grandparents};
}

bool OutputSplitter::BeginsTable(std::string_view user_key, bool first_of_key, uint64_t table_bytes) {
  bool passed_boundary = false;
  while (next_grandparent_ < options_.grandparents.size() &&
         options_.order.Less(options_.grandparents[next_grandparent_].largest_user_key, user_key)) {
    overlap_bytes_ += options_.grandparents[next_grandparent_].bytes;
    ++next_grandparent_;
    passed_boundary = true;
  }
  if (table_bytes == 0) {
    overlap_bytes_ = 0;
    return false;
  }
  if (!first_of_key) return false;
  const bool begins = table_bytes >= options_.max_table_bytes ||
                      (passed_boundary && table_bytes >= options_.max_table_bytes / 2) ||
                      overlap_bytes_ > options_.max_overlap_bytes;
  if (begins) overlap_bytes_ = 0;
  return begins;
}

}  // namespace sepal
