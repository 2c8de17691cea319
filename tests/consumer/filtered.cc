// Builds a filter, saves it, and asks what was loaded: what a user of sepal::filter does, without a database.
#include <cstdio>
#include <string>

#include "sepal/filter.h"

int main() {
  absl::StatusOr<sepal::filters::BloomFilter> filter = sepal::filters::BloomFilter::ForKeys(1000, 0.001);
  if (!filter.ok()) return std::fprintf(stderr, "%s\n", filter.status().ToString().c_str()), 1;
  filter->Add("password1");
  const absl::StatusOr<sepal::filters::AnyFilter> loaded = sepal::filters::ParseFilter(filter->Serialize(), "saved");
  if (!loaded.ok()) return std::fprintf(stderr, "%s\n", loaded.status().ToString().c_str()), 1;
  const absl::StatusOr<bool> weak = sepal::filters::MayContain(*loaded, "password1");
  const absl::StatusOr<bool> strong = sepal::filters::MayContain(*loaded, "q7#Lr!x92");
  std::printf("password1: %s, q7#Lr!x92: %s\n", *weak ? "maybe" : "absent", *strong ? "maybe" : "absent");
  return *weak && !*strong ? 0 : 1;
}
