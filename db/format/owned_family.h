// The object behind every handle of a column family: it identifies the family and its database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/column_family.h"
#include "sepal/write_batch.h"
#include "util/base/numbers.h"

namespace sepal {

class OwnedFamily : public ColumnFamily {
 public:
  // `directory`, of the database, must outlive the handle.
  OwnedFamily(ColumnFamilyId id, uint64_t database_id, std::string_view directory)
      : id_(id), database_id_(database_id), directory_(directory) {}

  uint32_t id() const final { return id_.value(); }
  uint64_t database_id() const { return database_id_; }
  std::string_view directory() const { return directory_; }

 private:
  const ColumnFamilyId id_;
  const uint64_t database_id_;
  const std::string_view directory_;
};

// The engine's notes on a user's batch: the database of its column families, and whether its puts expire.
class BatchOrigin {
 public:
  // Notes that `batch` names `family`, and returns its id.
  static ColumnFamilyId Note(const ColumnFamily& family, WriteBatch* batch);
  // The same for all families that `other` names.
  static void NoteAll(const WriteBatch& other, WriteBatch* batch);
  static void Clear(WriteBatch* batch);
  // Swaps the updates of a batch that names no family; `bytes` are a batch without a put that expires (batch_format.h).
  static void SwapBytes(WriteBatch* batch, std::string* bytes) { batch->bytes_.swap(*bytes); }
  // For updates that the engine itself adds and removes.
  static std::string* Bytes(WriteBatch* batch) { return &batch->bytes_; }
  // Notes whether a put of the batch expires; all times were checked when they were put.
  static void SetExpires(WriteBatch* batch, bool expires) { batch->expires_ = expires; }
  // Returns whether a put of the batch expires; and whether there is one whose time was not checked.
  static bool Expires(const WriteBatch& batch) { return batch.expires_; }
  static bool ExpiryUnchecked(const WriteBatch& batch) { return batch.expiry_unchecked_; }
  // InvalidArgument if `batch` names a family of any database but the one with that id in that directory: a copy of its
  // files has the same id.
  static absl::Status Check(const WriteBatch& batch, uint64_t database_id, std::string_view directory);

 private:
  static void Note(uint64_t database_id, std::string_view directory, WriteBatch* batch);
};

}  // namespace sepal
