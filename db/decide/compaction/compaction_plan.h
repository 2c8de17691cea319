// The description of a compaction: a value that the picker makes, a job carries out, and the picker considers while the
// job runs.
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
  // The reason, in a few words for people.
  std::string reason = {};
  // Newest first: by level, then by descending run number.
  std::vector<CompactionInput> inputs = {};
  // Tables that a rewrite carries along, in the same order: they share keys with no other table of the plan. They are
  // not read; they become part of the output's run as they are, or stay in it.
  std::vector<CompactionInput> carried = {};
  int output_level = 0;
  // The outputs join this run of the output level; if unset, they form a run with a new number. That number is taken
  // when the plan is adopted, not when the job ends, because plans of one level start in order of age.
  std::optional<RunNumber> output_run = {};
  // No older entry of any key in the inputs' range lies outside of them, so tombstones that no snapshot needs may be
  // dropped and sequence numbers set to 0. Stays true while the job runs.
  bool bottommost = false;
  // Tables of the level below the output that overlap it, in key order.
  std::vector<Grandparent> grandparents = {};
  // The hull of inputs and carried tables. While the job runs, nothing else may write within it into the output level.
  std::string smallest_user_key = {};
  std::string largest_user_key = {};

  bool nothing() const { return kind == Kind::kNothing; }
  // Calls `visit(const CompactionInput&)` for the inputs and for the carried tables.
  template <class Visit>
  void ForEachHeld(Visit visit) const {
    for (const CompactionInput& in : inputs) visit(in);
    for (const CompactionInput& in : carried) visit(in);
  }
  // The bytes and entries that are read, or moved.
  uint64_t InputBytes() const;
  uint64_t InputEntries() const;
  int InputTables() const;
  // The smallest level with inputs.
  int InputLevel() const { return inputs.empty() ? 0 : inputs.front().level; }
};

// Verifies that the plan may be carried out on `version`: its inputs exist, the hull is theirs, the output's run stays
// disjoint, and no entry passes an older one of its key. The Internal error names the fault. With `adopted`, the plan
// may have been adopted on an earlier version: other plans may meanwhile have removed the whole run that it joins,
// which then consists of its outputs only.
absl::Status CheckPlan(const Version& version, const CompactionPlan& plan, bool adopted = false);

// Returns the edit of the plan. `run`: the output's, as adopted. `outputs`: the tables that a rewrite wrote.
VersionEdit EditOf(const CompactionPlan& plan, ColumnFamilyId family, RunNumber run,
                   std::vector<TableMetadata> outputs);

// "rewrite L0[9:12] L0[8:11] L1[5:3], carry L1[5:4] -> L1 run 5, bottommost: level 0 has 4 runs"
std::string ToString(const CompactionPlan& plan);

}  // namespace sepal
