// The entries of a scan, for a range-based for loop.
//
//   sepal::ScanRange users = db.Scan({.prefix = "user:"});
//   for (auto [key, value] : users) Use(key, value);
//   if (!users.status().ok()) return users.status();
//
// A loop ends at an error as it does at the last entry, and only the status tells which: read it after the loop. In a
// program that is compiled without NDEBUG, a range whose loop ended with an error that was not read reports that on
// standard error when it is destroyed. So a loop over a temporary (`for (auto [key, value] : db.Scan())`) hides errors
// in release builds: use it only if missing the entries after an error does no harm.
//
// Keys and values are valid until the loop's next step. Each loop over a range starts again from the first entry and
// sees the same entries. Like an iterator (sepal/iterator.h), a range shows the database as it was when the range was
// made, and belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "sepal/export.h"
#include "sepal/iterator.h"

namespace sepal {

struct ScanEntry {
  std::string_view key = {};
  std::string_view value = {};
};

class SEPAL_EXPORT ScanRange {
 public:
  class Position {
   public:
    using value_type = ScanEntry;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    explicit Position(ScanRange* range) : range_(range) {}
    ScanEntry operator*() const { return {range_->entries_->key(), range_->entries_->value()}; }
    Position& operator++() {
      range_->entries_->Next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return range_->AtEnd(); }

   private:
    ScanRange* range_;
  };

  explicit ScanRange(std::unique_ptr<Iterator> entries) : entries_(std::move(entries)) {}
  ScanRange(ScanRange&&) = default;
  ScanRange& operator=(ScanRange&&) = delete;
  ~ScanRange() {
#ifndef NDEBUG
    if (entries_ != nullptr && ended_ && !status_read_) ReportUnreadError(entries_->status());
#endif
  }

  Position begin() {
    ended_ = status_read_ = false;
    entries_->SeekToFirst();
    return Position(this);
  }
  std::default_sentinel_t end() const { return {}; }

  // Ok unless a read failed, or the scan was refused.
  absl::Status status() const {
    status_read_ = true;
    return entries_->status();
  }

 private:
  bool AtEnd() {
    if (entries_->Valid()) return false;
    ended_ = true;
    status_read_ = false;
    return true;
  }
  // Does nothing if `status` is ok.
  static void ReportUnreadError(const absl::Status& status);

  std::unique_ptr<Iterator> entries_;
  bool ended_ = false;  // a loop reached the end, or an error
  mutable bool status_read_ = false;
};

}  // namespace sepal
