// Transactions: reads and writes that take effect together, at one moment, or not at all.
//
//   absl::Status moved = db->RunTransaction({.isolation = sepal::Isolation::kSerializable}, [](sepal::Transaction& txn)
//   {
//     absl::StatusOr<std::string> from = txn.Get("alice");
//     if (!from.ok()) return from.status();
//     ...
//     if (absl::Status put = txn.Put("alice", less); !put.ok()) return put;
//     return txn.Put("bob", more);
//   });
//
// A transaction collects its writes in memory. Its own reads and iterators see them; others see them only after Commit,
// which writes all of them as one batch. docs/guide/transactions.md lists the anomalies that each isolation level
// prevents.
//
// It reads as of a snapshot, which the first Get, MultiGet or iterator takes, and with optimistic locking the first
// call of any kind.
//
// Optimistic transactions take no locks: Commit checks that others have written no relevant key since the snapshot. The
// check is exact: it never fails for lack of history. Pessimistic ones lock each key before they write it, or read it
// with GetForUpdate, wait for locks that others hold, and keep their own to the end. While pessimistic transactions are
// open, writes without a transaction (and commits of optimistic ones) respect their locks.
//
// Errors beside those of DB:
//   Aborted            another write conflicts, or the transaction was chosen to end a deadlock; the message names the
//                      key. The transaction has been rolled back: run it again from the beginning (DB::RunTransaction
//                      does)
//   DeadlineExceeded   a lock was not free within `lock_timeout`. The transaction is as it was before the call
//   ResourceExhausted  its writes and locks do not fit into `memory_limit`. Nothing was added
//   FailedPrecondition it has been committed or rolled back, or two threads use it at once
//   NotFound           there is no savepoint (RollbackToSavepoint)
//
// Two-phase commit: Prepare promises that Commit will not fail because of other writers, also after a crash. So a
// transaction over several databases is committed in all of them or in none: each part prepares; if all succeed, each
// commits.
//
//   if (absl::Status prepared = txn->Prepare("order 17"); !prepared.ok()) ...   // tell the coordinator: no
//   ...                                                                         // yes; wait for its decision
//   return all_are_prepared ? txn->Commit({.sync = true}) : txn->Rollback();
//
// A prepared transaction is stored in the database, as durable as other data: it survives closing and crashes, and
// checkpoints contain it. It holds its locks until it is committed or rolled back, also after the database is reopened.
// Destroying its Transaction object does not roll it back: DB::FindPrepared returns another one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/column_family.h"
#include "sepal/export.h"
#include "sepal/iterator.h"
#include "sepal/options.h"
#include "sepal/scan.h"
#include "sepal/snapshot.h"

namespace sepal {

enum class Isolation : uint8_t {
  // All plain reads are of one snapshot, and no key that the transaction writes, or reads with GetForUpdate, was
  // written by others between that snapshot and the commit. Two transactions that each read keys that the other writes
  // can both commit (write skew).
  kSnapshot,
  // Moreover, nothing that was read has changed by the commit: no key, found or absent, and no range that an iterator
  // covered, phantoms included. The result is as if the transactions had run one after another. A transaction that
  // writes nothing, and has read nothing with GetForUpdate or GetForShare, always commits.
  kSerializable,
};

enum class Locking : uint8_t { kOptimistic, kPessimistic };

inline constexpr size_t kMaxTransactionNameBytes = 255;

// An entry of DB::PreparedTransactions.
struct PreparedTransaction {
  std::string name;
  std::chrono::system_clock::time_point prepared = {};  // when, by the wall clock
  uint32_t updates = 0;
  uint64_t bytes = 0;  // of its updates
  uint64_t locks = 0;  // of keys and ranges
};

struct TransactionOptions {
  Isolation isolation = Isolation::kSnapshot;
  Locking locking = Locking::kOptimistic;
  // The maximum wait of a pessimistic transaction for one lock. Zero: no wait. Not negative.
  std::chrono::milliseconds lock_timeout{1000};
};

// A transaction and its iterators are used by one thread at a time. It may outlive the database: calls then return
// FailedPrecondition.
//
// Memory: its writes about 150 bytes each beside key and value, and its locks about 150 bytes each beside the key. Both
// count against `memory_limit`, of which all transactions together may have half. A commit is a batch, with the limits
// of batches (sepal/db.h).
class SEPAL_EXPORT Transaction {
 public:
  Transaction() = default;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  // Rolls back unless it was committed, or is prepared.
  virtual ~Transaction() = default;

  // Like DB's. `ReadOptions::snapshot` must be null (else InvalidArgument): the transaction has its own.
  virtual absl::StatusOr<std::string> Get(const ColumnFamily& family, std::string_view key,
                                          const ReadOptions& options = kDefaultReadOptions) = 0;
  virtual std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily& family,
                                                            std::span<const std::string_view> keys,
                                                            const ReadOptions& options = kDefaultReadOptions) = 0;
  // Reads `key`, found or not, and ensures that no other writer changes it before the commit. A pessimistic transaction
  // locks it first, then reads it as of its snapshot or, if it has none yet, as of now.
  virtual absl::StatusOr<std::string> GetForUpdate(const ColumnFamily& family, std::string_view key,
                                                   const ReadOptions& options = kDefaultReadOptions) = 0;
  // The same with a shared lock, which several transactions may hold; it becomes exclusive when the key is written.
  virtual absl::StatusOr<std::string> GetForShare(const ColumnFamily& family, std::string_view key,
                                                  const ReadOptions& options = kDefaultReadOptions) = 0;
  // Never null. The iterator shows the transaction's writes up to now, and no later ones. After RollbackToSavepoint, or
  // the transaction's end, it is invalid, with FailedPrecondition. It may outlive the transaction.
  virtual std::unique_ptr<Iterator> NewIterator(const ColumnFamily& family,
                                                const ReadOptions& options = kDefaultReadOptions) = 0;
  [[nodiscard]] ScanRange Scan(const ColumnFamily& family, const ReadOptions& options = kDefaultReadOptions) {
    return ScanRange(NewIterator(family, options));
  }

