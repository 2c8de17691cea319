#include "util/base/hyperloglog.h"

#include <algorithm>

#include "util/base/cardinality.h"

namespace sepal {

void HyperLogLog::Merge(const HyperLogLog& other) {
  for (size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
}

double HyperLogLog::Estimate() const { return HyperLogLogEstimate(registers_, kPrecision); }

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
