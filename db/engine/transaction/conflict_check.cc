#include "db/engine/transaction/conflict_check.h"

#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "db/engine/read/newest_update.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

absl::Status WriteConflict(std::string_view key) {
  return absl::AbortedError(absl::StrFormat(
      "key \"%s\" was written by another since the transaction's snapshot; it was rolled back: run it again",
      Printable(key)));
}

absl::Status ConflictCheck::LookAt(const ConflictSet::Part& part) const {
  const Family& family = find_family_(part.family);
  for (const std::string& key : part.keys) {
    ASSIGN_OR_RETURN(const bool updated, IsUpdatedAfter(core_, family, hash_seed_, key, snapshot_));
    if (updated) return WriteConflict(key);
  }
  for (const ConflictRange& range : part.ranges) {
    ASSIGN_OR_RETURN(const std::optional<std::string> key, FindUpdatedAfter(core_, family, range, snapshot_));
    if (key.has_value()) return WriteConflict(*key);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ConflictCheck::Look() {
  for (const ConflictSet::Part& part : set_->parts()) RETURN_IF_ERROR(LookAt(part));
  return true;
}

CommitOutcome ConflictCheck::Decide(const std::optional<std::string>& touched) {
  if (!touched.has_value()) return CommitOutcome::kWritten;
  refusal_ = WriteConflict(*touched);
  return CommitOutcome::kRefused;
}

}  // namespace sepal
