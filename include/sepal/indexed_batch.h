// A write batch with reads: they see the database as if the batch had been written.
//
//   sepal::IndexedBatch batch(*db);
//   if (absl::Status put = batch.Put("a", "1"); !put.ok()) return put;
//   absl::StatusOr<std::string> a = batch.Get("a");  // "1"; db->Get("a") has what it had
//   ...
//   absl::Status written = db->Write(batch.updates());
//
// It has no isolation (sepal/transaction.h): it takes no locks and no snapshot, and Write does not check whether the
// keys that were read have changed. Each read sees the database at its own time, or ReadOptions::snapshot. To write
// only if the data that was read is unchanged, use a transaction, or DB::WriteIf with `updates()`.
//
// Not safe for concurrent use without external locking, iterators included; a merge operator or key filter that a read
// calls must not change the batch. ReadOptions that the DB's call refuses are refused if the read reaches the database,
// and not for a key that the batch alone decides. A batch may be written any number of times, and does not change by
// that; Clear makes it empty. It may outlive the database: calls then return FailedPrecondition. With a database that
// was opened read-only it can be filled and read, but not written.
//
// Errors beside those of DB's calls of the same names:
//   InvalidArgument     a key or value is too long; a family is one of another database; Merge, and the family has no
//                       merge operator; DeleteRange, and `end` sorts before `begin`; Put, and the time has passed
//   FailedPrecondition  the family was dropped, or the database is closed
//   NotFound            there is no savepoint (RollbackToSavepoint)
// After an error of an update the batch is as before the call. DB::Write also refuses a batch that takes more than a
// quarter of `memory_limit` (sepal/write_batch.h), and one with updates of a family that has since been dropped.
//
// Memory: about 150 bytes for each update, besides twice its key, and its value. Like that of a WriteBatch, it counts
// against no limit before it is written.
#pragma once

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
#include "sepal/abi.h"
#include "sepal/column_family.h"
#include "sepal/db.h"
#include "sepal/export.h"
#include "sepal/iterator.h"
#include "sepal/options.h"
#include "sepal/scan.h"
#include "sepal/write_batch.h"

namespace sepal {

class SEPAL_EXPORT IndexedBatch {
 public:
  explicit IndexedBatch(DB& db);
  // An object that was moved from may only be destroyed or assigned to. Iterators follow the batch.
  IndexedBatch(IndexedBatch&& other) noexcept;
  IndexedBatch& operator=(IndexedBatch&& other) noexcept;
  ~IndexedBatch();

  // Like the calls of WriteBatch, but checked at once. A `ttl` of `options` begins with this call, that of a family
  // with DB::Write. An expired key is absent for the batch's own reads too; if it expires before DB::Write, the write
  // succeeds and the key is absent.
  absl::Status Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                   const PutOptions& options = {});
  absl::Status Delete(const ColumnFamily& family, std::string_view key);
  absl::Status SingleDelete(const ColumnFamily& family, std::string_view key);
  absl::Status Merge(const ColumnFamily& family, std::string_view key, std::string_view operand);
  // Each range delete costs all later reads of the batch a comparison.
  absl::Status DeleteRange(const ColumnFamily& family, std::string_view begin, std::optional<std::string_view> end);

  // Like DB's, with the batch's updates over the database's entries. A read as of the past concerns the database alone:
  // the whole batch lies over that state. A `key_filter` is not asked about the batch's own keys, and not at all in a
  // family in which the batch has merges.
  absl::StatusOr<std::string> Get(const ColumnFamily& family, std::string_view key,
                                  const ReadOptions& options = kDefaultReadOptions) const;
  std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                                                    const ReadOptions& options = kDefaultReadOptions) const;
  // Never null. It shows the database as of now, or of the snapshot, with the batch's updates up to now, and no later
  // ones. After RollbackToSavepoint or Clear, or once the batch is destroyed, it is invalid, with FailedPrecondition;
  // it may outlive the batch.
  std::unique_ptr<Iterator> NewIterator(const ColumnFamily& family,
                                        const ReadOptions& options = kDefaultReadOptions) const;
  [[nodiscard]] ScanRange Scan(const ColumnFamily& family, const ReadOptions& options = kDefaultReadOptions) const {
    return ScanRange(NewIterator(family, options));
  }

  void SetSavepoint();
  // Undoes all updates since the last savepoint, and removes it.
  absl::Status RollbackToSavepoint();
  // Removes all updates and savepoints.
  void Clear();

  // The batch, for DB::Write, DB::WriteIf, WriteBatch::Append and the like; nothing is copied. Valid and unchanged
  // until the next call that changes the batch.
  const WriteBatch& updates() const;
  // The number of updates, and their size in the log.
  uint32_t Count() const { return updates().Count(); }
  size_t ByteSize() const { return updates().ByteSize(); }
  // About the memory of the batch, with its index.
  size_t MemoryBytes() const;

  // The same calls on the default column family.
  absl::Status Put(std::string_view key, std::string_view value, const PutOptions& options = {});
  absl::Status Delete(std::string_view key);
  absl::Status SingleDelete(std::string_view key);
  absl::Status Merge(std::string_view key, std::string_view operand);
  absl::Status DeleteRange(std::string_view begin, std::optional<std::string_view> end);
  absl::StatusOr<std::string> Get(std::string_view key, const ReadOptions& options = kDefaultReadOptions) const;
  std::vector<absl::StatusOr<std::string>> MultiGet(std::span<const std::string_view> keys,
                                                    const ReadOptions& options = kDefaultReadOptions) const;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = kDefaultReadOptions) const;
  [[nodiscard]] ScanRange Scan(const ReadOptions& options = kDefaultReadOptions) const {
    return ScanRange(NewIterator(options));
  }

 private:
  class Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace sepal
