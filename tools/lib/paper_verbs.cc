// sepal completion, sepal man: what is generated from the table of verbs and their flags.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "sepal/version.h"
#include "tools/lib/cli.h"
#include "tools/lib/verb.h"
#include "util/strings.h"

namespace sepal::tools {
namespace {

// When the words of the page last changed.
constexpr char kPageDate[] = "2026-11-21";

// A flag or an argument.
struct Flag {
  std::vector<std::string> names = {};  // "--from", "-o"; of an argument its one name
  std::string value = {};               // what follows: "SIZE"; empty: nothing
  std::vector<std::string> choices = {};
  std::string description = {};
  std::string default_value = {};
  bool required = false;
};

struct VerbPaper {
  const VerbEntry* entry;
  std::vector<Flag> arguments;
  std::vector<Flag> flags;
};

// What CLI11 says of a value: "UINT:SIZE [b, kb(=1024b), ...]", "TEXT:{leveldb,rocksdb}", "INT:INT in [1 - 64]".
void TakeType(const std::string& type, Flag* flag) {
  const size_t open = type.find('{'), close = type.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    flag->choices = absl::StrSplit(type.substr(open + 1, close - open - 1), ',');
    flag->value = absl::StrJoin(flag->choices, "|");
  } else if (type.find("SIZE [") != std::string::npos) {
    flag->value = "SIZE";
  } else if (type.find(":NUMBER [") != std::string::npos) {
    flag->value = "TIME";
  } else {
    flag->value = type.starts_with("TEXT") ? "TEXT" : "NUMBER";
  }
}

VerbPaper PaperOf(const VerbEntry& entry) {
  VerbPaper paper{&entry, {}, {}};
  const std::unique_ptr<Verb> verb = entry.make();
  const std::unique_ptr<CLI::App> app = MakeApp(entry, verb.get());
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_group().empty()) continue;
    Flag flag{.description = option->get_description(),
              .default_value = option->get_default_str(),
              .required = option->get_required()};
    if (option->get_items_expected_max() > 0) TakeType(option->get_type_name(), &flag);
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
  for (const VerbEntry& entry : Verbs()) papers.push_back(PaperOf(entry));
  return papers;
}

// --- bash ---

std::string Quoted(const std::vector<std::string>& words) { return "'" + absl::StrJoin(words, " ") + "'"; }

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

// --- roff ---

std::string Roff(std::string_view text) {
  std::string escaped = absl::StrReplaceAll(ToAbsl(text), {{"\\", "\\e"}, {"-", "\\-"}});
  if (escaped.starts_with(".") || escaped.starts_with("'")) escaped.insert(0, "\\&");
  return escaped;
}

// A word inside a sentence keeps its plain hyphens.
std::string Prose(std::string_view text) {
  std::string escaped = absl::StrReplaceAll(ToAbsl(text), {{"\\", "\\e"}, {"--", "\\-\\-"}});
  if (escaped.starts_with(".") || escaped.starts_with("'")) escaped.insert(0, "\\&");
  return escaped;
}

std::string FlagPage(const Flag& flag, bool argument) {
  std::string page = ".TP\n";
  std::string head;
  for (const std::string& name : flag.names) {
    if (!head.empty()) head += ", ";
    head += argument ? "\\fI" + Roff(name) + "\\fR" : "\\fB" + Roff(name) + "\\fR";
  }
  if (!argument && !flag.value.empty()) head += " \\fI" + Roff(flag.value) + "\\fR";
  page += head + "\n" + Prose(flag.description);
  std::vector<std::string> notes;
  if (!argument && flag.required) notes.emplace_back("required");
  if (!flag.default_value.empty()) notes.push_back("default: " + Prose(flag.default_value));
  if (!notes.empty()) page += " (" + absl::StrJoin(notes, "; ") + ")";
  return page + "\n";
}

