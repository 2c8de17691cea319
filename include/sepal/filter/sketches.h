// Sketches: how often a key came, and how many different keys came, in a fixed number of bytes.
//
// - `CountMinSketch`: how often each key came (G. Cormode, S. Muthukrishnan, "An improved data stream summary: the
//   count-min sketch and its applications", 2005). An estimate is never too small, and with a probability of 1 -
//   `chance` it is too large by at most `error` times the sum of all counts. Keys whose estimate exceeds a given share
//   of that sum are the heavy hitters.
// - `HyperLogLog`: how many different keys came (P. Flajolet et al., "HyperLogLog", 2007; estimator of O. Ertl, "New
//   cardinality estimation algorithms for HyperLogLog sketches", 2017). The standard error is 1.04 / sqrt(2^precision):
//   0.81 % for 14, in 16 KiB.
//
// Values that can be moved. Not safe for concurrent use while they are changed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter/bloom.h"

namespace sepal::filters {

class SEPAL_EXPORT CountMinSketch {
 public:
  // InvalidArgument unless both lie in (0, 1).
  static absl::StatusOr<CountMinSketch> ForError(double error, double chance, uint64_t seed = 0);
  // `rows` of `width` counters.
  static absl::StatusOr<CountMinSketch> Create(uint64_t width, int rows, uint64_t seed = 0);

  // Counters stay at their largest value, 2^64 - 1.
  void Add(std::string_view key, uint64_t count = 1);
  uint64_t EstimateCount(std::string_view key) const;
  // Adds the counts of a sketch of the same parameters; FailedPrecondition otherwise.
  absl::Status Merge(const CountMinSketch& other);

  // The sum of all counts.
  uint64_t total() const { return total_; }
  uint64_t width() const { return width_; }
  int rows() const { return rows_; }
  uint64_t seed() const { return seed_; }
  uint64_t MemoryBytes() const { return bytes_.size(); }

  std::string Serialize() const;
  static absl::StatusOr<CountMinSketch> FromFile(const FileHeader& header, std::string_view body);

 private:
  CountMinSketch() = default;

  uint64_t width_ = 0;
  int rows_ = 0;
  uint64_t seed_ = 0;
  uint64_t total_ = 0;
  FilterBytes bytes_;
};

class SEPAL_EXPORT HyperLogLog {
 public:
  static constexpr int kLeastPrecision = 4;
  static constexpr int kMostPrecision = 18;

  // 2^precision bytes.
  static absl::StatusOr<HyperLogLog> Create(int precision = 14, uint64_t seed = 0);

  void Add(std::string_view key);
  double EstimateKeys() const;
  // The sketch of the union; FailedPrecondition for another precision or seed.
  absl::Status Merge(const HyperLogLog& other);

  int precision() const { return precision_; }
  double StandardError() const;
  uint64_t seed() const { return seed_; }
  uint64_t MemoryBytes() const { return ranks_.size(); }

  std::string Serialize() const;
  static absl::StatusOr<HyperLogLog> FromFile(const FileHeader& header, std::string_view body);

 private:
  HyperLogLog(int precision, uint64_t seed);

  int precision_;
  uint64_t seed_;
  std::vector<uint8_t> ranks_;
};

}  // namespace sepal::filters
