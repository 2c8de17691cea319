// Moves the values out of value files that are to be emptied (db/decide/compaction/value_collection.h), as a compaction
// writes the entries that refer to them: each gets a reference to where its value lies then. Or brings values back
// beside their keys, where the last level is to have them (ColumnFamilyOptions::last_level_inline_below).
//
// Entries go through a window, so that the values of many are read together, and leave it in the order in which they
// came, each stored as it was. A value that cannot be read as it was written stays where it is, and so does what refers
// to it. So does a chunked value, which has a file of its own (db/act/files/value_stream_writer.h).
//
// Laws:
// - What an entry means does not change, but for the place of its value. Whatever still has the old reference, as a
//   table that a snapshot or an iterator holds, holds the old file too.
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

// What is to be done about values in value files.
struct ValueMoves {
  // Must outlive the job.
  ValueStore* store = nullptr;
  // Values are moved out of the files that it empties; null: of none.
  ValueCollectionRef collection = nullptr;
  // Values of fewer bytes come back beside their keys.
  uint64_t inline_below = 0;
  bool any() const { return collection != nullptr || inline_below > 0; }
};

class ValueMover {
 public:
  using Emit = std::function<absl::Status(const InternalKeyView& key, std::string_view value, bool first_of_key)>;
  ValueMover(ValueMoves moves, Emit emit) : moves_(std::move(moves)), emit_(std::move(emit)) {}

  absl::Status Add(const InternalKeyView& key, std::string_view value, bool first_of_key);
  // Passes on what is in the window. To be called at the end, too.
  absl::Status Drain();

  // Of values that were moved.
  uint64_t bytes_moved() const { return bytes_moved_; }
  std::vector<ValueFileRef> TakeFiles() { return std::move(files_); }

 private:
  struct Entry {
    InternalKey key;
    std::string value;
    bool first_of_key;
  };

  // The reference, if its value is to be read.
  std::optional<ValueReference> ToMove(const InternalKeyView& key, std::string_view value) const;
  absl::Status MoveAll();
  absl::Status MoveInline(const ValueReference& from, std::string_view stored, Entry* entry);
  absl::Status MoveOne(const ValueReference& from, std::string_view stored, Entry* entry);

  const ValueMoves moves_;
  const Emit emit_;
  std::vector<Entry> window_;
  std::vector<ValueReference> wanted_;  // of entries `of_`, ascending
  std::vector<size_t> of_;
  uint64_t wanted_bytes_ = 0;
  uint64_t bytes_moved_ = 0;
  std::vector<ValueFileRef> files_;
};

}  // namespace sepal
