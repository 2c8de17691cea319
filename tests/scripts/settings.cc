#include "tests/scripts/settings.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "sepal/merge_operator.h"
#include "tests/db/engine/first_letter_filter.h"

namespace sepal {

namespace {

std::pair<std::string_view, std::string_view> SplitAtEquals(std::string_view setting) {
  const size_t equals = std::min(setting.find('='), setting.size());
  return {setting.substr(0, equals), setting.substr(std::min(equals + 1, setting.size()))};
}

}  // namespace

absl::Status SetFamilyOption(std::string_view setting, ColumnFamilyOptions* options) {
  const auto [name, value] = SplitAtEquals(setting);
  if (name == "style") {
    options->compaction_style = value == "leveled"     ? CompactionStyle::kLeveled
                                : value == "universal" ? CompactionStyle::kUniversal
                                                       : CompactionStyle::kLazyLeveling;
  } else if (name == "block") {
    options->block_bytes = std::stoull(std::string(value));
  } else if (name == "compression") {
    options->compression = value == "none"   ? CompressionKind::kNone
                           : value == "zstd" ? CompressionKind::kZstd
                                             : CompressionKind::kSnappy;
  } else if (name == "merge") {
    options->merge_operator = value == "none"  ? nullptr
                              : value == "add" ? MergeOperators::Add64()
                                               : MergeOperators::Append(value);
  } else if (name == "refuses") {
    options->compaction_filter = value == "none"    ? nullptr
                                 : value == "other" ? std::make_shared<FirstLetterFilter>("test.other")
                                                    : std::make_shared<FirstLetterFilter>();
  } else if (name == "ttl") {
    options->ttl = std::chrono::milliseconds(std::stoll(std::string(value)));
  } else if (name == "filter") {
    options->filter_policy = value == "none" ? FilterPolicy::None() : FilterPolicy();
  } else {
    return absl::InvalidArgumentError(absl::StrFormat("no such setting: %s", std::string(name)));
  }
  return absl::OkStatus();
}

absl::Status SetOption(std::string_view setting, TestDatabase* database) {
  const auto [name, value] = SplitAtEquals(setting);
  const bool on = value == "yes";
  if (name == "memtable") {
    database->tuning.memtable_bytes = std::stoull(std::string(value));
  } else if (name == "runs") {
    database->tuning.runs_per_level = std::stoi(std::string(value));
  } else if (name == "memory") {
    database->options.memory_limit = std::stoull(std::string(value));
  } else if (name == "seed") {
    database->options.env.random_seed = std::stoull(std::string(value));
  } else if (name == "logs") {
    database->options.log_directory = value;
  } else if (name == "create") {
    database->options.create_if_missing = on;
  } else if (name == "fresh") {
    database->options.error_if_exists = on;
  } else if (name == "family") {
    database->options.column_families.push_back({.name = std::string(value), .options = {}});
  } else {
    return SetFamilyOption(setting, &database->options.family);
  }
  return absl::OkStatus();
}

}  // namespace sepal
