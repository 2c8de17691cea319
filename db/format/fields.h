// Fields of (tag varint32, length varint, that many bytes), one behind the other: what version edits consist of, and
// what stands at the end of those of their fields that can grow. A reader that does not know a tag must refuse what
// holds it if the tag is even (FailedPrecondition), and skips the field if it is odd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

// Writes fields through one scratch buffer, since a field's length comes before its bytes.
class FieldWriter {
 public:
  explicit FieldWriter(std::string* out) : out_(out) {}
  // What `fill` appends becomes the field `tag`.
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

// DataLoss: the field at `offset` is `what`.
absl::Status BadField(std::string_view whole, size_t offset, std::string_view what);
// FailedPrecondition, which names what to do.
absl::Status UnknownField(std::string_view whole, uint32_t tag);

// Calls take(tag, Decoder*) -> absl::StatusOr<bool> for each field of `bytes`, which errors call `whole`. `take`
// returns false for a tag that it does not know, and otherwise reads the field to its end.
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
