#include "util/base/hyperloglog.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sepal {
namespace {

// Ertl's sigma and tau: the contributions of empty and of full registers.
double Sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double sum = x, weight = 1, last;
  do {
    x *= x;
    last = sum;
    sum += x * weight;
    weight += weight;
  } while (sum != last);
  return sum;
}

double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double sum = 1 - x, weight = 1, last;
  do {
    x = std::sqrt(x);
    last = sum;
    weight *= 0.5;
    sum -= (1 - x) * (1 - x) * weight;
  } while (sum != last);
  return sum / 3;
}

}  // namespace

void HyperLogLog::Merge(const HyperLogLog& other) {
  for (size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

double HyperLogLog::Estimate() const {
  std::array<int, kMaxRank + 1> counts{};
  for (const uint8_t rank : registers_) ++counts[rank];
  constexpr double m = kRegisters;
  double z = m * Tau(1 - counts[kMaxRank] / m);
  for (size_t rank = kMaxRank - 1; rank >= 1; --rank) z = 0.5 * (z + counts[rank]);
  z += m * Sigma(counts[0] / m);
  return m * m / (2 * std::log(2.0) * z);
}

std::string HyperLogLog::ToBytes() const {
  std::string bytes(1, static_cast<char>(kPrecision));
  bytes.reserve(kBytes);
  for (size_t i = 0; i < kRegisters; i += 4) {
    const uint32_t four = registers_[i] | static_cast<uint32_t>(registers_[i + 1]) << 6 |
                          static_cast<uint32_t>(registers_[i + 2]) << 12 |
                          static_cast<uint32_t>(registers_[i + 3]) << 18;
    for (int shift = 0; shift < 24; shift += 8) bytes.push_back(static_cast<char>(four >> shift));
  }
  return bytes;
}

std::optional<HyperLogLog> HyperLogLog::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes || bytes[0] != kPrecision) return std::nullopt;
  HyperLogLog sketch;
  for (size_t i = 0; i < kRegisters; ++i) {
    const size_t bit = i * 6;
    uint32_t word = static_cast<uint8_t>(bytes[1 + bit / 8]);
    if (bit % 8 > 2) word |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[2 + bit / 8])) << 8;
    sketch.registers_[i] = word >> bit % 8 & 63;
    if (sketch.registers_[i] > kMaxRank) return std::nullopt;
  }
  return sketch;
}

}  // namespace sepal
