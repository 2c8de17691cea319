#include "db/engine/transaction/transaction_impl.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/core/put_expiry.h"
#include "db/engine/read/database_iterator.h"
#include "db/engine/read/newest_update.h"
#include "db/engine/transaction/read_through.h"
#include "db/engine/transaction/transaction_memory.h"
#include "db/format/expiring_value.h"
#include "db/format/range_end.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/thread/fork.h"

namespace sepal {

namespace {

absl::Status CheckNoSnapshot(const ReadOptions& options) {
  const bool own =
      options.snapshot == nullptr && !options.as_of_sequence.has_value() && !options.as_of_time.has_value();
  if (own) [[likely]]
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a transaction reads as of its own snapshot: leave ReadOptions::snapshot null, and as_of_sequence and as_of_time "
      "unset, or read with the database");
}

}  // namespace

absl::Status TransactionImpl::CheckOptions(const TransactionOptions& options) {
  if (options.lock_timeout.count() >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("lock_timeout of %d ms is negative", options.lock_timeout.count()));
}

TransactionImpl::TransactionImpl(std::shared_ptr<TransactionContext> context, const TransactionOptions& options)
    : context_(std::move(context)), options_(options), owner_(std::make_shared<LockTable::Owner>(context_->NewId())) {
  context_->NoteBegin(id(), options_.locking);
  if (pessimistic()) context_->host()->BeginLocks();
}

TransactionImpl::~TransactionImpl() {
  if (context_->core->Forked()) {
    LeakAfterFork(std::tuple(context_, owner_, std::move(snapshot_), std::move(batch_), std::move(range_reads_)));
  } else if (state_ == State::kOpen) {
    End(State::kRolledBack);
  } else if (state_ == State::kPrepared) {
    LetGoOfPrepared();
  }
}

TransactionImpl::Turn::Turn(TransactionImpl* transaction, Call call) {
  if (transaction->in_call_.exchange(true, std::memory_order_acquire)) {
    status_ = absl::FailedPreconditionError(
        absl::StrFormat("two threads use transaction %u at once: it belongs to one at a time", transaction->id()));
    return;
  }
  taken_ = &transaction->in_call_;
  status_ = Check(*transaction, call);
}

absl::Status TransactionImpl::Turn::Check(const TransactionImpl& transaction, Call call) const {
  RETURN_IF_ERROR(transaction.aborted_);
  switch (transaction.state_) {
    case State::kOpen:
      break;
    case State::kPrepared:
      if (call != Call::kAdds) break;
      return absl::FailedPreconditionError(
          absl::StrFormat("transaction %u is prepared as \"%s\", and nothing can be added to it: commit it or roll it "
                          "back",
                          transaction.id(), Printable(transaction.prepared_as_)));
    case State::kCommitted:
    case State::kRolledBack:
      return absl::FailedPreconditionError(
          absl::StrFormat("transaction %u has been %s: begin another one", transaction.id(),
                          transaction.state_ == State::kCommitted ? "committed" : "rolled back"));
  }
  if (transaction.context_->host() == nullptr) return transaction.DatabaseGone();
  return transaction.context_->host()->CheckWritable();
}

absl::Status TransactionImpl::DatabaseGone() const {
  return absl::FailedPreconditionError(absl::StrFormat("the database in %s is closed", context_->core->path));
}

TransactionImpl::Turn::~Turn() {
  if (taken_ != nullptr) taken_->store(false, std::memory_order_release);
}

const ColumnFamily& TransactionImpl::DefaultColumnFamily() const { return *context_->default_family; }

absl::StatusOr<FamilyRef> TransactionImpl::FamilyOf(const ColumnFamily& family) {
  ASSIGN_OR_RETURN(FamilyRef resolved, context_->host()->FamilyToWrite(family));
  if (std::find(families_.begin(), families_.end(), resolved) == families_.end()) families_.push_back(resolved);
  return resolved;
}

void TransactionImpl::TakeSnapshot() {
  if (snapshot_ == nullptr) snapshot_ = database().GetSnapshot();
}

void TransactionImpl::ChargeMemory() {
  MemoryBudget& budget = context_->core->budget;
  const size_t bytes = batch_->MemoryBytes() + reads_.MemoryBytes();
  if (bytes > charged_bytes_) {
    budget.Charge(MemoryPart::kTransactions, bytes - charged_bytes_);
  } else {
    budget.Release(MemoryPart::kTransactions, charged_bytes_ - bytes);
  }
  charged_bytes_ = bytes;
}

