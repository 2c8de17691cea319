#include "sepal/filter/any_filter.h"

#include <concepts>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "filters/filter_file.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

FilterKind KindOf(const BloomFilter& filter) { return static_cast<FilterKind>(filter.shape().layout); }
FilterKind KindOf(const CountingBloomFilter&) { return FilterKind::kCountingBloom; }
FilterKind KindOf(const AgeingFilter&) { return FilterKind::kAgeing; }
FilterKind KindOf(const TwoGenerationFilter&) { return FilterKind::kTwoGenerations; }
FilterKind KindOf(const ScalableBloomFilter&) { return FilterKind::kScalableBloom; }
FilterKind KindOf(const FingerprintTable&) { return FilterKind::kFingerprintTable; }
FilterKind KindOf(const StaticFilter&) { return FilterKind::kStatic; }
FilterKind KindOf(const CountMinSketch&) { return FilterKind::kCountMin; }
FilterKind KindOf(const HyperLogLog&) { return FilterKind::kHyperLogLog; }

template <class Filter>
absl::Status Cannot(const Filter& filter, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrFormat("filters of the kind %s cannot %s", NameOf(KindOf(filter)), what));
}

template <class Filter>
absl::StatusOr<AnyFilter> Read(const DecodedFile& file) {
  ASSIGN_OR_RETURN(Filter filter, Filter::FromFile(file.header, file.body));
  return AnyFilter(std::move(filter));
}

// The names of sizes and widths differ from kind to kind.
void DescribeSize(const BloomFilter& filter, FilterInfo* info) {
  info->size = filter.shape().bits;
  info->probes = filter.shape().probes;
}
void DescribeSize(const CountingBloomFilter& filter, FilterInfo* info) {
  info->size = filter.counters();
  info->probes = filter.probes();
  info->width = filter.counter_bits();
}
void DescribeSize(const AgeingFilter& filter, FilterInfo* info) {
  info->size = filter.bits();
  info->probes = filter.probes();
}
void DescribeSize(const TwoGenerationFilter& filter, FilterInfo* info) {
  info->size = filter.younger().shape().bits + filter.older().shape().bits;
  info->probes = filter.younger().shape().probes;
  info->keys = filter.younger().keys() + filter.older().keys();
  info->estimated_keys = filter.younger().EstimateKeys() + filter.older().EstimateKeys();
  info->fill = (filter.younger().Fill() + filter.older().Fill()) / 2;
}
void DescribeSize(const ScalableBloomFilter& filter, FilterInfo* info) {
  double set = 0;
  for (const BloomFilter& part : filter.parts()) {
    info->size += part.shape().bits;
    info->probes += part.shape().probes;
    set += part.Fill() * static_cast<double>(part.shape().bits);
  }
  info->fill = set / static_cast<double>(info->size);
}
void DescribeSize(const FingerprintTable& filter, FilterInfo* info) {
  info->size = filter.slots();
  info->width = filter.fingerprint_bits();
}
void DescribeSize(const StaticFilter& filter, FilterInfo* info) {
  info->size = filter.slots();
  info->width = filter.fingerprint_bits();
  info->probes = 3;
}
void DescribeSize(const CountMinSketch& filter, FilterInfo* info) {
  info->size = filter.width();
  info->probes = filter.rows();
  info->width = 64;
  info->keys = filter.total();
}
void DescribeSize(const HyperLogLog& filter, FilterInfo* info) {
  info->size = filter.MemoryBytes();
  info->width = filter.precision();
}

}  // namespace

std::string_view NameOf(FilterKind kind) {
  switch (kind) {
    case FilterKind::kClassicBloom:
      return "bloom";
    case FilterKind::kBlockedBloom:
      return "blocked";
    case FilterKind::kPartitionedBloom:
      return "partitioned";
    case FilterKind::kCountingBloom:
      return "counting";
    case FilterKind::kAgeing:
      return "ageing";
    case FilterKind::kTwoGenerations:
      return "generations";
    case FilterKind::kScalableBloom:
      return "scalable";
    case FilterKind::kFingerprintTable:
      return "fingerprints";
    case FilterKind::kStatic:
      return "static";
    case FilterKind::kCountMin:
      return "count-min";
    case FilterKind::kHyperLogLog:
      return "hyperloglog";
  }
  return "";
}

