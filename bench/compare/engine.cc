#include "bench/compare/engine.h"

#include <unistd.h>

#include <iostream>

#include "absl/strings/str_format.h"

namespace sepal::compare {

void Fail(std::string_view what, std::string_view message) {
  std::cerr << "compare: " << what << ": " << message << std::endl;
  _exit(1);
}

std::string DescribeTables(double filter_bits_per_key, bool compress) {
  return absl::StrFormat(
      "%s, %s",
      filter_bits_per_key > 0 ? absl::StrFormat("Bloom filter %g bits a key", filter_bits_per_key) : "no filter",
      compress ? "Snappy" : "no compression");
}

}  // namespace sepal::compare
