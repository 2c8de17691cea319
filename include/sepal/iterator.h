// Ordered access to a column family, forward and backward.
//
//   const std::optional<std::string> end = sepal::EndOfPrefix("user:");
//   std::unique_ptr<sepal::Iterator> it = db->NewIterator({.lower_bound = "user:", .upper_bound = end});
//   for (it->SeekToFirst(); it->Valid(); it->Next()) Use(it->key(), it->value());
//   if (!it->status().ok()) ...
//
// An iterator sees the database as it was when the iterator was made (or as of its snapshot), and keeps alive what that
// needs: close iterators that are no longer read. It needs neither the snapshot nor the options that it was made with.
// One thread at a time. After the database is closed an iterator is not valid and its status is `FailedPrecondition`.
//
// Cost: making one opens no table. A seek searches the memtables and one table of each sorted run, and may have to read
// from the disk for each. A step within a block takes some tens of instructions.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "sepal/export.h"

namespace sepal {

class SEPAL_EXPORT Iterator {
 public:
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;
  virtual ~Iterator() = default;

  // Whether the iterator stands at an entry. False at either end and after an error: ask `status` to tell them apart.
  virtual bool Valid() const = 0;

  // To the first and the last entry within the bounds.
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // To the first entry within the bounds at or after `target`, which may itself lie outside of them. Its bytes may be
  // the iterator's own, of `key` or `value`.
  virtual void Seek(std::string_view target) = 0;
  // To the last entry within the bounds at or before `target`.
  virtual void SeekForPrev(std::string_view target) = 0;

  // Requires Valid(). At an end the iterator becomes invalid.
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // Require Valid(). The bytes live until the iterator moves or dies.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;

  // Ok unless a read failed; an iterator that failed stays invalid until the next seek.
  virtual absl::Status status() const = 0;
};

}  // namespace sepal
