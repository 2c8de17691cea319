// Prepared transactions: their list, their locks at an opening, and taking one over.
#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_format.h"
#include "db/engine/catalog/named_snapshots.h"
#include "db/engine/face/engine.h"
#include "db/engine/transaction/transaction_impl.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal {

namespace {

absl::StatusOr<PreparedRow> DecodeRow(std::string_view path, std::string_view name, std::string_view value) {
  absl::StatusOr<PreparedRow> row = PreparedRow::Decode(value);
  if (row.ok()) return row;
  return absl::Status(row.status().code(), absl::StrFormat("%s: the prepared transaction \"%s\": %s", path,
                                                           Printable(name), row.status().message()));
}

}  // namespace

absl::Status Engine::CheckBatchSize(uint32_t entries, size_t bytes) const { return gate_->CheckSize(entries, bytes); }

FamilyRef Engine::FamilyOfId(ColumnFamilyId id) const {
  StateLock lock(state_.get());
  const auto it = state_->families.find(id.value());
  return it != state_->families.end() ? it->second : nullptr;
}

// Called before any write is allowed.
absl::Status Engine::RetakeLocks() {
  return VisitSystemRows(
      SystemRowKind::kPreparedTransaction, [this](std::string_view name, std::string_view value) -> absl::Status {
        ASSIGN_OR_RETURN(const PreparedRow row, DecodeRow(core_->path, name, value));
        std::vector<HeldLock> locks = LocksOfWrites(row.batch);
        locks.insert(locks.end(), row.locks.begin(), row.locks.end());
        auto owner = std::make_shared<LockTable::Owner>(transactions_->NewId());
        PreparedRegistry::Families families;
        for (const HeldLock& lock : locks) {
          const FamilyRef family = FamilyOfId(lock.family);
          if (family == nullptr) continue;  // lost in a repair
          transactions_->locks.Retake(owner.get(), family->order, lock);
          families.insert(family->id);
        }
        pipeline_->BeginLocks();
        transactions_->prepared.Restore(DescribePrepared(name, row), std::move(owner), std::move(families));
        core_->info_log.Write("the transaction \"%s\" is prepared, and holds %u locks", Printable(name), locks.size());
        return absl::OkStatus();
      });
}

absl::StatusOr<std::vector<PreparedTransaction>> Engine::PreparedTransactions() {
  RETURN_IF_ERROR(CheckOpen());
  if (!read_only_) return transactions_->prepared.List();
  std::vector<PreparedTransaction> list;
  RETURN_IF_ERROR(VisitSystemRows(SystemRowKind::kPreparedTransaction,
                                  [&](std::string_view name, std::string_view value) -> absl::Status {
                                    ASSIGN_OR_RETURN(const PreparedRow row, DecodeRow(core_->path, name, value));
                                    list.push_back(DescribePrepared(name, row));
                                    return absl::OkStatus();
                                  }));
  return list;
}

absl::StatusOr<std::unique_ptr<Transaction>> Engine::FindPrepared(std::string_view name) {
  RETURN_IF_ERROR(CheckWritable());
  RETURN_IF_ERROR(CheckTransactionName(name));
  ASSIGN_OR_RETURN(std::shared_ptr<LockTable::Owner> owner, transactions_->prepared.Attach(name));
  auto found = std::make_unique<TransactionImpl>(transactions_, name, std::move(owner));
  // While the object is attached, nothing else deletes the row.
  ASSIGN_OR_RETURN(const std::optional<std::string> value, ReadSystemRow(SystemRowKind::kPreparedTransaction, name));
  if (!value.has_value()) {
    return absl::InternalError(
        absl::StrFormat("%s: the row of the prepared transaction \"%s\" is gone", core_->path, Printable(name)));
  }
  ASSIGN_OR_RETURN(const PreparedRow row, DecodeRow(core_->path, name, *value));
  found->Load(row, [this](ColumnFamilyId id) { return FamilyOfId(id); });
  return found;
}

std::string Engine::PreparedText() {
  const absl::StatusOr<std::vector<PreparedTransaction>> list = PreparedTransactions();
  if (!list.ok()) return list.status().ToString() + "\n";
  const uint64_t now = UnixMillis(core_->world.clock);
  std::string text;
  for (const PreparedTransaction& prepared : *list) {
    const uint64_t since = std::min(now, MillisOf(prepared.prepared));
    absl::StrAppendFormat(&text, "\"%s\": prepared at %s, %.3f s ago, %u updates of %u bytes, %u locks\n",
                          Printable(prepared.name), TimeText(prepared.prepared),
                          static_cast<double>(now - since) / 1000, prepared.updates, prepared.bytes, prepared.locks);
  }
  return text;
}

}  // namespace sepal
