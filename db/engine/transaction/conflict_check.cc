#include "db/engine/transaction/conflict_check.h"

#include <algorithm>
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
    ASSIGN_OR_RETURN(const bool updated, IsUpdatedAfter(core_, family, hash_seed_, key, after_));
    if (updated) return WriteConflict(key);
  }
  for (const ConflictRange& range : part.ranges) {
    ASSIGN_OR_RETURN(const std::optional<std::string> key, FindUpdatedAfter(core_, family, range, after_));
    if (key.has_value()) return WriteConflict(*key);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ConflictCheck::Look(SequenceNumber since) {
  for (const ConflictSet::Part& part : set_->parts()) RETURN_IF_ERROR(LookAt(part));
  after_ = std::max(after_, since);
  return true;
}

CommitOutcome ConflictCheck::Decide(const RecentCommits& recent) {
  if (!recent.HasAllAfter(after_)) return CommitOutcome::kLookAgain;
  const bool untouched = recent.ForEachAfter(after_, [this](const BatchEntry& entry) {
    const std::optional<std::string_view> key = set_->Touched(entry);
    if (key.has_value()) refusal_ = WriteConflict(*key);
    return !key.has_value();
  });
  return untouched ? CommitOutcome::kWritten : CommitOutcome::kRefused;
}

}  // namespace sepal
