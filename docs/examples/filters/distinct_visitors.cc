// How many different visitors came, each day and in all? A sketch of 16 KiB a day counts them, and the sketches of days
// are merged: who came on two days is counted once.
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <unordered_set>

#include "example.h"
#include "sepal/filter.h"

namespace {

// The estimate beside what is exact; whether it is as near as theory says (four standard errors).
bool Compare(const char* what, const sepal::filters::HyperLogLog& sketch, size_t exact) {
  const double estimate = sketch.EstimateKeys(), error = estimate / static_cast<double>(exact) - 1;
  std::printf("%s: about %.0f, exactly %zu: %+.2f %%; the standard error is %.2f %%\n", what, estimate, exact,
              100 * error, 100 * sketch.StandardError());
  return std::abs(error) <= 4 * sketch.StandardError();
}

}  // namespace

int main() {
  constexpr int kDays = 7;
  std::mt19937_64 random(17);
  auto week = sepal::filters::HyperLogLog::Create();
  if (!week.ok()) return example::Fail(week.status().ToString());
  std::unordered_set<uint64_t> exact_week;
  for (int day = 0; day < kDays; ++day) {
    auto sketch = sepal::filters::HyperLogLog::Create();
    if (!sketch.ok()) return example::Fail(sketch.status().ToString());
    std::unordered_set<uint64_t> exact;
    const uint64_t visits = 50'000 * static_cast<uint64_t>(day + 1);
    for (uint64_t i = 0; i < visits; ++i) {
      const uint64_t visitor = random() % 400'000;
      sketch->Add("visitor/" + std::to_string(visitor));
      exact.insert(visitor);
    }
    if (!Compare(("day " + std::to_string(day + 1)).c_str(), *sketch, exact.size())) {
      return example::Fail("that is not what theory says");
    }
    if (const absl::Status merged = week->Merge(*sketch); !merged.ok()) return example::Fail(merged.ToString());
    exact_week.insert(exact.begin(), exact.end());
  }
  std::printf("a sketch has %llu bytes; the visitors' numbers of the week alone are %zu\n",
              static_cast<unsigned long long>(week->MemoryBytes()), exact_week.size() * sizeof(uint64_t));
  return Compare("the week", *week, exact_week.size()) ? 0 : example::Fail("that is not what theory says");
}
