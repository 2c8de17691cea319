// A list of updates that is applied whole or not at all, also across column families, in the order they were added.
//
//   sepal::WriteBatch batch;
//   batch.Delete("a");
//   batch.Put("b", "2");
//   absl::Status status = db->Write(&batch);
//
// Not safe for concurrent use without a lock of the caller's. A batch may be written any number of times.
//
// Nothing is checked while a batch is filled. DB::Write refuses, whole, a batch with a key or value that is too long,
// one that takes over a quarter of `memory_limit` (some 64 bytes for each update beside its key and value), and one
// that names a family that was dropped or never made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/column_family.h"
#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT WriteBatch {
 public:
  // Receives the updates of a batch, in order. A status other than ok ends the iteration and is returned by it.
  class SEPAL_EXPORT Handler {
   public:
    virtual ~Handler() = default;
    virtual absl::Status Put(uint32_t family, std::string_view key, std::string_view value) = 0;
    virtual absl::Status Delete(uint32_t family, std::string_view key) = 0;
    virtual absl::Status SingleDelete(uint32_t family, std::string_view key) = 0;
  };

  WriteBatch();

  void Put(std::string_view key, std::string_view value) { Put(nullptr, key, value); }
  void Delete(std::string_view key) { Delete(nullptr, key); }
  // Deletes a key that was put exactly once since its last single deletion, and that is never deleted otherwise;
  // cheaper to compact away than `Delete`. With any other history an older value may reappear.
  void SingleDelete(std::string_view key) { SingleDelete(nullptr, key); }

  // The same for a column family; a null family is the default one. Only the family's id is kept: the handle must be
  // one of the database that the batch is written to, which cannot be checked.
  void Put(const ColumnFamily* family, std::string_view key, std::string_view value);
  void Delete(const ColumnFamily* family, std::string_view key);
  void SingleDelete(const ColumnFamily* family, std::string_view key);

  // Adds all updates of `other` after this batch's own. Together they must be fewer than 2^32.
  void Append(const WriteBatch& other);
  void Clear();

  // The number of updates.
  uint32_t Count() const;
  // The size of the batch as it goes to the log.
  size_t ByteSize() const { return bytes_.size(); }

  absl::Status Iterate(Handler* handler) const;

  // The batch as bytes (docs/reference/file-format.md, "Write batch"). `FromBytes` checks them and gives `DataLoss` for
  // any that no batch has.
  const std::string& bytes() const { return bytes_; }
  static absl::Status FromBytes(std::string_view bytes, WriteBatch* batch);

 private:
  std::string bytes_;
};

}  // namespace sepal
