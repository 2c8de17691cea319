// Prepared transactions: how they are prepared, taken over, and ended.
#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/catalog/named_snapshots.h"
#include "db/engine/transaction/transaction_impl.h"
#include "db/engine/transaction/transaction_memory.h"
#include "db/format/system_row.h"
#include "util/base/status.h"

namespace sepal {

namespace {

ConflictRange RangeOf(const HeldLock& lock) {
  return {.begin = lock.begin, .end = lock.end, .end_inclusive = lock.end_inclusive};
}

HeldLock SharedLock(ColumnFamilyId family, const ConflictRange& range) {
  return {.family = family,
          .exclusive = false,
          .range = true,
          .begin = range.begin,
          .end = range.end,
          .end_inclusive = range.end.has_value() && range.end_inclusive};
}

// If different bytes may be the same key, a key is locked as a range.
bool IsOfKey(const HeldLock& lock, const std::vector<HeldLock>& keys) {
  if (!lock.range || !lock.exclusive || !lock.end_inclusive || lock.begin != lock.end) return false;
  return std::binary_search(keys.begin(), keys.end(), HeldLock{.family = lock.family, .begin = lock.begin});
}

PreparedRegistry::Families FamiliesOf(const PreparedRow& row) {
  PreparedRegistry::Families families;
  for (const HeldLock& lock : LocksOfWrites(row.batch)) families.insert(lock.family);
  for (const HeldLock& lock : row.locks) families.insert(lock.family);
  return families;
}

}  // namespace

// --- prepare ---

absl::Status TransactionImpl::Prepare(std::string_view name) {
  const Turn turn(this, Turn::Call::kAdds);
  RETURN_IF_ERROR(turn.status());
  RETURN_IF_ERROR(CheckTransactionName(name));
  TransactionHost* const host = context_->host();
  RETURN_IF_ERROR(host->AllowSystemRows());
  PreparedRegistry::Families used;
  for (const FamilyRef& family : families_) used.insert(family->id);
  RETURN_IF_ERROR(context_->prepared.Reserve(name, std::move(used)));
  if (!pessimistic()) host->BeginLocks();
  absl::Status status = LockToPrepare();
  if (status.ok()) status = WriteRow(name);
  if (status.ok()) return status;
  if (!pessimistic()) {
    context_->locks.ReleaseAll(owner_.get());
    host->EndLocks();
  }
  context_->prepared.Remove(name);
  return EndIfAborted(std::move(status));
}

std::vector<HeldLock> TransactionImpl::LocksToPrepare() const {
  std::vector<HeldLock> wanted;
  if (!pessimistic()) wanted = LocksOfWrites(batch_->bytes());
  ConflictSet reads = AllReads();
  reads.Seal();
  for (const ConflictSet::Part& part : reads.parts()) {
    for (const std::string& key : part.keys) {
      wanted.push_back({.family = part.family, .exclusive = false, .begin = key});
    }
    for (const ConflictRange& range : part.ranges) wanted.push_back(SharedLock(part.family, range));
  }
  return wanted;
}

// Locks ranges first, then keys, each in order, as every batch of locks does. Of the locks on one key, the stronger
// comes first.
absl::Status TransactionImpl::LockToPrepare() {
  // From now on none of these families is dropped.
  for (const std::unique_ptr<BatchIndex::Part>& part : batch_->parts()) {
    RETURN_IF_ERROR(part->family->CheckThere());
  }
  std::vector<HeldLock> wanted = LocksToPrepare();
  const auto rank = [](const HeldLock& lock) {
    return std::tuple(!lock.range, lock.family, lock.begin, !lock.exclusive);
  };
  std::sort(wanted.begin(), wanted.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  for (const HeldLock& lock : wanted) {
    const Family& family = FamilyById(lock.family);
    const LockMode mode = lock.exclusive ? LockMode::kExclusive : LockMode::kShared;
    RETURN_IF_ERROR(lock.range ? context_->locks.LockRange(owner_.get(), family.id, family.order, RangeOf(lock),
                                                           options_.lock_timeout, mode)
                               : context_->locks.LockKey(owner_.get(), family.id, family.order, *lock.begin, mode,
                                                         options_.lock_timeout));
  }
  return absl::OkStatus();
}

absl::Status TransactionImpl::WriteRow(std::string_view name) {
  const std::vector<HeldLock> writes = LocksOfWrites(batch_->bytes());
  const std::vector<HeldLock> held = context_->locks.HeldBy(*owner_);
  PreparedRow row{.prepared_millis = UnixMillis(context_->core->world.clock), .batch = batch_->bytes()};
  std::set_difference(held.begin(), held.end(), writes.begin(), writes.end(), std::back_inserter(row.locks));
  std::erase_if(row.locks, [&](const HeldLock& lock) { return IsOfKey(lock, writes); });
  const std::string value = row.Encode();
  RETURN_IF_ERROR(CheckEntrySize(name.size() + 1, value.size()));
  std::string batch(kBatchHeaderBytes, '\0');
  PutSystemRow(&batch, SystemRowKind::kPreparedTransaction, name, value);
  // Its commit must not be refused for its size either: it has the updates, each perhaps with an expiry, and the row's
  // delete.
  constexpr size_t kBytesOfExpiry = 9;
  const uint32_t updates = batch_->last();
  RETURN_IF_ERROR(context_->host()->CheckBatchSize(updates + 1, batch.size() + kBytesOfExpiry * updates));
  RETURN_IF_ERROR(CommitIfUnchanged(batch, {.sync = true}, /*locked=*/true));
  context_->prepared.Confirm(DescribePrepared(name, row), owner_, FamiliesOf(row));
  prepared_as_ = name;
  state_ = State::kPrepared;
  batch_->ForgetSavepoints();
  reads_ = {};
  range_reads_.clear();
  ChargeMemory();
  return absl::OkStatus();
}

// --- the end ---

absl::Status TransactionImpl::EndPrepared(std::string batch, const WriteOptions& options, State state) {
  if (options.disable_wal) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "disable_wal: the end of the prepared transaction \"%s\" is always logged: leave the option out",
        Printable(prepared_as_)));
  }
  DeleteSystemRow(&batch, SystemRowKind::kPreparedTransaction, prepared_as_);
  RETURN_IF_ERROR(context_->host()->CommitChecked(batch, options, nullptr, /*locked=*/true).status());
  End(state);
  return absl::OkStatus();
}

