// What a script does with prepared transactions.
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "tests/reliability/script_run.h"
#include "util/base/status.h"

namespace sepal::reliability {

bool ScriptRun::IsLocked(const std::string& family, const Op::Update& update) const {
  const std::string begin = NumberedKey(update.key);
  const std::string end = update.kind == ValueKind::kRangeDelete ? NumberedKey(update.end) : begin;
  for (const auto& [name, prepared] : prepared_) {
    if (prepared.ended) continue;
    for (const Oracle::Update& locked : prepared.updates) {
      if (locked.family == family && locked.key >= begin && locked.key <= end) return true;
    }
  }
  return false;
}

void ScriptRun::Prepare(const Op& op) {
  std::vector<Oracle::Update> updates;
  const absl::StatusOr<std::unique_ptr<Transaction>> txn =
      db()->BeginTransaction({.locking = ++values_ % 2 == 0 ? Locking::kOptimistic : Locking::kPessimistic});
  if (!Check(txn.status(), "begin a transaction")) return;
  size_t count = 0, locks = 0;
  std::set<std::pair<std::string, std::string>> keys;
  for (const Op::Update& update : op.updates) {
    const std::string family = FamilyName(update.family), key = NumberedKey(update.key);
    if (!oracle_->Usable(family) || IsLocked(family, update)) continue;
    absl::Status added;
    if (update.kind == ValueKind::kRangeDelete) {
      added = (*txn)->DeleteRange(Handle(family), key, NumberedKey(update.end));
      for (uint64_t i = update.key; i < update.end; ++i) updates.push_back({family, NumberedKey(i), std::nullopt});
    } else if (IsPutOrMerge(update.kind)) {
      updates.push_back({family, key, NewValue(update), /*appends=*/update.kind == ValueKind::kMerge});
      const std::string& value = *updates.back().value;
      added = update.kind == ValueKind::kMerge ? (*txn)->Merge(Handle(family), key, value)
                                               : (*txn)->Put(Handle(family), key, value);
    } else {
      updates.push_back({family, key, std::nullopt});
      added = (*txn)->Delete(Handle(family), key);
    }
    if (!Check(added, "write in a transaction")) return;
    ++count;
    locks += update.kind == ValueKind::kRangeDelete || keys.emplace(family, key).second ? 1 : 0;
  }
  const std::string name = absl::StrFormat("txn%06u", values_);
  oracle_->BeginWrite({{kPreparedFamily, name, absl::StrFormat("%u updates, %u locks", count, locks)}});
  prepared_[name] = {.updates = updates};
  const bool prepared = Check((*txn)->Prepare(name), "prepare");
  oracle_->EndWrite(prepared);
  if (prepared) oracle_->AllDurable();
}

void ScriptRun::CheckLocks() {
  const std::optional<Oracle::Contents> now = oracle_->Now(kPreparedFamily);
  if (!now.has_value()) return;
  for (const auto& [name, listed] : *now) {
    const auto txn = db()->BeginTransaction({.locking = Locking::kPessimistic, .lock_timeout = {}});
    if (!Check(txn.status(), "begin a transaction")) return;
    for (const Oracle::Update& update : prepared_[name].updates) {
      const absl::Status status = (*txn)->GetForUpdate(Handle(update.family), update.key).status();
      if (absl::IsDeadlineExceeded(status)) continue;
      Expect(!status.ok() && !absl::IsNotFound(status),
             absl::StrFormat("%s, which %s has written, is not locked", update.key, name));
      Check(status, "lock a key");
    }
  }
}

void ScriptRun::EndPrepared(bool commit) {
  const std::optional<Oracle::Contents> now = oracle_->Now(kPreparedFamily);
  if (!now.has_value() || now->empty()) return;
  const std::string name = now->begin()->first;
  const absl::StatusOr<std::unique_ptr<Transaction>> txn = db()->FindPrepared(name);
  if (!Check(txn.status(), "find a prepared transaction")) return;
  std::vector<Oracle::Update> updates;
  if (commit) updates = prepared_[name].updates;
  updates.push_back({kPreparedFamily, name, std::nullopt});
  oracle_->BeginWrite(updates);
  const bool sync = !commit || ++values_ % 2 == 0;
  const bool ended = Check(commit ? (*txn)->Commit({.sync = sync}) : (*txn)->Rollback(), "end what is prepared");
  oracle_->EndWrite(ended);
  if (ended) prepared_[name].ended = true;
  if (ended && sync) oracle_->AllDurable();
}

}  // namespace sepal::reliability
