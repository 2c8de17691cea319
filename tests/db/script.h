// Tests as text: a script is a list of paragraphs, each with the answer that is expected.
//
//   command key=value key=value
//   lines of input
//   ----
//   the answer
//   (empty line)
//
// Lines that begin with '#' before a paragraph are comments. SEPAL_REWRITE=1 writes the actual answers into the script.
// `RunScript` reads the first line of each paragraph as a command; other runners have their own syntax.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sepal {

struct ScriptParagraph {
  std::string before = {};  // comments and empty lines
  int line_number = 0;
  std::vector<std::string> lines = {};
  bool has_answer = false;  // whether "----" stands below the lines
  std::string answer = {};  // whole lines
  std::string end = {};     // the empty line behind the answer
};

struct ScriptFile {
  std::string path = {};
  std::vector<ScriptParagraph> paragraphs = {};
  std::string rest = {};  // what stands behind the last paragraph

  void Save() const {
    std::ofstream out(path);
    for (const ScriptParagraph& paragraph : paragraphs) {
      out << paragraph.before;
      for (const std::string& line : paragraph.lines) out << line << "\n";
      if (paragraph.has_answer) out << "----\n" << paragraph.answer;
      out << paragraph.end;
    }
    out << rest;
  }
};

// `name` is relative to the tests' data directory. A file that is not there has no paragraphs.
inline ScriptFile LoadScript(const std::string& name) {
  const char* directory = std::getenv("SEPAL_TEST_DATA");
  ScriptFile script{.path = std::string(directory != nullptr ? directory : "tests/data") + "/" + name};
  std::ifstream file(script.path);
  int line_number = 0;
  std::string line;
  while (std::getline(file, line)) {
    ++line_number;
    if (line.empty() || line[0] == '#') {
      script.rest += line + "\n";
      continue;
    }
    ScriptParagraph paragraph{.before = std::exchange(script.rest, {}), .line_number = line_number};
    bool more = true;
    for (; more && !line.empty(); more = static_cast<bool>(std::getline(file, line)), ++line_number) {
      if (paragraph.has_answer) {
        paragraph.answer += line + "\n";
      } else if (line == "----") {
        paragraph.has_answer = true;
      } else {
        paragraph.lines.push_back(line);
      }
    }
    --line_number;
    if (more) paragraph.end = "\n";
    script.paragraphs.push_back(std::move(paragraph));
  }
  return script;
}

inline bool RewritesScripts() { return std::getenv("SEPAL_REWRITE") != nullptr; }

struct ScriptCommand {
  std::string name;
  std::map<std::string, std::string> arguments;
  std::string input;  // whole lines

  bool Has(const std::string& key) const { return arguments.contains(key); }
  std::string Text(const std::string& key, const std::string& otherwise = "") const {
    const auto it = arguments.find(key);
    return it == arguments.end() ? otherwise : it->second;
  }
  uint64_t Number(const std::string& key, uint64_t otherwise = 0) const {
    return Has(key) ? std::stoull(Text(key)) : otherwise;
  }
};

inline ScriptCommand CommandOf(const ScriptParagraph& paragraph) {
  ScriptCommand command;
  std::istringstream words(paragraph.lines.front());
  words >> command.name;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    command.arguments[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  for (size_t i = 1; i < paragraph.lines.size(); ++i) command.input += paragraph.lines[i] + "\n";
  return command;
}

// Answers a command; whole lines.
using ScriptAnswer = std::function<std::string(const ScriptCommand&)>;

inline void RunScript(const std::string& name, const ScriptAnswer& answer) {
  ScriptFile script = LoadScript(name);
  EXPECT_FALSE(script.paragraphs.empty()) << script.path << " (SEPAL_TEST_DATA is to name tests/data)";
  for (ScriptParagraph& paragraph : script.paragraphs) {
    const std::string got = answer(CommandOf(paragraph));
    EXPECT_EQ(got, paragraph.answer) << script.path << ":" << paragraph.line_number;
    paragraph.has_answer = true;
    paragraph.answer = got;
  }
  if (RewritesScripts()) script.Save();
}

}  // namespace sepal
