#include "tools/sepal/scrub_history.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "tools/terminal/cli.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

// As the scrubber writes them (db/doctor/scrubber.cc), behind the time.
constexpr char kPassLine[] = "scrubbing has read all %lu tables, %lu bytes: %lu are damaged";
constexpr std::string_view kDamageLine = "scrubbing found damage: ";

std::optional<ScrubHistory::Pass> PassFrom(const std::string& line) {
  const size_t space = line.find(' ');
  unsigned long tables = 0, bytes = 0, damaged = 0;
  if (space == std::string::npos) return std::nullopt;
  if (std::sscanf(line.c_str() + space + 1, kPassLine, &tables, &bytes, &damaged) != 3) return std::nullopt;
  return ScrubHistory::Pass{.time = line.substr(0, space), .tables = tables, .bytes = bytes, .damaged = damaged};
}

}  // namespace

ScrubHistory ScrubHistoryOf(const std::vector<std::string>& lines) {
  ScrubHistory history;
  std::vector<std::string> since;  // the end of the last pass
  for (const std::string& line : lines) {
    if (std::optional<ScrubHistory::Pass> pass = PassFrom(line); pass.has_value()) {
      history = {.last_pass = std::move(pass), .damage = std::move(since)};
      since.clear();
      continue;
    }
    const size_t damage = line.find(kDamageLine);
    if (damage != std::string::npos) since.push_back(line.substr(damage + kDamageLine.size()));
  }
  for (std::string& line : since) {
    if (std::find(history.damage.begin(), history.damage.end(), line) == history.damage.end()) {
      history.damage.push_back(std::move(line));
    }
  }
  return history;
}

ScrubHistory ReadScrubHistory(const Place& place) {
  std::vector<std::string> lines;
  for (const std::string_view name : {kOldInfoLogFileName, kInfoLogFileName}) {
    std::ifstream file(absl::StrFormat("%s/%s", place.directory, name));
    for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  }
  return ScrubHistoryOf(lines);
}

std::string ScrubText(const ScrubHistory& history, const Paint& paint) {
  std::string text = "scrubbing: ";
  if (history.last_pass.has_value()) {
    const ScrubHistory::Pass& pass = *history.last_pass;
    text += absl::StrFormat(
        "all of %s, %s, read by %s: %s\n", Counted(pass.tables, "table"), HumanBytes(pass.bytes), pass.time,
        pass.damaged == 0 ? paint.Good("none damaged") : paint.Bad(absl::StrFormat("%d damaged", pass.damaged)));
  } else {
    text += "LOG tells of no whole pass (Options::scrub_seconds turns it on)\n";
  }
  for (const std::string& line : history.damage) text += "  " + paint.Bad("damage:") + " " + line + "\n";
  return text;
}

nlohmann::json ScrubJson(const ScrubHistory& history) {
  nlohmann::json json = {{"last_pass", nullptr}, {"damage", history.damage}};
  if (history.last_pass.has_value()) {
    const ScrubHistory::Pass& pass = *history.last_pass;
    json["last_pass"] = {
        {"ended", pass.time}, {"tables", pass.tables}, {"bytes", pass.bytes}, {"damaged_tables", pass.damaged}};
  }
  return json;
}

}  // namespace sepal::tools
