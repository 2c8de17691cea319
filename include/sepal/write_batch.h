// A list of updates, to one or several column families, that is applied whole or not at all, in the order in which the
// updates were added.
//
//   sepal::WriteBatch batch;
//   batch.Delete("a");
//   batch.Put("b", "2");
//   absl::Status status = db->Write(batch);
//
// Not safe for concurrent use without external locking. A batch may be written any number of times.
//
// Nothing is checked while a batch is filled. DB::Write refuses the whole batch if a key or value is too long, if the
// batch takes more than a quarter of `memory_limit` (counting about 64 bytes for each update besides its key and
// value) and `Options::large_batches` is off, or if it names a family that was dropped or never created, or one of
// another database.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/column_family.h"
#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT WriteBatch {
 public:
  // Receives the updates of a batch in order. A status other than ok ends the iteration, which then returns it.
  class SEPAL_EXPORT Handler {
   public:
    virtual ~Handler() = default;
    virtual absl::Status Put(uint32_t family, std::string_view key, std::string_view value) = 0;
    virtual absl::Status Delete(uint32_t family, std::string_view key) = 0;
    virtual absl::Status SingleDelete(uint32_t family, std::string_view key) = 0;
    // Unimplemented unless it is overridden: a handler that knows no merges must not skip them.
    virtual absl::Status Merge(uint32_t family, std::string_view key, std::string_view operand);
    // [begin, end); without an end, up to the last key. Unimplemented unless it is overridden, for the same reason.
    virtual absl::Status DeleteRange(uint32_t family, std::string_view begin, std::optional<std::string_view> end);
    // The same for a put that expires.
    virtual absl::Status PutExpiring(uint32_t family, std::string_view key, std::string_view value,
                                     std::chrono::system_clock::time_point expires_at);
  };

  WriteBatch();

  // Updates of the default column family.
  void Put(std::string_view key, std::string_view value);
  // The key expires at `expires_at`, in milliseconds: from then on it is absent, as if it had been deleted
  // (docs/guide/expiry.md). DB::Write refuses the batch (InvalidArgument) if that time has passed.
  void Put(std::string_view key, std::string_view value, std::chrono::system_clock::time_point expires_at);
  void Delete(std::string_view key);
  // Deletes a key that was put exactly once since its last single deletion, and that is never deleted with `Delete`.
  // Cheaper to compact away than `Delete`. With any other history an older value may reappear.
  void SingleDelete(std::string_view key);

  // Merges `operand` into the value of `key` (sepal/merge_operator.h). DB::Write refuses the batch (InvalidArgument) if
  // the family has no merge operator. Not for keys that are deleted with SingleDelete.
  void Merge(std::string_view key, std::string_view operand);

  // Deletes all keys in [begin, end), or from `begin` up to the last key if there is no end, at the cost of one update,
  // however many keys there are. DB::Write refuses the batch (InvalidArgument) if `end` sorts before `begin`; if they
  // are equal, nothing is deleted. Later puts of the batch in the range are kept.
  void DeleteRange(std::string_view begin, std::optional<std::string_view> end);

  // The same for a column family of the database that the batch is written to: DB::Write refuses a batch that names one
  // of another database (InvalidArgument). The batch keeps the family's id and not the handle.
  void Put(const ColumnFamily& family, std::string_view key, std::string_view value);
  void Put(const ColumnFamily& family, std::string_view key, std::string_view value,
           std::chrono::system_clock::time_point expires_at);
  void Delete(const ColumnFamily& family, std::string_view key);
  void SingleDelete(const ColumnFamily& family, std::string_view key);
  void Merge(const ColumnFamily& family, std::string_view key, std::string_view operand);
  void DeleteRange(const ColumnFamily& family, std::string_view begin, std::optional<std::string_view> end);

  // Appends all updates of `other`. Together the batches must have fewer than 2^32 updates.
  void Append(const WriteBatch& other);
  void Clear();

  // The number of updates.
  uint32_t Count() const;
  // The size of the batch in the log, in bytes.
  size_t ByteSize() const { return bytes_.size(); }

  absl::Status Iterate(Handler& handler) const;

  // The batch as bytes (docs/reference/file-format.md, "Write batch"), which contain ids of column families but do not
  // identify the database. `FromBytes` checks them, and returns `DataLoss` for bytes that are no encoding of a batch.
  const std::string& bytes() const { return bytes_; }
  static absl::StatusOr<WriteBatch> FromBytes(std::string_view bytes);

 private:
  friend class BatchOrigin;

  std::string bytes_;
  bool expires_ = false;           // it has a put that does
  bool expiry_unchecked_ = false;  // of one of them DB::Write must look whether its time has passed
  // The database whose families the batch names. 0: it names none, or only the default one without a handle.
  uint64_t database_id_ = 0;
  std::string directory_;
  std::string second_directory_;  // of another database whose families it names too
};

}  // namespace sepal
