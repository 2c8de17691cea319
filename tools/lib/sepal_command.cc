#include "tools/lib/sepal_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sepal/version.h"
#include "tools/lib/cli.h"
#include "tools/lib/verb.h"

namespace sepal::tools {
namespace {

void PrintHelp(std::ostream& out) {
  out << "Looks into Sepal databases, and changes them.\n\n"
         "Examples:\n"
         "  sepal db put /tmp/db color green       makes /tmp/db if it is missing\n"
         "  sepal db get /tmp/db color\n"
         "  sepal lsm tree /var/lib/app            beside the program that has it open\n"
         "  sepal sst verify /var/lib/app/000012.sst\n\n"
         "Verbs (sepal VERB --help tells more):\n";
  for (const VerbEntry& verb : Verbs()) out << absl::StrFormat("  %-16s %s\n", verb.name, verb.summary);
  out << "\nEvery verb takes --json. What only looks writes nothing, and works beside a live writer.\n"
         "Exit status: 0 ok, 1 error, 2 usage, 3 damage found\n";
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

int UnknownVerb(const std::string& typed, std::ostream& err) {
  err << "sepal: there is no verb \"" << typed << "\"\n";
  std::vector<std::string> names;
  for (const VerbEntry& verb : Verbs()) names.emplace_back(verb.name);
  if (typed.find(' ') == std::string::npos) {
    const std::vector<std::string> groups = Groups();
    names.insert(names.end(), groups.begin(), groups.end());
  }
  if (const std::string nearest = Nearest(names, typed); !nearest.empty()) {
    err << "did you mean " << nearest << "?\n";
    return kExitUsage;
  }
  // People also leave the group out.
  if (typed.find(' ') == std::string::npos) {
    for (const VerbEntry& verb : Verbs()) {
      const size_t space = verb.name.find(' ');
      if (space == std::string_view::npos) continue;
      if (Nearest({std::string(verb.name.substr(space + 1))}, typed).empty()) continue;
      err << "did you mean " << verb.name << "?\n";
      return kExitUsage;
    }
  }
  err << "sepal --help lists the verbs\n";
  return kExitUsage;
}

int ListGroup(const std::string& group, std::ostream& err) {
  err << "sepal: " << group << " is followed by one of:\n";
  for (const VerbEntry& verb : Verbs()) {
    if (verb.name.starts_with(group + " ")) err << absl::StrFormat("  %-16s %s\n", verb.name, verb.summary);
  }
  return kExitUsage;
}

constexpr std::string_view kOnDamage = "docs/operations.md";

int RunVerb(const VerbEntry& entry, std::vector<std::string> arguments, const Streams& io) {
  const std::unique_ptr<Verb> verb = entry.make();
  const std::unique_ptr<CLI::App> app = MakeApp(entry, verb.get());
  const std::string program = app->get_name();
  if (std::optional<int> exit = ParseFlags(app.get(), std::move(arguments), io.out, io.err)) return *exit;

  const absl::Status status = verb->Run(io);
  io.out.flush();
  if (status.ok()) return kExitOk;
  // Asked for what cannot be: a mistake of the caller's like an unknown flag.
  const int exit = absl::IsCancelled(status) ? static_cast<int>(kExitUsage) : ExitCodeOf(status);
  if (verb->reported) return exit;
  io.err << program << ": " << MessageOf(status) << "\n";
  if (absl::IsDataLoss(status) && MessageOf(status).find(kOnDamage) == std::string::npos) {
    io.err << "a backup is the best cure; sepal db repair DIR --dry-run tells what can be kept (" << kOnDamage << ")\n";
  }
  if (verb->json) {
    const nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                                 {"command", verb->name},
                                 {"ok", false},
                                 {"exit_code", exit},
                                 {"code", absl::StatusCodeToString(status.code())},
                                 {"error", MessageOf(status)}};
    io.out << ToLine(line) << std::endl;
  }
  return exit;
}

}  // namespace

int SepalMain(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    PrintHelp(err);
    return kExitUsage;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    PrintHelp(out);
    return kExitOk;
  }
  if (words[0] == "--version" || words[0] == "version") {
    out << "sepal " << VersionString() << "\n";
    return kExitOk;
  }
  const Streams io{in, out, err};
  if (const VerbEntry* verb = FindVerb(words[0])) {
    return RunVerb(*verb, {words.begin() + 1, words.end()}, io);
  }
  if (words.size() == 1 || words[1].starts_with("-")) {
    return IsGroup(words[0]) ? ListGroup(words[0], err) : UnknownVerb(words[0], err);
  }
  const std::string two = words[0] + " " + words[1];
  if (const VerbEntry* verb = FindVerb(two)) return RunVerb(*verb, {words.begin() + 2, words.end()}, io);
  // In `sepal gett DIR KEY` the second word is no part of the verb.
  std::vector<std::string> first_words = Groups();
  for (const VerbEntry& verb : Verbs()) first_words.emplace_back(verb.name);
  const bool meant_group = IsGroup(words[0]) || IsGroup(Nearest(first_words, words[0]));
  return UnknownVerb(meant_group ? two : words[0], err);
}

}  // namespace sepal::tools
