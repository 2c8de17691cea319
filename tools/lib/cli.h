// What all command lines have in common: exit codes, flags with one dash or two, "did you mean", sizes and times with
// units, progress on standard error, bytes in JSON.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sepal::tools {

enum ExitCode : int { kExitOk = 0, kExitError = 1, kExitUsage = 2, kExitDamage = 3 };

inline constexpr int kJsonSchemaVersion = 1;

// The arguments behind the program's name, with `-flag` and `-flag=value` made into `--flag...`.
std::vector<std::string> NormalizeArguments(int argc, const char* const* argv);

// Parses; an exit code if the program should end: after --help (to `out`) and after a mistake, which is explained on
// `err`, with the nearest known flag.
std::optional<int> ParseFlags(CLI::App* app, std::vector<std::string> arguments, std::ostream& out, std::ostream& err);

// The word of `known` that is nearest to `typed`; empty if none is near.
std::string Nearest(const std::vector<std::string>& known, std::string_view typed);

// A number of bytes: 1048576, 64MiB, 1G (powers of 1024).
CLI::Option* AddBytes(CLI::App* app, const std::string& name, uint64_t* bytes, const std::string& description);
// A time in seconds: 30, 30s, 5m, 1h.
CLI::Option* AddSeconds(CLI::App* app, const std::string& name, double* seconds, const std::string& description);
// Flags of other engines' tools that mean nothing here: accepted, each with a note on `err` when given. `names` are
// separated by spaces.
void AddIgnored(CLI::App* app, const std::string& names, std::ostream& err);

// {"utf8": ...} where the bytes are valid UTF-8, else {"hex": ...}.
nlohmann::json BytesJson(std::string_view bytes);
// On one line. What is no UTF-8 (a path may be anything) is replaced, rather than thrown.
std::string ToLine(const nlohmann::json& json);
bool IsUtf8(std::string_view bytes);
// The bytes that `hex` stands for ("0x" before them is allowed); nullopt if it is not hexadecimal.
std::optional<std::string> FromHex(std::string_view hex);

// Writes a file whole or not at all, over one that is there.
absl::Status WriteWhole(const std::string& path, const std::string& contents);

// A line about how far a long job is. On a terminal it is drawn anew at most ten times a second; elsewhere a line is
// printed every ten seconds.
class Progress {
 public:
  // `total` 0: not known. A name that ends with "bytes" has its numbers with units.
  Progress(std::string name, uint64_t total, std::ostream& err, bool terminal);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Removes the line from a terminal.
  ~Progress();

  void Update(uint64_t done);
  // The text of the line: for tests, and for `Update`.
  static std::string Format(const std::string& name, uint64_t done, uint64_t total, double rate);

 private:
  const std::string name_;
  const uint64_t total_;
  std::ostream& err_;
  const bool terminal_;
  const uint64_t begin_nanos_;
  uint64_t last_shown_nanos_;
  uint64_t last_done_ = 0;
  double rate_ = 0;  // a second, smoothed
  size_t width_ = 0;
};

// Whether standard error is a terminal on which a line can be drawn anew.
bool StandardErrorIsTerminal();

}  // namespace sepal::tools
