// A transaction: its updates, its locks, and what it has read.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "db/decide/transaction/conflict_set.h"
#include "db/engine/transaction/batch_index.h"
#include "db/engine/transaction/range_reads.h"
#include "db/engine/transaction/transaction_context.h"
#include "sepal/transaction.h"

namespace sepal {

class TransactionImpl final : public Transaction {
 public:
  // InvalidArgument for options out of their range.
  static absl::Status CheckOptions(const TransactionOptions& options);

  TransactionImpl(std::shared_ptr<TransactionContext> context, const TransactionOptions& options);
  // Makes the object of a prepared transaction. The caller is attached to it (prepared_registry.h); this object takes
  // that over.
  TransactionImpl(std::shared_ptr<TransactionContext> context, std::string_view name,
                  std::shared_ptr<LockTable::Owner> owner);
  // Loads its updates, before the object is used. `find_family` may return null.
  void Load(const PreparedRow& row, const std::function<FamilyRef(ColumnFamilyId)>& find_family);
  ~TransactionImpl() override;

  absl::StatusOr<std::string> Get(const ColumnFamily& family, std::string_view key,
                                  const ReadOptions& options) override;
  std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                                                    const ReadOptions& options) override;
  absl::StatusOr<std::string> GetForUpdate(const ColumnFamily& family, std::string_view key,
                                           const ReadOptions& options) override;
  absl::StatusOr<std::string> GetForShare(const ColumnFamily& family, std::string_view key,
                                          const ReadOptions& options) override;
  std::unique_ptr<Iterator> NewIterator(const ColumnFamily& family, const ReadOptions& options) override;

  absl::Status Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                   const PutOptions& options) override;
  absl::Status Delete(const ColumnFamily& family, std::string_view key) override;
  absl::Status SingleDelete(const ColumnFamily& family, std::string_view key) override;
  absl::Status Merge(const ColumnFamily& family, std::string_view key, std::string_view operand) override;
  absl::Status DeleteRange(const ColumnFamily& family, std::string_view begin,
                           std::optional<std::string_view> end) override;

  absl::Status SetSavepoint() override;
  absl::Status RollbackToSavepoint() override;
  absl::Status Prepare(std::string_view name) override;
  absl::Status Commit(const WriteOptions& options) override;
  absl::Status Rollback() override;

  uint64_t id() const override { return owner_->id(); }
  uint32_t Count() const override { return batch_->last(); }

 protected:
  const ColumnFamily& DefaultColumnFamily() const override;

 private:
  enum class State : uint8_t { kOpen, kPrepared, kCommitted, kRolledBack };
  // A call of the transaction. Its status is the reason if the call is not allowed.
  class Turn {
   public:
    // Calls that add to the transaction are not allowed once it is prepared.
    enum class Call : uint8_t { kAdds, kAnother };
    explicit Turn(TransactionImpl* transaction, Call call = Call::kAnother);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    const absl::Status& status() const { return status_; }

   private:
    absl::Status Check(const TransactionImpl& transaction, Call call) const;

    std::atomic<bool>* taken_ = nullptr;
    absl::Status status_;
  };

  bool pessimistic() const { return options_.locking == Locking::kPessimistic; }
  // Returns whether what it reads must not have changed at the commit.
  bool keeps_reads() const { return options_.isolation == Isolation::kSerializable && state_ == State::kOpen; }
  DB& database() const { return context_->host()->database(); }

  absl::StatusOr<FamilyRef> FamilyOf(const ColumnFamily& family);
  void TakeSnapshot();
  absl::Status DatabaseGone() const;
  // Charges the budget for the transaction's present memory.
  void ChargeMemory();
  // Ends the transaction with `status` if that is Aborted. Returns `status`.
  absl::Status EndIfAborted(absl::Status status);
  void End(State state);

  absl::StatusOr<std::string> GetLocked(const ColumnFamily& family, std::string_view key, const ReadOptions& options,
                                        LockMode mode);
  // With `noted`, the key must not have changed at the commit.
  absl::StatusOr<std::string> Read(const ColumnFamily& family, const FamilyRef& resolved, std::string_view key,
                                   const ReadOptions& options, bool noted);
  absl::Status NoteRead(const Family& family, std::string_view key);
  // Locks a key. If there is a snapshot, the key must not have been written since.
  absl::Status LockKey(const Family& family, std::string_view key, LockMode mode);
  absl::Status LockRange(const Family& family, const ConflictRange& range);
  absl::Status Write(const ColumnFamily& family, ValueKind kind, std::string_view key, std::string_view value);
  // Moves the ranges read by destroyed iterators into `reads_`.
  void FoldRangeReads();
  // Return the sealed set of what must not have changed since the snapshot: of reads alone, and of reads and writes.
  ConflictSet AllReads() const;
  ConflictSet Conflicts() const;
  // Writes the batch, unless something has changed that must not. `locked`: the caller holds the locks of all its keys.
  absl::Status CommitIfUnchanged(std::string_view batch, const WriteOptions& options, bool locked);
  // Returns the locks that a prepared transaction needs and this one does not have yet.
  std::vector<HeldLock> LocksToPrepare() const;
  absl::Status LockToPrepare();
  // Writes the row.
  absl::Status WriteRow(std::string_view name);
  // `batch` has the updates that become of it.
  absl::Status EndPrepared(std::string batch, const WriteOptions& options, State state);
  void LetGoOfPrepared();
  const Family& FamilyById(ColumnFamilyId id) const;

  const std::shared_ptr<TransactionContext> context_;
  const TransactionOptions options_;
  const std::shared_ptr<LockTable::Owner> owner_;
  State state_ = State::kOpen;
  absl::Status aborted_;     // why it was rolled back, if not by the caller
  std::string prepared_as_;  // empty if it was never prepared
  absl::Status incomplete_;  // why it cannot be committed though it is prepared
  std::atomic<bool> in_call_{false};

  std::shared_ptr<const Snapshot> snapshot_;  // null if not taken yet
  std::shared_ptr<BatchIndex> batch_ = std::make_shared<BatchIndex>(&context_->core->expiry);
  ConflictSet reads_;
  bool reads_for_update_ = false;  // some of the reads
  static constexpr size_t kFoldRangeReads = 16;
  std::list<std::shared_ptr<RangeReads>> range_reads_;
  size_t fold_range_reads_at_ = kFoldRangeReads;
  std::vector<FamilyRef> families_;  // of `reads_` and `batch_`
  size_t charged_bytes_ = 0;
};

}  // namespace sepal
