#include "bench/compare/engine.h"

#include <unistd.h>

#include <iostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "util/base/coding.h"

namespace sepal::compare {

void Fail(std::string_view what, std::string_view message) {
  std::cerr << "compare: " << what << ": " << message << std::endl;
  _exit(1);
}

void Session::Increment(std::string_view key, uint64_t by) {
  std::string_view value;
  const uint64_t before = Get(key, &value) ? DecodeFixed64(value.data()) : 0;
  std::string sum;
  PutFixed64(&sum, before + by);
  Put(key, sum, false);
}

void Session::DeleteRange(std::string_view begin, std::string_view end) {
  std::vector<std::string> keys;
  const std::unique_ptr<Cursor> cursor = NewCursor();
  for (cursor->Seek(begin); cursor->Valid() && cursor->key() < end; cursor->Next()) keys.emplace_back(cursor->key());
  for (const std::string& key : keys) Delete(key);
}

std::string DescribeTables(double filter_bits_per_key, bool compress) {
  return absl::StrFormat(
      "%s, %s",
      filter_bits_per_key > 0 ? absl::StrFormat("Bloom filter %g bits a key", filter_bits_per_key) : "no filter",
      compress ? "Snappy" : "no compression");
}

}  // namespace sepal::compare
