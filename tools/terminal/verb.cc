#include "tools/terminal/verb.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/terminal/cli.h"
#include "util/base/strings.h"

namespace sepal::tools {

namespace {

nlohmann::json ErrorJson(std::string_view command, int exit, const absl::Status& status) {
  nlohmann::json line = JsonRow();
  line["command"] = command;
  line["ok"] = false;
  line["exit_code"] = exit;
  // A verb returns Cancelled if it was called wrongly.
  line["code"] =
      absl::StatusCodeToString(absl::IsCancelled(status) ? absl::StatusCode::kInvalidArgument : status.code());
  line["error"] = MessageOf(status);
  return line;
}

}  // namespace

nlohmann::json Verb::JsonHead(const absl::Status& status) const {
  if (!status.ok()) return ErrorJson(name, ExitCodeOf(status), status);
  return {{"schema_version", kJsonSchemaVersion}, {"command", name}, {"ok", true}};
}

const std::vector<VerbEntry>& Verbs() {
  static const std::vector<VerbEntry> verbs = [] {
    std::vector<VerbEntry> all;
    for (auto part :
         {DataVerbs,       CareVerbs,  PropertyVerbs, CopyVerbs,    FamilyVerbs, SnapshotVerbs,     TransactionVerbs,
          ShellVerbs,      DumpVerbs,  SyncVerbs,     ImportVerbs,  ExportVerbs, ProgramVerbs,      ExplainVerbs,
          TableVerbs,      LogVerbs,   ShapeVerbs,    OptionsVerbs, StatsVerbs,  FilterMakingVerbs, FilterVerbs,
          FilterPageVerbs, BenchVerbs, ShardVerbs,    PaperVerbs}) {
      const std::vector<VerbEntry> some = part();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return verbs;
}

std::unique_ptr<CLI::App> MakeApp(const VerbEntry& entry, Verb* verb) {
  verb->name = std::string(entry.name);
  auto app = std::make_unique<CLI::App>(absl::StrFormat("%s\n\nExample: sepal %s", entry.summary, entry.example),
                                        "sepal " + verb->name);
  verb->AddFlags(app.get());
  app->add_flag("--json", verb->json, "Print JSON, one object a line, rather than text");
  app->add_option("--color", verb->color, "Colors: auto (on a terminal, unless NO_COLOR is set), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  return app;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  return absl::IsDataLoss(status) ? kExitDamage : kExitError;
}

std::string MessageOf(const absl::Status& status) {
  std::string message(ToStd(status.message()));
  if (absl::IsDataLoss(status)) return "damage: " + message;
  return message.empty() ? status.ToString() : message;
}

std::string ErrorLine(std::string_view command, int exit, const absl::Status& status) {
  return ToLine(ErrorJson(command, exit, status));
}

absl::Status Confirm(const Streams& io, bool yes, std::string_view what) {
  if (yes) return absl::OkStatus();
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0) {
    return absl::CancelledError(absl::StrFormat("%s: give --yes to confirm", what));
  }
  io.err << what << ". Continue? [y/N] " << std::flush;
  std::string answer;
  std::getline(io.in, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return absl::OkStatus();
  return absl::AbortedError("nothing was done");
}

}  // namespace sepal::tools
