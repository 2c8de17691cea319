#include "tools/lib/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/str_format.h"
#include "tools/lib/latency.h"
#include "util/strings.h"

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
  return best;
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

std::optional<int> ParseFlags(CLI::App* app, std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  try {
    std::reverse(arguments.begin(), arguments.end());
    app->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    out << app->help();
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    err << app->get_name() << ": " << error.what() << "\n";
    for (const std::string& left_over : app->remaining()) {
      if (left_over.rfind("--", 0) != 0) continue;
      const std::string flag = left_over.substr(2, left_over.find('=') - 2);
      const std::string nearest = NearestFlag(*app, flag);
      if (!nearest.empty()) err << "did you mean --" << nearest << "?\n";
    }
    err << "--help lists the flags\n";
    return kExitUsage;
  }
  return std::nullopt;
}

CLI::Option* AddBytes(CLI::App* app, const std::string& name, uint64_t* bytes, const std::string& description) {
  return app->add_option(name, *bytes, description)->transform(CLI::AsSizeValue(false));
}

CLI::Option* AddSeconds(CLI::App* app, const std::string& name, double* seconds, const std::string& description) {
  static const std::map<std::string, double> units = {{"s", 1}, {"m", 60}, {"h", 3600}};
  return app->add_option(name, *seconds, description)->transform(CLI::AsNumberWithUnit(units));
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

absl::Status WriteWhole(const std::string& path, const std::string& contents) {
  const std::string temporary = path + ".tmp";
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << contents;
    if (!file.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(temporary, path, error);
  if (!error) return absl::OkStatus();
  std::filesystem::remove(temporary, error);
  return absl::PermissionDeniedError(absl::StrFormat("%s cannot be written; --output names another file", path));
}

Progress::Progress(std::string name, uint64_t total, std::ostream& err, bool terminal)
    : name_(std::move(name)),
      total_(total),
      err_(err),
      terminal_(terminal),
      begin_nanos_(NowNanos()),
      last_shown_nanos_(begin_nanos_) {}

Progress::~Progress() {
  if (width_ > 0) err_ << '\r' << std::string(width_, ' ') << '\r' << std::flush;
}

void Progress::Update(uint64_t done) {
  const uint64_t now = NowNanos();
  const uint64_t interval = terminal_ ? 100'000'000 : 10'000'000'000;
  if (now - last_shown_nanos_ < interval) return;
  const double here = static_cast<double>(done - last_done_) * 1e9 / static_cast<double>(now - last_shown_nanos_);
  rate_ = last_done_ == 0 ? here : 0.9 * rate_ + 0.1 * here;
  last_shown_nanos_ = now;
  last_done_ = done;
  const std::string line = Format(name_, done, total_, rate_);
  if (!terminal_) {
    err_ << line << std::endl;
    return;
  }
  const size_t padding = width_ > line.size() ? width_ - line.size() : 0;
  err_ << '\r' << line << std::string(padding, ' ') << std::flush;
  width_ = line.size();
}

std::string Progress::Format(const std::string& name, uint64_t done, uint64_t total, double rate) {
  const bool bytes = name.ends_with("bytes");
  const auto shown = [&](uint64_t number) { return bytes ? HumanBytes(number) : std::to_string(number); };
  std::string line = absl::StrFormat("%s: %s", name, shown(done));
  if (total > 0) {
    absl::StrAppendFormat(&line, " of %s (%.0f %%)", shown(total),
                          100.0 * static_cast<double>(done) / static_cast<double>(total));
  }
  absl::StrAppendFormat(&line, ", %s a second", shown(static_cast<uint64_t>(std::llround(std::max(0.0, rate)))));
  if (total > done && rate >= 1) {
    absl::StrAppendFormat(&line, ", %.0f s left", std::ceil(static_cast<double>(total - done) / rate));
  }
  return line;
}

bool StandardErrorIsTerminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace sepal::tools
