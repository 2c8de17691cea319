// The keys and values of a benchmark: the same for db_bench and for the comparison of engines.
//
// Keys are decimal numbers, padded with zeros ("0000000000000042"), so that their order is the order of the numbers.
// Values are slices of a buffer that a compressor shrinks to a given ratio: pieces of random printable bytes, repeated,
// as LevelDB's and RocksDB's benchmarks make them.
//
// Nothing here is safe for concurrent use; each thread has its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/base/random.h"

namespace sepal::tools {

// Writes the key of a number into a buffer of its own. A number with more digits than the key has bytes is cut to its
// last digits.
class KeyBuffer {
 public:
  explicit KeyBuffer(int key_bytes) : text_(static_cast<size_t>(key_bytes), '0') { text_.push_back('.'); }
  // Valid until the next call.
  std::string_view Format(uint64_t number) {
    Write(number);
    return std::string_view(text_).substr(0, text_.size() - 1);
  }
  // A key of no number, which sorts directly after the key of `number`.
  std::string_view FormatMissing(uint64_t number) {
    Write(number);
    return text_;
  }

 private:
  void Write(uint64_t number);

  // Zeros, digits, and what makes it a missing key.
  std::string text_;
  size_t digits_ = 0;
};

// A bijection of [0, n) onto itself that looks random: a Feistel network over the next power of four, walked until the
// value lies in the range (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). Constant memory.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t seed);
  uint64_t operator()(uint64_t i) const;

 private:
  uint64_t n_;
  uint64_t seed_;
  int half_bits_;
};

// Lends values of a given compression ratio. Slices move on through one buffer of about a mebibyte.
class ValueGenerator {
 public:
  // `compression_ratio` is the compressed size over the plain size, in (0, 1].
  ValueGenerator(double compression_ratio, uint64_t seed, size_t longest_value);
  std::string_view Next(size_t bytes) {
    if (position_ + bytes > buffer_.size()) position_ = 0;
    position_ += bytes;
    return std::string_view(buffer_).substr(position_ - bytes, bytes);
  }

 private:
  std::string buffer_;
  size_t position_ = 0;
};

// Numbers in [0, n), a few of which are drawn most of the time: rank r with a probability proportional to r^-theta
// (Gray et al., "Quickly generating billion-record synthetic databases", 1994). The hot numbers are spread over the
// range.
class ZipfGenerator {
 public:
  // `theta` in (0, 1); 0.99 is YCSB's. Set-up takes time proportional to n.
  ZipfGenerator(uint64_t n, double theta, uint64_t seed);
  // The same distribution over the same hot numbers, with other draws: for threads that share a set-up.
  ZipfGenerator WithSeed(uint64_t seed) const;
  uint64_t Next() { return spread_(NextRank()); }
  // 0 is drawn most often.
  uint64_t NextRank();

 private:
  Random random_;
  Permutation spread_;
  uint64_t n_;
  double theta_, alpha_, zeta_n_, eta_;
};

}  // namespace sepal::tools
