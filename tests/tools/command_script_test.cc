// Command scripts: tests/tools/scripts/*.txt, each scenario in a directory of its own (tests/tools/scripts/README.md).
//
// SEPAL_REWRITE=1 writes the answers that came into the scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/db/script.h"
#include "tests/tools/sepal_command_fixture.h"
#include "tests/tools/sst_dump_fixture.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

struct CommandScenario {
  std::string file;  // relative to the test data
  std::string name;
  size_t heading = 0;  // its paragraph

  friend void PrintTo(const CommandScenario& scenario, std::ostream* out) {
    *out << "\"" << scenario.name << "\" of " << scenario.file;
  }
};

constexpr std::string_view kTitle = "scenario: ";

std::vector<CommandScenario> CommandScenarios() {
  const char* const data = std::getenv("SEPAL_TEST_DATA");
  const std::string directory = std::string(data != nullptr ? data : "tests/data") + "/../tools/scripts";
  std::vector<std::string> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(directory, missing)) {
    if (entry.path().extension() == ".txt") files.push_back("../tools/scripts/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  std::vector<CommandScenario> all;
  for (const std::string& file : files) {
    const ScriptFile script = LoadScript(file);
    for (size_t i = 0; i < script.paragraphs.size(); ++i) {
      const std::string& line = script.paragraphs[i].lines.front();
      if (line.starts_with(kTitle)) all.push_back({file, line.substr(kTitle.size()), i});
    }
  }
  return all;
}

std::string CommandScenarioName(const ::testing::TestParamInfo<CommandScenario>& info) {
  std::string name = fs::path(info.param.file).stem().string() + "_";
  bool begins_word = true;
  for (const char c : info.param.name) {
    const bool letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (letter) name += begins_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins_word = !letter;
  }
  return name;
}

// Words stand between blanks or in quotes, where \n, \t and \xNN are bytes.
std::vector<std::string> QuotedWords(const std::string& line) {
  std::vector<std::string> words;
  bool quoted = false, open = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (!quoted && c == ' ') {
      open = false;
      continue;
    }
    if (!open) words.emplace_back();
    open = true;
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted && c == '\\') {
      const char kind = line[++i];
      if (kind == 'x') words.back() += *FromHex(line.substr(i + 1, 2));
      if (kind != 'x') words.back() += kind == 'n' ? '\n' : kind == 't' ? '\t' : kind;
      if (kind == 'x') i += 2;
    } else {
      words.back() += c;
    }
  }
  return words;
}

// Lines of a text; the last one with '%' if nothing ends it. Bytes that are no text are shown as \xNN.
std::vector<std::string> ShownLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::string shown;
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      shown += c == '\t' ? "\\t" : byte < 0x20 ? absl::StrFormat("\\x%02x", byte) : std::string(1, c);
    }
    lines.push_back(shown.empty() ? "~" : shown);
  }
  if (!text.empty() && text.back() != '\n') lines.back() += "%";
  return lines;
}

class CommandScriptTest : public SepalCommandTest, public ::testing::WithParamInterface<CommandScenario> {
 protected:
  std::string Answer(const std::string& line) {
    const size_t pipe = line.find(" | ");
    const std::vector<std::string> words = Words(line.substr(0, pipe));
    const std::vector<std::string> filter =
        pipe == line.npos ? std::vector<std::string>() : QuotedWords(line.substr(pipe + 3));
    if (Prepare(words)) return "";
    if (words[0] == "list") return Masked(List(words[1]));
    if (words[0] == "changed") return (StateOf(words[1], "LOCK") == remembered_ ? "no\n" : "yes\n");
    const std::string input = std::exchange(input_, "");
    const Outcome outcome = words[0] == "sst_dump"
                                ? RunSstDump({words.begin() + 1, words.end()})
                                : RunSepal({words.begin() + (words[0] == "sepal"), words.end()}, input);
    return Shown(outcome, filter);
  }

 private:
  // DB, TABLE, MANIFEST and LOG stand for the database and the first of its files of that kind, DIR/ for the directory
  // of the test, also behind an '='.
  std::vector<std::string> Words(const std::string& line) const {
    std::vector<std::string> words = QuotedWords(line);
    for (std::string& word : words) {
      const size_t begin = word.starts_with("--") ? word.find('=') + 1 : 0;
      const std::string name = word.substr(begin);
      if (name == "DB" || name.starts_with("DB/")) word.replace(begin, 2, db_);
      if (name == "DIR" || name.starts_with("DIR/")) word.replace(begin, 3, directory_.path());
      if (name == "TABLE") word.replace(begin, name.npos, Files(".sst").front());
      if (name == "LOG") word.replace(begin, name.npos, Files(".log").back());
      if (name == "DUMPED") word.replace(begin, name.npos, directory_.File("000007.sst"));
      if (name != "MANIFEST") continue;
      for (const auto& entry : fs::directory_iterator(db_)) {
        if (entry.path().filename().string().starts_with("MANIFEST-")) word.replace(begin, name.npos, entry.path());
      }
    }
    return words;
  }

