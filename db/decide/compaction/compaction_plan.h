// What a compaction is to do: a value that the picker makes, a job carries out and the picker sees again while it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "db/format/version_edit.h"
#include "db/state/version/version.h"

namespace sepal {

// Tables of one run.
struct CompactionInput {
  int level = 0;
  RunNumber run;
  std::vector<TableRef> tables;  // in key order
};

// What the splitter needs to know of a table in the level below the output.
struct Grandparent {
  std::string largest_user_key;
  uint64_t bytes = 0;
};

struct CompactionPlan {
  enum class Kind : uint8_t {
    kNothing,
    kMove,     // the edit removes the inputs and adds the same tables in the output level; nothing is read or written
    kRewrite,  // the inputs are read in key order and written into new tables
    kDrop,     // the edit removes the inputs (droppable_tables.h); nothing is read or written
  };
  Kind kind = Kind::kNothing;
  // Why: a few words for people.
  std::string reason = {};
  // Newest first: by level, then by falling run number.
  std::vector<CompactionInput> inputs = {};
  // What a rewrite carries along, in the same order: tables that share keys with no other table of the plan. They are
  // not read; they go into the output's run as they are, or stay in it.
  std::vector<CompactionInput> carried = {};
  int output_level = 0;
  // The outputs join this run of the output level; unset: they are a run of their own, with a fresh number. The number
  // is taken when the plan is adopted, not when the job ends: plans of one level start in order of age.
  std::optional<RunNumber> output_run = {};
  // No older entry of any key of the inputs' range lies outside them: tombstones that no snapshot needs may be dropped
  // and sequence numbers zeroed. Stays true while the job runs.
  bool bottommost = false;
  // Tables of the level below the output that overlap it, in key order.
  std::vector<Grandparent> grandparents = {};
  // The hull of inputs and carried tables. Nothing else may write here into the output level while the job runs.
  std::string smallest_user_key = {};
  std::string largest_user_key = {};

  bool nothing() const { return kind == Kind::kNothing; }
  // Calls `visit(const CompactionInput&)` for what is read or moved, and for what is carried.
  template <class Visit>
  void ForEachHeld(Visit visit) const {
    for (const CompactionInput& in : inputs) visit(in);
    for (const CompactionInput& in : carried) visit(in);
  }
  // What is read, or moved.
  uint64_t InputBytes() const;
  uint64_t InputEntries() const;
  int InputTables() const;
  // The smallest level that gives inputs.
  int InputLevel() const { return inputs.empty() ? 0 : inputs.front().level; }
};

// Verifies that the plan may be carried out on `version`: its inputs are there, the hull is theirs, the output's run
// stays disjoint, and no entry passes an older one of its key. Internal error naming what is wrong.
// With `adopted` the plan may have been adopted on an earlier version: other plans may have taken down all of the run
// that it joins, and its outputs are then all of that run.
absl::Status CheckPlan(const Version& version, const CompactionPlan& plan, bool adopted = false);

// What carrying out the plan changes. `run`: the output's, as adopted. `outputs`: what a rewrite wrote.
VersionEdit EditOf(const CompactionPlan& plan, ColumnFamilyId family, RunNumber run,
                   std::vector<TableMetadata> outputs);

// "rewrite L0[9:12] L0[8:11] L1[5:3], carry L1[5:4] -> L1 run 5, bottommost: level 0 has 4 runs"
std::string ToString(const CompactionPlan& plan);

}  // namespace sepal