void TransactionImpl::End(State state) {
  const bool prepared = std::exchange(state_, state) == State::kPrepared;
  context_->locks.ReleaseAll(owner_.get());
  if (prepared) context_->prepared.Remove(prepared_as_);
  TransactionHost* const host = context_->host();
  if ((pessimistic() || prepared) && host != nullptr) host->EndLocks();
  batch_->End();
  reads_ = {};
  range_reads_.clear();
  snapshot_.reset();
  context_->core->budget.Release(MemoryPart::kTransactions, std::exchange(charged_bytes_, 0));
  context_->NoteEnd(id());
}

absl::Status TransactionImpl::EndIfAborted(absl::Status status) {
  if (!absl::IsAborted(status)) return status;
  End(State::kRolledBack);
  aborted_ = status;
  return status;
}

// --- reads ---

absl::Status TransactionImpl::NoteRead(const Family& family, std::string_view key) {
  RETURN_IF_ERROR(CheckTransactionMemory(context_->core->budget, 2 * key.size() + sizeof(std::string)));
  reads_.AddKey(family.id, family.order, key);
  ChargeMemory();
  return absl::OkStatus();
}

absl::StatusOr<std::string> TransactionImpl::Read(const ColumnFamily& family, const FamilyRef& resolved,
                                                  std::string_view key, const ReadOptions& options, bool noted) {
  RETURN_IF_ERROR(CheckNoSnapshot(options));
  ReadOptions read;
  read.snapshot = snapshot_.get();
  read.fill_cache = options.fill_cache;
  return GetThrough(*batch_, {&database(), family, resolved, read}, key,
                    [&](std::string_view asked) { return noted ? NoteRead(*resolved, asked) : absl::OkStatus(); });
}

absl::StatusOr<std::string> TransactionImpl::Get(const ColumnFamily& family, std::string_view key,
                                                 const ReadOptions& options) {
  const Turn turn(this);
  RETURN_IF_ERROR(turn.status());
  ASSIGN_OR_RETURN(const FamilyRef resolved, FamilyOf(family));
  TakeSnapshot();
  return Read(family, resolved, key, options, /*noted=*/keeps_reads());
}

std::vector<absl::StatusOr<std::string>> TransactionImpl::MultiGet(const ColumnFamily& family,
                                                                   std::span<const std::string_view> keys,
                                                                   const ReadOptions& options) {
  const Turn turn(this);
  const absl::StatusOr<FamilyRef> resolved = turn.status().ok() ? FamilyOf(family) : turn.status();
  const absl::Status status = resolved.ok() ? CheckNoSnapshot(options) : resolved.status();
  if (!status.ok()) return std::vector<absl::StatusOr<std::string>>(keys.size(), status);
  TakeSnapshot();
  ReadOptions read = options;
  read.snapshot = snapshot_.get();
  return MultiGetThrough(*batch_, {&database(), family, *resolved, read}, keys, [&](std::string_view asked) {
    return keeps_reads() ? NoteRead(**resolved, asked) : absl::OkStatus();
  });
}

absl::StatusOr<std::string> TransactionImpl::GetLocked(const ColumnFamily& family, std::string_view key,
                                                       const ReadOptions& options, LockMode mode) {
  const Turn turn(this, Turn::Call::kAdds);
  RETURN_IF_ERROR(turn.status());
  ASSIGN_OR_RETURN(const FamilyRef resolved, FamilyOf(family));
  RETURN_IF_ERROR(CheckNoSnapshot(options));
  if (pessimistic()) {
    RETURN_IF_ERROR(EndIfAborted(LockKey(*resolved, key, mode)));
    if (context_->host() == nullptr) return DatabaseGone();
    return Read(family, resolved, key, options, /*noted=*/false);
  }
  TakeSnapshot();
  RETURN_IF_ERROR(NoteRead(*resolved, key));
  reads_for_update_ = true;
  return Read(family, resolved, key, options, /*noted=*/false);
}

absl::StatusOr<std::string> TransactionImpl::GetForUpdate(const ColumnFamily& family, std::string_view key,
                                                          const ReadOptions& options) {
  return GetLocked(family, key, options, LockMode::kExclusive);
}

absl::StatusOr<std::string> TransactionImpl::GetForShare(const ColumnFamily& family, std::string_view key,
                                                         const ReadOptions& options) {
  return GetLocked(family, key, options, LockMode::kShared);
}

