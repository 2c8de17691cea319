// Commit checks that first read the database; then, with the commit lock held, only what others committed since is
// checked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/decide/transaction/conflict_set.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/engine/write/commit_check.h"
#include "util/base/numbers.h"

namespace sepal {

class LookingCheck : public CommitCheck {
 public:
  // Reads the database, while Watched is watched. Returns false if there is nothing to write. Called again after
  // kLookAgain.
  virtual absl::StatusOr<bool> Look() = 0;
  // Returns the error after kRefused.
  virtual absl::Status Refusal() const = 0;
};

// Aborted: another writer has written `key` since the transaction's snapshot.
absl::Status WriteConflict(std::string_view key);

// Checks that nothing of a set was updated after a snapshot, which the caller holds.
class ConflictCheck final : public LookingCheck {
 public:
  using FindFamily = std::function<const Family&(ColumnFamilyId)>;
  // All arguments must outlive the check. `set` is sealed.
  ConflictCheck(const ConflictSet* set, SequenceNumber snapshot, Core* core, uint64_t hash_seed, FindFamily find_family)
      : set_(set), snapshot_(snapshot), core_(core), hash_seed_(hash_seed), find_family_(std::move(find_family)) {}

  const ConflictSet& Watched() const override { return *set_; }
  absl::StatusOr<bool> Look() override;
  CommitOutcome Decide(const std::optional<std::string>& touched) override;
  absl::Status Refusal() const override { return refusal_; }

 private:
  absl::Status LookAt(const ConflictSet::Part& part) const;

  const ConflictSet* const set_;
  const SequenceNumber snapshot_;
  Core* const core_;
  const uint64_t hash_seed_;
  const FindFamily find_family_;
  absl::Status refusal_;
};

}  // namespace sepal
