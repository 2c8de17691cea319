// Operations of each whole second of a workload that runs for a given time, to show how steady it is.
#pragma once

#include <cstdint>
#include <vector>

namespace sepal::compare {

class SecondRates {
 public:
  SecondRates() = default;
  // A second without an operation counts as one of rate zero.
  explicit SecondRates(uint64_t seconds) : counts_(seconds, 0) {}

  // Notes an operation that ended so long after the beginning; one after the last second does not count.
  void Add(uint64_t nanos) {
    const uint64_t second = nanos / 1'000'000'000;
    if (second < counts_.size()) ++counts_[second];
  }
  // Requires as many seconds, and one beginning.
  void Merge(const SecondRates& other);

  const std::vector<uint64_t>& counts() const { return counts_; }

 private:
  std::vector<uint64_t> counts_;
};

// Zero of no seconds.
double Mean(const std::vector<uint64_t>& counts);
// The standard deviation over the mean: the root of the mean square, of all of them rather than a sample. Zero where
// the mean is.
double CoefficientOfVariation(const std::vector<uint64_t>& counts);

}  // namespace sepal::compare
