// A directory that a verb fills as DIR.part and renames to DIR, atomically and durably, once it is complete.
//
// After an error it is removed; after a crash the next try removes it. A marker distinguishes it from a directory of
// others: the marker is durable before the first file, and is durably removed before the rename. So a DIR.part without
// it is empty, or complete, or not the verb's, and stays.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace sepal::tools {

class NewPart {
 public:
  // `verb`: "import". `remove` removes the verb's files there; Unavailable if another process is writing them.
  NewPart(std::string directory, std::string verb, std::function<absl::Status(const std::string& part)> remove);

  const std::string& path() const { return path_; }
  // Checks that a new directory would replace nothing and not lie inside its source.
  absl::Status CheckTarget(const std::string& source) const;
  // Removes the remains of an earlier try, or of this one. Only the verb's own files are removed.
  absl::Status Remove() const;
  // Creates and marks the directory. Call Remove before.
  absl::Status Begin() const;
  // After an error a complete directory stays, and the error says where.
  absl::Status Finish() const;

 private:
  absl::Status Unmark() const;
  absl::Status GiveName() const;
  // An error after the directory was complete.
  absl::Status WithPlaceOfWhole(const absl::Status& status, const std::string& place) const;

  const std::string directory_, path_, verb_, marker_;
  const std::function<absl::Status(const std::string& part)> remove_;
};

}  // namespace sepal::tools
