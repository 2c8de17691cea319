#include "tools/sepal/run_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sepal::tools {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLibrary = "libleveldb.so.1d";
constexpr std::string_view kAnyLibrary = "libleveldb.so";
// LevelDB's name for the order of keys, which is in every database that it makes, and so in LevelDB itself. RocksDB has
// it too.
constexpr std::string_view kOrderName = "leveldb.BytewiseComparator";
constexpr size_t kPartBytes = size_t{1} << 20;

// Which of the two texts a file contains.
struct Found {
  bool elf = false;
  bool order_name = false;
  bool library_name = false;
};

Found Search(const std::string& path) {
  Found found;
  std::ifstream file(path, std::ios::binary);
  std::string window(kPartBytes, '\0');
  size_t kept = 0;  // of the part before, so that no text is cut in two
  bool first = true;
  do {
    file.read(window.data() + kept, static_cast<std::streamsize>(window.size() - kept));
    const std::string_view bytes(window.data(), kept + static_cast<size_t>(file.gcount()));
    if (std::exchange(first, false))
      found.elf = bytes.starts_with(
          "\x7f"
          "ELF");
    const auto has = [bytes](std::string_view text) {
      return std::search(bytes.begin(), bytes.end(), std::boyer_moore_horspool_searcher(text.begin(), text.end())) !=
             bytes.end();
    };
    found.order_name |= has(kOrderName);
    found.library_name |= has(kAnyLibrary);
    kept = std::min(bytes.size(), kOrderName.size());
    std::copy(bytes.end() - static_cast<std::ptrdiff_t>(kept), bytes.end(), window.begin());
  } while (file && found.elf);
  return found;
}

}  // namespace

void EndFlagsAtProgram(const std::vector<std::string>& flags_with_value, std::vector<std::string>* arguments) {
  for (auto it = arguments->begin(); it != arguments->end(); ++it) {
    if (*it == "--") return;
    if (!it->starts_with("-")) {
      arguments->insert(it, "--");
      return;
    }
    const bool takes_next = std::find(flags_with_value.begin(), flags_with_value.end(), *it) != flags_with_value.end();
    if (takes_next && it + 1 != arguments->end()) ++it;
  }
}

absl::StatusOr<std::string> FindLevelDbDirectory() {
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::string> looked_in;
  for (const char* const libraries : {SEPAL_LIBRARY_DIRECTORY, "lib"}) {
    const std::string directory = (own.parent_path() / libraries / "sepal" / "leveldb").string();
    if (fs::exists(fs::path(directory) / kLibrary, error)) return directory;
    if (std::find(looked_in.begin(), looked_in.end(), directory) == looked_in.end()) looked_in.push_back(directory);
  }
  return absl::NotFoundError(
      absl::StrFormat("Sepal's libleveldb is not installed: it was looked for in %s, and is built where the headers of "
                      "LevelDB 1.23 are (Debian: libleveldb-dev)",
                      absl::StrJoin(looked_in, " and ")));
}

absl::StatusOr<std::string> FindProgram(const std::string& name) {
  std::error_code error;
  const auto runs = [&error](const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0 && !fs::is_directory(path, error);
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return name;
    return absl::NotFoundError(absl::StrFormat("%s is no program that can be run", name));
  }
  const char* const path = std::getenv("PATH");
  const std::vector<std::string> directories = absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':');
  for (const std::string& directory : directories) {
    std::string whole = directory.empty() ? "./" + name : directory + "/" + name;
    if (runs(whole)) return whole;
  }
  return absl::NotFoundError(absl::StrFormat("there is no program %s in PATH", name));
}

absl::Status CheckNoLevelDbWithin(const std::string& program) {
  const Found found = Search(program);
  if (!found.elf || !found.order_name || found.library_name) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s has LevelDB (or RocksDB) linked in, and loads no %s: a library cannot take its place",
                      program, kAnyLibrary.data()));
}

std::string LibraryPathWith(const std::string& directory) {
  const char* const now = std::getenv("LD_LIBRARY_PATH");
  return now == nullptr || *now == '\0' ? directory : directory + ":" + now;
}

}  // namespace sepal::tools
