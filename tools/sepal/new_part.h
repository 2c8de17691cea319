// A directory that a verb fills for the user, as DIR.part, and that gets the name DIR, in one step and for good, once
// it is whole.
//
// An error removes it; what a crash leaves of it goes with the next try. A marker tells it from what others have put
// there: it is durable before the first file, and gone, durably too, before the new name. So a DIR.part without it is
// empty, or whole, or not the verb's, and stays.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace sepal::tools {

class NewPart {
 public:
  // `verb`: "import". `remove` removes what the verb writes there, if no other process does; Unavailable if one does.
  NewPart(std::string directory, std::string verb, std::function<absl::Status(const std::string& part)> remove);

  const std::string& path() const { return path_; }
  // A new directory neither replaces anything nor comes into what it is made of.
  absl::Status CheckTarget(const std::string& source) const;
  // What an earlier try has left, or this one. Nothing that is not the verb's is removed.
  absl::Status Remove() const;
  // Marks it. Remove comes before.
  absl::Status Begin() const;
  // After an error it stays, if it is whole, and the error says where.
  absl::Status Finish() const;

 private:
  absl::Status Unmark() const;
  absl::Status GiveName() const;
  // What went wrong once it was whole.
  absl::Status WithPlaceOfWhole(const absl::Status& status, const std::string& place) const;

  const std::string directory_, path_, verb_, marker_;
  const std::function<absl::Status(const std::string& part)> remove_;
};

}  // namespace sepal::tools