std::string VerbPage(const VerbPaper& paper) {
  std::string usage = "sepal " + std::string(paper.entry->name);
  for (const Flag& argument : paper.arguments) {
    usage += argument.required ? " " + argument.names.front() : " [" + argument.names.front() + "]";
  }
  std::string summary(paper.entry->summary);
  summary.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(summary.front())));
  std::string page = absl::StrFormat(".SS \"%s\"\n%s.\n", Roff(usage), Prose(summary));
  for (const Flag& argument : paper.arguments) page += FlagPage(argument, /*argument=*/true);
  for (const Flag& flag : paper.flags) {
    // Told once for all verbs.
    if (flag.names.front() == "--help" || flag.names.front() == "--json") continue;
    page += FlagPage(flag, /*argument=*/false);
  }
  return page + absl::StrFormat(".PP\nExample:\n.PP\n.RS 4\n.nf\nsepal %s\n.fi\n.RE\n", Roff(paper.entry->example));
}

std::string ManPage() {
  std::string page = absl::StrFormat(
      ".\\\" Made by `sepal man`.\n"
      ".TH SEPAL 1 %s \"sepal %s\" \"User Commands\"\n"
      ".ad l\n"
      ".SH NAME\n"
      "sepal \\- look into Sepal databases, and change them\n"
      ".SH SYNOPSIS\n"
      ".B sepal\n"
      "\\fIVERB\\fR [\\fIARGUMENT\\fR ...] [\\fIFLAG\\fR ...]\n"
      ".SH DESCRIPTION\n"
      "One command for all that is done with a Sepal database from a shell.\n"
      "The directory of the database is the first argument.\n"
      "What only looks takes no lock, writes nothing, and works beside the program that has the database open.\n"
      "What changes much asks first, or wants \\fB\\-\\-yes\\fR where nobody can be asked.\n"
      ".PP\n"
      "What was asked for goes to standard output, everything about it to standard error.\n"
      "Sizes may be given as 64MiB or 1G (powers of 1024), times as 30s or 5m.\n"
      ".SH OPTIONS\n"
      "Every verb takes these.\n"
      ".TP\n\\fB\\-\\-json\\fR\nJSON, one object a line, rather than text; the last has "
      "\\fIschema_version\\fR, \\fIcommand\\fR and \\fIok\\fR\n"
      ".TP\n\\fB\\-\\-help\\fR, \\fB\\-h\\fR\nWhat the verb does, with an example, and its flags\n"
      ".SH VERBS\n",
      kPageDate, VersionString());
  for (const VerbPaper& paper : Papers()) page += VerbPage(paper);
  page +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nall went well\n"
      ".TP\n1\nan error\n"
      ".TP\n2\na mistake in the command, or a refusal to do without \\fB\\-\\-yes\\fR\n"
      ".TP\n3\ndamage was found, or lost in a repair\n";
  return page;
}

// --- the verbs ---

class PaperVerb : public Verb {
 protected:
  void Print(const std::string& text, std::ostream& out) const {
    if (!json) {
      out << text;
      return;
    }
    nlohmann::json line = JsonHead();
    line["text"] = text;
    out << ToLine(line) << "\n";
  }
};

class CompletionVerb final : public PaperVerb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("SHELL", shell_, "bash")->required()->check(CLI::IsMember({"bash"}));
  }
  absl::Status Run(const Streams& io) override {
    Print(BashCompletion(), io.out);
    return absl::OkStatus();
  }

 private:
  std::string shell_;
};

class ManVerb final : public PaperVerb {
 public:
  void AddFlags(CLI::App*) override {}
  absl::Status Run(const Streams& io) override {
    Print(ManPage(), io.out);
    return absl::OkStatus();
  }
};

}  // namespace

std::vector<VerbEntry> PaperVerbs() {
  return {
      {"completion", "print a script by which a shell completes verbs, flags and their values",
       "completion bash > ~/.local/share/bash-completion/completions/sepal", MakeVerb<CompletionVerb>},
      {"man", "print the manual page", "man | man -l -", MakeVerb<ManVerb>},
  };
}

}  // namespace sepal::tools
