// Where keys lie among each other, for pictures: keys in order get numbers in order, and keys that count upwards, in
// decimal, in hexadecimal or in binary, get numbers that are about evenly apart.
//
// What all keys begin with is left out. At each place behind that, a byte counts as a digit; the base is the number of
// bytes between the least and the greatest there, of digits, capitals, small letters and others each by themselves.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sepal::tools {

class KeyScale {
 public:
  // `keys`: all that will be asked for; others get the number of a neighbour.
  explicit KeyScale(const std::vector<std::string>& keys);

  // From 0, below 1.
  double Of(std::string_view key) const;

 private:
  static constexpr size_t kClasses = 7;
  static constexpr size_t kPlaces = 24;
  // The bytes that were seen at one place, as a range for each class; empty: first > last.
  struct Digits {
    std::array<int, kClasses> first, last;
    double ends = 0;  // 1 where a key ends here, which comes before all bytes
    double base = 0;
  };

  std::string common_;
  std::vector<Digits> places_;
};

}  // namespace sepal::tools
