// Writes one chunked value (db/format/value_reference.h) in parts into a value file of its own.
//
// Laws:
// - The file has only that value. So it is never emptied, but is removed as a whole with the last reference to it, and
//   no other write waits for it.
// - When Finish returns, the value and the file's name are durable. So a value that a log refers to survives a loss of
//   power, and no opening must write it anew.
// - Without Finish nothing refers to the file, which is removed with this object.
//
// One thread. Cost: of the value, only the chunk sums are kept in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/value_writer.h"
#include "sepal/file_system.h"

namespace sepal {

class ValueStreamWriter {
 public:
  // Creates the file, with space for a value of `bytes`, at least one. ResourceExhausted if there is no space.
  static absl::StatusOr<std::unique_ptr<ValueStreamWriter>> Begin(const ValueOutputs& to, uint64_t bytes);
  ValueStreamWriter(const ValueStreamWriter&) = delete;
  ValueStreamWriter& operator=(const ValueStreamWriter&) = delete;

  // Appends whole chunks; only the last part of the value may end within one.
  absl::Status Append(std::string_view part);
  // Called once, when all bytes were appended.
  absl::StatusOr<ValueWriter::Written> Finish();

 private:
  ValueStreamWriter(const ValueOutputs& to, FileNumber number, uint64_t bytes)
      : to_(to), number_(number), bytes_(bytes) {}

  const ValueOutputs& to_;
  const FileNumber number_;
  const uint64_t bytes_;
  ValueFileRef file_;  // released after the writer below is gone
  std::unique_ptr<WritableFile> writer_;
  uint64_t appended_ = 0;
  std::string sums_;
};

}  // namespace sepal
