// Ordered access to a column family, forward and backward.
//
//   std::unique_ptr<sepal::Iterator> it = db->NewIterator({.prefix = "user:"});
//   for (it->SeekToLast(); it->Valid(); it->Prev()) Use(it->key(), it->value());
//   if (!it->status().ok()) ...
//
// To go over all entries in ascending order, DB::Scan is shorter (sepal/scan.h).
//
// An iterator sees the database as it was when the iterator was created (or as of its snapshot), and keeps the
// memtables and files that it needs for that: destroy iterators that are no longer used. The snapshot and the options
// that it was created with may be destroyed earlier. An iterator may be used by one thread at a time. After the
// database is closed, an iterator is invalid and its status is `FailedPrecondition`.
//
// Cost: creating an iterator opens no table. A seek searches the memtables and one table of each sorted run, and may
// read from the disk for each. A step within a block takes some tens of instructions.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "sepal/abi.h"
#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT Iterator {
 public:
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator() = default;

  // Whether the iterator is positioned at an entry. False at either end and after an error; `status` tells which.
  virtual bool Valid() const = 0;

  // Moves to the first, or the last, entry within the bounds.
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // Moves to the first entry within the bounds that is at or after `target`. `target` may lie outside of the bounds,
  // and may point into the iterator's own `key` or `value`.
  virtual void Seek(std::string_view target) = 0;
  // Moves to the last entry within the bounds that is at or before `target`.
  virtual void SeekForPrev(std::string_view target) = 0;

  // Require Valid(). After a step past either end the iterator is invalid.
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // Require Valid(). The bytes are valid until the iterator moves or is destroyed.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  // Ok unless a read failed. After a failure the iterator stays invalid until the next seek.
  virtual absl::Status status() const = 0;
};

}  // namespace sepal
