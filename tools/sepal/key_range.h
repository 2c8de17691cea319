// --from, --to and --prefix: a range of keys on the command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sepal {
struct ReadOptions;
}  // namespace sepal

namespace sepal::tools {

class KeyRange {
 public:
  void AddFlags(CLI::App* app);
  // Returns, after parsing, the bounds from all flags together. `hex`: they are given in hexadecimal.
  absl::Status Resolve(bool hex);

  // The range is [first, beyond).
  const std::string& first() const { return first_; }
  const std::optional<std::string>& beyond() const { return beyond_; }
  bool whole() const { return first_.empty() && !beyond_.has_value(); }
  void ApplyTo(ReadOptions* options) const;

 private:
  std::string from_, to_, prefix_;
  std::string first_;
  std::optional<std::string> beyond_;
};

}  // namespace sepal::tools