  // Like DB's, but nothing reaches the log before Commit. A `ttl` of `options` begins with this call, that of a family
  // with the commit. An expired key is absent for the transaction's own reads too; if it expires before the commit, the
  // commit succeeds and the key is absent.
  virtual absl::Status Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                           const PutOptions& options = {}) = 0;
  virtual absl::Status Delete(const ColumnFamily& family, std::string_view key) = 0;
  virtual absl::Status SingleDelete(const ColumnFamily& family, std::string_view key) = 0;
  virtual absl::Status Merge(const ColumnFamily& family, std::string_view key, std::string_view operand) = 0;
  // A pessimistic transaction locks the whole range, which costs a check of every lock that is held.
  virtual absl::Status DeleteRange(const ColumnFamily& family, std::string_view begin,
                                   std::optional<std::string_view> end) = 0;

  // RollbackToSavepoint undoes all writes since the last savepoint, and removes it. Locks stay, and reads still count.
  virtual absl::Status SetSavepoint() = 0;
  virtual absl::Status RollbackToSavepoint() = 0;

  // Checks the transaction as Commit does, locks what it has written (if it is serializable, also what it has read; in
  // any case what it has read with GetForUpdate or GetForShare), and stores it durably under `name`, which has 1 to
  // kMaxTransactionNameBytes of any bytes. From then on it takes no updates and no locks (FailedPrecondition); reads
  // still work, but are not checked. AlreadyExists if the name is taken. After Aborted the transaction has been rolled
  // back; after any other error (also DeadlineExceeded: a lock was not free within `lock_timeout`), if the database
  // still accepts writes, it is as before the call, except that a pessimistic one keeps the locks that it got.
  //
  // Cost: a sync, and its updates are written twice, by Prepare and by Commit. While any transaction is prepared, all
  // other writes respect its locks, as those of pessimistic ones. It keeps no log alive. Versions before 0.2 cannot
  // open a database that has had one.
  virtual absl::Status Prepare(std::string_view name) = 0;
  // Writes everything, and ends the transaction. After Aborted it has been rolled back; after any other error, if the
  // database still accepts writes, it is as before the call: commit it again or roll it back. A prepared one is never
  // Aborted; without `sync` a loss of power may bring it back, prepared and uncommitted. It does not accept
  // `disable_wal`.
  virtual absl::Status Commit(const WriteOptions& options = {}) = 0;
  // Ends the transaction without writing. For a prepared one this may fail, and is durable when it returns.
  virtual absl::Status Rollback() = 0;

  // Unique among the transactions of one opening of a database; later ones have higher numbers.
  virtual uint64_t id() const = 0;
  // The number of updates that Commit would write.
  virtual uint32_t Count() const = 0;

  // The same calls on the default column family.
  absl::StatusOr<std::string> Get(std::string_view key, const ReadOptions& options = kDefaultReadOptions) {
    return Get(DefaultColumnFamily(), key, options);
  }
  std::vector<absl::StatusOr<std::string>> MultiGet(std::span<const std::string_view> keys,
                                                    const ReadOptions& options = kDefaultReadOptions) {
    return MultiGet(DefaultColumnFamily(), keys, options);
  }
  absl::StatusOr<std::string> GetForUpdate(std::string_view key, const ReadOptions& options = kDefaultReadOptions) {
    return GetForUpdate(DefaultColumnFamily(), key, options);
  }
  absl::StatusOr<std::string> GetForShare(std::string_view key, const ReadOptions& options = kDefaultReadOptions) {
    return GetForShare(DefaultColumnFamily(), key, options);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = kDefaultReadOptions) {
    return NewIterator(DefaultColumnFamily(), options);
  }
  [[nodiscard]] ScanRange Scan(const ReadOptions& options = kDefaultReadOptions) {
    return Scan(DefaultColumnFamily(), options);
  }
  absl::Status Put(std::string_view key, std::string_view value, const PutOptions& options = {}) {
    return Put(DefaultColumnFamily(), key, value, options);
  }
  absl::Status Delete(std::string_view key) { return Delete(DefaultColumnFamily(), key); }
  absl::Status SingleDelete(std::string_view key) { return SingleDelete(DefaultColumnFamily(), key); }
  absl::Status Merge(std::string_view key, std::string_view operand) {
    return Merge(DefaultColumnFamily(), key, operand);
  }
  absl::Status DeleteRange(std::string_view begin, std::optional<std::string_view> end) {
    return DeleteRange(DefaultColumnFamily(), begin, end);
  }

 protected:
  // Valid as long as the transaction.
  virtual const ColumnFamily& DefaultColumnFamily() const = 0;
};

}  // namespace sepal