// Its row and its locks stay.
void TransactionImpl::LetGoOfPrepared() {
  batch_->End();
  snapshot_.reset();
  context_->core->budget.Release(MemoryPart::kTransactions, std::exchange(charged_bytes_, 0));
  context_->NoteEnd(id());
  context_->prepared.Detach(prepared_as_);
}

// --- taken over ---

TransactionImpl::TransactionImpl(std::shared_ptr<TransactionContext> context, std::string_view name,
                                 std::shared_ptr<LockTable::Owner> owner)
    : context_(std::move(context)), owner_(std::move(owner)), state_(State::kPrepared), prepared_as_(name) {
  context_->NoteBegin(id(), options_.locking);
}

// Memory is charged even beyond the limit, because the transaction can be ended in no other way.
void TransactionImpl::Load(const PreparedRow& row, const std::function<FamilyRef(ColumnFamilyId)>& find_family) {
  BatchReader reader(row.batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    const FamilyRef family = find_family(entry.family);
    if (family == nullptr) {
      incomplete_ = absl::FailedPreconditionError(
          absl::StrFormat("the prepared transaction \"%s\" has updates of column family %u, which is not there: it can "
                          "only be rolled back",
                          Printable(prepared_as_), entry.family.value()));
      continue;
    }
    batch_->Add(family, entry.kind, entry.key, entry.value);
  }
  ChargeMemory();
}

}  // namespace sepal
