// The history of scrubbing from the info log of a database: the program that has the database open scrubs
// (sepal/options.h), and logs each completed pass and each damage.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/sepal/database_access.h"
#include "tools/terminal/terminal_color.h"

namespace sepal::tools {

struct ScrubHistory {
  struct Pass {
    std::string time = {};  // of its end, as the log has it
    uint64_t tables = 0, bytes = 0, damaged = 0;
  };
  std::optional<Pass> last_pass = {};
  // Since that pass began, or since it ended: each line once.
  std::vector<std::string> damage = {};
};

// Reads LOG.old and LOG; empty if there are none.
ScrubHistory ReadScrubHistory(const Place& place);
// From the lines of a log, oldest first.
ScrubHistory ScrubHistoryOf(const std::vector<std::string>& lines);

std::string ScrubText(const ScrubHistory& history, const Paint& paint);
nlohmann::json ScrubJson(const ScrubHistory& history);

}  // namespace sepal::tools
