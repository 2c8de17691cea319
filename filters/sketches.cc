#include "sepal/filter/sketches.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "absl/strings/str_format.h"
#include "filters/bits.h"
#include "filters/filter_file.h"
#include "util/base/cardinality.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr int kMostRows = kMostProbes;

uint64_t SaturatingSum(uint64_t a, uint64_t b) {
  return a > std::numeric_limits<uint64_t>::max() - b ? std::numeric_limits<uint64_t>::max() : a + b;
}

absl::Status CheckSketch(uint64_t width, int rows) {
  if (rows < 1 || rows > kMostRows) {
    return absl::InvalidArgumentError(absl::StrFormat("a sketch of %d rows: 1 to %d are possible", rows, kMostRows));
  }
  const uint64_t most = kMostFilterBytes / 8 / static_cast<uint64_t>(rows);
  if (width >= 1 && width <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("rows of %u counters: 1 to %u are possible", width, most));
}

}  // namespace

absl::StatusOr<CountMinSketch> CountMinSketch::ForError(double error, double chance, uint64_t seed) {
  if (!(error > 0 && error < 1) || !(chance > 0 && chance < 1)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("an error of %g with a chance of %g: both must lie in (0, 1)", error, chance));
  }
  const double width = std::ceil(std::numbers::e / error);
  if (width > static_cast<double>(kMostFilterBytes)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a sketch with an error of %g is too large: allow a larger error", error));
  }
  const double rows = std::ceil(-std::log(chance));
  if (rows > kMostRows) {
    return absl::InvalidArgumentError(absl::StrFormat("a sketch does not reach a chance of %g", chance));
  }
  return Create(static_cast<uint64_t>(width), static_cast<int>(rows), seed);
}

absl::StatusOr<CountMinSketch> CountMinSketch::Create(uint64_t width, int rows, uint64_t seed) {
  RETURN_IF_ERROR(CheckSketch(width, rows));
  CountMinSketch sketch;
  sketch.width_ = width;
  sketch.rows_ = rows;
  sketch.seed_ = seed;
  ASSIGN_OR_RETURN(sketch.bytes_, FilterBytes::Zeroed(width * static_cast<uint64_t>(rows) * 8));
  return sketch;
}

void CountMinSketch::Add(std::string_view key, uint64_t count) {
  ProbeSequence sequence(KeyHash(key, seed_));
  for (int row = 0; row < rows_; ++row) {
    char* const counter = bytes_.data() + (static_cast<uint64_t>(row) * width_ + sequence.Next(width_)) * 8;
    EncodeFixed64(counter, SaturatingSum(DecodeFixed64(counter), count));
  }
  total_ = SaturatingSum(total_, count);
}

uint64_t CountMinSketch::EstimateCount(std::string_view key) const {
  ProbeSequence sequence(KeyHash(key, seed_));
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (int row = 0; row < rows_; ++row) {
    const uint64_t counter = static_cast<uint64_t>(row) * width_ + sequence.Next(width_);
    least = std::min(least, DecodeFixed64(bytes_.data() + counter * 8));
  }
  return least;
}

absl::Status CountMinSketch::Merge(const CountMinSketch& other) {
  RETURN_IF_ERROR(CheckMergeable("counters of a row", width_, other.width_));
  RETURN_IF_ERROR(CheckMergeable("rows", static_cast<uint64_t>(rows_), static_cast<uint64_t>(other.rows_)));
  RETURN_IF_ERROR(CheckMergeable("seeds", seed_, other.seed_));
  for (uint64_t i = 0; i < bytes_.size(); i += 8) {
    EncodeFixed64(bytes_.data() + i,
                  SaturatingSum(DecodeFixed64(bytes_.data() + i), DecodeFixed64(other.bytes_.data() + i)));
  }
  total_ = SaturatingSum(total_, other.total_);
  return absl::OkStatus();
}

std::string CountMinSketch::Serialize() const {
  return EncodeFile({.kind = FilterKind::kCountMin,
                     .probes = static_cast<uint8_t>(rows_),
                     .width = 64,
                     .seed = seed_,
                     .keys = total_,
                     .size = width_},
                    bytes_);
}

absl::StatusOr<CountMinSketch> CountMinSketch::FromFile(const FileHeader& header, std::string_view body) {
  if (!CheckSketch(header.size, header.probes).ok())
    return BadField(header, "counters or rows", "possible ones", header.size);
  RETURN_IF_ERROR(CheckField(header, "width", 64, header.width));
  CountMinSketch sketch;
  sketch.width_ = header.size;
  sketch.rows_ = header.probes;
  sketch.seed_ = header.seed;
  sketch.total_ = header.keys;
  ASSIGN_OR_RETURN(sketch.bytes_, BodyOf(header, body, header.size * header.probes * 8));
  return sketch;
}

HyperLogLog::HyperLogLog(int precision, uint64_t seed)
    : precision_(precision), seed_(seed), ranks_(size_t{1} << precision) {}

absl::StatusOr<HyperLogLog> HyperLogLog::Create(int precision, uint64_t seed) {
  if (precision >= kLeastPrecision && precision <= kMostPrecision) return HyperLogLog(precision, seed);
  return absl::InvalidArgumentError(
      absl::StrFormat("a precision of %d: %d to %d are possible", precision, kLeastPrecision, kMostPrecision));
}

void HyperLogLog::Add(std::string_view key) {
  const uint64_t hash = KeyHash(key, seed_);
  uint8_t& rank = ranks_[hash >> (64 - precision_)];
  rank = std::max(rank, HyperLogLogRank(hash, precision_));
}

double HyperLogLog::EstimateKeys() const { return HyperLogLogEstimate(ranks_, precision_); }

absl::Status HyperLogLog::Merge(const HyperLogLog& other) {
  RETURN_IF_ERROR(
      CheckMergeable("precisions", static_cast<uint64_t>(precision_), static_cast<uint64_t>(other.precision_)));
  RETURN_IF_ERROR(CheckMergeable("seeds", seed_, other.seed_));
  for (size_t i = 0; i < ranks_.size(); ++i) ranks_[i] = std::max(ranks_[i], other.ranks_[i]);
  return absl::OkStatus();
}

double HyperLogLog::StandardError() const { return 1.04 / std::sqrt(static_cast<double>(ranks_.size())); }

std::string HyperLogLog::Serialize() const {
  return EncodeFile({.kind = FilterKind::kHyperLogLog,
                     .width = static_cast<uint32_t>(precision_),
                     .seed = seed_,
                     .size = ranks_.size()},
                    std::string_view(reinterpret_cast<const char*>(ranks_.data()), ranks_.size()));
}

absl::StatusOr<HyperLogLog> HyperLogLog::FromFile(const FileHeader& header, std::string_view body) {
  if (header.width < kLeastPrecision || header.width > kMostPrecision) {
    return BadField(header, "precision", absl::StrFormat("%d to %d", kLeastPrecision, kMostPrecision), header.width);
  }
  HyperLogLog sketch(static_cast<int>(header.width), header.seed);
  RETURN_IF_ERROR(CheckField(header, "registers", sketch.ranks_.size(), header.size));
  RETURN_IF_ERROR(CheckField(header, "bytes of the body", sketch.ranks_.size(), body.size()));
  std::copy(body.begin(), body.end(), sketch.ranks_.begin());
  const uint8_t most = *std::max_element(sketch.ranks_.begin(), sketch.ranks_.end());
  if (most > 64 - sketch.precision_ + 1) return BadField(header, "rank of a register", "a possible one", most);
  return sketch;
}

}  // namespace sepal::filters
