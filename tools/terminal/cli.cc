#include "tools/terminal/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tools/terminal/help.h"
#include "tools/terminal/terminal_color.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

// Of letters changed, missing, added, or swapped with their neighbour.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// The known flag nearest to `flag`, or nothing if none is near.
std::string NearestFlag(const CLI::App& app, std::string_view flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return Nearest(names, flag);
}

constexpr std::string_view kSizeLetters = "BKMGTPE";

// "64MiB", "1g", "512 kb"; nullopt for what is none, or too large.
std::optional<uint64_t> SizeFrom(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(ToAbsl(text.substr(0, digits)), &bytes)) return std::nullopt;
  std::string unit = absl::AsciiStrToLower(ToAbsl(text.substr(digits)));
  absl::StripAsciiWhitespace(&unit);
  if (unit.empty() || unit == "b") return bytes;
  const size_t power = kSizeLetters.find(absl::ascii_toupper(static_cast<unsigned char>(unit[0])));
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || power == 0 || (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) {
    return std::nullopt;
  }
  if (bytes > (UINT64_MAX >> (10 * power))) return std::nullopt;
  return bytes << (10 * power);
}

std::string UnknownArgument(const std::string& argument) {
  if (argument.starts_with("-")) {
    return absl::StrFormat("there is no flag %s", argument.substr(0, argument.find('=')));
  }
  return absl::StrFormat("\"%s\" is one argument too many", argument);
}

}  // namespace

std::string Nearest(const std::vector<std::string>& known, std::string_view typed) {
  std::string best;
  size_t best_distance = 2 + typed.size() / 4;
  for (const std::string& name : known) {
    const size_t distance = EditDistance(name, typed);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  if (!best.empty() || typed.size() < 3) return best;
  const auto longer =
      std::find_if(known.begin(), known.end(), [&](const auto& name) { return name.starts_with(typed); });
  return longer == known.end() ? "" : *longer;
}

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
    if (!size.has_value()) return "\"" + text + "\" is no size: write 64MiB, 1G or a number of bytes";
    text = std::to_string(*size);
    return "";
  };
  return app->add_option(name, *bytes, description)->transform(CLI::Validator(parse, "SIZE"));
}

CLI::Option* AddSeconds(CLI::App* app, const std::string& name, double* seconds, const std::string& description) {
  const auto parse = [](std::string& text) -> std::string {
    static const std::map<std::string, double, std::less<>> units = {{"", 1},     {"ms", 1e-3}, {"s", 1},    {"m", 60},
                                                                     {"min", 60}, {"h", 3600},  {"d", 86400}};
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto unit = units.find(std::string_view(text).substr(digits));
    double number = 0;
    if (unit == units.end() || !absl::SimpleAtod(text.substr(0, digits), &number)) {
      return "\"" + text + "\" is no time: write 30s, 250ms, 5m, 1h or a number of seconds";
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

void AddIgnored(CLI::App* app, const std::string& names, std::ostream& err) {
  std::istringstream stream(names);
  for (std::string name; stream >> name;) {
    app->add_option_function<std::string>(
           "--" + name,
           [name, &err](const std::string&) { err << "note: --" << name << " has no counterpart here: ignored\n"; })
        ->expected(0, 1)
        ->group("");
  }
}

bool IsUtf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
    const unsigned char first = byte(i);
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xC2 && first < 0xE0 ? 2
                          : (first & 0xF0) == 0xE0        ? 3
                          : first >= 0xF0 && first < 0xF5 ? 4
                                                          : 0;
    if (length == 0 || i + length > bytes.size()) return false;
    for (size_t j = 1; j < length; ++j) {
      if ((byte(i + j) & 0xC0) != 0x80) return false;
    }
    // Overlong forms, surrogates and what lies beyond Unicode.
    if (first == 0xE0 && byte(i + 1) < 0xA0) return false;
    if (first == 0xED && byte(i + 1) >= 0xA0) return false;
    if (first == 0xF0 && byte(i + 1) < 0x90) return false;
    if (first == 0xF4 && byte(i + 1) >= 0x90) return false;
    i += length;
  }
  return true;
}

std::string Counted(uint64_t count, std::string_view noun) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(noun);
  if (noun.ends_with("y")) return text.append(noun.substr(0, noun.size() - 1)) + "ies";
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
  err << program << ": the output could not be written: what was printed is not whole\n";
  return exit == kExitOk ? static_cast<int>(kExitError) : exit;
}

absl::Status WriteWhole(const std::string& path, const std::string& contents) {
  const std::string temporary = path + ".tmp";
  int reason = 0;
  {
    errno = 0;
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << contents;
    file.close();
    if (!file) reason = errno == 0 ? EIO : errno;
  }
  if (reason == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason == 0) return absl::OkStatus();
  std::error_code unused;
  std::filesystem::remove(temporary, unused);
  return absl::ErrnoToStatus(reason, absl::StrFormat("%s cannot be written; --output names another file", path));
}

}  // namespace sepal::tools
