// sepal shell: commands on one open database, from a terminal or from a script.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/shell_session.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/line_editor.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

// $SEPAL_HISTORY, which may be empty for none, or ~/.sepal_history.
std::string HistoryFile() {
  if (const char* const named = std::getenv("SEPAL_HISTORY"); named != nullptr) return named;
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : absl::StrFormat("%s/.sepal_history", home);
}

class ShellVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_flag("--read-only", read_only_, "Open a view as of now, beside a program that has the database open");
    app->add_flag("--keep-going", keep_going_, "In a script: go on after an error; the exit status tells of it");
    app->add_flag("--no-sync", no_sync_, "Do not wait until each write is on the disk");
    AddMemoryLimit(app, &memory_limit_);
  }

  absl::Status Run(const Streams& io) override {
    absl::StatusOr<std::unique_ptr<DB>> opened =
        read_only_ ? OpenToRead(place_) : OpenToWrite(place_, /*create=*/false, memory_limit_);
    if (absl::IsUnavailable(opened.status()) && !read_only_) {
      return absl::UnavailableError(absl::StrFormat("%s, or give --read-only", MessageOf(opened.status())));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, std::move(opened));
    absl::Status status;
    {
      ShellSession session(db.get(), io, json, {.sync = !no_sync_});
      const bool terminal = IsTerminal(io.out) && isatty(STDIN_FILENO) != 0;
      status = terminal ? Converse(&session, io) : RunScript(&session, io);
      KeepFirst(&status, session.Finish());
    }
    KeepFirst(&status, db->Close());
    RETURN_IF_ERROR(status);
    if (json) io.out << ToLine(JsonHead()) << "\n";
    return absl::OkStatus();
  }

 private:
  static absl::Status Converse(ShellSession* session, const Streams& io) {
    LineEditor editor(HistoryFile());
    io.out << "help lists the commands, quit ends the shell\n";
    while (!session->done()) {
      const std::optional<std::string> line = editor.Read(session->Prompt(), io.in, io.out);
      if (!line.has_value()) break;
      const absl::Status status = session->Execute(*line);
      if (!status.ok()) io.err << io.err_paint.Bad("error:") << " " << MessageOf(status) << std::endl;
    }
    return absl::OkStatus();
  }

  absl::Status RunScript(ShellSession* session, const Streams& io) {
    absl::Status first;
    std::string line;
    for (uint64_t number = 1; !session->done() && std::getline(io.in, line); ++number) {
      const absl::Status status = session->Execute(line);
      if (status.ok()) continue;
      const absl::Status placed(status.code(), absl::StrFormat("line %d: %s", number, ToStd(status.message())));
      if (!keep_going_) return placed;
      io.err << io.err_paint.Bad("sepal shell:") << " " << MessageOf(placed) << "\n";
      KeepFirst(&first, placed);
      ++errors_;
    }
    if (errors_ == 0) return absl::OkStatus();
    return absl::Status(first.code(),
                        absl::StrFormat("%s; the first: %s", Counted(errors_, "error"), ToStd(first.message())));
  }

  Place place_;
  bool read_only_ = false, keep_going_ = false, no_sync_ = false;
  uint64_t memory_limit_ = Options().memory_limit;
  uint64_t errors_ = 0;
};

}  // namespace

std::vector<VerbEntry> ShellVerbs() {
  return {{"shell", "run commands on one open database, typed or from a script", "shell /var/lib/app",
           MakeVerb<ShellVerb>}};
}

}  // namespace sepal::tools
