#include "db/decide/compaction_policy.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "util/strings.h"

namespace sepal {

CompactionPolicy MakeCompactionPolicy(const ColumnFamilyOptions& options, uint64_t memtable_bytes) {
  CompactionPolicy policy;
  policy.style = options.compaction_style;
  policy.memtable_bytes = std::max<uint64_t>(memtable_bytes, 1);
  policy.min_rest_bytes = policy.memtable_bytes / 16;
  return policy;
}

std::string ToString(const CompactionPolicy& policy) {
  std::string_view style;
  switch (policy.style) {
    case CompactionStyle::kLazyLeveling:
      style = "lazy leveling";
      break;
    case CompactionStyle::kLeveled:
      style = "leveled";
      break;
  }
  return absl::StrFormat("%s, memtable %s, %d runs per level, fanout %d, tables up to %s", style,
                         HumanBytes(policy.memtable_bytes), policy.runs_per_level, policy.fanout,
                         HumanBytes(policy.max_table_bytes));
}

}  // namespace sepal
