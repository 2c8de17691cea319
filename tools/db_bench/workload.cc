#include "tools/db_bench/workload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "util/base/check.h"

namespace sepal::tools {

// Called for each operation, so it is fast: two digits at a time, and zeros only where the last number had digits.
void KeyBuffer::Write(uint64_t number) {
  static constexpr std::array<char, 200> kPairs = [] {
    std::array<char, 200> pairs{};
    for (size_t i = 0; i < 100; ++i) {
      pairs[2 * i] = static_cast<char>('0' + i / 10);
      pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
  }();
  char* const end = text_.data() + text_.size() - 1;
  char* const last_first = end - digits_;
  char* at = end;
  for (; number > 0 && at - text_.data() >= 2; number /= 100) {
    at -= 2;
    std::memcpy(at, &kPairs[2 * (number % 100)], 2);
  }
  if (number > 0 && at > text_.data()) *--at = static_cast<char>('0' + number % 10);
  for (char* zero = last_first; zero < at; ++zero) *zero = '0';
  digits_ = static_cast<size_t>(end - at);
}

Permutation::Permutation(uint64_t n, uint64_t seed) : n_(n), seed_(Mix64(seed + 1)) {
  SEPAL_CHECK(n > 0);
  half_bits_ = std::max(1, static_cast<int>(std::bit_width(n - 1) + 1) / 2);
}

uint64_t Permutation::operator()(uint64_t i) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t value = i;
  do {
    uint64_t left = value >> half_bits_;
    uint64_t right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (Mix64(right + seed_ + (round << 32)) & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return value;
}

ValueGenerator::ValueGenerator(double compression_ratio, uint64_t seed, size_t longest_value) {
  constexpr size_t kPieceBytes = 100;
  Random random(seed);
  const size_t bytes = std::max(size_t{1} << 20, longest_value);
  const size_t raw_bytes = std::max<size_t>(1, static_cast<size_t>(kPieceBytes * compression_ratio));
  buffer_.reserve(bytes + kPieceBytes);
  while (buffer_.size() < bytes) {
    std::string raw(raw_bytes, ' ');
    for (char& c : raw) c = static_cast<char>(' ' + random.Uniform(95));
    for (size_t filled = 0; filled < kPieceBytes; filled += raw_bytes) {
      buffer_.append(raw, 0, std::min(raw_bytes, kPieceBytes - filled));
    }
  }
}

ZipfGenerator::ZipfGenerator(uint64_t n, double theta, uint64_t seed)
    : random_(seed), spread_(n, seed), n_(n), theta_(theta), alpha_(1 / (1 - theta)), zeta_n_(0) {
  for (uint64_t i = 1; i <= n; ++i) zeta_n_ += std::pow(static_cast<double>(i), -theta);
  const double zeta_2 = 1 + std::pow(0.5, theta);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(n), 1 - theta)) / (1 - zeta_2 / zeta_n_);
}

ZipfGenerator ZipfGenerator::WithSeed(uint64_t seed) const {
  ZipfGenerator other = *this;
  other.random_ = Random(seed);
  return other;
}

uint64_t ZipfGenerator::NextRank() {
  const double u = random_.NextDouble();
  const double scaled = u * zeta_n_;
  uint64_t rank = 0;
  if (scaled >= 1) {
    rank = scaled < 1 + std::pow(0.5, theta_)
               ? 1
               : static_cast<uint64_t>(static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_));
  }
  return std::min(rank, n_ - 1);
}

}  // namespace sepal::tools
