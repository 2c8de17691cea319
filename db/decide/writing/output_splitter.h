// Decides where one output table of a flush or compaction ends and the next begins. Pure apart from the place in the
// stream.
//
// A new table begins only before the first entry of a user key (the law of version.h), and
//   - where it would otherwise extend over a table that the plan carries into the same run;
//   - once the table has `max_table_bytes`;
//   - at the end of a table of the next level, once it has half of that: tables that end together overlap fewer others;
//   - where it would overlap more than `max_overlap_bytes` of the next level: its own compaction would be too large.
//
// One thread, keys in order. Cost: one comparison per entry while there are carried tables or grandparents, none
// otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/decide/compaction/compaction_plan.h"
#include "table/key/internal_key.h"

namespace sepal {

struct OutputSplitterOptions {
  KeyOrder order = {};
  uint64_t max_table_bytes = 0;
  uint64_t max_overlap_bytes = UINT64_MAX;
  // In key order.
  std::vector<Grandparent> grandparents = {};
  // The largest user keys of carried tables, in key order.
  std::vector<std::string> carried = {};
};

OutputSplitterOptions MakeSplitterOptions(const CompactionPlan& plan, uint64_t max_table_bytes,
                                          uint64_t max_overlap_bytes, KeyOrder order);

class OutputSplitter {
 public:
  explicit OutputSplitter(OutputSplitterOptions options) : options_(std::move(options)) {}

  // Returns whether a new table must begin before this entry. Called for every entry; `first_of_key` is Retention's,
  // and `table_bytes` is the size of the table being written, 0 if none is open.
  bool BeginsTable(std::string_view user_key, bool first_of_key, uint64_t table_bytes);

 private:
  // Returns whether a carried table that was not passed before lies before `user_key`.
  bool PassesCarried(std::string_view user_key);

  const OutputSplitterOptions options_;
  size_t next_carried_ = 0;
  size_t next_grandparent_ = 0;
  uint64_t overlap_bytes_ = 0;
};

}  // namespace sepal
