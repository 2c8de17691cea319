// The common parts of all command lines: exit codes, flags with one dash or two, "did you mean", sizes and times with
// units, bytes in JSON.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "tools/terminal/utf8.h"
#include "util/base/nearest.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sepal::tools {

enum ExitCode : int { kExitOk = 0, kExitError = 1, kExitUsage = 2, kExitDamage = 3 };

inline constexpr int kJsonSchemaVersion = 1;

// The arguments after the program's name, with `-flag` and `-flag=value` changed to `--flag...`.
std::vector<std::string> NormalizeArguments(int argc, const char* const* argv);

// The name under which a program was called: installed, it has another than in the build tree.
std::string CalledName(const char* const* argv);
// Makes the app use that name in its help and its example.
void TakeCalledName(CLI::App* app, const char* const* argv);

// Parses; returns an exit code if the program should end: after --help (to `out`) and after a mistake, which is
// explained on `err`, with the nearest known flag. `mistake`, if not null, receives the first line of the explanation.
std::optional<int> ParseFlags(CLI::App* app, std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                              std::string* mistake = nullptr);

// A number of bytes: 1048576, 64MiB, 1.5G (powers of 1024). Printed in a form that can be parsed: 64MiB, 1000.
std::string SizeText(uint64_t bytes);
CLI::Option* AddBytes(CLI::App* app, const std::string& name, uint64_t* bytes, const std::string& description);
struct CountRange {
  uint64_t least = 0;
  uint64_t most = UINT64_MAX;
};
// A whole number: 1000, 10k, 1.5M, 1e6 (powers of 1000). Number is int or uint64_t.
template <class Number>
CLI::Option* AddCount(CLI::App* app, const std::string& name, Number* count, const std::string& description,
                      CountRange range = {});
// The same, where -1 means that it is not given.
CLI::Option* AddCountOrNone(CLI::App* app, const std::string& name, int64_t* count, const std::string& description);
// A time in seconds: 30, 30s, 250ms, 5m, 1h.
CLI::Option* AddSeconds(CLI::App* app, const std::string& name, double* seconds, const std::string& description);
// Words with commas between them: all in one argument, so that later arguments do not belong to them.
CLI::Option* AddList(CLI::App* app, const std::string& name, std::vector<std::string>* words,
                     const std::string& description);
// The words that may make up the value of a flag, for help and completion; the flag is not checked against them.
void AddChoices(CLI::Option* option, const std::vector<std::string>& words);
// Flags of other engines' tools that mean nothing here: accepted, each with a note on `err` when given. `names` are
// separated by spaces.
void AddIgnored(CLI::App* app, const std::string& names, std::ostream& err);

// "1 table", "2 tables"; nouns in y, ch and s are known.
std::string Counted(uint64_t count, std::string_view noun);

// The beginning of each object in a stream: {"schema_version": ...}.
nlohmann::json JsonRow();
// {"utf8": ...} if the bytes are valid UTF-8, else {"hex": ...}.
nlohmann::json BytesJson(std::string_view bytes);
// On one line. Invalid UTF-8 (a path may be any bytes) is replaced and causes no exception.
std::string ToLine(const nlohmann::json& json);
// The bytes that `hex` stands for ("0x" before them is allowed); nullopt if it is not hexadecimal.
std::optional<std::string> FromHex(std::string_view hex);

// The exit code of a program that would end with `exit`: an error if its output could not be written, as on a full
// disk.
int ExitOfOutput(int exit, std::string_view program, std::ostream& out, std::ostream& err);

// Cancelled for `-`, which means standard output elsewhere; FailedPrecondition for a file within a database.
absl::Status CheckOutputName(const std::string& path);

// Writes a file completely or not at all, replacing an existing one, and makes it durable. Errors contain a remedy.
absl::Status WriteWhole(const std::string& path, const std::string& contents);

}  // namespace sepal::tools
