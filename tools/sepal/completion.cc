// Completion for shells, made from the tables of verbs and flags.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/db_bench/db_bench_options.h"
#include "tools/sst_dump/sst_dump_options.h"
#include "tools/terminal/manual_source.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

std::string Quoted(const std::vector<std::string>& words) { return "'" + absl::StrJoin(words, " ") + "'"; }

// In single quotes, as all three shells know them.
std::string ShellQuoted(std::string_view text) {
  return "'" + absl::StrReplaceAll(ToAbsl(text), {{"'", "'\\''"}}) + "'";
}

// A program without verbs, under its own name and its installed name.
struct Program {
  std::string name, installed;
  VerbPaper paper;
};

std::vector<Program> Programs() {
  DbBenchOptions bench;
  SstDumpOptions dump;
  SstDumpTexts texts;
  std::ostringstream notes;
  return {{"db_bench", "sepal_db_bench", PaperOf(*DbBenchApp(&bench, notes))},
          {"sst_dump", "sepal_sst_dump", PaperOf(*SstDumpApp(&dump, &texts, notes))}};
}

bool IsFamily(const Flag& flag) { return flag.names.front() == "--family"; }

// The first words of verbs, in the order of the help, each with its second words and their summaries; a verb of one
// word has its own summary.
struct Group {
  std::string word;
  std::string summary;                                       // for a verb of one word
  std::vector<std::pair<std::string, std::string>> seconds;  // for a group
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

// `equals`: the value may also follow "=".
std::string ZshFlag(const Flag& flag, const std::string& name, bool equals) {
  std::string spec = name + (equals && !flag.value.empty() ? "=[" : "[") +
                     absl::StrReplaceAll(flag.description, {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}}) + "]";
  if (IsFamily(flag)) {
    spec += ":family:_sepal_families";
  } else if (flag.list && !flag.choices.empty()) {
    spec += ":values:_sequence compadd - " + absl::StrJoin(flag.choices, " ");
  } else if (!flag.choices.empty()) {
    spec += ":value:(" + absl::StrJoin(flag.choices, " ") + ")";
  } else if (!flag.value.empty()) {
    spec += ":" + flag.value + ":_files";
  }
  return ShellQuoted(spec);
}

std::string ZshArguments(const VerbPaper& paper, bool equals, const std::string& indent) {
  std::vector<std::string> specs;
  for (const Flag& flag : paper.flags) {
    for (const std::string& name : flag.names) specs.push_back(ZshFlag(flag, name, equals));
  }
  for (size_t i = 0; i < paper.arguments.size(); ++i) {
    const Flag& argument = paper.arguments[i];
    const std::string values = argument.choices.empty() ? "_files" : "(" + absl::StrJoin(argument.choices, " ") + ")";
    specs.push_back(ShellQuoted(absl::StrFormat("%d:%s:%s", i + 1, argument.names.front(), values)));
  }
  specs.emplace_back("'*:file:_files'");
  return indent + "_arguments \\\n" + indent + "  " + absl::StrJoin(specs, " \\\n" + indent + "  ");
}

std::string ZshVerb(const VerbPaper& paper) {
  return absl::StrFormat("    '%s')\n%s ;;\n", paper.entry->name, ZshArguments(paper, /*equals=*/false, "      "));
}

std::string ZshProgram(const Program& program) {
  return absl::StrFormat("    %s|%s)\n%s\n      return ;;\n", program.name, program.installed,
                         ZshArguments(program.paper, /*equals=*/true, "      "));
}

// --- fish ---

