// The value files of a database under repair: where each value is, whatever has become of the file that it was in.
//
// Laws:
// - A value is what its reference's checksum says, wherever it is found: in its file, in that file with a damaged
//   header, or in one whose header says that it is the file that is meant.
// - What is whole stays as it is. A value from a file that the database would not read is copied to a new file, and so
//   is what only the logs refer to (db/engine/open/recover_values.cc says why). A chunked value's chunk sums follow
//   from it: one that has lost them alone is copied.
// - A compressed value is checked and copied as it is stored.
// - Nothing is removed here.
//
// Not safe for concurrent use. Memory for the largest value that is not chunked, and for the list of files.
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

  // Before anything is looked for: the files that there are.
  void AddFile(FileNumber number, uint64_t bytes);
  // How what is copied is written.
  void Start(ValueStore::Writing writing) { writing_ = std::move(writing); }
  // Before the first that is looked for. A database's id may be known late, from its first table.
  void Identify(uint64_t database_id);

  // Of files that are as they should be alone.
  ValueStore* store() { return &store_; }
  const std::map<FileNumber, uint64_t>& files() const { return files_; }

  enum class Place : uint8_t { kThere, kElsewhere, kNowhere };
  // Where the value is, which is then the last one that was found. `*why`: not ok unless it is there. An error says
  // nothing of the value: a file could not be read.
  absl::StatusOr<Place> Find(const ValueReference& reference, absl::Status* why);
  // Of the last value that was found.
  absl::StatusOr<ValueReference> Copy();
  // Makes the copies durable, but for the names of their files.
  absl::Status Sync();

  // A file that may not go without a copy: something was not in it as it should be.
  bool IsDamaged(FileNumber number) const { return damaged_.contains(number); }
  // A file that has what something refers to.
  void NoteUsed(FileNumber number) { used_.insert(number); }
  bool IsUsed(FileNumber number) const { return used_.contains(number); }

 private:
  absl::Status ReadHeaders();
  // Whether the value is in this file, whatever the header says.
  absl::StatusOr<bool> IsIn(FileNumber file, const ValueReference& reference);
  absl::StatusOr<ValueReference> CopyChunked();

  Directory* const directory_;
  ValueStore store_;
  ValueStore::Writing writing_;
  bool writes_ = false;  // the store was told of `writing_`, once the database's id was known
  uint64_t database_id_ = 0;
  std::map<FileNumber, uint64_t> files_;  // with their bytes
  bool headers_read_ = false;
  std::map<FileNumber, FileNumber> misnamed_;  // by the number in the header
  std::set<FileNumber> damaged_;
  std::set<FileNumber> used_;
  // The last value that was found: as references name it, where it is, and, unless it is chunked, the bytes that are
  // stored.
  ValueReference found_;
  FileNumber found_in_;
  std::string stored_;
};

}  // namespace sepal
