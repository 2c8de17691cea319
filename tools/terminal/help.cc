#include "tools/terminal/help.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/terminal/manual_source.h"

namespace sepal::tools {
namespace {

constexpr size_t kMostNameColumns = 30;

std::string HeadOf(const Flag& flag, bool argument) {
  std::string head = absl::StrJoin(flag.names, ", ");
  if (!argument && !flag.value.empty()) head += " " + flag.value;
  return head;
}

std::string NotesOf(const Flag& flag, bool argument) {
  std::vector<std::string> notes;
  if (!argument && flag.required) notes.emplace_back("required");
  if (!flag.default_value.empty()) notes.push_back("default: " + flag.default_value);
  return notes.empty() ? "" : " (" + absl::StrJoin(notes, "; ") + ")";
}

std::string Lines(const std::vector<Flag>& flags, bool argument, size_t columns, const Paint& paint) {
  std::string text;
  for (const Flag& flag : flags) {
    const std::string head = HeadOf(flag, argument);
    text += "  " + paint.Bold(head);
    text += head.size() > columns ? "\n" + std::string(columns + 4, ' ') : std::string(columns + 2 - head.size(), ' ');
    text += flag.description + NotesOf(flag, argument) + "\n";
  }
  return text;
}

}  // namespace

std::string HelpText(const CLI::App& app, const Paint& paint) {
  const VerbPaper paper = PaperOf(app);
  std::string usage = app.get_name();
  for (const Flag& argument : paper.arguments) {
    std::string name = argument.names.front();
    if (argument.many) name += " ...";
    usage += argument.required ? " " + name : " [" + name + "]";
  }
  size_t columns = 0;
  for (const auto& [flags, argument] : {std::pair(&paper.arguments, true), std::pair(&paper.flags, false)}) {
    for (const Flag& flag : *flags) {
      const size_t width = HeadOf(flag, argument).size();
      if (width <= kMostNameColumns) columns = std::max(columns, width);
    }
  }
  std::string text = app.get_description() + "\n\n" + paint.Bold("Usage:") + " " + usage + " [FLAG ...]\n";
  if (!paper.arguments.empty()) {
    text += "\n" + paint.Bold("Arguments:") + "\n" + Lines(paper.arguments, /*argument=*/true, columns, paint);
  }
  std::vector<std::string> groups;
  for (const Flag& flag : paper.flags) {
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) groups.push_back(flag.group);
  }
  for (const std::string& group : groups) {
    std::vector<Flag> flags;
    std::copy_if(paper.flags.begin(), paper.flags.end(), std::back_inserter(flags),
                 [&](const Flag& flag) { return flag.group == group; });
    text += "\n" + paint.Bold((group == "Options" ? "Flags" : group) + ":") + "\n" +
            Lines(flags, /*argument=*/false, columns, paint);
  }
  return text;
}

}  // namespace sepal::tools