// `command`: "complete -c sepal -n CONDITION".
std::string FishFlags(const VerbPaper& paper, const std::string& command) {
  std::string lines;
  for (const Flag& flag : paper.flags) {
    lines += command;
    for (const std::string& name : flag.names) {
      lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    const std::string choices = absl::StrJoin(flag.choices, " ");
    if (IsFamily(flag)) {
      lines += " -x -a '(__sepal_families)'";
    } else if (flag.list && !choices.empty()) {
      lines += " -x -a '(__sepal_list " + choices + ")'";
    } else if (!choices.empty()) {
      lines += " -x -a " + ShellQuoted(choices);
    } else if (!flag.value.empty()) {
      lines += " -r";
    }
    lines += " -d " + ShellQuoted(flag.description) + "\n";
  }
  return lines;
}

std::string FishVerb(const VerbPaper& paper) {
  const std::string command = absl::StrFormat("complete -c sepal -n '__sepal_verb %s'", paper.entry->name);
  std::string lines = FishFlags(paper, command);
  for (const Flag& argument : paper.arguments) {
    if (argument.choices.empty()) continue;
    lines += command + " -f -a " + ShellQuoted(absl::StrJoin(argument.choices, " ")) + "\n";
  }
  return lines;
}

// --- bash ---

// `case` items that set the possible words of a flag's value; `verb` stands before the flag.
std::string BashValues(const VerbPaper& paper, const std::string& verb) {
  std::string items;
  for (const Flag& flag : paper.flags) {
    for (const std::string& name : flag.names) {
      if (IsFamily(flag)) {
        absl::StrAppendFormat(&items, "    '%s%s') words=$(_sepal_families) ;;\n", verb, name);
      } else if (!flag.choices.empty()) {
        absl::StrAppendFormat(&items, "    '%s%s') words=%s%s ;;\n", verb, name, Quoted(flag.choices),
                              flag.list ? " list=1" : "");
      }
    }
  }
  return items;
}

std::vector<std::string> NamesOf(const std::vector<Flag>& flags) {
  std::vector<std::string> names;
  for (const Flag& flag : flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

std::string BashProgram(const Program& program) {
  return "_sepal_" + program.name +
         "() {\n"
         "  local cur flag words='' list=''\n"
         "  _sepal_flag\n"
         "  case $flag in\n" +
         BashValues(program.paper, "") +
         "  esac\n"
         "  [[ -z $words && $cur == -* ]] && words=" +
         Quoted(NamesOf(program.paper.flags)) +
         "\n"
         "  _sepal_offer\n"
         "}\n"
         "complete -o bashdefault -o default -F _sepal_" +
         program.name + " " + program.name + " " + program.installed + "\n";
}

constexpr char kBashHelpers[] =
    "# Sets cur to what is typed, and flag to the one whose value that is: in --flag=value the = is a word of its "
    "own.\n"
    "_sepal_flag() {\n"
    "  cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "  if [[ $cur == '=' ]]; then\n"
    "    cur=''\n"
    "  elif [[ $flag == '=' ]]; then\n"
    "    flag=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "  fi\n"
    "}\n"
    "# Offers words, of a list behind what is there. Where no words are known, bash completes the names of files.\n"
    "_sepal_offer() {\n"
    "  local before=''\n"
    "  [[ -n $list && $cur == *,* ]] && before=${cur%,*},\n"
    "  mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- \"${cur#\"$before\"}\")\n"
    "}\n"
    "# The column families of the database that is named.\n"
    "_sepal_families() {\n"
    "  \"${COMP_WORDS[0]}\" db families \"${COMP_WORDS[3]}\" 2>/dev/null\n"
    "}\n";

}  // namespace

constexpr char kBashScript[] = R"bash(# Completion for bash, made by `sepal completion bash`.
@HELPERS@_sepal() {
  local cur flag words='' list='' verb=${COMP_WORDS[1]}
  _sepal_flag
  if ((COMP_CWORD == 1)); then
    words=@FIRST@
    _sepal_offer
    return
  fi
  case $verb in
@SECONDS@  esac
  if [[ -n $words ]]; then
    if ((COMP_CWORD == 2)); then
      _sepal_offer
      return
    fi
    verb+=" ${COMP_WORDS[2]}"
    words=''
  fi
  case "$verb $flag" in
@VALUES@  esac
  if [[ -z $words && $cur == -* ]]; then
    case $verb in
@FLAGS@    esac
  elif [[ -z $words ]]; then
    case $verb in
@ARGUMENTS@    esac
  fi
  _sepal_offer
}
complete -o bashdefault -o default -F _sepal sepal
)bash";

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
    values += BashValues(paper, name + " ");
    flags += absl::StrFormat("      '%s') words=%s ;;\n", name, Quoted(NamesOf(paper.flags)));
    for (const Flag& argument : paper.arguments) {
      if (!argument.choices.empty())
        arguments += absl::StrFormat("    '%s') words=%s ;;\n", name, Quoted(argument.choices));
    }
  }
  std::string seconds;
  for (const auto& [group, words] : groups) seconds += absl::StrFormat("    %s) words=%s ;;\n", group, Quoted(words));
  std::string script =
      absl::StrReplaceAll(kBashScript, {{"@HELPERS@", kBashHelpers},
                                        {"@FIRST@", Quoted(first)},
                                        {"@SECONDS@", seconds},
                                        {"@VALUES@", values},
                                        {"@FLAGS@", flags},
                                        {"@ARGUMENTS@", absl::StrReplaceAll(arguments, {{"    '", "      '"}})}});
  for (const Program& program : Programs()) script += BashProgram(program);
  return script;
}

