// The source of manual pages and completion: the flags and arguments of verbs and programs, as CLI11 has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/terminal/verb.h"

namespace sepal::tools {

// A flag or an argument.
struct Flag {
  std::vector<std::string> names = {};  // "--from", "-o"; of an argument its one name
  std::string value = {};               // what follows: "SIZE"; empty: nothing
  std::vector<std::string> choices = {};
  std::string description = {};
  std::string default_value = {};
  std::string group = {};  // of flags: its heading in the help
  bool required = false;
  bool many = false;  // of an argument: several may follow
  bool list = false;  // the value is words with commas between
};

struct VerbPaper {
  const VerbEntry* entry;
  std::vector<Flag> arguments;
  std::vector<Flag> flags;
};

// Of all verbs.
std::vector<VerbPaper> Papers();
// Of a program that has no verbs.
VerbPaper PaperOf(const CLI::App& app);

// Scripts for shells.
std::string BashCompletion();
std::string ZshCompletion();
std::string FishCompletion();

// Manual pages: sepal(1), and those of the other programs under their installed names.
std::string SepalPage();
std::string DbBenchPage();
std::string SstDumpPage();

}  // namespace sepal::tools
