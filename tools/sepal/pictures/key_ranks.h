// Where keys lie among each other, for pictures: by rank, so that tables whose keys begin alike are as wide as others.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sepal::tools {

class KeyRanks {
 public:
  // `keys`: all that will be asked for, in any order.
  explicit KeyRanks(std::vector<std::string> keys) : keys_(std::move(keys)) {
    std::sort(keys_.begin(), keys_.end());
    keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  }

  // In order, each once.
  const std::vector<std::string>& keys() const { return keys_; }
  // How many keys are smaller.
  size_t Of(std::string_view key) const {
    return static_cast<size_t>(std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin());
  }

 private:
  std::vector<std::string> keys_;
};

}  // namespace sepal::tools
