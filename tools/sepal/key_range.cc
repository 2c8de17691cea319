#include "tools/sepal/key_range.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/str_format.h"
#include "sepal/options.h"
#include "tools/sepal/database_access.h"
#include "util/base/status.h"

namespace sepal::tools {

void KeyRange::AddFlags(CLI::App* app) {
  app->add_option("--from", from_, "First key of the range");
  app->add_option("--to", to_, "End of the range: this key is not included");
  app->add_option("--prefix", prefix_, "Only keys with this prefix");
}

absl::Status KeyRange::Resolve(bool hex) {
  ASSIGN_OR_RETURN(first_, BytesFrom(from_, hex));
  ASSIGN_OR_RETURN(const std::string to, BytesFrom(to_, hex));
  if (!to.empty()) beyond_ = to;
  if (!to.empty() && to < first_) {
    return absl::CancelledError(absl::StrFormat("--from %s comes after --to %s: no key lies between", from_, to_));
  }
  ASSIGN_OR_RETURN(const std::string prefix, BytesFrom(prefix_, hex));
  if (prefix.empty()) return absl::OkStatus();
  first_ = std::max(first_, prefix);
  const std::optional<std::string> end = EndOfPrefix(prefix);
  if (end.has_value() && (!beyond_.has_value() || *end < *beyond_)) beyond_ = end;
  return absl::OkStatus();
}

void KeyRange::ApplyTo(ReadOptions* options) const {
  if (!first_.empty()) options->lower_bound = first_;
  if (beyond_.has_value()) options->upper_bound = *beyond_;
}

}  // namespace sepal::tools
