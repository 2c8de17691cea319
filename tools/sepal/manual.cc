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
constexpr char kPageDate[] = "2026-11-27";

// A line that begins with such a character would be a request.
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
    // Described once for all verbs.
    if (flag.names.front() == "--help" || flag.names.front() == "--json" || flag.names.front() == "--color") continue;
    page += FlagPage(flag, /*argument=*/false);
  }
  return page + absl::StrFormat(".PP\nExample:\n.PP\n.RS 4\n.nf\nsepal %s\n.fi\n.RE\n", Roff(paper.entry->example));
}

// The end of all pages. `name` is the page's own, which SEE ALSO omits.
std::string EndOfPage(std::string_view name) {
  std::string page =
      ".SH EXIT STATUS\n"
      ".TP\n0\nsuccess\n"
      ".TP\n1\nan error\n"
      ".TP\n2\na usage error, or \\fB\\-\\-yes\\fR is missing where nobody can be asked\n"
      ".TP\n3\ndata corruption was found, or a repair lost data\n"
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBNO_COLOR\\fR\nIf set, output has no colors unless \\fB\\-\\-color always\\fR is given.\n"
      ".TP\n\\fBTERM\\fR\nIf unset or \\fIdumb\\fR, there are neither colors nor progress bars.\n"
      ".TP\n\\fBTMPDIR\\fR\nWhere sepal_db_bench puts its database unless \\fB\\-\\-db\\fR names a directory.\n"
      ".TP\n\\fBSEPAL_RADOS_CONF\\fR, \\fBSEPAL_RADOS_KEYRING\\fR, \\fBSEPAL_RADOS_USER\\fR\nFor directories in a Ceph "
      "cluster, \\fIrados:POOL/NAME\\fR: Ceph\\(aqs configuration and key (default: where Ceph looks for them), "
      "and the user without \\(lqclient.\\(rq (default: admin).\n"
      ".TP\n\\fBSEPAL_SIMD\\fR\nThe vector instructions to use: \\fIavx2\\fR, the default where the processor has it, "
      "\\fIavx512\\fR, or \\fIportable\\fR for none.\n"
      ".SH FILES\n"
      "A database is a directory that holds\n"
      ".TP\n\\fINNNNNN\\fR.sst\nsorted tables\n"
      ".TP\n\\fINNNNNN\\fR.log, \\fINNNNNN\\fR.ring\nwrite-ahead logs, which may lie in another directory "
      "(\\fB\\-\\-log\\-directory\\fR)\n"
      ".TP\nMANIFEST\\-\\fINNNNNN\\fR\nthe list of tables and column families\n"
      ".TP\nLOCK\nlocked while a program has the database open for writing\n"
      ".TP\nLOG, LOG.old\nevents and errors, as text\n"
      ".TP\nlost/\nwhat a repair has put aside\n"
      ".SH SEE ALSO\n";
  std::vector<std::string> others;
  for (const char* page_name : {"sepal", "sepal_db_bench", "sepal_sst_dump"}) {
    if (name != page_name) others.push_back(absl::StrFormat(".BR %s (1)", page_name));
  }
  return page + absl::StrJoin(others, ",\n") + "\n";
}

// The page of a program without verbs. Its help begins with a description, then "Example: ...", then further lines.
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
    // Lists of lines and typed examples stay as they are.
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
  return page + EndOfPage(name);
}

}  // namespace

std::string SepalPage() {
  std::string page = absl::StrFormat(
      ".\\\" Made by `sepal man`.\n"
      ".TH SEPAL 1 %s \"sepal %s\" \"User Commands\"\n"
      ".ad l\n"
      ".SH NAME\n"
      "sepal \\- inspect, change and maintain Sepal databases\n"
      ".SH SYNOPSIS\n"
      ".B sepal\n"
      "\\fIVERB\\fR [\\fIARGUMENT\\fR ...] [\\fIFLAG\\fR ...]\n"
      ".SH DESCRIPTION\n"
      "The command line tool of the Sepal key-value engine.\n"
      "The first argument of a verb on a database is its directory.\n"
      "Read-only verbs take no lock, never write, and are safe while a program has the database open.\n"
      "Verbs that rewrite or replace much data ask for confirmation, or need \\fB\\-\\-yes\\fR where nobody can be "
      "asked.\n"
      ".PP\n"
      "Results go to standard output; errors, notes and progress go to standard error.\n"
      "Sizes may be given as 64MiB or 1.5G (powers of 1024), counts as 10k, 1M or 1e6 (powers of 1000), times as 30s, "
      "250ms or 5m.\n"
      ".SH OPTIONS\n"
      "Every verb takes these, before or after its name.\n"
      ".TP\n\\fB\\-\\-json\\fR\nJSON, one object a line, rather than text; each has "
      "\\fIschema_version\\fR, and the last one \\fIcommand\\fR and \\fIok\\fR\n"
      ".TP\n\\fB\\-\\-color\\fR \\fIauto|always|never\\fR\nColors; \\fIauto\\fR, the default: on a terminal, unless "
      "NO_COLOR is set or TERM is dumb\n"
      ".TP\n\\fB\\-\\-help\\fR, \\fB\\-h\\fR\nWhat the verb does, with an example, and its flags\n"
      ".SH VERBS\n",
      kPageDate, VersionString());
  for (const VerbPaper& paper : Papers()) page += VerbPage(paper);
  return page + EndOfPage("sepal");
}

std::string DbBenchPage() {
  DbBenchOptions options;
  std::ostringstream notes;
  return ProgramPage("sepal_db_bench", "benchmark the Sepal engine", "", *DbBenchApp(&options, notes));
}

std::string SstDumpPage() {
  SstDumpOptions options;
  SstDumpTexts texts;
  std::ostringstream notes;
  return ProgramPage("sepal_sst_dump", "inspect Sepal table files", " \\fIFILE\\fR ...",
                     *SstDumpApp(&options, &texts, notes));
}

}  // namespace sepal::tools
