#include "tools/sst_dump/sst_dump.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "tools/files/tool_files.h"
#include "tools/sst_dump/sst_dump_commands.h"
#include "tools/sst_dump/sst_dump_options.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

// The tables in a directory, by name.
std::vector<std::string> TablesIn(const std::string& directory) {
  std::vector<std::string> paths;
  const absl::StatusOr<std::unique_ptr<Directory>> opened = ToolFiles()->OpenDirectory(directory, /*create=*/false);
  const auto files = opened.ok() ? (*opened)->List() : opened.status();
  for (const DirectoryEntry& file : files.ok() ? *files : std::vector<DirectoryEntry>()) {
    if (std::filesystem::path(file.name).extension() == ".sst")
      paths.push_back(std::filesystem::path(directory) / file.name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Keeps the first error; damage is worse than any other.
void KeepWorse(absl::Status* kept, const absl::Status& status) {
  if (kept->ok() || (absl::IsDataLoss(status) && !absl::IsDataLoss(*kept))) *kept = status;
}

// The commands that read whole tables and print a line for each.
bool IsLongAndQuiet(SstCommand command) { return command == SstCommand::kVerify || command == SstCommand::kCheck; }

uint64_t BytesOf(const std::vector<std::string>& paths) {
  uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

void PrintError(const std::string& path, const SstDumpOptions& options, const absl::Status& status, std::ostream& out) {
  const nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                               {"file", path},
                               {"command", options.command_name},
                               {"ok", false},
                               {"exit_code", ExitCodeOf(status)},
                               {"code", absl::StatusCodeToString(status.code())},
                               {"error", MessageOf(status)}};
  out << ToLine(line) << "\n";
}

// The table reader's error for a file that may never have been a table.
constexpr std::string_view kNoTable = "not a table file";
// Tables of other engines end with these bytes.
constexpr std::pair<std::string_view, const char*> kOtherEnds[] = {{"\xf7\xcf\xf4\x85\xb7\x41\xe2\x88", "RocksDB"},
                                                                   {"\x57\xfb\x80\x8b\x24\x75\x47\xdb", "LevelDB"}};

// A file of another kind is the user's mistake, not damage. A name that only tables have distinguishes the two.
absl::Status Judged(const std::string& path, const absl::Status& status) {
  if (!absl::IsDataLoss(status) || ToStd(status.message()).find(kNoTable) == std::string_view::npos) return status;
  std::ifstream file(path, std::ios::binary);
  char end[8] = {};
  file.seekg(-static_cast<std::streamoff>(sizeof(end)), std::ios::end);
  file.read(end, sizeof(end));
  for (const auto& [bytes, engine] : kOtherEnds) {
    if (file && std::string_view(end, sizeof(end)) == bytes) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s is a table of %s; sepal import copies such a database into a new one", path, engine));
    }
  }
  if (ParseFileName(std::filesystem::path(path).filename().string()).has_value()) return status;
  return absl::InvalidArgumentError(absl::StrFormat("%s is not a table file of Sepal", path));
}

}  // namespace

int SstDumpMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  SstDumpOptions options;
  std::optional<int> exit = ParseSstDumpFlags(argc, argv, &options, out, err);
  if (!exit.has_value()) exit = DumpTables(options, CalledName(argv), out, err);
  return ExitOfOutput(*exit, CalledName(argv), out, err);
}

int DumpTables(const SstDumpOptions& options, const std::string& program, std::ostream& out, std::ostream& err,
               absl::Status* worst_status) {
  absl::Status worst;
  bool mended = false;  // could be
  std::vector<std::string> paths;
  for (const std::string& input : options.inputs) {
    std::error_code error;
    const bool one_file = IsRemote(input) ? input.ends_with(".sst") : !std::filesystem::is_directory(input, error);
    if (one_file) {
      paths.push_back(input);
      continue;
    }
    const std::vector<std::string> tables = TablesIn(input);
    paths.insert(paths.end(), tables.begin(), tables.end());
    if (tables.empty()) {
      err << program << ": " << input << ": no table files in this directory (they are named NNNNNN.sst)\n";
      KeepWorse(&worst, absl::NotFoundError(absl::StrCat(input, ": no table files in this directory")));
    }
  }
  std::optional<Progress> progress;
  if (IsLongAndQuiet(options.command)) {
    progress.emplace("checked bytes", BytesOf(paths), err, StandardErrorIsTerminal());
  }
  uint64_t done = 0;
  for (const std::string& path : paths) {
    // Output for a table that takes long goes above the progress.
    std::ostringstream lines;
    const absl::Status status = Judged(path, DumpTable(path, options, progress.has_value() ? lines : out));
    if (progress.has_value()) {
      progress->Tell(lines.str(), out);
      progress->Update(done += BytesOf({path}));
    }
    if (status.ok()) continue;
    out.flush();
    const std::string message = MessageOf(status);
    const bool named = message.find(path) != std::string::npos;
    const std::string told = absl::StrCat(program, ": ", named ? "" : path + ": ", message, "\n");
    progress.has_value() ? progress->Tell(told) : void(err << told);
    mended = mended || absl::IsDataLoss(status);
    KeepWorse(&worst, status);
    if (options.json) PrintError(path, options, status, out);
  }
  progress.reset();
  out.flush();
  if (mended) {
    err << "a file with the same name and table id in a backup is the same file; without one, sepal db repair DIR "
           "--dry-run reports what can be kept (docs/guide/operations.md)\n";
  }
  if (worst_status != nullptr) *worst_status = worst;
  return ExitCodeOf(worst);
}

}  // namespace sepal::tools
