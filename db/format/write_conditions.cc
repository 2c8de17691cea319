#include "sepal/write_conditions.h"

namespace sepal {

WriteConditions& WriteConditions::Absent(std::string_view key) {
  conditions_.push_back({.family = nullptr, .key = std::string(key), .present = false, .value = {}});
  return *this;
}

WriteConditions& WriteConditions::Present(std::string_view key) {
  conditions_.push_back({.family = nullptr, .key = std::string(key), .present = true, .value = {}});
  return *this;
}

WriteConditions& WriteConditions::Equals(std::string_view key, std::string_view value) {
  conditions_.push_back({.family = nullptr, .key = std::string(key), .present = true, .value = std::string(value)});
  return *this;
}

WriteConditions& WriteConditions::Absent(const ColumnFamily& family, std::string_view key) {
  Absent(key).conditions_.back().family = &family;
  return *this;
}

WriteConditions& WriteConditions::Present(const ColumnFamily& family, std::string_view key) {
  Present(key).conditions_.back().family = &family;
  return *this;
}

WriteConditions& WriteConditions::Equals(const ColumnFamily& family, std::string_view key, std::string_view value) {
  Equals(key, value).conditions_.back().family = &family;
  return *this;
}

}  // namespace sepal
