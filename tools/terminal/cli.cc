#include "tools/terminal/cli.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/terminal/help.h"
#include "tools/terminal/terminal_color.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

// The known flag nearest to `flag`, or nothing if none is near.
std::string NearestFlag(const CLI::App& app, std::string_view flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return Nearest(names, flag);
}

constexpr std::string_view kSizeLetters = "BKMGTPE";

// The number at the beginning of `text`, digits with or without a fraction, and the rest in lower case.
std::optional<std::pair<double, std::string>> NumberAndUnit(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  if (!absl::SimpleAtod(ToAbsl(text.substr(0, digits)), &number)) return std::nullopt;
  std::string unit = absl::AsciiStrToLower(ToAbsl(text.substr(digits)));
  absl::StripAsciiWhitespace(&unit);
  return std::pair(number, unit);
}

// `number`, if it is below 2^64. A double is exact up to 2^53, beyond which plain digits are read as such.
std::optional<uint64_t> Whole(double number) {
  if (!(number >= 0 && number < 0x1p64)) return std::nullopt;
  return static_cast<uint64_t>(number);
}

// "64MiB", "1g", "1.5 gib"; nullopt for other texts and numbers that are too large.
std::optional<uint64_t> SizeFrom(std::string_view text) {
  uint64_t bytes = 0;
  if (absl::SimpleAtoi(ToAbsl(text), &bytes)) return text.starts_with("-") ? std::nullopt : std::optional(bytes);
  const auto size = NumberAndUnit(text);
  if (!size.has_value()) return std::nullopt;
  const auto& [number, unit] = *size;
  if (unit.empty() || unit == "b") return std::floor(number) == number ? Whole(number) : std::nullopt;
  const size_t power = kSizeLetters.find(absl::ascii_toupper(static_cast<unsigned char>(unit[0])));
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || power == 0 || (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) {
    return std::nullopt;
  }
  return Whole(std::ldexp(number, static_cast<int>(10 * power)));
}

// "1000", "10k", "1.5M", "1e6": powers of 1000; nullopt for texts that are no whole number.
std::optional<uint64_t> CountFrom(std::string_view text) {
  uint64_t count = 0;
  if (absl::SimpleAtoi(ToAbsl(text), &count)) return text.starts_with("-") ? std::nullopt : std::optional(count);
  const auto scaled = NumberAndUnit(text);
  if (!scaled.has_value()) return std::nullopt;
  static const std::map<std::string, double, std::less<>> units = {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}};
  double factor = 0;
  if (const auto unit = units.find(scaled->second); unit != units.end()) {
    factor = unit->second;
  } else if (uint64_t power = 0;
             scaled->second.starts_with("e") &&
             absl::SimpleAtoi(scaled->second.substr(scaled->second.starts_with("e+") ? 2 : 1), &power) && power < 20) {
    factor = std::pow(10, static_cast<double>(power));
  }
  const double number = scaled->first * factor;
  return factor > 0 && std::floor(number) == number ? Whole(number) : std::nullopt;
}

std::string UnknownArgument(const std::string& argument) {
  if (argument.starts_with("-")) {
    return absl::StrFormat("there is no flag %s", argument.substr(0, argument.find('=')));
  }
  return absl::StrFormat("\"%s\" is an unexpected argument", argument);
}

}  // namespace

std::string CalledName(const char* const* argv) { return std::filesystem::path(argv[0]).filename(); }

void TakeCalledName(CLI::App* app, const char* const* argv) {
  const std::string name = CalledName(argv);
  app->description(absl::StrReplaceAll(app->get_description(), {{app->get_name() + " --", name + " --"}}));
  app->name(name);
}

std::vector<std::string> NormalizeArguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    const bool one_dash = argument.size() > 2 && argument[0] == '-' && argument[1] != '-' &&
                          std::isalpha(static_cast<unsigned char>(argument[1])) != 0;
    arguments.push_back(one_dash ? "-" + argument : argument);
  }
  return arguments;
}

