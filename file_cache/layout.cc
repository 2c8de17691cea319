#include "file_cache/layout.h"

#include <algorithm>

#include "util/base/coding.h"
#include "util/base/hash.h"

namespace sepal::file_cache {

FileKey KeyOf(std::string_view unique_id) { return {Checksum64(unique_id, 1), Checksum64(unique_id, 2)}; }

PageName NameOf(const FileKey& file, uint64_t number, uint64_t file_bytes) {
  static_assert(kPageBytes < uint32_t{1} << 16);
  PageName name;
  name.length = static_cast<uint32_t>(std::min<uint64_t>(kPageBytes, file_bytes - number * kPageBytes));
  // A length takes 16 bits, and no file has as many pages as the rest can count.
  const uint64_t place = number << 16 | name.length;
  name.tag = std::max<uint64_t>(Mix64(file.tag ^ Mix64(place)), 1);
  name.seed = Mix64(file.seed + Mix64(~place));
  return name;
}

void EncodeEntry(const Entry& entry, char* bytes) {
  EncodeFixed64(bytes, entry.tag);
  EncodeFixed64(bytes + 8, entry.checksum);
}

Entry DecodeEntry(const char* bytes) { return {DecodeFixed64(bytes), DecodeFixed64(bytes + 8)}; }

std::string EncodeHeader() {
  std::string header;
  PutFixed64(&header, kMagic);
  PutFixed32(&header, kVersion);
  PutFixed32(&header, kPageBytes);
  PutFixed64(&header, Checksum64(header, 0));
  return header;
}

bool IsHeader(std::string_view bytes) { return bytes == EncodeHeader(); }

}  // namespace sepal::file_cache
