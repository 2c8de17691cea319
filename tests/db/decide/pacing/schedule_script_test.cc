// What the scheduler decides, from text: families with their levels drawn in, needs and jobs out.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/pacing/schedule.h"
#include "tests/db/script.h"
#include "tests/db/version_text.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

class ScheduleScript {
 public:
  std::string Answer(const ScriptCommand& command) {
    if (command.name == "family") return SetFamily(command);
    if (command.name == "need") return Need(command);
    if (command.name == "choose") return Choose(command);
    if (command.name == "end") return End(command);
    return "no such command\n";
  }

 private:
  struct FamilyState {
    VersionRef version;
    CompactionPolicy policy = {};
    std::vector<PlanRef> running = {};
    FamilyFacts facts = {};
  };

  // The input draws the version. Running plans stay.
  std::string SetFamily(const ScriptCommand& command) {
    absl::StatusOr<VersionRef> version = Draw(command.input);
    if (!version.ok()) return std::string(ToStd(version.status().message())) + "\n";
    FamilyState& family = families_[command.Number("id")];
    family.version = *std::move(version);
    family.policy.memtable_bytes = command.Number("memtable", 100);
    family.policy.runs_per_level = static_cast<int>(command.Number("runs", 2));
    family.policy.unread_runs = static_cast<int>(command.Number("unread", 0));
    family.policy.max_space_amplification = static_cast<double>(command.Number("space", 9900)) / 100;
    family.policy.max_table_bytes = 100;
    family.policy.min_rest_bytes = 100;
    family.policy.min_dense_tombstones = 10;
    family.facts = {.version = family.version.get(),
                    .policy = &family.policy,
                    .level0_is_read = command.Has("read"),
                    .tree_is_read = command.Has("tree_read"),
                    .running = {},
                    .put_off = {},
                    .ranges = {.waiting = static_cast<int>(command.Number("waiting", 0)),
                               .running = static_cast<int>(command.Number("ranges", 0)),
                               .plans_passed = static_cast<int>(command.Number("passed", 0))},
                    .memtable_waits = command.Has("memtable_waits"),
                    .flushes_waiting = static_cast<int>(command.Number("flushes_waiting", 0)),
                    .flushes_running = static_cast<int>(command.Number("flushes_running", 0)),
                    .flushed = command.Has("flushed"),
                    .at_rest = command.Has("at_rest"),
                    .sketches_running = command.Has("sketches_running"),
                    .sketches_sought = command.Has("sketches_sought")};
    return family.version->NumTables() == 0 ? "no tables\n" : family.version->TablesPerLevel() + "\n";
  }
  FamilyFacts FactsOf(uint64_t id) {
    FamilyState& family = families_.at(id);
    family.facts.running = family.running;
    return family.facts;
  }
  std::string Need(const ScriptCommand& command) {
    const FamilyNeed need = FindNeed(FactsOf(command.Number("id")));
    return absl::StrFormat("runs %d, debt %u, score %.2f%s%s%s\n", need.level0_runs, need.debt_bytes, need.score,
                           need.flush ? ", flush" : "", need.sketches ? ", sketches" : "",
                           need.readers_wait ? ", readers wait" : "");
  }
  // For all families; what is chosen runs from then on.
  std::string Choose(const ScriptCommand& command) {
    std::vector<CompactionCandidate> candidates;
    for (const auto& [id, family] : families_) candidates.push_back({id, FindNeed(FactsOf(id)).score});
    const CompactionSlots slots{.free = static_cast<int>(command.Number("slots")),
                                .oldest_snapshot = SequenceNumber(command.Number("snapshot", 1000)),
                                .compactions_lag = command.Has("lag"),
                                .space_is_short = command.Has("space_is_short")};
    const CompactionChoice choice = ChooseCompactions(
        candidates, [this](size_t id) { return FactsOf(id); }, slots);
    std::string text;
    for (const CompactionChoice::Start& start : choice.starts) {
      absl::StrAppendFormat(&text, "family %d: %s\n", start.family, ToString(*start.plan));
      families_.at(start.family).running.push_back(start.plan);
    }
    for (const CompactionChoice::Idle& idle : choice.idle) {
      absl::StrAppendFormat(&text, "family %d: nothing%s\n", idle.family,
                            idle.held_by.has_value() ? " until a snapshot goes" : "");
    }
    return text.empty() ? "none\n" : text;
  }
  std::string End(const ScriptCommand& command) {
    families_.at(command.Number("id")).running.clear();
    return "ok\n";
  }

  std::map<uint64_t, FamilyState> families_;
};

TEST(ScheduleTest, JobsAreChosenAsTheScriptSays) {
  ScheduleScript script;
  RunScript("decide/schedule.txt", [&script](const ScriptCommand& command) { return script.Answer(command); });
}

TEST(ScheduleTest, OnlyFamiliesWhoseTurnComesAreAskedForFacts) {
  const auto version = std::make_shared<const Version>(KeyOrder());
  const CompactionPolicy policy;
  std::vector<size_t> asked;
  const auto facts_of = [&](size_t family) {
    asked.push_back(family);
    return FamilyFacts{.version = version.get(), .policy = &policy};
  };
  EXPECT_TRUE(ChooseCompactions({{0, 2.0}, {1, 3.0}}, facts_of, {.free = 0}).starts.empty());
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(ChooseCompactions({{0, 2.0}, {1, 3.0}, {2, 3.0}}, facts_of, {.free = 1}).idle.size(), 3u);
  EXPECT_EQ(asked, (std::vector<size_t>{1, 2, 0}));
}

}  // namespace
}  // namespace sepal
