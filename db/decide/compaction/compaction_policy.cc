#include "db/decide/compaction/compaction_policy.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// As few rewrites as the space bound allows: docs/internals/decisions/0012-space-amplification-bound.md.
constexpr int kLazyFanout = 1;

}  // namespace

CompactionPolicy MakeCompactionPolicy(const ColumnFamilyOptions& options, uint64_t memtable_bytes) {
  CompactionPolicy policy;
  policy.style = options.compaction_style;
  if (policy.style == CompactionStyle::kLazyLeveling) policy.fanout = kLazyFanout;
  policy.max_space_amplification = options.max_space_amplification;
  policy.last_level_inline = options.last_level_inline_below > 0;
  policy.memtable_bytes = std::max<uint64_t>(memtable_bytes, 1);
  policy.min_rest_bytes = policy.memtable_bytes / 16;
  for (int level = 0; level < kMaxLevels; ++level) {
    policy.compression[static_cast<size_t>(level)] = CompressionForLevel(options, level);
  }
  return policy;
}

CompactionShape ShapeOf(const CompactionPolicy& policy) {
  const int runs = policy.runs_per_level;
  switch (policy.style) {
    case CompactionStyle::kLazyLeveling:
      return {.runs_in_upper = runs, .runs_in_last = 1, .step = CompactionStep::kWholeLevel};
    case CompactionStyle::kUniversal:
      return {.runs_in_upper = runs, .runs_in_last = runs, .step = CompactionStep::kWholeLevel};
    case CompactionStyle::kLeveled:
      return {.runs_in_upper = 1, .runs_in_last = 1, .step = CompactionStep::kOneTable};
  }
  return {};
}

CompressionKind CompressionForLevel(const ColumnFamilyOptions& options, int level) {
  const std::vector<CompressionKind>& levels = options.compression_per_level;
  if (levels.empty()) return options.compression;
  return levels[std::min(static_cast<size_t>(level), levels.size() - 1)];
}

std::string_view Name(CompactionStyle style) {
  switch (style) {
    case CompactionStyle::kLazyLeveling:
      return "lazy leveling";
    case CompactionStyle::kLeveled:
      return "leveled";
    case CompactionStyle::kUniversal:
      return "universal";
  }
  return "unknown";
}

std::string ToString(const CompactionPolicy& policy) {
  const std::string unread = policy.unread_runs > 0 ? absl::StrFormat(" (and %d unread)", policy.unread_runs) : "";
  return absl::StrFormat("%s, memtable %s, %d runs per level%s, fanout %d, tables up to %s, space up to %.2f",
                         Name(policy.style), HumanBytes(policy.memtable_bytes), policy.runs_per_level, unread,
                         policy.fanout, HumanBytes(policy.max_table_bytes), policy.max_space_amplification);
}

}  // namespace sepal
