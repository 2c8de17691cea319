// Malicious addresses: a million of 20 characters are 20 MB. A filter of them for a rate of 10^-6 takes 3.59 MB, and
// for 10^-3 half of it.
#include <cstdio>
#include <random>
#include <string>

#include "example.h"
#include "sepal/filter.h"

namespace {

constexpr uint64_t kAddresses = 1'000'000;

std::string Address(const char* host, uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%s/%012llx", host, static_cast<unsigned long long>(number * 0x9e3779b9));
  return text;
}

// The filter for that rate, asked for addresses that are harmless.
bool Try(double rate, double quoted_bytes, uint64_t harmless) {
  auto filter =
      sepal::filters::BloomFilter::ForKeys(kAddresses, rate, sepal::filters::BloomLayout::kClassic, /*seed=*/7);
  if (!filter.ok()) return false;
  for (uint64_t i = 0; i < kAddresses; ++i) filter->Add(Address("bad.com", i));
  for (uint64_t i = 0; i < kAddresses; i += 97) {
    if (!filter->MayContain(Address("bad.com", i))) return false;
  }
  const auto bytes = static_cast<double>(filter->MemoryBytes());
  std::printf("rate %g: %.2f MB, %d hashes (quoted: %.2f MB); %.1f %% of the list\n", rate, bytes / 1e6,
              filter->shape().probes, quoted_bytes / 1e6, bytes / (kAddresses * 20) * 100);
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < harmless; ++i) wrong += filter->MayContain(Address("new.com", i));
  return example::Agrees("  harmless, and looked up", wrong, harmless, filter->shape().RateAt(kAddresses)) &&
         std::abs(bytes / quoted_bytes - 1) < 0.01;
}

}  // namespace

int main() {
  if (Address("bad.com", 1).size() != 20) return example::Fail("an address has 20 characters");
  const bool both = Try(1e-3, 1.8e6, 1'000'000) && Try(1e-6, 3.59e6, 4'000'000);
  return both ? 0 : example::Fail("that is not what theory says");
}