std::unique_ptr<Iterator> TransactionImpl::NewIterator(const ColumnFamily& family, const ReadOptions& options) {
  const Turn turn(this);
  if (!turn.status().ok()) return NewErrorIterator(turn.status());
  absl::StatusOr<FamilyRef> resolved = FamilyOf(family);
  if (!resolved.ok()) return NewErrorIterator(resolved.status());
  if (absl::Status status = CheckNoSnapshot(options); !status.ok()) return NewErrorIterator(std::move(status));
  TakeSnapshot();
  ReadOptions read = options;
  read.snapshot = snapshot_.get();
  std::shared_ptr<RangeReads> reads;
  if (keeps_reads()) {
    if (range_reads_.size() >= fold_range_reads_at_) FoldRangeReads();
    reads = std::make_shared<RangeReads>(context_->core, (*resolved)->id, (*resolved)->order);
    range_reads_.push_back(reads);
  }
  return NewIteratorThrough(context_->core, batch_, {&database(), family, *resolved, read}, std::move(reads));
}

void TransactionImpl::FoldRangeReads() {
  range_reads_.remove_if([this](const std::shared_ptr<RangeReads>& reads) {
    if (reads.use_count() > 1) return false;
    reads->AddTo(&reads_);
    return true;
  });
  fold_range_reads_at_ = std::max<size_t>(kFoldRangeReads, 2 * range_reads_.size());
  ChargeMemory();
}

// --- writes ---

absl::Status TransactionImpl::LockKey(const Family& family, std::string_view key, LockMode mode) {
  RETURN_IF_ERROR(context_->locks.LockKey(owner_.get(), family.id, family.order, key, mode, options_.lock_timeout));
  if (snapshot_ == nullptr) return absl::OkStatus();
  TransactionHost* const host = context_->host();
  if (host == nullptr) return DatabaseGone();  // it may have gone while the lock was waited for
  ASSIGN_OR_RETURN(const bool updated, IsUpdatedAfter(context_->core.get(), family, host->hash_seed(), key,
                                                      SequenceNumber(snapshot_->sequence())));
  return updated ? WriteConflict(key) : absl::OkStatus();
}

absl::Status TransactionImpl::LockRange(const Family& family, const ConflictRange& range) {
  RETURN_IF_ERROR(context_->locks.LockRange(owner_.get(), family.id, family.order, range, options_.lock_timeout));
  if (snapshot_ == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<std::string> key,
                   FindUpdatedAfter(context_->core.get(), family, range, SequenceNumber(snapshot_->sequence())));
  return key.has_value() ? WriteConflict(*key) : absl::OkStatus();
}

absl::Status TransactionImpl::Write(const ColumnFamily& family, ValueKind kind, std::string_view key,
                                    std::string_view value) {
  const Turn turn(this, Turn::Call::kAdds);
  RETURN_IF_ERROR(turn.status());
  ASSIGN_OR_RETURN(const FamilyRef resolved, FamilyOf(family));
  const BatchEntry entry{.kind = kind, .family = resolved->id, .key = key, .value = value};
  RETURN_IF_ERROR(BatchIndex::Check(*resolved, kind, key, value));
  RETURN_IF_ERROR(CheckTransactionMemory(context_->core->budget, BatchIndex::MemoryBytes(key.size(), value.size())));
  if (pessimistic()) {
    RETURN_IF_ERROR(EndIfAborted(IsRangeDelete(kind) ? LockRange(*resolved, RangeOf(entry))
                                                     : LockKey(*resolved, key, LockMode::kExclusive)));
  } else {
    TakeSnapshot();
  }
  batch_->Add(resolved, kind, key, value);
  ChargeMemory();
  return absl::OkStatus();
}

absl::Status TransactionImpl::Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                                  const PutOptions& options) {
  if (!options.ttl.has_value() && !options.expires_at.has_value()) return Write(family, ValueKind::kPut, key, value);
  {
    const Turn turn(this, Turn::Call::kAdds);
    RETURN_IF_ERROR(turn.status());
    RETURN_IF_ERROR(FamilyOf(family).status());  // only an open database has a clock
  }
  ASSIGN_OR_RETURN(const uint64_t expiry,
                   ExpiryOfPut(options.ttl, options.expires_at, context_->core->expiry.NowMillis()));
  RETURN_IF_ERROR(CheckEntrySize(key.size(), value.size()));  // checked before it is copied
  return Write(family, ValueKind::kExpiringPut, key, EncodeExpiringValue(expiry, value));
}

absl::Status TransactionImpl::Delete(const ColumnFamily& family, std::string_view key) {
  return Write(family, ValueKind::kDelete, key, {});
}

absl::Status TransactionImpl::SingleDelete(const ColumnFamily& family, std::string_view key) {
  return Write(family, ValueKind::kSingleDelete, key, {});
}

