// Ranges that cover all keys, in order, with a sum of each, stored as in a message: a hostile message of many small
// ranges takes about as much memory as it has bytes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sepal {

// The entries from `begin` on, up to the beginning of the next range.
struct RangeSum {
  std::string begin = {};  // inclusive; of the first range it is empty
  uint64_t entries = 0;
  uint64_t hash[2] = {};
  friend bool operator==(const RangeSum&, const RangeSum&) = default;
};

class RangeSums {
 public:
  // The maximum size of a list, as a message holds it: at most 3.5 million ranges.
  static constexpr size_t kMostBytes = size_t{1} << 26;

  RangeSums() = default;
  RangeSums(std::initializer_list<RangeSum> ranges);
  // Reads `count` ranges from `bytes`, beginning at `at`. nullopt for bytes that are no such list, or do not cover all
  // keys in order.
  static std::optional<RangeSums> Parse(std::string bytes, size_t at, uint64_t count);

  void Add(const RangeSum& range);
  // An upper bound of the bytes that Add needs for a range that begins there.
  static size_t MostBytesOf(std::string_view begin);

  size_t size() const { return offsets_.size(); }
  bool empty() const { return offsets_.empty(); }
  RangeSum operator[](size_t i) const;
  // A view into this list.
  std::string_view BeginOf(size_t i) const;
  std::string_view bytes() const { return std::string_view(bytes_).substr(first_); }
  friend bool operator==(const RangeSums& a, const RangeSums& b) { return a.bytes() == b.bytes(); }

 private:
  std::string bytes_;
  size_t first_ = 0;               // where the first range is
  std::vector<uint32_t> offsets_;  // of each range
};

}  // namespace sepal
