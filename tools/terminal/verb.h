// A verb of the `sepal` command: its flags, its work, its place in a table of verbs.
//
// Streams: results go to `out`, messages to `err`. With --json, `out` gets only JSON, one object a line, each with
// `schema_version`; the last, the verb's own, has `command` and `ok` too, as an error has.
#pragma once

#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/terminal/terminal_color.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sepal::tools {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  Paint paint = {};      // for `out`
  Paint err_paint = {};  // for `err`
};

class Verb {
 public:
  virtual ~Verb() = default;
  virtual void AddFlags(CLI::App* app) = 0;
  virtual absl::Status Run(const Streams& io) = 0;

  // Set before Run: "db get".
  std::string name = {};
  bool json = false;
  std::string color = "auto";
  // Set by a Run that has reported its error itself.
  bool reported = false;

 protected:
  // {"schema_version": ..., "command": name, "ok": true}; of an error, what ErrorLine has.
  nlohmann::json JsonHead(const absl::Status& status = absl::OkStatus()) const;
};

struct VerbEntry {
  std::string_view name;     // "db get"
  std::string_view summary;  // one line
  std::string_view example;  // what follows "sepal " in an example
  std::unique_ptr<Verb> (*make)();
};

template <class V>
std::unique_ptr<Verb> MakeVerb() {
  return std::make_unique<V>();
}

// All verbs, in the order of the help.
const std::vector<VerbEntry>& Verbs();
// The parts of that table, each beside its verbs.
std::vector<VerbEntry> DataVerbs();
std::vector<VerbEntry> CareVerbs();
std::vector<VerbEntry> PropertyVerbs();
std::vector<VerbEntry> FamilyVerbs();
std::vector<VerbEntry> SnapshotVerbs();
std::vector<VerbEntry> TransactionVerbs();
std::vector<VerbEntry> ShardVerbs();
std::vector<VerbEntry> OptionsVerbs();
std::vector<VerbEntry> CopyVerbs();
std::vector<VerbEntry> ExplainVerbs();
std::vector<VerbEntry> TableVerbs();
std::vector<VerbEntry> LogVerbs();
std::vector<VerbEntry> ShapeVerbs();
std::vector<VerbEntry> StatsVerbs();
std::vector<VerbEntry> FilterMakingVerbs();
std::vector<VerbEntry> FilterVerbs();
std::vector<VerbEntry> FilterPageVerbs();
std::vector<VerbEntry> BenchVerbs();
std::vector<VerbEntry> DumpVerbs();
std::vector<VerbEntry> ShellVerbs();
std::vector<VerbEntry> SyncVerbs();
std::vector<VerbEntry> ExportVerbs();
std::vector<VerbEntry> ImportVerbs();
std::vector<VerbEntry> ProgramVerbs();
std::vector<VerbEntry> PaperVerbs();

// The flags and arguments of `verb`, which `entry` has made: for parsing, and for help, manual and completion.
std::unique_ptr<CLI::App> MakeApp(const VerbEntry& entry, Verb* verb);

// The exit code for a status.
int ExitCodeOf(const absl::Status& status);
// The error for people: "NotFound: ...", without the code's name if the message says it.
std::string MessageOf(const absl::Status& status);
// The object that --json prints for an error.
std::string ErrorLine(std::string_view command, int exit, const absl::Status& status);

// For verbs with large effects: ok with `yes`, or if the user agrees; a usage error (InvalidArgument) if there is no
// terminal to ask on. `what` is a clause: "this rewrites every table of /db".
absl::Status Confirm(const Streams& io, bool yes, std::string_view what);

}  // namespace sepal::tools
