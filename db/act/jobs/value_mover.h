// Moves values out of value files that are to be emptied (db/decide/compaction/value_collection.h) while a compaction
// writes the entries that refer to them: each entry gets a reference to its value's new place. Or moves values back
// into the tables, if the last level is to have them (ColumnFamilyOptions::last_level_inline_below).
//
// Entries pass through a window, so that the values of many are read together, and leave it in the same order; moved
// values keep their stored form. A value that cannot be read as it was written stays where it is, and its entry is
// unchanged. The same goes for a chunked value, which has a file of its own (db/act/files/value_stream_writer.h).
//
// Laws:
// - Only the place of an entry's value changes, not its meaning. Whatever still has the old reference, such as a table
//   that a snapshot or an iterator holds, holds the old file too.
// - The caller syncs the store's `moved` writer before the edit that names the tables, and keeps `TakeFiles` until they
//   hold the files.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "db/act/files/value_store.h"
#include "db/decide/compaction/value_collection.h"
#include "db/format/value_reference.h"
#include "table/key/internal_key.h"

namespace sepal {

// What to do with values in value files.
struct ValueMoves {
  // Must outlive the job.
  ValueStore* store = nullptr;
  // Values are moved out of the files that it empties; null if there are none.
  ValueCollectionRef collection = nullptr;
  // Values smaller than this are moved back into the tables.
  uint64_t inline_below = 0;
  bool any() const { return collection != nullptr || inline_below > 0; }
};

class ValueMover {
 public:
  using Emit = std::function<absl::Status(const InternalKeyView& key, std::string_view value, bool first_of_key)>;
  ValueMover(ValueMoves moves, Emit emit) : moves_(std::move(moves)), emit_(std::move(emit)) {}

  absl::Status Add(const InternalKeyView& key, std::string_view value, bool first_of_key);
  // Processes the window. To be called at the end, too.
  absl::Status Drain();

  // The bytes of moved values.
  uint64_t bytes_moved() const { return bytes_moved_; }
  std::vector<ValueFileRef> TakeFiles() { return std::move(files_); }

 private:
  struct Entry {
    InternalKey key;
    std::string value;
    bool first_of_key;
  };

  // Returns the reference, if its value is to be read.
  std::optional<ValueReference> ToMove(const InternalKeyView& key, std::string_view value) const;
  absl::Status MoveAll();
  absl::Status MoveInline(const ValueReference& from, std::string_view stored, Entry* entry);
  absl::Status MoveOne(const ValueReference& from, std::string_view stored, Entry* entry);

  const ValueMoves moves_;
  const Emit emit_;
  std::vector<Entry> window_;
  std::vector<ValueReference> wanted_;  // of the entries `of_`, ascending
  std::vector<size_t> of_;
  uint64_t wanted_bytes_ = 0;
  uint64_t bytes_moved_ = 0;
  std::vector<ValueFileRef> files_;
};

}  // namespace sepal