absl::StatusOr<AnyFilter> ParseFilter(std::string_view bytes, std::string_view name) {
  ASSIGN_OR_RETURN(const DecodedFile file, DecodeFile(bytes, name));
  switch (file.header.kind) {
    case FilterKind::kClassicBloom:
    case FilterKind::kBlockedBloom:
    case FilterKind::kPartitionedBloom:
      return Read<BloomFilter>(file);
    case FilterKind::kCountingBloom:
      return Read<CountingBloomFilter>(file);
    case FilterKind::kAgeing:
      return Read<AgeingFilter>(file);
    case FilterKind::kTwoGenerations:
      return Read<TwoGenerationFilter>(file);
    case FilterKind::kScalableBloom:
      return Read<ScalableBloomFilter>(file);
    case FilterKind::kFingerprintTable:
      return Read<FingerprintTable>(file);
    case FilterKind::kStatic:
      return Read<StaticFilter>(file);
    case FilterKind::kCountMin:
      return Read<CountMinSketch>(file);
    case FilterKind::kHyperLogLog:
      return Read<HyperLogLog>(file);
  }
  return BadField(file.header, "kind", "a known one", static_cast<uint64_t>(file.header.kind));
}

std::string Serialize(const AnyFilter& filter) {
  return std::visit([](const auto& one) { return one.Serialize(); }, filter);
}

absl::Status Add(AnyFilter* filter, std::string_view key) {
  const auto add = [key](auto& one) -> absl::Status {
    if constexpr (requires {
                    { one.Add(key) } -> std::same_as<absl::Status>;
                  }) {
      return one.Add(key);
    } else if constexpr (requires { one.Add(key); }) {
      one.Add(key);
      return absl::OkStatus();
    } else if constexpr (requires { one.AddAndTest(key); }) {
      one.AddAndTest(key);
      return absl::OkStatus();
    } else {
      return Cannot(one, "take keys once it is built");
    }
  };
  return std::visit(add, *filter);
}

absl::StatusOr<bool> MayContain(const AnyFilter& filter, std::string_view key) {
  const auto ask = [key](const auto& one) -> absl::StatusOr<bool> {
    if constexpr (requires { one.MayContain(key); }) {
      return one.MayContain(key);
    } else if constexpr (requires { one.EstimateCount(key); }) {
      return one.EstimateCount(key) > 0;
    } else {
      return Cannot(one, "say which keys it has seen");
    }
  };
  return std::visit(ask, filter);
}

absl::StatusOr<bool> AddAndTest(AnyFilter* filter, std::string_view key) {
  const auto ask = [key](auto& one) -> absl::StatusOr<bool> {
    if constexpr (requires { one.AddAndTest(key); }) {
      return one.AddAndTest(key);
    } else {
      return Cannot(one, "add and test at once, as ageing and generations can");
    }
  };
  return std::visit(ask, *filter);
}

absl::Status Remove(AnyFilter* filter, std::string_view key) {
  const auto remove = [key](auto& one) -> absl::Status {
    if constexpr (requires { one.Remove(key); }) {
      return one.Remove(key);
    } else {
      return Cannot(one, "remove keys");
    }
  };
  return std::visit(remove, *filter);
}

absl::StatusOr<uint64_t> EstimateCount(const AnyFilter& filter, std::string_view key) {
  const auto ask = [key](const auto& one) -> absl::StatusOr<uint64_t> {
    if constexpr (requires { one.EstimateCount(key); }) {
      return one.EstimateCount(key);
    } else {
      return Cannot(one, "count a key");
    }
  };
  return std::visit(ask, filter);
}

absl::Status Merge(AnyFilter* filter, const AnyFilter& other) {
  const auto merge = [](auto& one, const auto& two) -> absl::Status {
    if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(one)>, std::remove_cvref_t<decltype(two)>>) {
      return absl::FailedPreconditionError(
          absl::StrFormat("filters of different kinds: %s and %s", NameOf(KindOf(one)), NameOf(KindOf(two))));
    } else if constexpr (requires { one.Merge(two); }) {
      return one.Merge(two);
    } else {
      return Cannot(one, "be merged");
    }
  };
  return std::visit(merge, *filter, other);
}

absl::Status Intersect(AnyFilter* filter, const AnyFilter& other) {
  auto* const one = std::get_if<BloomFilter>(filter);
  const auto* const two = std::get_if<BloomFilter>(&other);
  if (one != nullptr && two != nullptr) return one->Intersect(*two);
  return absl::InvalidArgumentError("only Bloom filters have an intersection");
}

FilterInfo Describe(const AnyFilter& filter) {
  const auto describe = [](const auto& one) {
    FilterInfo info{.kind = KindOf(one), .seed = one.seed(), .memory_bytes = one.MemoryBytes()};
    if constexpr (requires { one.keys(); }) {
      info.keys = one.keys();
      info.estimated_keys = static_cast<double>(one.keys());
    }
    if constexpr (requires { one.EstimateKeys(); }) info.estimated_keys = one.EstimateKeys();
    if constexpr (requires { one.Fill(); }) info.fill = one.Fill();
    if constexpr (requires { one.CurrentRate(); }) info.false_positive_rate = one.CurrentRate();
    DescribeSize(one, &info);
    return info;
  };
  return std::visit(describe, filter);
}

}  // namespace sepal::filters
