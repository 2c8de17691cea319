#include "tools/sepal/pictures/key_scale.h"

#include <algorithm>

namespace sepal::tools {
namespace {

// Where each class begins: others, digits, others, capitals, others, small letters, others.
constexpr std::array<int, 8> kClassBegins = {0, '0', '9' + 1, 'A', 'Z' + 1, 'a', 'z' + 1, 256};

}  // namespace

KeyScale::KeyScale(const std::vector<std::string>& keys) {
  if (keys.empty()) return;
  common_ = keys.front();
  for (const std::string& key : keys) {
    const auto differs = std::mismatch(common_.begin(), common_.end(), key.begin(), key.end());
    common_.erase(differs.first, common_.end());
  }
  Digits none;
  none.first.fill(256);
  none.last.fill(-1);
  for (size_t place = 0; place < kPlaces; ++place) {
    Digits digits = none;
    for (const std::string& key : keys) {
      const size_t at = common_.size() + place;
      if (at == key.size()) digits.ends = 1;
      if (at >= key.size()) continue;
      const int byte = static_cast<unsigned char>(key[at]);
      const size_t of_class = static_cast<size_t>(std::upper_bound(kClassBegins.begin(), kClassBegins.end(), byte) -
                                                  kClassBegins.begin() - 1);
      digits.first[of_class] = std::min(digits.first[of_class], byte);
      digits.last[of_class] = std::max(digits.last[of_class], byte);
    }
    for (size_t i = 0; i < kClasses; ++i) digits.base += std::max(0, digits.last[i] - digits.first[i] + 1);
    if (digits.base == 0) break;
    digits.base += digits.ends;
    places_.push_back(digits);
  }
}

double KeyScale::Of(std::string_view key) const {
  if (key.size() <= common_.size()) return 0;
  key.remove_prefix(common_.size());
  double number = 0, unit = 1;
  for (size_t place = 0; place < places_.size() && place < key.size(); ++place) {
    const Digits& digits = places_[place];
    const int byte = static_cast<unsigned char>(key[place]);
    double digit = digits.ends - 1;
    for (size_t i = 0; i < kClasses; ++i) {
      if (digits.last[i] < digits.first[i]) continue;
      digit += std::clamp(byte - digits.first[i] + 1, 0, digits.last[i] - digits.first[i] + 1);
    }
    unit /= digits.base;
    number += std::max(0.0, digit) * unit;
  }
  return number;
}

}  // namespace sepal::tools
