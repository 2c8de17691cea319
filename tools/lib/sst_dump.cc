#include "tools/lib/sst_dump.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/lib/cli.h"
#include "tools/lib/sst_dump_commands.h"
#include "tools/lib/sst_dump_options.h"

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

}  // namespace

int SstDumpMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  SstDumpOptions options;
  if (std::optional<int> exit = ParseSstDumpFlags(argc, argv, &options, out, err)) return *exit;
  return DumpTables(options, "sst_dump", out, err);
}

int DumpTables(const SstDumpOptions& options, const std::string& program, std::ostream& out, std::ostream& err) {
  int worst = kExitOk;
  for (const std::string& input : options.inputs) {
    std::error_code error;
    std::vector<std::string> paths = {input};
    if (std::filesystem::is_directory(input, error)) {
      paths = TablesIn(input);
      if (paths.empty()) {
        err << program << ": " << input << ": no table files in this directory\n";
        worst = Worse(worst, kExitError);
      }
    }
    for (const std::string& path : paths) {
      const absl::Status status = DumpTable(path, options, out);
      if (status.ok()) continue;
      out.flush();
      err << program << ": " << path << ": " << status.ToString() << "\n";
      worst = Worse(worst, absl::IsDataLoss(status) ? kExitDamage : kExitError);
      if (options.json) {
        const nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                                     {"file", path},
                                     {"command", options.command_name},
                                     {"ok", false},
                                     {"error", status.ToString()}};
        out << line.dump() << "\n";
      }
    }
  }
  out.flush();
  return worst;
}

}  // namespace sepal::tools
