// Writes one chunked value (db/format/value_reference.h) into a value file of its own, part by part.
//
// Laws:
// - The file has that value and nothing else. So it is never emptied: it goes as a whole, with the last that refers to
//   it, and no other write waits for it.
// - What Finish returns is durable, value and name. So what a log refers to is there whatever becomes of the machine,
// and
//   no opening has to write it anew.
// - Without Finish nothing refers to the file, which goes with this object.
//
// One thread. Cost: nothing is kept of the value but its chunk sums.
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
  // Makes the file, with space for a value of `bytes`, at least one: ResourceExhausted where there is none.
  static absl::StatusOr<std::unique_ptr<ValueStreamWriter>> Begin(const ValueOutputs& to, uint64_t bytes);
  ValueStreamWriter(const ValueStreamWriter&) = delete;
  ValueStreamWriter& operator=(const ValueStreamWriter&) = delete;

  // Of whole chunks, but for the last part of the value.
  absl::Status Append(std::string_view part);
  // Once, when all bytes were appended.
  absl::StatusOr<ValueWriter::Written> Finish();

 private:
  ValueStreamWriter(const ValueOutputs& to, FileNumber number, uint64_t bytes)
      : to_(to), number_(number), bytes_(bytes) {}

  const ValueOutputs& to_;
  const FileNumber number_;
  const uint64_t bytes_;
  ValueFileRef file_;  // it lets go once the writer below is gone
  std::unique_ptr<WritableFile> writer_;
  uint64_t appended_ = 0;
  std::string sums_;
};

}  // namespace sepal
