#include "db/decide/writing/output_splitter.h"

#include <algorithm>

namespace sepal {

OutputSplitterOptions MakeSplitterOptions(const CompactionPlan& plan, uint64_t max_table_bytes,
                                          uint64_t max_overlap_bytes, KeyOrder order) {
  std::vector<std::string> carried;
  for (const CompactionInput& in : plan.carried) {
    for (const TableRef& table : in.tables) carried.push_back(table->metadata().largest.user_key);
  }
  std::sort(carried.begin(), carried.end(),
            [&order](const std::string& a, const std::string& b) { return order.Less(a, b); });
  return {.order = order,
          .max_table_bytes = max_table_bytes,
          .max_overlap_bytes = max_overlap_bytes,
          .grandparents = plan.grandparents,
          .carried = std::move(carried)};
}

bool OutputSplitter::PassesCarried(std::string_view user_key) {
  const size_t before = next_carried_;
  while (next_carried_ < options_.carried.size() && options_.order.Less(options_.carried[next_carried_], user_key)) {
    ++next_carried_;
  }
  return next_carried_ > before;
}

bool OutputSplitter::BeginsTable(std::string_view user_key, bool first_of_key, uint64_t table_bytes) {
  const bool passed_carried = PassesCarried(user_key);
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
  const bool begins = passed_carried || table_bytes >= options_.max_table_bytes ||
                      (passed_boundary && table_bytes >= options_.max_table_bytes / 2) ||
                      overlap_bytes_ > options_.max_overlap_bytes;
  if (begins) overlap_bytes_ = 0;
  return begins;
}

}  // namespace sepal
