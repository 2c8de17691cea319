// Returning visitors, told by their addresses: who comes for the first time has no record, and is not looked for.
// Nobody knows how many will come, so the filter grows.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <unordered_map>

#include "example.h"
#include "sepal/filter.h"

namespace {

// Four bytes.
std::string AddressOf(uint32_t visitor) {
  const uint32_t bits = visitor * 2654435761u;
  return std::string(reinterpret_cast<const char*>(&bits), sizeof(bits));
}

}  // namespace

int main() {
  constexpr int kVisits = 400'000;
  constexpr double kRate = 0.01;
  auto seen = sepal::filters::ScalableBloomFilter::Create(/*first_keys=*/1000, kRate);
  if (!seen.ok()) return example::Fail(seen.status().ToString());
  std::unordered_map<std::string, int> records;  // on the disk of a real server
  std::mt19937_64 random(3);
  uint32_t known = 0;
  uint64_t lookups = 0, first_visits = 0, in_vain = 0;
  for (int visit = 0; visit < kVisits; ++visit) {
    // Two of three visitors are new.
    const bool is_new = known == 0 || random() % 3 != 0;
    const std::string address = AddressOf(is_new ? known++ : static_cast<uint32_t>(random() % known));
    first_visits += is_new;
    const bool maybe = seen->MayContain(address);
    if (!maybe && !is_new) return example::Fail("a returning visitor was not known");
    if (maybe) {
      ++lookups;
      in_vain += !records.contains(address);
    }
    ++records[address];
    if (const absl::Status added = seen->Add(address); !added.ok()) return example::Fail(added.ToString());
  }
  std::printf("%d visits, %llu of them the first: %llu lookups of records, %.1f %% of them saved\n", kVisits,
              static_cast<unsigned long long>(first_visits), static_cast<unsigned long long>(lookups),
              100 - 100.0 * static_cast<double>(lookups) / kVisits);
  std::printf("the filter has grown to %zu parts, %llu bytes\n", seen->parts().size(),
              static_cast<unsigned long long>(seen->MemoryBytes()));
  const double rate = static_cast<double>(in_vain) / static_cast<double>(first_visits);
  std::printf("first visits taken for returning ones: %.4f; at most %g was asked for, and at the end it is %.4f\n",
              rate, kRate, seen->CurrentRate());
  // While it grew, its rate was lower.
  return rate <= kRate && rate > 0 ? 0 : example::Fail("that is not what theory says");
}
