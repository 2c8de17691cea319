#include "db/format/value_reference.h"

#include "db/format/value_file.h"
#include "sepal/db.h"
#include "util/base/coding.h"

namespace sepal {

ValueReference ReferenceTo(FileNumber file, uint64_t offset, std::string_view value) {
  return {file, offset, value.size(), Checksum32(value, ReferenceSeed(file, offset))};
}

std::string EncodeValueReference(const ValueReference& reference) {
  std::string bytes(1, '\0');
  PutVarint(&bytes, reference.file.value());
  PutVarint(&bytes, reference.offset);
  PutVarint(&bytes, reference.bytes);
  PutFixed32(&bytes, reference.checksum);
  return bytes;
}

std::optional<ValueReference> ParseValueReference(std::string_view bytes) {
  Decoder in(bytes);
  const uint8_t flags = in.Byte();
  ValueReference reference;
  reference.file = FileNumber(in.Varint());
  reference.offset = in.Varint();
  reference.bytes = in.Varint();
  reference.checksum = in.Fixed32();
  const bool possible = flags == 0 && reference.offset >= kValueFileHeaderBytes &&
                        reference.offset < kMostValueFileBytes && reference.bytes > 0 &&
                        reference.bytes <= kMaxValueBytes;
  if (!in.Done() || !possible || reference.file == FileNumber(0)) return std::nullopt;
  return reference;
}

}  // namespace sepal