std::optional<int> ParseFlags(CLI::App* app, std::vector<std::string> arguments, std::ostream& out, std::ostream& err,
                              std::string* mistake) {
  try {
    std::reverse(arguments.begin(), arguments.end());
    app->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    out << HelpText(*app, Paint::For(out, ColorChoice::kAuto));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unknown = app->remaining();
    const std::string what = unknown.empty() ? error.what() : UnknownArgument(unknown.front());
    if (mistake != nullptr) *mistake = what;
    err << Paint::For(err, ColorChoice::kAuto).Bad(app->get_name() + ":") << " " << what << "\n";
    for (const std::string& left_over : unknown) {
      if (left_over.rfind("--", 0) != 0) continue;
      const std::string flag = left_over.substr(2, left_over.find('=') - 2);
      const std::string nearest = NearestFlag(*app, flag);
      if (!nearest.empty()) err << "did you mean --" << nearest << "?\n";
    }
    err << app->get_name() << " --help lists the flags\n";
    return kExitUsage;
  }
  return std::nullopt;
}

std::string SizeText(uint64_t bytes) {
  size_t power = 0;
  for (; bytes != 0 && bytes % 1024 == 0; ++power) bytes /= 1024;
  std::string text = std::to_string(bytes);
  if (power > 0) (text += kSizeLetters[power]) += "iB";
  return text;
}

CLI::Option* AddBytes(CLI::App* app, const std::string& name, uint64_t* bytes, const std::string& description) {
  const auto parse = [](std::string& text) -> std::string {
    const std::optional<uint64_t> size = SizeFrom(text);
    if (!size.has_value()) return "\"" + text + "\" is not a size: write 64MiB, 1.5G or a number of bytes";
    text = std::to_string(*size);
    return "";
  };
  return app->add_option(name, *bytes, description)->transform(CLI::Validator(parse, "SIZE"));
}

namespace {

// Checks a count, and writes it as digits.
CLI::Validator CountIn(CountRange range, bool or_none) {
  const auto parse = [range, or_none](std::string& text) -> std::string {
    if (or_none && text == "-1") return "";
    const std::optional<uint64_t> number = CountFrom(text);
    if (!number.has_value()) return "\"" + text + "\" is not a whole number: write 1000, 10k, 1.5M or 1e6";
    if (*number < range.least) return absl::StrFormat("%s is too small: at least %d", text, range.least);
    if (*number > range.most) return absl::StrFormat("%s is too large: at most %d", text, range.most);
    text = std::to_string(*number);
    return "";
  };
  return CLI::Validator(parse, "COUNT");
}

}  // namespace

template <class Number>
CLI::Option* AddCount(CLI::App* app, const std::string& name, Number* count, const std::string& description,
                      CountRange range) {
  range.most = std::min(range.most, static_cast<uint64_t>(std::numeric_limits<Number>::max()));
  return app->add_option(name, *count, description)->transform(CountIn(range, /*or_none=*/false));
}
template CLI::Option* AddCount(CLI::App*, const std::string&, int*, const std::string&, CountRange);
template CLI::Option* AddCount(CLI::App*, const std::string&, uint64_t*, const std::string&, CountRange);

CLI::Option* AddCountOrNone(CLI::App* app, const std::string& name, int64_t* count, const std::string& description) {
  return app->add_option(name, *count, description)->transform(CountIn({.most = INT64_MAX}, /*or_none=*/true));
}

CLI::Option* AddSeconds(CLI::App* app, const std::string& name, double* seconds, const std::string& description) {
  const auto parse = [](std::string& text) -> std::string {
    static const std::map<std::string, double, std::less<>> units = {{"", 1},     {"ms", 1e-3}, {"s", 1},    {"m", 60},
                                                                     {"min", 60}, {"h", 3600},  {"d", 86400}};
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto unit = units.find(std::string_view(text).substr(digits));
    double number = 0;
    if (unit == units.end() || !absl::SimpleAtod(text.substr(0, digits), &number)) {
      return "\"" + text + "\" is not a time: write 30s, 250ms, 5m, 1h or a number of seconds";
    }
    text = absl::StrFormat("%.17g", number * unit->second);
    return "";
  };
  return app->add_option(name, *seconds, description)->transform(CLI::Validator(parse, "TIME"));
}

