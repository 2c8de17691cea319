// A write batch that can be read: over what the database has, as if the batch had been written.
//
//   sepal::IndexedBatch batch(*db);
//   if (absl::Status put = batch.Put("a", "1"); !put.ok()) return put;
//   absl::StatusOr<std::string> a = batch.Get("a");  // "1"; db->Get("a") has what it had
//   ...
//   absl::Status written = db->Write(batch.updates());
//
// It takes no part in the isolation of transactions (sepal/transaction.h): no locks and no snapshot, and nobody checks
// at Write whether what was read has changed. Each read is of the database as of then, or of ReadOptions::snapshot. To
// write only where the database is as it was read, take a transaction, or DB::WriteIf with `updates()`.
//
// Not safe for concurrent use without external locking, iterators included; a merge operator or key filter that a read
// calls must not change the batch. ReadOptions that DB's call refuses are refused where the database is asked, and not
// for a key that the batch alone decides. A batch may be written any number of times, and goes on as it was; Clear makes
// it empty. It may outlive the database: calls then return FailedPrecondition. Of a database that was opened read-only it
// can be filled and read, and not written.
//
// Errors beside those of DB's calls of the same names:
//   InvalidArgument     a key or value is too long; a family is one of another database; Merge, and the family has no
//                       merge operator; DeleteRange, and `end` sorts before `begin`; Put, and the time has passed
//   FailedPrecondition  the family was dropped, or the database is closed
//   NotFound            there is no savepoint (RollbackToSavepoint)
// After an error of a write the batch is as before the call. What DB::Write refuses besides: a batch that takes more
// than a quarter of `memory_limit` (sepal/write_batch.h), and one with updates of a family that was dropped since.
//
// Memory: about 150 bytes for each update, besides twice its key, and its value. It counts against no limit, as that of
// a WriteBatch does not, before it is written.
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
  // What was moved from may only be destroyed or assigned to. Iterators go on with the batch.
  IndexedBatch(IndexedBatch&& other) noexcept;
  IndexedBatch& operator=(IndexedBatch&& other) noexcept;
  ~IndexedBatch();

  // As WriteBatch's, but for the default family where none is given, and checked at once. A `ttl` of `options` begins
  // with this call, that of a family with DB::Write. A key whose time has come is not there for the batch's own reads
  // either; if it comes before DB::Write, that writes a put that has expired, and the key is absent.
  absl::Status Put(const ColumnFamily& family, std::string_view key, std::string_view value,
                   const PutOptions& options = {});
  absl::Status Delete(const ColumnFamily& family, std::string_view key);
  absl::Status SingleDelete(const ColumnFamily& family, std::string_view key);
  absl::Status Merge(const ColumnFamily& family, std::string_view key, std::string_view operand);
  // Each delete of a range is asked by all later reads of the batch.
  absl::Status DeleteRange(const ColumnFamily& family, std::string_view begin, std::optional<std::string_view> end);

  // As DB's, with the batch's updates over what the database has. Moments of the past are the database's: the batch
  // lies over them whole. A `key_filter` is not asked about the batch's own keys, and not at all about those of a
  // family in which the batch has merged.
  absl::StatusOr<std::string> Get(const ColumnFamily& family, std::string_view key,
                                  const ReadOptions& options = kDefaultReadOptions) const;
  std::vector<absl::StatusOr<std::string>> MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                                                    const ReadOptions& options = kDefaultReadOptions) const;
  // Never null. It shows the database as of now, or of the snapshot, with the batch's updates up to now, and none that
  // follow. After RollbackToSavepoint or Clear, or when the batch has gone, it is invalid, with FailedPrecondition; it
  // may outlive the batch.
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

  // The batch, for DB::Write, DB::WriteIf, WriteBatch::Append and the like; nothing is copied. Valid, and what it was,
  // until the next call that changes the batch.
  const WriteBatch& updates() const;
  // The number of updates, and their size in the log.
  uint32_t Count() const { return updates().Count(); }
  size_t ByteSize() const { return updates().ByteSize(); }
  // About what the batch takes in memory, with its index.
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
