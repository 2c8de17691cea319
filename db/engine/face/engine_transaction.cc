// Transactions, conditional writes, and plain writes in the presence of transactions' locks.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/engine/transaction/transaction_impl.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// How long a write without a transaction waits for its locks.
constexpr uint64_t kPlainLockMicros = 1'000'000;
// The longest pause between two attempts.
constexpr uint64_t kMostPauseMicros = 10'000;

// Checks all conditions of a batch.
class ConditionCheck final : public LookingCheck {
 public:
  ConditionCheck(DB* db, const WriteConditions* conditions) : db_(db), conditions_(conditions) {}

  void Add(const Family& family, std::string_view key) { keys_.AddKey(family.id, family.order, key); }
  void Seal() { keys_.Seal(); }

  const ConflictSet& Watched() const override { return keys_; }
  absl::StatusOr<bool> Look() override {
    for (const WriteConditions::Condition& condition : conditions_->conditions()) {
      const ColumnFamily& family = condition.family != nullptr ? *condition.family : db_->DefaultColumnFamily();
      PinnedValue value;
      const absl::Status status = db_->Get(family, condition.key, value);
      if (!status.ok() && !absl::IsNotFound(status)) return status;
      if (status.ok() != condition.present) return false;
      if (condition.value.has_value() && *condition.value != value.value()) return false;
    }
    return true;
  }
  CommitOutcome Decide(const std::optional<std::string>& touched) override {
    return touched.has_value() ? CommitOutcome::kLookAgain : CommitOutcome::kWritten;
  }
  absl::Status Refusal() const override { return absl::OkStatus(); }

 private:
  DB* const db_;
  const WriteConditions* const conditions_;
  ConflictSet keys_;
};

// DB's own functions have no clock; a timed wait is one that simulations can schedule.
void Pause(uint64_t micros) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(&mutex);
  never.WaitFor(&mutex, micros);
}

}  // namespace

absl::StatusOr<FamilyRef> Engine::FamilyToWrite(const ColumnFamily& family) {
  RETURN_IF_ERROR(CheckWritable());
  return ResolveShared(family);
}

