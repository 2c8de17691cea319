#include "db/decide/compaction/compaction_plan.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "util/base/status.h"

namespace sepal {

uint64_t CompactionPlan::InputBytes() const {
  uint64_t bytes = 0;
  for (const CompactionInput& in : inputs) {
    for (const TableRef& table : in.tables) bytes += table->metadata().size_bytes;
  }
  return bytes;
}

uint64_t CompactionPlan::InputEntries() const {
  uint64_t entries = 0;
  for (const CompactionInput& in : inputs) {
    for (const TableRef& table : in.tables) entries += table->metadata().entries;
  }
  return entries;
}

int CompactionPlan::InputTables() const {
  size_t n = 0;
  for (const CompactionInput& in : inputs) n += in.tables.size();
  return static_cast<int>(n);
}

VersionEdit EditOf(const CompactionPlan& plan, ColumnFamilyId family, RunNumber run,
                   std::vector<TableMetadata> outputs) {
  VersionEdit edit;
  const auto remove = [&](const CompactionInput& in) {
    for (const TableRef& table : in.tables) {
      edit.removed_tables.push_back({.family = family, .level = in.level, .number = table->number()});
    }
  };
  const auto add = [&](TableMetadata table) {
    table.run = run;
    edit.added_tables.push_back({.family = family, .level = plan.output_level, .table = std::move(table)});
  };
  const auto take_over = [&](const CompactionInput& in) {
    remove(in);
    for (const TableRef& table : in.tables) add(table->metadata());
  };
  for (const CompactionInput& in : plan.inputs) {
    if (plan.kind == CompactionPlan::Kind::kMove) {
      take_over(in);
    } else {
      remove(in);
    }
  }
  for (TableMetadata& table : outputs) add(std::move(table));
  for (const CompactionInput& in : plan.carried) {
    const bool stays = in.level == plan.output_level && in.run == run;
    if (!stays) take_over(in);
  }
  return edit;
}

namespace {

constexpr size_t kMostTablesShown = 100;  // in one run

void AppendTables(std::string* text, const std::vector<CompactionInput>& inputs) {
  for (const CompactionInput& in : inputs) {
    absl::StrAppendFormat(text, " L%d[%d:", in.level, in.run.value());
    for (size_t i = 0; i < std::min(in.tables.size(), kMostTablesShown); ++i) {
      absl::StrAppendFormat(text, "%s%d", i == 0 ? "" : ",", in.tables[i]->number().value());
    }
    if (in.tables.size() > kMostTablesShown) absl::StrAppendFormat(text, ",... of %d", in.tables.size());
    *text += ']';
  }
}

}  // namespace

std::string ToString(const CompactionPlan& plan) {
  std::string text;
  switch (plan.kind) {
    case CompactionPlan::Kind::kNothing:
      return "nothing";
    case CompactionPlan::Kind::kMove:
      text = "move";
      break;
    case CompactionPlan::Kind::kRewrite:
      text = "rewrite";
      break;
    case CompactionPlan::Kind::kDrop:
      text = "drop";
      break;
  }
  AppendTables(&text, plan.inputs);
  if (!plan.carried.empty()) text += ", carry";
  AppendTables(&text, plan.carried);
  absl::StrAppendFormat(&text, " -> L%d ", plan.output_level);
  text += plan.output_run.has_value() ? absl::StrFormat("run %d", plan.output_run->value()) : "new run";
  if (plan.bottommost) text += ", bottommost";
  return text + ": " + plan.reason;
}

namespace {

absl::Status Bad(const CompactionPlan& plan, std::string_view what) {
  return absl::InternalError(absl::StrFormat("plan (%s): %s", ToString(plan), what));
}

// Where an entry comes in the order of reads: smaller is newer.
struct Age {
  int level;
  RunNumber run;
  bool NewerThan(const Age& other) const { return level != other.level ? level < other.level : run > other.run; }
};

using Held = absl::flat_hash_set<FileNumber>;

KeyRange RangeOf(const TableFile& table) {
  return {table.metadata().smallest.user_key, table.metadata().largest.user_key};
}

// Returns a table of `run` that overlaps `range` and is not held by the plan, or null.
const TableFile* OutsiderIn(const Run& run, const KeyRange& range, const Held& held) {
  for (const TableRef& table : run.Overlapping(range)) {
    if (!held.contains(table->number())) return table.get();
  }
  return nullptr;
}

// Checks that the inputs exist, are ordered newest first, and are within the hull.
absl::Status CheckInputs(const Version& version, const CompactionPlan& plan,
                         const std::vector<CompactionInput>& inputs) {
  const KeyOrder order = version.order();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CompactionInput& in = inputs[i];
    if (in.level > plan.output_level) return Bad(plan, "input below the output");
    if (i > 0 && !Age{inputs[i - 1].level, inputs[i - 1].run}.NewerThan({in.level, in.run})) {
      return Bad(plan, "inputs not newest first");
    }
    const Run* run = version.FindRun(in.level, in.run);
    if (run == nullptr || in.tables.empty()) return Bad(plan, "an input run that is not there");
    for (const TableRef& table : in.tables) {
      const TableMetadata& m = table->metadata();
      if (run->Find(m.smallest.user_key) != table.get()) return Bad(plan, "an input that is not there");
      if (order.Less(m.smallest.user_key, plan.smallest_user_key) ||
          order.Less(plan.largest_user_key, m.largest.user_key)) {
        return Bad(plan, "an input outside the hull");
      }
    }
  }
  return absl::OkStatus();
}

// Checks that carried tables share keys with no other table of the plan.
absl::Status CheckCarried(const Version& version, const CompactionPlan& plan) {
  if (plan.carried.empty()) return absl::OkStatus();
  const KeyOrder order = version.order();
  std::vector<std::pair<const TableMetadata*, bool>> tables;  // and whether each is carried
  const auto add = [&tables](const std::vector<CompactionInput>& inputs, bool carried) {
    for (const CompactionInput& in : inputs) {
      for (const TableRef& table : in.tables) tables.emplace_back(&table->metadata(), carried);
    }
  };
  add(plan.inputs, false);
  add(plan.carried, true);
  std::sort(tables.begin(), tables.end(), [&order](const auto& a, const auto& b) {
    return order.Less(a.first->smallest.view(), b.first->smallest.view());
  });
  size_t furthest = 0;  // the table with the greatest largest key so far
  for (size_t i = 1; i < tables.size(); ++i) {
    const auto& [table, carried] = tables[i];
    const auto& [before, before_carried] = tables[furthest];
    const bool meet = !order.Less(before->largest.user_key, table->smallest.user_key);
    if (meet && (carried || before_carried)) {
      return Bad(plan, absl::StrFormat("a table is carried, and tables %d and %d overlap", before->number.value(),
                                       table->number.value()));
    }
    if (order.Less(before->largest.user_key, table->largest.user_key)) furthest = i;
  }
  return absl::OkStatus();
}

// Checks that no table outside of the plan is, by age, between an input and the output and shares keys with that input.
absl::Status CheckAges(const Version& version, const CompactionPlan& plan, const CompactionInput& in,
                       const Held& held) {
  const RunNumber fresh(UINT64_MAX);
  const Age output{plan.output_level, plan.output_run.value_or(fresh)};
  const Age age{in.level, in.run};
  for (const LevelRun& r : version.runs()) {
    const Age other{r.level, r.run->number()};
    const bool passed_down = age.NewerThan(other) && other.NewerThan(output);
    const bool passed_up = output.NewerThan(other) && other.NewerThan(age);
    if (!passed_down && !passed_up) continue;
    for (const TableRef& table : in.tables) {
      const TableFile* const passed = OutsiderIn(*r.run, RangeOf(*table), held);
      if (passed == nullptr) continue;
      return Bad(plan,
                 absl::StrFormat("table %d would pass table %d", table->number().value(), passed->number().value()));
    }
  }
  return absl::OkStatus();
}

// Checks that the output is disjoint from the rest of its run: a rewrite may write anywhere in the hull.
absl::Status CheckOutput(const Version& version, const CompactionPlan& plan, const Held& held, bool adopted) {
  if (!plan.output_run.has_value()) return absl::OkStatus();
  const Run* run = version.FindRun(plan.output_level, *plan.output_run);
  if (run == nullptr) return adopted ? absl::OkStatus() : Bad(plan, "no such output run");
  std::vector<KeyRange> ranges;
  if (plan.kind == CompactionPlan::Kind::kRewrite) ranges.push_back({plan.smallest_user_key, plan.largest_user_key});
  if (plan.kind == CompactionPlan::Kind::kMove) {
    for (const CompactionInput& in : plan.inputs) {
      for (const TableRef& table : in.tables) ranges.push_back(RangeOf(*table));
    }
  }
  for (const KeyRange& range : ranges) {
    if (const TableFile* const table = OutsiderIn(*run, range, held); table != nullptr) {
      return Bad(plan, absl::StrFormat("the output would overlap table %d", table->number().value()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPlan(const Version& version, const CompactionPlan& plan, bool adopted) {
  if (plan.nothing()) return absl::OkStatus();
  if (plan.inputs.empty()) return Bad(plan, "no inputs");
  if (plan.output_level < 0 || plan.output_level >= kMaxLevels) return Bad(plan, "no such output level");
  RETURN_IF_ERROR(CheckInputs(version, plan, plan.inputs));
  if (plan.kind == CompactionPlan::Kind::kDrop) return absl::OkStatus();
  RETURN_IF_ERROR(CheckInputs(version, plan, plan.carried));
  RETURN_IF_ERROR(CheckCarried(version, plan));
  Held held;
  plan.ForEachHeld([&held](const CompactionInput& in) {
    for (const TableRef& table : in.tables) held.insert(table->number());
  });
  absl::Status status;
  plan.ForEachHeld([&](const CompactionInput& in) { KeepFirst(&status, CheckAges(version, plan, in, held)); });
  RETURN_IF_ERROR(status);
  return CheckOutput(version, plan, held, adopted);
}

}  // namespace sepal