  // What sets the scene, and answers nothing.
  bool Prepare(const std::vector<std::string>& words) {
    const std::string& name = words[0];
    if (name == "make" && words[1] == "tables") {
      MakeDatabase();
    } else if (name == "make" && words[1] == "rich") {
      MakeRichDatabase();
    } else if (name == "make" && words[1] == "dumped") {
      MakeDumpedTable(directory_.path());
    } else if (name == "stdin") {
      input_ = words[1];
    } else if (name == "write" || name == "append") {
      std::ofstream(words[1], name == "append" ? std::ios::app : std::ios::trunc) << words[2];
    } else if (name == "mkdir") {
      fs::create_directories(words[1]);
    } else if (name == "copy") {
      fs::copy(words[1], words[2], fs::copy_options::recursive);
    } else if (name == "link") {
      fs::create_symlink(words[1], words[2]);
    } else if (name == "remove") {
      fs::remove_all(words[1]);
    } else if (name == "flip") {
      const bool all = fs::is_directory(words[1]);
      for (const std::string& path : all ? Files(".sst") : std::vector<std::string>{words[1]}) {
        FlipByte(path, std::stod(words[2]));
      }
    } else if (name == "hold") {
      holder_ = DB::Open({.info_log = false}, words[1]).value();
    } else if (name == "let-go") {
      holder_.reset();
    } else if (name == "remember") {
      remembered_ = StateOf(words[1], "LOCK");
    } else {
      return false;
    }
    return true;
  }

  static std::string List(const std::string& path) {
    if (!fs::exists(path)) return fs::is_symlink(path) ? "a link to nothing\n" : "missing\n";
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names) list += name + "\n";
    return list.empty() ? "empty\n" : list;
  }

  // What it printed, of which `has PART` leaves the lines with that part, `lines` their number, and `json POINTER ...`
  // those values of the last line; then the lines of its errors, behind '!', and its exit status, unless that is 0.
  std::string Shown(const Outcome& outcome, const std::vector<std::string>& filter) const {
    std::vector<std::string> lines = ShownLines(Masked(outcome.out));
    const std::string kind = filter.empty() ? "" : filter[0];
    if (kind == "lines") lines = {std::to_string(lines.size())};
    if (kind == "json") {
      const nlohmann::json last = LastJson(outcome.out);
      lines.clear();
      for (size_t i = 1; i < filter.size(); ++i) {
        const nlohmann::json::json_pointer pointer(filter[i]);
        lines.push_back(Masked(last.contains(pointer) ? last.at(pointer).dump() : "none"));
      }
    }
    for (const std::string& line : ShownLines(Masked(outcome.err))) lines.push_back("! " + line);
    if (kind == "has") std::erase_if(lines, [&](const std::string& line) { return !Has(line, filter[1]); });
    if (outcome.exit != kExitOk) lines.push_back("exit " + std::to_string(outcome.exit));
    std::string shown;
    for (const std::string& line : lines) shown += line + "\n";
    return shown;
  }

  // Without what differs from run to run.
  std::string Masked(std::string text) const {
    const std::pair<std::string, std::string> places[] = {{db_, "DB"}, {directory_.path(), "DIR"}};
    for (const auto& [place, name] : places) {
      for (size_t at = 0; (at = text.find(place, at)) != text.npos; at += name.size()) {
        text.replace(at, place.size(), name);
      }
    }
    text = std::regex_replace(text, std::regex("[0-9]{6}\\.(sst|log|ring)"), "N.$1");
    text = std::regex_replace(text, std::regex("MANIFEST-[0-9]{6}"), "MANIFEST-N");
    text = std::regex_replace(text, std::regex("process [0-9]+"), "process N");
    text = std::regex_replace(text, std::regex("[0-9.]+ (ms|us|s)\\b"), "T $1");
    return std::regex_replace(text, std::regex("0x[0-9a-f]{8,}"), "0x...");
  }

  std::string input_;
  std::unique_ptr<DB> holder_;
  std::set<std::string> remembered_;
};

TEST_P(CommandScriptTest, AnswersAs) {
  const CommandScenario& scenario = GetParam();
  ScriptFile script = LoadScript(scenario.file);
  for (size_t i = scenario.heading + 1; i < script.paragraphs.size(); ++i) {
    ScriptParagraph& paragraph = script.paragraphs[i];
    if (paragraph.lines.front().starts_with(kTitle)) break;
    std::string got;
    for (const std::string& line : paragraph.lines) got += Answer(line);
    EXPECT_EQ(got, paragraph.answer) << scenario.file << ":" << paragraph.line_number << ": "
                                     << paragraph.lines.front();
    paragraph.has_answer = !got.empty();
    paragraph.answer = got;
  }
  if (RewritesScripts()) script.Save();
}

INSTANTIATE_TEST_SUITE_P(Scripts, CommandScriptTest, ::testing::ValuesIn(CommandScenarios()), CommandScenarioName);

}  // namespace
}  // namespace sepal::tools
