// Completion for shells, made from the table of verbs.
#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/terminal/manual_source.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

std::string Quoted(const std::vector<std::string>& words) { return "'" + absl::StrJoin(words, " ") + "'"; }

// In single quotes, as all three shells know them.
std::string ShellQuoted(std::string_view text) {
  return "'" + absl::StrReplaceAll(ToAbsl(text), {{"'", "'\\''"}}) + "'";
}

// The first words of verbs, in the order of the help, each with its second words and their summaries; of a verb of one
// word, itself.
struct Group {
  std::string word;
  std::string summary;                                       // of a verb of one word
  std::vector<std::pair<std::string, std::string>> seconds;  // of a group
};

std::vector<Group> Groups() {
  std::vector<Group> groups;
  for (const VerbEntry& entry : Verbs()) {
    const std::string name(entry.name);
    const size_t space = name.find(' ');
    const std::string word = name.substr(0, space);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.word == word; });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{.word = word, .summary = {}, .seconds = {}});
    if (space == std::string::npos) {
      group->summary = entry.summary;
    } else {
      group->seconds.emplace_back(name.substr(space + 1), entry.summary);
    }
  }
  return groups;
}

std::string SecondsOf(const Group& group) {
  std::vector<std::string> words;
  for (const auto& [word, summary] : group.seconds) words.push_back(word);
  return absl::StrJoin(words, ", ");
}

// --- zsh ---

std::string ZshItem(const std::string& word, const std::string& summary) {
  return ShellQuoted(absl::StrReplaceAll(word, {{":", "\\:"}}) + ":" + summary);
}

std::string ZshFlag(const Flag& flag, const std::string& name) {
  std::string spec =
      name + "[" + absl::StrReplaceAll(flag.description, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}) + "]";
  if (!flag.choices.empty()) {
    spec += ":value:(" + absl::StrJoin(flag.choices, " ") + ")";
  } else if (!flag.value.empty()) {
    spec += ":" + flag.value + ":_files";
  }
  return ShellQuoted(spec);
}

std::string ZshVerb(const VerbPaper& paper) {
  std::vector<std::string> specs;
  for (const Flag& flag : paper.flags) {
    for (const std::string& name : flag.names) specs.push_back(ZshFlag(flag, name));
  }
  for (size_t i = 0; i < paper.arguments.size(); ++i) {
    const Flag& argument = paper.arguments[i];
    const std::string values = argument.choices.empty() ? "_files" : "(" + absl::StrJoin(argument.choices, " ") + ")";
    specs.push_back(ShellQuoted(absl::StrFormat("%d:%s:%s", i + 1, argument.names.front(), values)));
  }
  specs.emplace_back("'*:file:_files'");
  return absl::StrFormat("    '%s')\n      _arguments \\\n        %s ;;\n", paper.entry->name,
                         absl::StrJoin(specs, " \\\n        "));
}

// --- fish ---

std::string FishVerb(const VerbPaper& paper) {
  const std::string condition = absl::StrFormat("complete -c sepal -n '__sepal_verb %s'", paper.entry->name);
  std::string lines;
  for (const Flag& flag : paper.flags) {
    lines += condition;
    for (const std::string& name : flag.names) {
      lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (!flag.choices.empty()) {
      lines += " -x -a " + ShellQuoted(absl::StrJoin(flag.choices, " "));
    } else if (!flag.value.empty()) {
      lines += " -r";
    }
    lines += " -d " + ShellQuoted(flag.description) + "\n";
  }
  for (const Flag& argument : paper.arguments) {
    if (argument.choices.empty()) continue;
    lines += condition + " -f -a " + ShellQuoted(absl::StrJoin(argument.choices, " ")) + "\n";
  }
  return lines;
}

}  // namespace