// Locks what a batch needs: ranges first, then keys, each in order and once, so that two writes never wait for each
// other's keys.
absl::Status Engine::LockAll(std::string_view batch, uint64_t deadline_micros, LockTable::Owner* owner) {
  std::vector<BatchEntry> entries;
  BatchReader reader(batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    // The database's own rows are never locked.
    if (entry.family != kSystemFamilyId) entries.push_back(entry);
  }
  const auto rank = [](const BatchEntry& entry) {
    return std::tuple(!IsRangeDelete(entry.kind), entry.family, entry.key);
  };
  std::sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  std::map<ColumnFamilyId, FamilyRef> families;
  {
    StateLock lock(state_.get());
    for (const auto& [id, family] : state_->families) families.emplace(family->id, family);
  }
  for (const BatchEntry& entry : entries) {
    const auto it = families.find(entry.family);
    if (it == families.end()) continue;  // the commit refuses it
    const Family& family = *it->second;
    const uint64_t now = core_->world.clock->MonotonicMicros();
    const std::chrono::milliseconds left(now < deadline_micros ? (deadline_micros - now) / 1000 : 0);
    if (IsRangeDelete(entry.kind)) {
      RETURN_IF_ERROR(transactions_->locks.LockRange(owner, family.id, family.order, RangeOf(entry), left));
    } else {
      RETURN_IF_ERROR(
          transactions_->locks.LockKey(owner, family.id, family.order, entry.key, LockMode::kExclusive, left));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<CommitOutcome>> Engine::TryCommit(std::string_view batch, const WriteOptions& options,
                                                               LookingCheck* check, bool locked) {
  WriteGate::Pass pass(gate_.get());
  RETURN_IF_ERROR(pass.Enter(batch, options.no_slowdown));
  std::optional<CommitPipeline::WatchHold> watch;
  if (check != nullptr) {
    watch.emplace(pipeline_.get(), check);
    ASSIGN_OR_RETURN(const bool wanted, check->Look());
    if (!wanted) return std::nullopt;
  }
  // No sync is made while the database is watched.
  WriteOptions unsynced = options;
  unsynced.sync = false;
  CommitTerms terms{.watch = watch.has_value() ? watch->get() : nullptr, .locked = locked};
  RETURN_IF_ERROR(pipeline_->Write(batch, unsynced, &pass, &terms));
  watch.reset();
  pass.End();
  if (terms.outcome == CommitOutcome::kWritten && options.sync) RETURN_IF_ERROR(pipeline_->Sync());
  return terms.outcome;
}

absl::StatusOr<bool> Engine::CommitChecked(std::string_view batch, const WriteOptions& options, LookingCheck* check,
                                           bool locked) {
  if (!FitsBatch(options)) return RefuseBatchOptions(options);
  std::string stamped;
  if (core_->expiry.any_ttl()) [[unlikely]] {
    ASSIGN_OR_RETURN(stamped, StampExpiry(batch));
    batch = stamped;
  }
  Separated separated;
  if (batch.size() >= core_->values.least_separated()) [[unlikely]] {
    ASSIGN_OR_RETURN(separated, Separate(batch, options));
    batch = separated.batch;
  }
  const WatchedCall call(&core_->calls, {.name = "commit", .histogram = Histogram::kWriteMicros, .rare = options.sync},
                         [&] { return CallWatch::Subject{.batch = batch}; });
  for (;;) {
    if (!locked && pipeline_->LocksInUse()) {
      const absl::StatusOr<bool> committed = CommitBesideLocks(batch, options, check);
      KeepIfInDoubt(committed.status(), separated);
      if (committed.ok() && !*committed) TakeBack(separated);
      return committed;
    }
    const absl::StatusOr<std::optional<CommitOutcome>> tried = TryCommit(batch, options, check, locked);
    KeepIfInDoubt(tried.status(), separated);
    ASSIGN_OR_RETURN(const std::optional<CommitOutcome> outcome, tried);
    if (!outcome.has_value()) {
      TakeBack(separated);
      return false;
    }
    switch (*outcome) {
      case CommitOutcome::kWritten:
        return true;
      case CommitOutcome::kRefused:
        TakeBack(separated);
        return check->Refusal();
      case CommitOutcome::kLookAgain:
      case CommitOutcome::kMustLock:
        break;
    }
  }
}

// The owner keeps its number over all attempts, so that it is not forever the youngest in deadlocks with newer
// transactions.
absl::StatusOr<bool> Engine::CommitBesideLocks(std::string_view batch, const WriteOptions& options,
                                               LookingCheck* check) {
  LockTable::Owner owner(transactions_->NewId(), LockTable::Owner::Kind::kPlainWrite);
  const absl::Cleanup release = [&] { transactions_->locks.ReleaseAll(&owner); };
  Clock* const clock = core_->world.clock;
  const uint64_t deadline = clock->MonotonicMicros() + (options.no_slowdown ? 0 : kPlainLockMicros);
  for (uint64_t pause_micros = 16;; pause_micros = std::min(kMostPauseMicros, 2 * pause_micros)) {
    const absl::Status locked = LockAll(batch, deadline, &owner);
    if (locked.ok()) return CommitChecked(batch, options, check, /*locked=*/true);
    if (options.no_slowdown && absl::IsDeadlineExceeded(locked)) return absl::UnavailableError(locked.message());
    if (!absl::IsAborted(locked)) return locked;
    if (clock->MonotonicMicros() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrFormat("the keys of the batch were locked by transactions for %d ms, the last time with a deadlock; "
                          "nothing was written",
                          kPlainLockMicros / 1000));
    }
    transactions_->locks.ReleaseAll(&owner);
    clock->SleepMicros(pause_micros);
  }
}

absl::StatusOr<bool> Engine::WriteIf(const WriteConditions& conditions, const WriteBatch& batch,
                                     const WriteOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(BatchOrigin::Check(batch, catalog_->identity().database_id, core_->path));
  ConditionCheck check(this, &conditions);
  for (const WriteConditions::Condition& condition : conditions.conditions()) {
    ASSIGN_OR_RETURN(const Family* family,
                     Resolve(condition.family != nullptr ? *condition.family : DefaultColumnFamily()));
    check.Add(*family, condition.key);
  }
  check.Seal();
  if (BatchOrigin::Expires(batch)) RETURN_IF_ERROR(AdmitExpiry(batch));
  return CommitChecked(batch.bytes(), options, &check, /*locked=*/false);
}

absl::StatusOr<std::unique_ptr<Transaction>> Engine::BeginTransaction(const TransactionOptions& options) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(TransactionImpl::CheckOptions(options));
  return std::make_unique<TransactionImpl>(transactions_, options);
}

// --- calls that are made of others ---

absl::StatusOr<bool> DB::PutIfAbsent(const ColumnFamily& family, std::string_view key, std::string_view value,
                                     const WriteOptions& options) {
  return CompareAndSet(family, key, std::nullopt, value, options);
}

absl::StatusOr<bool> DB::DeleteIf(const ColumnFamily& family, std::string_view key, std::string_view expected,
                                  const WriteOptions& options) {
  return CompareAndSet(family, key, expected, std::nullopt, options);
}

absl::StatusOr<bool> DB::CompareAndSet(const ColumnFamily& family, std::string_view key,
                                       std::optional<std::string_view> expected,
                                       std::optional<std::string_view> desired, const WriteOptions& options) {
  WriteConditions conditions;
  if (expected.has_value()) {
    conditions.Equals(family, key, *expected);
  } else {
    conditions.Absent(family, key);
  }
  WriteBatch batch;
  if (desired.has_value()) {
    batch.Put(family, key, *desired);
  } else {
    batch.Delete(family, key);
  }
  return WriteIf(conditions, batch, options);
}

absl::Status DB::RunTransaction(const TransactionOptions& options,
                                const std::function<absl::Status(Transaction&)>& body,
                                const WriteOptions& write_options) {
  absl::Status status;
  uint64_t pause_micros = 0;
  for (int attempt = 0; attempt < kMostTransactionAttempts; ++attempt) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Transaction> transaction, BeginTransaction(options));
    status = body(*transaction);
    if (status.ok()) {
      status = transaction->Commit(write_options);
    } else {
      // Otherwise a prepared transaction would stay; the body's error is the one to return.
      transaction->Rollback().IgnoreError();
    }
    if (!absl::IsAborted(status)) return status;
    // If writing has ended, because the database was taken over, this is not a conflict.
    if (const auto error = GetProperty("sepal.background-error"); error.has_value() && *error != "OK") return status;
    // The first retry is immediate; later pauses grow, and differ between transactions, so that they come apart.
    if (pause_micros > 0) Pause(pause_micros / 2 + Mix64(transaction->id()) % pause_micros);
    pause_micros = std::min(kMostPauseMicros, pause_micros == 0 ? 16 : 2 * pause_micros);
  }
  return status;
}

}  // namespace sepal
