// Pages are cached on disk only when they are asked for twice: most pages are asked for once, and to write them is in
// vain. The filter of two generations remembers what came lately, in fixed memory.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <list>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "example.h"
#include "sepal/filter.h"

namespace {

constexpr uint64_t kPages = 1'000'000, kRequests = 500'000;
constexpr size_t kCachedPages = 10'000;

// Page i is asked for with a chance in proportion to 1 / (i + 1)^0.8.
class ZipfTrace {
 public:
  ZipfTrace() : random_(13) {
    double sum = 0;
    for (uint64_t i = 0; i < kPages; ++i) sums_.push_back(sum += std::pow(static_cast<double>(i + 1), -0.8));
  }
  uint64_t Next() {
    const double at = std::uniform_real_distribution<double>(0, sums_.back())(random_);
    return static_cast<uint64_t>(std::upper_bound(sums_.begin(), sums_.end(), at) - sums_.begin());
  }

 private:
  std::mt19937_64 random_;
  std::vector<double> sums_;
};

// A cache on disk that evicts what was not asked for longest.
class DiskCache {
 public:
  bool Has(uint64_t page) {
    const auto found = places_.find(page);
    if (found == places_.end()) return false;
    ++hits_;
    pages_.splice(pages_.begin(), pages_, found->second);
    return true;
  }
  void Write(uint64_t page) {
    ++writes_;
    pages_.push_front(page);
    places_[page] = pages_.begin();
    if (pages_.size() <= kCachedPages) return;
    places_.erase(pages_.back());
    pages_.pop_back();
  }
  double HitRatio() const { return static_cast<double>(hits_) / kRequests; }
  uint64_t writes() const { return writes_; }

 private:
  std::list<uint64_t> pages_;  // the latest first
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> places_;
  uint64_t hits_ = 0, writes_ = 0;
};

}  // namespace

int main() {
  auto filter = sepal::filters::TwoGenerationFilter::ForKeys(/*keys=*/50'000, /*rate=*/0.01);
  if (!filter.ok()) return example::Fail(filter.status().ToString());
  ZipfTrace trace;
  DiskCache all, twice;
  std::unordered_set<uint64_t> came;  // to know what is a false positive
  uint64_t first = 0, wrong = 0;
  double expected = 0, rate_now = 0;
  for (uint64_t i = 0; i < kRequests; ++i) {
    const uint64_t page = trace.Next();
    if (!all.Has(page)) all.Write(page);
    if (i % 1000 == 0) rate_now = filter->CurrentRate();
    const bool seen = filter->AddAndTest("/page/" + std::to_string(page));
    if (came.insert(page).second) {
      ++first;
      wrong += seen;
      expected += rate_now;
    }
    if (!twice.Has(page) && seen) twice.Write(page);
  }
  std::printf("%llu requests for %llu different pages, a cache of %zu pages, a filter of %llu bytes\n",
              static_cast<unsigned long long>(kRequests), static_cast<unsigned long long>(came.size()), kCachedPages,
              static_cast<unsigned long long>(filter->MemoryBytes()));
  std::printf("every page is cached: hit ratio %.1f %%, %llu writes\n", 100 * all.HitRatio(),
              static_cast<unsigned long long>(all.writes()));
  std::printf("asked for twice:      hit ratio %.1f %%, %llu writes, %.1f %% of them saved\n", 100 * twice.HitRatio(),
              static_cast<unsigned long long>(twice.writes()),
              100 - 100.0 * static_cast<double>(twice.writes()) / static_cast<double>(all.writes()));
  const bool agrees =
      example::Agrees("cached on the first request", wrong, first, expected / static_cast<double>(first));
  const bool pays = twice.HitRatio() > all.HitRatio() && twice.writes() * 2 < all.writes();
  return agrees && pays ? 0 : example::Fail("that is not what theory says");
}