std::string BashCompletion() {
  std::vector<std::string> first = {"--help", "--version"};
  std::map<std::string, std::vector<std::string>> groups;  // second words
  std::string flags, values, arguments;
  for (const VerbPaper& paper : Papers()) {
    const std::string name(paper.entry->name);
    const size_t space = name.find(' ');
    const std::string word = name.substr(0, space);
    if (std::find(first.begin(), first.end(), word) == first.end()) first.push_back(word);
    if (space != std::string::npos) groups[word].push_back(name.substr(space + 1));
    std::vector<std::string> names;
    for (const Flag& flag : paper.flags) {
      names.insert(names.end(), flag.names.begin(), flag.names.end());
      if (flag.choices.empty()) continue;
      for (const std::string& flag_name : flag.names) {
        values += absl::StrFormat("    '%s %s') words=%s ;;\n", name, flag_name, Quoted(flag.choices));
      }
    }
    flags += absl::StrFormat("    '%s') words=%s ;;\n", name, Quoted(names));
    for (const Flag& argument : paper.arguments) {
      if (!argument.choices.empty())
        arguments += absl::StrFormat("    '%s') words=%s ;;\n", name, Quoted(argument.choices));
    }
  }
  std::string seconds;
  for (const auto& [group, words] : groups) seconds += absl::StrFormat("    %s) words=%s ;;\n", group, Quoted(words));
  // Where no words are known, bash completes the names of files.
  return "# Completion for bash, made by `sepal completion bash`.\n"
         "_sepal() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local verb=${COMP_WORDS[1]} words=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    mapfile -t COMPREPLY < <(compgen -W " +
         Quoted(first) +
         " -- \"$cur\")\n"
         "    return\n"
         "  fi\n"
         "  case $verb in\n" +
         seconds +
         "  esac\n"
         "  if [[ -n $words ]]; then\n"
         "    if ((COMP_CWORD == 2)); then\n"
         "      mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "      return\n"
         "    fi\n"
         "    verb+=\" ${COMP_WORDS[2]}\"\n"
         "    words=\n"
         "  fi\n"
         "  case \"$verb $prev\" in\n" +
         values +
         "  esac\n"
         "  if [[ -z $words && $cur == -* ]]; then\n"
         "    case $verb in\n" +
         absl::StrReplaceAll(flags, {{"    '", "      '"}}) +
         "    esac\n"
         "  elif [[ -z $words ]]; then\n"
         "    case $verb in\n" +
         absl::StrReplaceAll(arguments, {{"    '", "      '"}}) +
         "    esac\n"
         "  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
         "}\n"
         "complete -o bashdefault -o default -F _sepal sepal\n";
}

std::string ZshCompletion() {
  std::string first, seconds, verbs;
  for (const Group& group : Groups()) {
    const bool leaf = group.seconds.empty();
    first += "      " + ZshItem(group.word, leaf ? group.summary : SecondsOf(group)) + "\n";
    if (leaf) continue;
    seconds += "    " + group.word + ")\n      words_of=(\n";
    for (const auto& [word, summary] : group.seconds) seconds += "        " + ZshItem(word, summary) + "\n";
    seconds += "      ) ;;\n";
  }
  for (const VerbPaper& paper : Papers()) verbs += ZshVerb(paper);
  // What _arguments sees begins with the verb's last word, as if that were the command.
  return "#compdef sepal\n"
         "# Completion for zsh, made by `sepal completion zsh`.\n"
         "_sepal() {\n"
         "  local verb=${words[2]}\n"
         "  local -a words_of\n"
         "  if ((CURRENT == 2)); then\n"
         "    words_of=(\n" +
         first +
         "    )\n"
         "    _describe -t verbs verb words_of\n"
         "    return\n"
         "  fi\n"
         "  case $verb in\n" +
         seconds +
         "  esac\n"
         "  if ((${#words_of})); then\n"
         "    if ((CURRENT == 3)); then\n"
         "      _describe -t verbs verb words_of\n"
         "      return\n"
         "    fi\n"
         "    verb+=\" ${words[3]}\"\n"
         "    shift words\n"
         "    ((CURRENT -= 1))\n"
         "  fi\n"
         "  shift words\n"
         "  ((CURRENT -= 1))\n"
         "  case $verb in\n" +
         verbs +
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _sepal ]]; then\n"
         "  _sepal \"$@\"\n"
         "else\n"
         "  compdef _sepal sepal\n"
         "fi\n";
}

std::string FishCompletion() {
  std::string text =
      "# Completion for fish, made by `sepal completion fish`.\n"
      "# Whether so many words stand before the cursor.\n"
      "function __sepal_words\n"
      "  test (count (commandline -opc)) -eq $argv[1]\n"
      "end\n"
      "# Whether the command line begins with this verb, or with this first word of one.\n"
      "function __sepal_verb\n"
      "  set -l words (commandline -opc)\n"
      "  set -e words[1]\n"
      "  test (count $words) -ge (count $argv); or return 1\n"
      "  for i in (seq (count $argv))\n"
      "    test \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
      "  end\n"
      "end\n";
  for (const Group& group : Groups()) {
    const std::string& summary = group.seconds.empty() ? group.summary : SecondsOf(group);
    absl::StrAppendFormat(&text, "complete -c sepal -n '__sepal_words 1' -f -a %s -d %s\n", group.word,
                          ShellQuoted(summary));
    for (const auto& [word, second_summary] : group.seconds) {
      absl::StrAppendFormat(&text, "complete -c sepal -n '__sepal_words 2; and __sepal_verb %s' -f -a %s -d %s\n",
                            group.word, word, ShellQuoted(second_summary));
    }
  }
  for (const VerbPaper& paper : Papers()) text += FishVerb(paper);
  return text;
}

}  // namespace sepal::tools
