// Engine scripts: tests/scripts/*.txt, each scenario with its entries in each place that it names (runner.h).
//
// SEPAL_REWRITE=1 writes the answers that came into the scripts: those of the first place that a paragraph runs in. A
// test of another place then says where its answers differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/db/script.h"
#include "tests/scripts/runner.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

struct ScenarioAtPlace {
  std::string file;    // relative to the test data
  std::string name;    // as the script has it
  size_t heading = 0;  // its paragraph
  EntryPlace place = EntryPlace::kMemory;

  friend void PrintTo(const ScenarioAtPlace& scenario, std::ostream* out) {
    *out << "\"" << scenario.name << "\" of " << scenario.file << " in " << Name(scenario.place);
  }
};

// What stands behind "title: " in the lines of a paragraph; "" if nothing does.
std::string Titled(const ScriptParagraph& paragraph, std::string_view title) {
  for (const std::string& line : paragraph.lines) {
    if (line.starts_with(title)) return line.substr(title.size());
  }
  return "";
}

std::vector<std::string> Listed(const std::string& text) { return absl::StrSplit(text, ", ", absl::SkipEmpty()); }

bool Names(const std::string& list, EntryPlace place) {
  const std::vector<std::string> places = Listed(list);
  return list == "all" || std::find(places.begin(), places.end(), Name(place)) != places.end();
}

// All of a directory's, each with each of its places.
std::vector<ScenarioAtPlace> AllScenarios() {
  const char* const data = std::getenv("SEPAL_TEST_DATA");
  const std::string directory = std::string(data != nullptr ? data : "tests/data") + "/../scripts";
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(directory, missing)) {
    if (entry.path().extension() == ".txt") files.push_back("../scripts/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<ScenarioAtPlace> all;
  for (const std::string& file : files) {
    const ScriptFile script = LoadScript(file);
    for (size_t i = 0; i < script.paragraphs.size(); ++i) {
      const std::string name = Titled(script.paragraphs[i], "scenario: ");
      for (const EntryPlace place : kAllPlaces) {
        if (!name.empty() && Names(Titled(script.paragraphs[i], "run in: "), place))
          all.push_back({file, name, i, place});
      }
    }
  }
  return all;
}

// "reopened" of "Bounds hold for every move" in bounds.txt is "bounds_BoundsHoldForEveryMove_reopened".
std::string TestName(const ::testing::TestParamInfo<ScenarioAtPlace>& info) {
  std::string name = std::filesystem::path(info.param.file).stem().string() + "_";
  bool begins_word = true;
  for (const char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += begins_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    }
    begins_word = c == ' ' || c == '-';
  }
  return name + "_" + absl::StrJoin(absl::StrSplit(ToAbsl(Name(info.param.place)), ' '), "_");
}

class EngineScriptTest : public ::testing::TestWithParam<ScenarioAtPlace> {};

TEST_P(EngineScriptTest, AnswersAs) {
  const ScenarioAtPlace& scenario = GetParam();
  ScriptFile script = LoadScript(scenario.file);
  const ScriptParagraph& heading = script.paragraphs[scenario.heading];
  const std::string run_in = Titled(heading, "run in: ");
  ScriptRunner runner(scenario.place, Listed(Titled(heading, "with: ")));
  for (size_t i = scenario.heading + 1; i < script.paragraphs.size(); ++i) {
    ScriptParagraph& paragraph = script.paragraphs[i];
    if (!Titled(paragraph, "scenario: ").empty()) break;
    const std::string only = Titled(paragraph, "only in: ");
    if (!only.empty() && !Names(only, scenario.place)) continue;
    const std::string got = runner.Run({paragraph.lines.begin() + (only.empty() ? 0 : 1), paragraph.lines.end()});
    EXPECT_EQ(got, paragraph.answer) << scenario.file << ":" << paragraph.line_number << ": "
                                     << absl::StrJoin(paragraph.lines, "; ");
    bool first = true;
    for (const EntryPlace place : kAllPlaces) {
      if (place == scenario.place) break;
      first = first && !(Names(run_in, place) && (only.empty() || Names(only, place)));
    }
    if (first) {
      paragraph.has_answer = !got.empty();
      paragraph.answer = got;
    }
  }
  EXPECT_EQ(runner.End(), "") << "as of snapshots";
  if (RewritesScripts()) script.Save();
}

INSTANTIATE_TEST_SUITE_P(Scripts, EngineScriptTest, ::testing::ValuesIn(AllScenarios()), TestName);

}  // namespace
}  // namespace sepal