CLI::Option* AddList(CLI::App* app, const std::string& name, std::vector<std::string>* words,
                     const std::string& description) {
  return app->add_option(name, *words, description)->delimiter(',')->allow_extra_args(false);
}

void AddChoices(CLI::Option* option, const std::vector<std::string>& words) {
  option->type_name("TEXT:{" + absl::StrJoin(words, ",") + "}");
}

void AddIgnored(CLI::App* app, const std::string& names, std::ostream& err) {
  std::istringstream stream(names);
  for (std::string name; stream >> name;) {
    app->add_option_function<std::string>(
           "--" + name,
           [name, &err](const std::string&) { err << "note: --" << name << " has no equivalent in Sepal: ignored\n"; })
        ->expected(0, 1)
        ->group("");
  }
}

std::string Counted(uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(noun);
  if (noun.ends_with("y") && !noun.ends_with("ey")) return text.append(noun.substr(0, noun.size() - 1)) + "ies";
  return text.append(noun) + (noun.ends_with("ch") || noun.ends_with("s") ? "es" : "s");
}

nlohmann::json JsonRow() { return {{"schema_version", kJsonSchemaVersion}}; }

nlohmann::json BytesJson(std::string_view bytes) {
  if (IsUtf8(bytes)) return {{"utf8", std::string(bytes)}};
  return {{"hex", ToHex(bytes)}};
}

std::string ToLine(const nlohmann::json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::string> FromHex(std::string_view hex) {
  if (hex.size() >= 2 && hex[0] == '0' && (hex[1] == 'x' || hex[1] == 'X')) hex.remove_prefix(2);
  if (hex.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return bytes;
}

int ExitOfOutput(int exit, std::string_view program, std::ostream& out, std::ostream& err) {
  if (out.flush()) return exit;
  err << program << ": the output could not be written completely\n";
  return exit == kExitOk ? static_cast<int>(kExitError) : exit;
}

namespace {

// Makes a file, or the names in a directory, durable; 0 or the reason why not.
int SyncPath(const std::string& path, int flags) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return errno;
  const int reason = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return reason;
}

// WriteWhole without its cleanup after a failure.
int WriteAndRename(const std::string& temporary, const std::string& path, const std::string& contents) {
  errno = 0;
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << contents;
  file.close();
  if (!file) return errno == 0 ? EIO : errno;
  if (const int reason = SyncPath(temporary, 0); reason != 0) return reason;
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return errno;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return SyncPath(parent.empty() ? "." : parent.string(), O_DIRECTORY);
}

}  // namespace

absl::Status CheckOutputName(const std::string& path) {
  if (path == "-") {
    return absl::CancelledError(
        "--output - : what was done is told on standard output; name a file (./- for one with that name)");
  }
  std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (parent.empty()) parent = ".";
  std::error_code error;
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with("MANIFEST-")) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("%s would be among the files of the database %s; choose another directory with --output", path,
                        parent.string()));
  }
  return absl::OkStatus();
}

absl::Status WriteWhole(const std::string& path, const std::string& contents) {
  RETURN_IF_ERROR(CheckOutputName(path));
  const std::string temporary = path + ".tmp";
  std::error_code unused;
  const std::filesystem::file_status there = std::filesystem::status(path, unused);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s is no regular file, and cannot be written; choose another file with --output", path));
  }
  const int reason = WriteAndRename(temporary, path, contents);
  if (reason == 0) return absl::OkStatus();
  std::filesystem::remove(temporary, unused);
  return absl::ErrnoToStatus(reason, absl::StrFormat("%s cannot be written; choose another file with --output", path));
}

}  // namespace sepal::tools