absl::Status TransactionImpl::Merge(const ColumnFamily& family, std::string_view key, std::string_view operand) {
  return Write(family, ValueKind::kMerge, key, operand);
}

absl::Status TransactionImpl::DeleteRange(const ColumnFamily& family, std::string_view begin,
                                          std::optional<std::string_view> end) {
  return Write(family, ValueKind::kRangeDelete, begin, EncodeRangeEnd(end));
}

absl::Status TransactionImpl::SetSavepoint() {
  const Turn turn(this, Turn::Call::kAdds);
  RETURN_IF_ERROR(turn.status());
  batch_->SetSavepoint();
  return absl::OkStatus();
}

absl::Status TransactionImpl::RollbackToSavepoint() {
  const Turn turn(this, Turn::Call::kAdds);
  RETURN_IF_ERROR(turn.status());
  if (!batch_->RollBackToSavepoint()) {
    return absl::NotFoundError(
        absl::StrFormat("transaction %u has no savepoint to roll back to: call SetSavepoint first", id()));
  }
  ChargeMemory();
  return absl::OkStatus();
}

// --- the end ---

ConflictSet TransactionImpl::AllReads() const {
  ConflictSet all = reads_;
  for (const std::shared_ptr<RangeReads>& reads : range_reads_) reads->AddTo(&all);
  return all;
}

ConflictSet TransactionImpl::Conflicts() const {
  ConflictSet all = AllReads();
  // A pessimistic transaction has locked the keys that it writes, and checked them then.
  if (!pessimistic()) {
    for (const std::unique_ptr<BatchIndex::Part>& part : batch_->parts()) {
      const Family& family = *part->family;
      for (const auto& [key, updates] : part->keys) all.AddKey(family.id, family.order, key);
      for (const BatchIndex::DeletedRange& range : part->ranges) {
        all.AddRange(family.id, family.order, {.begin = range.begin, .end = range.end, .end_inclusive = false});
      }
    }
  }
  all.Seal();
  return all;
}

const Family& TransactionImpl::FamilyById(ColumnFamilyId id) const {
  return **std::find_if(families_.begin(), families_.end(), [id](const FamilyRef& family) { return family->id == id; });
}

absl::Status TransactionImpl::CommitIfUnchanged(std::string_view batch, const WriteOptions& options, bool locked) {
  TransactionHost* const host = context_->host();
  if (batch_->expires()) RETURN_IF_ERROR(host->AllowExpiry());
  const ConflictSet conflicts = Conflicts();
  if (conflicts.empty()) return host->CommitChecked(batch, options, nullptr, locked).status();
  ConflictCheck check(&conflicts, SequenceNumber(snapshot_->sequence()), context_->core.get(), host->hash_seed(),
                      [this](ColumnFamilyId id) -> const Family& { return FamilyById(id); });
  return host->CommitChecked(batch, options, &check, locked).status();
}

absl::Status TransactionImpl::Commit(const WriteOptions& options) {
  const Turn turn(this);
  RETURN_IF_ERROR(turn.status());
  if (state_ == State::kPrepared) {
    RETURN_IF_ERROR(incomplete_);
    // A repair may have lost the manifest's record.
    if (batch_->expires()) RETURN_IF_ERROR(context_->host()->AllowExpiry());
    return EndPrepared(batch_->bytes(), options, State::kCommitted);
  }
  // A read-only transaction has been consistent as of its snapshot, so it needs no check unless it read for update.
  const bool checked = batch_->last() > 0 || reads_for_update_;
  const absl::Status status = checked        ? CommitIfUnchanged(batch_->bytes(), options, pessimistic())
                              : options.sync ? database().Sync()
                                             : absl::OkStatus();
  // If the database was taken over, this is not reported as a conflict, because the outcome of the commit is unknown.
  if (!status.ok() && context_->host() != nullptr && !context_->host()->WritingError().ok()) return status;
  RETURN_IF_ERROR(EndIfAborted(status));
  End(State::kCommitted);
  return absl::OkStatus();
}

absl::Status TransactionImpl::Rollback() {
  const Turn turn(this);
  if (absl::IsAborted(turn.status())) return absl::OkStatus();  // it has been rolled back already
  RETURN_IF_ERROR(turn.status());
  if (state_ == State::kPrepared) {
    return EndPrepared(std::string(kBatchHeaderBytes, '\0'), {.sync = true}, State::kRolledBack);
  }
  End(State::kRolledBack);
  return absl::OkStatus();
}

}  // namespace sepal
