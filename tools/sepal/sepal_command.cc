#include "tools/sepal/sepal_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sepal/version.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/run_program.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/terminal_color.h"
#include "tools/terminal/verb.h"

namespace sepal::tools {
namespace {

std::string_view GroupOf(std::string_view verb) { return verb.substr(0, verb.find(' ')); }

void PrintVerbs(std::string_view group, const Paint& paint, std::ostream& out) {
  std::string_view last;
  for (const VerbEntry& verb : Verbs()) {
    if (!group.empty() && GroupOf(verb.name) != group) continue;
    // Verbs of two words stand together.
    const std::string_view own = verb.name.find(' ') == std::string_view::npos ? "" : GroupOf(verb.name);
    if (own != last && group.empty()) out << "\n";
    last = own;
    out << "  " << paint.Bold(verb.name) << std::string(17 - verb.name.size(), ' ') << verb.summary << "\n";
  }
}

void PrintHelp(const Paint& paint, std::ostream& out) {
  out << "Inspects, changes and maintains Sepal databases.\n\n"
      << paint.Bold("Examples:")
      << "\n"
         "  sepal db put /tmp/db color green       creates /tmp/db if it does not exist\n"
         "  sepal db get /tmp/db color\n"
         "  sepal lsm tree /var/lib/app            while a program has it open\n"
         "  sepal sst verify /var/lib/app/000012.sst\n\n"
      << paint.Bold("Verbs") << " (sepal VERB --help shows arguments and flags):\n";
  PrintVerbs("", paint, out);
  out << "\nEvery verb takes --json and --color. Read-only verbs never write, and are safe while a program has the\n"
         "database open.\n"
         "Exit status: 0 ok, 1 error, 2 usage error, 3 data corruption found\n";
}

const VerbEntry* FindVerb(const std::string& name) {
  for (const VerbEntry& verb : Verbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

// The first words of all verbs of two words.
bool IsGroup(const std::string& word) {
  return std::any_of(Verbs().begin(), Verbs().end(),
                     [&](const VerbEntry& verb) { return verb.name.starts_with(word + " "); });
}

std::vector<std::string> Groups() {
  std::set<std::string> groups;
  for (const VerbEntry& verb : Verbs()) {
    const size_t space = verb.name.find(' ');
    if (space != std::string_view::npos) groups.emplace(verb.name.substr(0, space));
  }
  return {groups.begin(), groups.end()};
}

// The second words of verbs: people leave the first out.
std::vector<std::string> SecondWords() {
  std::vector<std::string> words;
  for (const VerbEntry& verb : Verbs()) {
    const size_t space = verb.name.find(' ');
    if (space != std::string_view::npos) words.emplace_back(verb.name.substr(space + 1));
  }
  return words;
}

// Usual words for verbs of other names.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"db count", "db scan DIR --count"},
    {"count", "db scan DIR --count"},
    {"db list", "db scan DIR --keys"},
    {"db keys", "db scan DIR --keys"},
    {"keys", "db scan DIR --keys"},
    {"db create", "db open DIR --create"},
    {"create", "db open DIR --create"},
    {"db info", "db stats"},
    {"db check", "db verify"},
    {"db fsck", "db verify"},
    {"db copy", "db checkpoint"},
    {"db snapshot", "snapshot create"},
    {"db snapshots", "snapshot list"},
    {"snapshots", "snapshot list"},
    {"snapshot remove", "snapshot drop"},
    {"snapshot delete", "snapshot drop"},
    {"db import", "import"},
    {"db dump", "dump"},
    {"db shell", "shell"},
    {"repl", "shell"},
    {"db export", "dump"},
    {"export", "dump"},
    {"db load", "load"},
    {"db drop", "db destroy"},
    {"db remove", "db destroy"},
    {"db options", "options show"},
    {"family list", "db families"},
    {"families", "db families"},
    {"sst props", "sst show"},
    {"log dump", "wal dump"},
    {"wal show", "wal dump"},
};

// The verb or group that may have been meant; empty if none is near.
std::string NearVerb(const std::string& typed) {
  for (const auto& [other, verb] : kOtherNames) {
    if (typed == other) return std::string(verb);
  }
  std::vector<std::string> names;
  for (const VerbEntry& verb : Verbs()) names.emplace_back(verb.name);
  if (typed.find(' ') == std::string::npos) {
    for (const std::vector<std::string>& words : {Groups(), SecondWords()}) {
      names.insert(names.end(), words.begin(), words.end());
    }
  }
  std::string nearest = Nearest(names, typed);
  if (nearest.empty() || FindVerb(nearest) != nullptr || IsGroup(nearest)) return nearest;
  const auto whole = std::find_if(Verbs().begin(), Verbs().end(),
                                  [&](const VerbEntry& verb) { return verb.name.ends_with(" " + nearest); });
  return std::string(whole->name);
}

int UnknownVerb(const std::string& typed, bool json, const Streams& io) {
  const std::string what = absl::StrFormat("there is no verb \"%s\"", typed);
  io.err << io.err_paint.Bad("sepal:") << " " << what << "\n";
  const std::string meant = typed.starts_with("-") ? Nearest({"--help", "--version"}, typed) : NearVerb(typed);
  io.err << (meant.empty() ? "sepal --help lists the verbs\n" : "did you mean " + meant + "?\n");
  if (json) io.out << ErrorLine(typed, kExitUsage, absl::InvalidArgumentError(what)) << std::endl;
  return kExitUsage;
}

constexpr std::string_view kOnDamage = "docs/guide/operations.md";
constexpr std::string_view kDamagedDump = "the dump is damaged";
constexpr std::string_view kLogDirectoryOption = "Options::log_directory";

// The remedy for damage in the database given to `app`, if the message has none.
std::string DamageRemedy(const CLI::App& app, const std::string& message) {
  if (message.find(kOnDamage) != std::string::npos || message.find(kDamagedDump) != std::string::npos) return "";
  const CLI::Option* directory = app.get_option_no_throw("DIR");
  if (directory == nullptr) directory = app.get_option_no_throw("--from-db");
  if (directory != nullptr && directory->count() == 0) directory = app.get_option_no_throw("FILE");  // or there
  if (directory == nullptr) directory = app.get_option_no_throw("SHOWN");
  // The damage may be in another engine's database.
  if (directory == nullptr || directory->count() == 0 || app.get_option_no_throw("SOURCE") != nullptr) return "";
  // It may be in a filter.
  std::error_code error;
  if (!std::filesystem::is_directory(directory->results().front(), error)) return "";
  const CLI::Option* logs = app.get_option_no_throw("--log-directory");
  const bool elsewhere = logs != nullptr && logs->count() > 0;
  const Place place{directory->results().front(), elsewhere ? logs->results().back() : ""};
  // The database is undamaged if only the directory of the logs is wrong.
  if (message.find(kLogDirectoryOption) != std::string::npos) {
    return absl::StrFormat(
        "name it with --log-directory; if the logs are lost, sepal db repair %s --logs-lost --dry-run reports what can "
        "be kept (%s)\n",
        place.Arguments(), kOnDamage);
  }
  return absl::StrFormat("%ssepal db repair %s --dry-run reports what can be kept (%s)\n",
                         message.find("backup") == std::string::npos ? "restore a backup if there is one; " : "",
                         place.Arguments(), kOnDamage);
}

// Prints output that belongs to no verb: {"command": "version", "ok": true, "version": "0.1.0"}.
void PrintJson(const char* command, const char* field, const std::string& text, std::ostream& out) {
  nlohmann::json line = JsonRow();
  line["command"] = command;
  line["ok"] = true;
  line[field] = text;
  out << ToLine(line) << std::endl;
}

int RunVerb(const VerbEntry& entry, std::vector<std::string> arguments, const Streams& plain) {
  const std::unique_ptr<Verb> verb = entry.make();
  const std::unique_ptr<CLI::App> app = MakeApp(entry, verb.get());
  const std::string program = app->get_name();
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  std::string mistake;
  std::ostringstream help;
  if (std::optional<int> exit =
          ParseFlags(app.get(), std::move(arguments), json ? help : plain.out, plain.err, &mistake)) {
    if (json && *exit == kExitOk) PrintJson("help", "text", help.str(), plain.out);
    if (json && *exit != kExitOk) {
      plain.out << ErrorLine(entry.name, *exit, absl::InvalidArgumentError(mistake)) << std::endl;
    }
    return *exit;
  }
  const ColorChoice choice = verb->color == "always"  ? ColorChoice::kAlways
                             : verb->color == "never" ? ColorChoice::kNever
                                                      : ColorChoice::kAuto;
  const Streams io{plain.in, plain.out, plain.err, Paint::For(plain.out, choice), Paint::For(plain.err, choice)};

  const absl::Status status = verb->Run(io);
  io.out.flush();
  if (status.ok()) return kExitOk;
  // An impossible request is a mistake of the caller, like an unknown flag.
  const int exit = absl::IsCancelled(status) ? static_cast<int>(kExitUsage) : ExitCodeOf(status);
  if (verb->reported) return exit;
  io.err << io.err_paint.Bad(program + ":") << " " << MessageOf(status) << "\n";
  if (absl::IsDataLoss(status)) io.err << DamageRemedy(*app, MessageOf(status));
  if (verb->json) io.out << ErrorLine(verb->name, exit, status) << std::endl;
  return exit;
}

// The words after `help`, or before --help.
int HelpOn(const std::vector<std::string>& words, bool json, const Streams& io) {
  const VerbEntry* verb = words.empty() ? nullptr : FindVerb(words[0]);
  if (verb == nullptr && words.size() > 1) verb = FindVerb(words[0] + " " + words[1]);
  if (verb != nullptr) {
    return RunVerb(*verb, json ? std::vector<std::string>{"--help", "--json"} : std::vector<std::string>{"--help"}, io);
  }
  if (!words.empty() && !IsGroup(words[0])) return UnknownVerb(absl::StrJoin(words, " "), json, io);
  std::ostringstream text;
  words.empty() ? PrintHelp(io.paint, text) : PrintVerbs(words[0], io.paint, text);
  json ? PrintJson("help", "text", text.str(), io.out) : void(io.out << text.str());
  return kExitOk;
}

// Moves --json and --color, which every verb takes, from before the verb to behind it.
void MoveLeadingFlags(std::vector<std::string>* words) {
  auto verb = words->begin();
  while (verb != words->end() && (*verb == "--json" || verb->starts_with("--color"))) {
    verb += *verb == "--color" && verb + 1 != words->end() ? 2 : 1;
  }
  std::rotate(words->begin(), verb, words->end());
}

bool AsksForHelp(const std::string& word) { return word == "--help" || word == "-h"; }

int Run(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err) {
  std::vector<std::string> words(argv + 1, argv + argc);
  MoveLeadingFlags(&words);
  const Streams io{in, out, err, Paint::For(out, ColorChoice::kAuto), Paint::For(err, ColorChoice::kAuto)};
  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  if (words.empty() || words[0] == "--json" || words[0].starts_with("--color")) {
    PrintHelp(io.err_paint, err);
    if (json) out << ErrorLine("", kExitUsage, absl::InvalidArgumentError("a verb is missing")) << std::endl;
    return kExitUsage;
  }
  if (AsksForHelp(words[0]) || words[0] == "help") {
    std::vector<std::string> on(words.begin() + 1, words.end());
    std::erase(on, "--json");
    return HelpOn(on, json, io);
  }
  if (words[0] == "--version" || words[0] == "version") {
    json ? PrintJson("version", "version", VersionString(), out) : void(out << "sepal " << VersionString() << "\n");
    return kExitOk;
  }
  if (const VerbEntry* verb = FindVerb(words[0])) {
    std::vector<std::string> arguments(words.begin() + 1, words.end());
    if (verb->name == kRunVerb) EndFlagsAtProgram({"--memory-limit", "--color"}, &arguments);
    return RunVerb(*verb, std::move(arguments), io);
  }
  if (words.size() == 1 || words[1].starts_with("-")) {
    if (!IsGroup(words[0])) return UnknownVerb(words[0], json, io);
    if (std::any_of(words.begin() + 1, words.end(), AsksForHelp)) return HelpOn({words[0]}, json, io);
    err << io.err_paint.Bad("sepal:") << " " << words[0] << " must be followed by one of:\n";
    PrintVerbs(words[0], io.err_paint, err);
    if (json)
      out << ErrorLine(words[0], kExitUsage, absl::InvalidArgumentError("the second word of the verb is missing"))
          << std::endl;
    return kExitUsage;
  }
  const std::string two = words[0] + " " + words[1];
  if (const VerbEntry* verb = FindVerb(two)) return RunVerb(*verb, {words.begin() + 2, words.end()}, io);
  // In `sepal gett DIR KEY` the second word is no part of the verb.
  std::vector<std::string> first_words = Groups(), seconds = SecondWords();
  for (const VerbEntry& verb : Verbs()) first_words.emplace_back(verb.name);
  first_words.insert(first_words.end(), seconds.begin(), seconds.end());
  const bool meant_group = IsGroup(words[0]) || IsGroup(Nearest(first_words, words[0]));
  return UnknownVerb(meant_group ? two : words[0], json, io);
}

}  // namespace

int SepalMain(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err) {
  return ExitOfOutput(Run(argc, argv, in, out, err), "sepal", out, err);
}

}  // namespace sepal::tools
