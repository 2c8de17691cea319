// Tests as text: a script is a list of commands, each with the answer that is expected.
//
//   command key=value key=value
//   lines of input
//   ----
//   the answer
//   (empty line)
//
// Lines that begin with '#' before a command are comments. SEPAL_REWRITE=1 writes the answers that came into the
// script.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

namespace sepal {

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

// Answers a command; whole lines.
using ScriptAnswer = std::function<std::string(const ScriptCommand&)>;

// `name` is relative to the tests' data directory.
inline void RunScript(const std::string& name, const ScriptAnswer& answer) {
  const char* directory = std::getenv("SEPAL_TEST_DATA");
  const std::string path = std::string(directory != nullptr ? directory : "tests/data") + "/" + name;
  std::ifstream file(path);
  ASSERT_TRUE(file.is_open()) << path << " (SEPAL_TEST_DATA is to name tests/data)";
  std::string rewritten;
  std::string line;
  int line_number = 0;
  int commands = 0;
  while (std::getline(file, line)) {
    ++line_number;
    if (line.empty() || line[0] == '#') {
      rewritten += line + "\n";
      continue;
    }
    ScriptCommand command;
    const int command_line = line_number;
    rewritten += line + "\n";
    std::istringstream words(line);
    words >> command.name;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      command.arguments[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
    while (std::getline(file, line) && line != "----") {
      ++line_number;
      command.input += line + "\n";
    }
    ++line_number;
    std::string expected;
    bool more = false;
    while ((more = static_cast<bool>(std::getline(file, line))) && !line.empty()) {
      ++line_number;
      expected += line + "\n";
    }
    ++line_number;
    const std::string got = answer(command);
    EXPECT_EQ(got, expected) << path << ":" << command_line;
    rewritten += command.input + "----\n" + got + (more ? "\n" : "");
    ++commands;
  }
  EXPECT_GT(commands, 0) << path;
  if (std::getenv("SEPAL_REWRITE") != nullptr) std::ofstream(path) << rewritten;
}

}  // namespace sepal
