// The value files of a database under repair: finds each value, whatever has become of its file.
//
// Laws:
// - A value is identified by its reference's checksum, wherever it is found: in its file, in that file with a damaged
//   header, or in a file whose header says that it is the one meant.
// - Intact values stay where they are. A value in a file that the database would not read is copied to a new file, as
//   are values that only the logs refer to (db/engine/open/recover_values.cc says why). A chunked value's chunk sums
//   are computed from it: one that has lost only them is copied.
// - A compressed value is checked and copied in its stored form.
// - Nothing is removed here.
//
// Not safe for concurrent use. Needs memory for the largest value that is not chunked, and for the list of files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/value_store.h"
#include "db/format/value_reference.h"
#include "sepal/file_system.h"

namespace sepal {

class RescuedValues {
 public:
  explicit RescuedValues(Directory* directory)
      : directory_(directory), store_(directory, /*beside_a_writer=*/false, nullptr) {}

  // Adds an existing file, before anything is looked for.
  void AddFile(FileNumber number, uint64_t bytes);
  // Sets how copies are written.
  void Start(ValueStore::Writing writing) { writing_ = std::move(writing); }
  // Called before the first search. A database's id may become known late, from its first table.
  void Identify(uint64_t database_id);

  // Reads only intact files.
  ValueStore* store() { return &store_; }
  const std::map<FileNumber, uint64_t>& files() const { return files_; }

  enum class Place : uint8_t { kThere, kElsewhere, kNowhere };
  // Returns where the value is, and remembers it as the last one found. `*why`: not ok if it is not there. An error
  // says nothing of the value: a file could not be read.
  absl::StatusOr<Place> Find(const ValueReference& reference, absl::Status* why);
  // Copies the last value found.
  absl::StatusOr<ValueReference> Copy();
  // Makes the copies durable, except for the names of their files.
  absl::Status Sync();

  // Returns whether a part of the file was not as it should be, so that it must not be removed without a copy.
  bool IsDamaged(FileNumber number) const { return damaged_.contains(number); }
  // Notes that something refers to the file.
  void NoteUsed(FileNumber number) { used_.insert(number); }
  bool IsUsed(FileNumber number) const { return used_.contains(number); }

 private:
  absl::Status ReadHeaders();
  // Returns whether the value is in this file, whatever the header says.
  absl::StatusOr<bool> IsIn(FileNumber file, const ValueReference& reference);
  absl::StatusOr<ValueReference> CopyChunked();

  Directory* const directory_;
  ValueStore store_;
  ValueStore::Writing writing_;
  bool writes_ = false;  // the store was told of `writing_`, once the database's id was known
  uint64_t database_id_ = 0;
  std::map<FileNumber, uint64_t> files_;  // with their sizes
  bool headers_read_ = false;
  std::map<FileNumber, FileNumber> misnamed_;  // by the number in the header
  std::set<FileNumber> damaged_;
  std::set<FileNumber> used_;
  // The last value found: its name in references, its place, and its stored bytes unless it is chunked.
  ValueReference found_;
  FileNumber found_in_;
  std::string stored_;
};

}  // namespace sepal