// _arguments must see the verb's last word first, as if that were the command.
constexpr char kZshScript[] = R"zsh(#compdef @NAMES@
# Completion for zsh, made by `sepal completion zsh`.
# The column families of the database that is named: behind the last word of a verb.
_sepal_families() {
  local -a families
  families=(${(f)"$(sepal db families ${(Q)words[2]} 2>/dev/null)"})
  compadd -a families
}
_sepal() {
  local verb=${words[2]}
  local -a words_of
  case ${service:-sepal} in
@PROGRAMS@  esac
  if ((CURRENT == 2)); then
    words_of=(
@FIRST@    )
    _describe -t verbs verb words_of
    return
  fi
  case $verb in
@SECONDS@  esac
  if ((${#words_of})); then
    if ((CURRENT == 3)); then
      _describe -t verbs verb words_of
      return
    fi
    verb+=" ${words[3]}"
    shift words
    ((CURRENT -= 1))
  fi
  shift words
  ((CURRENT -= 1))
  case $verb in
@VERBS@  esac
}
if [[ $funcstack[1] == _sepal ]]; then
  _sepal "$@"
else
  compdef _sepal @NAMES@
fi
)zsh";

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
  std::string names = "sepal", programs;
  for (const Program& program : Programs()) {
    names += " " + program.name + " " + program.installed;
    programs += ZshProgram(program);
  }
  return absl::StrReplaceAll(
      kZshScript,
      {{"@NAMES@", names}, {"@PROGRAMS@", programs}, {"@FIRST@", first}, {"@SECONDS@", seconds}, {"@VERBS@", verbs}});
}

std::string FishCompletion() {
  std::string text =
      "# Completion for fish, made by `sepal completion fish`.\n"
      "# The column families of the database that is named.\n"
      "function __sepal_families\n"
      "  set -l words (commandline -opc)\n"
      "  $words[1] db families $words[4] 2>/dev/null\n"
      "end\n"
      "# Words, each behind the list that is typed so far.\n"
      "function __sepal_list\n"
      "  set -l typed (string replace -r '^--[^=]*=' '' -- (commandline -ct))\n"
      "  set -l before (string match -r '.*,' -- $typed)\n"
      "  for word in $argv\n"
      "    echo $before$word\n"
      "  end\n"
      "end\n"
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
  for (const Program& program : Programs()) {
    for (const std::string& name : {program.name, program.installed}) {
      text += FishFlags(program.paper, "complete -c " + name);
    }
  }
  return text;
}

}  // namespace sepal::tools
