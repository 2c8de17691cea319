#include "tools/terminal/manual_source.h"

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/terminal/cli.h"

namespace sepal::tools {
namespace {

constexpr size_t kMostChoiceColumns = 40;

// CLI11's description of a value: "UINT:SIZE", "FLOAT:TIME", "TEXT:{leveldb,rocksdb}", "INT:INT in [1 - 64]".
void TakeType(const std::string& type, Flag* flag) {
  const size_t open = type.find('{'), close = type.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    flag->choices = absl::StrSplit(type.substr(open + 1, close - open - 1), ',');
    flag->value = absl::StrJoin(flag->choices, "|");
    // The description names them.
    if (flag->value.size() > kMostChoiceColumns) flag->value = "NAME";
    if (flag->list) flag->value = "NAME,...";
  } else if (type.find(":SIZE") != std::string::npos) {
    flag->value = "SIZE";
  } else if (type.find(":COUNT") != std::string::npos) {
    flag->value = "COUNT";
  } else if (type.find(":TIME") != std::string::npos) {
    flag->value = "TIME";
  } else {
    flag->value = type.starts_with("TEXT") ? "TEXT" : "NUMBER";
  }
}

constexpr std::string_view kHelpOfLibrary = "Print this help message and exit";

}  // namespace

VerbPaper PaperOf(const CLI::App& app) {
  VerbPaper paper{nullptr, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    Flag flag{.description = option->get_description(),
              .default_value = option->get_default_str(),
              .group = option->get_group(),
              .required = option->get_required(),
              .many = option->get_items_expected_max() > 1,
              .list = option->get_delimiter() != '\0'};
    if (option->get_items_expected_max() > 0) TakeType(option->get_type_name(), &flag);
    uint64_t bytes = 0;
    if (flag.value == "SIZE" && absl::SimpleAtoi(flag.default_value, &bytes)) flag.default_value = SizeText(bytes);
    if (flag.default_value.starts_with("[") && flag.default_value.ends_with("]")) {
      flag.default_value = flag.default_value.substr(1, flag.default_value.size() - 2);
    }
    if (flag.description == kHelpOfLibrary) flag.description = "This help";
    if (option->get_positional()) {
      flag.names = {option->get_name(/*positional=*/true, /*all_options=*/false)};
      paper.arguments.push_back(std::move(flag));
      continue;
    }
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    paper.flags.push_back(std::move(flag));
  }
  return paper;
}

std::vector<VerbPaper> Papers() {
  std::vector<VerbPaper> papers;
  for (const VerbEntry& entry : Verbs()) {
    const std::unique_ptr<Verb> verb = entry.make();
    papers.push_back(PaperOf(*MakeApp(entry, verb.get())));
    papers.back().entry = &entry;
  }
  return papers;
}

}  // namespace sepal::tools
