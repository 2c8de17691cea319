#include "sepal/options.h"

namespace sepal {

std::optional<std::string> EndOfPrefix(std::string_view prefix) {
  const size_t last = prefix.find_last_not_of('\xff');
  if (last == std::string_view::npos) return std::nullopt;
  std::string end(prefix.substr(0, last + 1));
  ++end.back();
  return end;
}

}  // namespace sepal
