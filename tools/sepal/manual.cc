// Manual pages, made from the tables of verbs and flags.
#include <CLI/CLI.hpp>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "sepal/version.h"
#include "tools/db_bench/db_bench_options.h"
#include "tools/sst_dump/sst_dump_options.h"
#include "tools/terminal/manual_source.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

// When the words of the pages last changed.
constexpr char kPageDate[] = "2026-11-22";

// What begins so would be a request.
std::string NoRequest(std::string escaped) {
  if (escaped.starts_with(".") || escaped.starts_with("'")) escaped.insert(0, "\\&");
  return escaped;
}

std::string Roff(std::string_view text) {
  return NoRequest(absl::StrReplaceAll(ToAbsl(text), {{"\\", "\\e"}, {"-", "\\-"}}));
}

// A word inside a sentence keeps its plain hyphens.
std::string Prose(std::string_view text) {
  return NoRequest(absl::StrReplaceAll(ToAbsl(text), {{"\\", "\\e"}, {"--", "\\-\\-"}}));
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
    if (flag.names.front() == "--help" || flag.names.front() == "--json" || flag.names.front() == "--color") continue;
    page += FlagPage(flag, /*argument=*/false);
  }
  return page + absl::StrFormat(".PP\nExample:\n.PP\n.RS 4\n.nf\nsepal %s\n.fi\n.RE\n", Roff(paper.entry->example));
}

std::string ExitPage() {
  return ".SH EXIT STATUS\n"
         ".TP\n0\nall went well\n"
         ".TP\n1\nan error\n"
         ".TP\n2\na mistake in the command, or a refusal to do without \\fB\\-\\-yes\\fR\n"
         ".TP\n3\ndamage was found, or lost in a repair\n";
}

// Of a program that has no verbs. Its help begins with what it does, then "Example: ...", then more, in lines.
std::string ProgramPage(const std::string& name, const std::string& summary, const std::string& arguments,
                        const CLI::App& app) {
  std::vector<std::string> parts = absl::StrSplit(app.get_description(), "\n\n");
  std::string page = absl::StrFormat(
      ".\\\" Made by `sepal man %s`.\n"
      ".TH %s 1 %s \"sepal %s\" \"User Commands\"\n"
      ".ad l\n"
      ".SH NAME\n"
      "%s \\- %s\n"
      ".SH SYNOPSIS\n"
      ".B %s\n"
      "[\\fIFLAG\\fR ...]%s\n"
      ".SH DESCRIPTION\n%s\n",
      app.get_name(), Roff(absl::AsciiStrToUpper(name)), kPageDate, VersionString(), Roff(name), Prose(summary),
      Roff(name), arguments, Prose(parts.front()));
  for (size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].starts_with("Exit status")) continue;
    // Lists of lines and what is typed stay as they are.
    if (parts[i].find('\n') == std::string::npos && !parts[i].starts_with("Example")) {
      page += ".PP\n" + Prose(parts[i]) + "\n";
      continue;
    }
    const std::string shown = absl::StrReplaceAll(parts[i], {{app.get_name() + " --", name + " --"}});
    page += ".PP\n.nf\n";
    for (const auto& line : absl::StrSplit(shown, '\n')) page += Roff(ToStd(line)) + "\n";
    page += ".fi\n";
  }
  const VerbPaper paper = PaperOf(app);
  page += ".SH OPTIONS\n";
  for (const Flag& argument : paper.arguments) page += FlagPage(argument, /*argument=*/true);
  for (const Flag& flag : paper.flags) page += FlagPage(flag, /*argument=*/false);
  return page + ExitPage();
}

}  // namespace

std::string SepalPage() {
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
      "Sizes may be given as 64MiB or 1G (powers of 1024), times as 30s, 250ms or 5m.\n"
      ".SH OPTIONS\n"
      "Every verb takes these.\n"
      ".TP\n\\fB\\-\\-json\\fR\nJSON, one object a line, rather than text; each has "
      "\\fIschema_version\\fR, the last \\fIcommand\\fR and \\fIok\\fR too\n"
      ".TP\n\\fB\\-\\-color\\fR \\fIauto|always|never\\fR\nColours; \\fIauto\\fR, the default: on a terminal, unless "
      "NO_COLOR is set or TERM is dumb\n"
      ".TP\n\\fB\\-\\-help\\fR, \\fB\\-h\\fR\nWhat the verb does, with an example, and its flags\n"
      ".SH VERBS\n",
      kPageDate, VersionString());
  for (const VerbPaper& paper : Papers()) page += VerbPage(paper);
  return page + ExitPage();
}

std::string DbBenchPage() {
  DbBenchOptions options;
  std::ostringstream notes;
  return ProgramPage("sepal_db_bench", "measure the engine", "", *DbBenchApp(&options, notes));
}

std::string SstDumpPage() {
  SstDumpOptions options;
  SstDumpTexts texts;
  std::ostringstream notes;
  return ProgramPage("sepal_sst_dump", "look into table files", " \\fIFILE\\fR ...",
                     *SstDumpApp(&options, &texts, notes));
}

}  // namespace sepal::tools
