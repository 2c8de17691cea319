// A filter of any kind: it can be read from a file, asked, merged and described without knowing its kind beforehand.
//
//   auto filter = sepal::filters::ParseFilter(bytes, "weak-passwords.filter");
//   if (!filter.ok()) return filter.status();
//   absl::StatusOr<bool> maybe = sepal::filters::MayContain(*filter, guess);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter/ageing.h"
#include "sepal/filter/bloom.h"
#include "sepal/filter/counting_bloom.h"
#include "sepal/filter/fingerprint_table.h"
#include "sepal/filter/scalable_bloom.h"
#include "sepal/filter/sketches.h"
#include "sepal/filter/static_filter.h"

namespace sepal::filters {

// The numbers are those of the file format.
enum class FilterKind : uint8_t {
  kClassicBloom = 1,
  kBlockedBloom = 2,
  kPartitionedBloom = 3,
  kCountingBloom = 4,
  kAgeing = 5,
  kTwoGenerations = 6,
  kScalableBloom = 7,
  kFingerprintTable = 8,
  kStatic = 9,
  kCountMin = 10,
  kHyperLogLog = 11,
};
// For example "blocked"; empty for an unknown kind.
SEPAL_EXPORT std::string_view NameOf(FilterKind kind);

using AnyFilter = std::variant<BloomFilter, CountingBloomFilter, AgeingFilter, TwoGenerationFilter, ScalableBloomFilter,
                               FingerprintTable, StaticFilter, CountMinSketch, HyperLogLog>;

// Reads bytes that Serialize returned. `name` appears in errors: InvalidArgument for bytes that are no filter file,
// DataLoss for a damaged one, with the expected and the found values, FailedPrecondition for a kind, hash or version
// that this library does not know.
SEPAL_EXPORT absl::StatusOr<AnyFilter> ParseFilter(std::string_view bytes, std::string_view name);
SEPAL_EXPORT std::string Serialize(const AnyFilter& filter);

// InvalidArgument for a kind without this operation (nothing can be added to kStatic, kHyperLogLog has no MayContain,
// only kCountingBloom and kFingerprintTable have Remove ...).
SEPAL_EXPORT absl::Status Add(AnyFilter* filter, std::string_view key);
SEPAL_EXPORT absl::StatusOr<bool> MayContain(const AnyFilter& filter, std::string_view key);
SEPAL_EXPORT absl::StatusOr<bool> AddAndTest(AnyFilter* filter, std::string_view key);
SEPAL_EXPORT absl::Status Remove(AnyFilter* filter, std::string_view key);
SEPAL_EXPORT absl::StatusOr<uint64_t> EstimateCount(const AnyFilter& filter, std::string_view key);
// FailedPrecondition for filters of different kinds, parameters or seeds.
SEPAL_EXPORT absl::Status Merge(AnyFilter* filter, const AnyFilter& other);
SEPAL_EXPORT absl::Status Intersect(AnyFilter* filter, const AnyFilter& other);

// The description of a filter; a number that its kind does not have is 0.
struct SEPAL_EXPORT FilterInfo {
  FilterKind kind = {};
  uint64_t seed = 0;
  uint64_t keys = 0;               // that were added, as its kind counts them
  double estimated_keys = 0;       // different ones
  uint64_t memory_bytes = 0;       // without the file's header
  uint64_t size = 0;               // bits, counters, slots or registers
  int probes = 0;                  // or rows of a count-min sketch
  int width = 0;                   // bits of a counter or fingerprint, or the precision of a HyperLogLog
  double fill = 0;                 // the share of `size` that is set
  double false_positive_rate = 0;  // as it is now
};
SEPAL_EXPORT FilterInfo Describe(const AnyFilter& filter);

}  // namespace sepal::filters
