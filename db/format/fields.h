// Fields of (tag varint32, length varint, that many bytes), one after another. Version edits consist of them, and so
// does the end of each of an edit's fields that can grow. A reader that does not know a tag must refuse the whole if
// the tag is even (FailedPrecondition), and skips the field if it is odd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

// Writes fields through one scratch buffer, because a field's length precedes its bytes.
class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(out) {}
  // Writes field `tag` with the bytes that `fill` appends.
  template <class Fill>
  void Field(uint32_t tag, Fill fill) {
    field_.clear();
    fill(&field_);
    PutVarint(out_, tag);
    PutLengthPrefixed(out_, field_);
  }

 private:
  std::string* out_;
  std::string field_;
};

// Returns DataLoss that says that the field at `offset` is `what`.
absl::Status BadField(std::string_view whole, size_t offset, std::string_view what);
// Returns FailedPrecondition that says what to do.
absl::Status UnknownField(std::string_view whole, uint32_t tag);

// Calls take(tag, Decoder*) -> absl::StatusOr<bool> for each field of `bytes`, which errors name `whole`. `take`
// returns false for an unknown tag, and otherwise reads the whole field.
template <class Take>
absl::Status TakeFields(std::string_view whole, std::string_view bytes, Take take) {
  Decoder in(bytes);
  while (!in.empty()) {
    const size_t offset = bytes.size() - in.remaining();
    const uint32_t tag = in.Varint32();
    Decoder field(in.LengthPrefixed());
    if (!in.ok()) return BadField(whole, offset, "cut short");
    ASSIGN_OR_RETURN(const bool known, take(tag, &field));
    if (known && !field.Done()) return BadField(whole, offset, "bad");
    if (!known && tag % 2 == 0) return UnknownField(whole, tag);
  }
  return absl::OkStatus();
}

}  // namespace sepal
