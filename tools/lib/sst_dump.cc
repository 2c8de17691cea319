#include "tools/lib/sst_dump.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/lib/cli.h"
#include "tools/lib/sst_dump_commands.h"
#include "tools/lib/sst_dump_options.h"
#include "tools/lib/verb.h"

namespace sepal::tools {
namespace {

// The tables in a directory, by name.
std::vector<std::string> TablesIn(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".sst") paths.push_back(it->path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Damage is worse than any other error.
int Worse(int a, int b) { return std::max(a, b); }

// What the reader of tables says of a file that never was one, perhaps: nothing mends that.
constexpr std::string_view kNoTable = "not a table file";

}  // namespace

int SstDumpMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  SstDumpOptions options;
  if (std::optional<int> exit = ParseSstDumpFlags(argc, argv, &options, out, err)) return *exit;
  return DumpTables(options, "sst_dump", out, err);
}

int DumpTables(const SstDumpOptions& options, const std::string& program, std::ostream& out, std::ostream& err) {
  int worst = kExitOk;
  bool mended = false;  // could be
  for (const std::string& input : options.inputs) {
    std::error_code error;
    std::vector<std::string> paths = {input};
    if (std::filesystem::is_directory(input, error)) {
      paths = TablesIn(input);
      if (paths.empty()) {
        err << program << ": " << input << ": no table files in this directory (they are named NNNNNN.sst)\n";
        worst = Worse(worst, kExitError);
      }
    }
    for (const std::string& path : paths) {
      const absl::Status status = DumpTable(path, options, out);
      if (status.ok()) continue;
      out.flush();
      const std::string message = MessageOf(status);
      const bool named = message.find(path) != std::string::npos;
      err << program << ": " << (named ? "" : path + ": ") << message << "\n";
      mended = mended || (absl::IsDataLoss(status) && message.find(kNoTable) == std::string::npos);
      worst = Worse(worst, ExitCodeOf(status));
      if (options.json) {
        const nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                                     {"file", path},
                                     {"command", options.command_name},
                                     {"ok", false},
                                     {"exit_code", ExitCodeOf(status)},
                                     {"code", absl::StatusCodeToString(status.code())},
                                     {"error", message}};
        out << ToLine(line) << "\n";
      }
    }
  }
  out.flush();
  if (mended) {
    err << "a file of the same name and table id in a backup is the same file; sepal db repair DIR --dry-run tells "
           "what "
           "can be kept without one (docs/operations.md)\n";
  }
  return worst;
}

}  // namespace sepal::tools
