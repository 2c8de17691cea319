// A filter for tests: it refuses a value whose first letter is in the epoch. Epochs must only grow.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "sepal/compaction_filter.h"

namespace sepal {

class FirstLetterFilter final : public PureFilter {
 public:
  explicit FirstLetterFilter(std::string name = "test.first-letter") : name_(std::move(name)) {}

  std::string_view Name() const override { return name_; }
  bool Keep(std::string_view, std::string_view value, std::string_view epoch) const override {
    return value.empty() || epoch.find(value.front()) == std::string_view::npos;
  }

 private:
  const std::string name_;
};

}  // namespace sepal
