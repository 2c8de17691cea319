#include "sepal/options_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/engine/core/check_options.h"
#include "util/base/compression.h"
#include "util/base/nearest.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr size_t kLargestFile = size_t{1} << 20;
constexpr std::string_view kSpaces = " \t\r";

// --- names ---

// Calls visit(name, field) for each option of the database that a text can set; field(options) is its value.
template <class Visit>
void ForEachDatabaseOption(Visit visit) {
  visit(
      "memory_limit", [](auto& o) -> auto& { return o.memory_limit; });
  visit(
      "memtable_bytes", [](auto& o) -> auto& { return o.memtable_bytes; });
  visit(
      "large_batches", [](auto& o) -> auto& { return o.large_batches; });
  visit(
      "direct_reads", [](auto& o) -> auto& { return o.direct_reads; });
  visit(
      "background_threads", [](auto& o) -> auto& { return o.background_threads; });
  visit(
      "background_bytes_per_second", [](auto& o) -> auto& { return o.background_bytes_per_second; });
  visit(
      "scrub_seconds", [](auto& o) -> auto& { return o.scrub_seconds; });
  visit(
      "log_directory", [](auto& o) -> auto& { return o.log_directory; });
  visit(
      "info_log", [](auto& o) -> auto& { return o.info_log; });
  visit(
      "latency_histograms", [](auto& o) -> auto& { return o.latency_histograms; });
  visit(
      "slow_call_micros", [](auto& o) -> auto& { return o.slow_call_micros; });
}

// The same for a column family.
template <class Visit>
void ForEachFamilyOption(Visit visit) {
  visit(
      "compression", [](auto& o) -> auto& { return o.compression; });
  visit(
      "compression_per_level", [](auto& o) -> auto& { return o.compression_per_level; });
  visit(
      "block_bytes", [](auto& o) -> auto& { return o.block_bytes; });
  visit(
      "filter_lane_bits_per_key", [](auto& o) -> auto& { return o.filter_policy.lane_bits_per_key; });
  visit(
      "filter_guard_bits_per_key", [](auto& o) -> auto& { return o.filter_policy.guard_bits_per_key; });
  visit(
      "compaction_style", [](auto& o) -> auto& { return o.compaction_style; });
  visit(
      "max_space_amplification", [](auto& o) -> auto& { return o.max_space_amplification; });
  visit(
      "separate_from", [](auto& o) -> auto& { return o.separate_from; });
  visit(
      "last_level_inline_below", [](auto& o) -> auto& { return o.last_level_inline_below; });
}

constexpr std::pair<std::string_view, std::string_view> kNotInText[] = {
    {"create_if_missing", "how the database is opened is up to the program"},
    {"error_if_exists", "how the database is opened is up to the program"},
    {"read_only", "how the database is opened is up to the program"},
    {"take_over", "how the database is opened is up to the program"},
    {"comparator", "the program has the comparator"},
    {"ttl", "the database has it"},
    {"history", "the database has it"},
    {"merge_operator", "the program has the operator, and the database has its name"},
    {"compaction_filter", "the program has the filter, and the database has its name"},
    {"context_filter", "the program has the filter"},
    {"listeners", "the program has the listeners"},
    {"env", "the program has the environment"},
    {"filter_policy", "it is two here, filter_lane_bits_per_key and filter_guard_bits_per_key"},
    {"family", "its options are lines under [family]"},
    {"column_families", "the options of each are lines under [family \"NAME\"]"},
};

constexpr std::pair<CompactionStyle, std::string_view> kStyles[] = {
    {CompactionStyle::kLazyLeveling, "lazy_leveling"},
    {CompactionStyle::kLeveled, "leveled"},
    {CompactionStyle::kUniversal, "universal"},
};

// --- values ---

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

std::string Quoted(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '"' || c == '\\') {
      text += absl::StrFormat("\\x%02x", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

// Takes a quoted string off the beginning of `text` and returns its bytes; nullopt if it is not closed or has a bad
// escape.
std::optional<std::string> TakeQuoted(std::string_view* text) {
  std::string bytes;
  for (size_t i = 1; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '"') {
      text->remove_prefix(i + 1);
      return bytes;
    }
    if (c != '\\') {
      bytes += c;
      continue;
    }
    unsigned byte = 0;
    const std::string_view escape = text->substr(i, 4);
    const bool whole = escape.size() == 4 && escape[1] == 'x';
    if (!whole || std::from_chars(escape.data() + 2, escape.data() + 4, byte, 16).ptr != escape.data() + 4) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
    i += 3;
  }
  return std::nullopt;
}

// Convert a value to text and back; nullopt for text that is no such value, or does not fit.
std::string TextOf(bool value) { return value ? "true" : "false"; }
std::string TextOf(const std::string& value) { return Quoted(value); }
std::string TextOf(CompressionKind value) { return std::string(Name(value)); }
std::string TextOf(CompactionStyle value) {
  for (const auto& [style, name] : kStyles) {
    if (style == value) return std::string(name);
  }
  return std::to_string(static_cast<int>(value));
}
std::string TextOf(double value) {
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
template <class Number>
requires std::is_integral_v<Number> std::string TextOf(Number value) { return std::to_string(value); }
std::string TextOf(const std::vector<CompressionKind>& values) {
  std::string text;
  for (const CompressionKind value : values) text += (text.empty() ? "" : ", ") + TextOf(value);
  return text;
}

bool Take(std::string_view text, bool* value) {
  *value = text == "true";
  return text == "true" || text == "false";
}
bool Take(std::string_view text, std::string* value) {
  if (!text.starts_with('"')) {
    *value = text;
    return text.find('"') == std::string_view::npos;
  }
  std::optional<std::string> bytes = TakeQuoted(&text);
  if (!bytes.has_value() || !text.empty()) return false;
  *value = *std::move(bytes);
  return true;
}
bool Take(std::string_view text, CompressionKind* value) {
  const std::optional<CompressionKind> kind = CompressionFromName(text);
  if (kind.has_value()) *value = *kind;
  return kind.has_value();
}
bool Take(std::string_view text, CompactionStyle* value) {
  for (const auto& [style, name] : kStyles) {
    if (name == text) *value = style;
    if (name == text) return true;
  }
  return false;
}
bool Take(std::string_view text, double* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(*value);
}
// Parses a number, with an optional unit of 1024 (KiB, MiB, ...).
template <class Number>
requires std::is_integral_v<Number>
bool Take(std::string_view text, Number* value) {
  constexpr std::string_view kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  uint64_t number = 0;
  const char* const text_end = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), text_end, number);
  if (error != std::errc()) return false;
  const std::string_view unit(end, static_cast<size_t>(text_end - end));
  const auto known = std::find(std::begin(kUnits), std::end(kUnits), unit);
  if (known == std::end(kUnits)) return false;
  const auto shift = static_cast<int>(10 * (known - std::begin(kUnits)));
  if (number > static_cast<uint64_t>(std::numeric_limits<Number>::max()) >> shift) return false;
  *value = static_cast<Number>(number << shift);
  return true;
}
bool Take(std::string_view text, std::vector<CompressionKind>* values) {
  values->clear();
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (!Take(Trimmed(text.substr(0, comma)), &values->emplace_back())) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

template <class T>
std::string Expected() {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "a path, in quotes (\\xNN stands for a byte)";
  } else if constexpr (std::is_same_v<T, CompressionKind>) {
    return "none, snappy, lz4 or zstd";
  } else if constexpr (std::is_same_v<T, CompactionStyle>) {
    return "lazy_leveling, leveled or universal";
  } else if constexpr (std::is_same_v<T, double>) {
    return "a number";
  } else if constexpr (std::is_integral_v<T>) {
    return "a whole number, of bytes also as 64MiB or 1GiB";
  } else {
    return "none, snappy, lz4 or zstd for each level, with commas between";
  }
}

// --- reading ---

// Cuts off a comment, which begins with a # outside of quotes.
std::string_view WithoutComment(std::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

class TextReader {
 public:
  explicit TextReader(const Options& base) : options_(base) {}

  absl::StatusOr<Options> Read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      const std::string_view line = Trimmed(WithoutComment(text.substr(0, end)));
      if (line.starts_with('[')) {
        RETURN_IF_ERROR(EnterSection(line));
      } else if (!line.empty()) {
        RETURN_IF_ERROR(TakeLine(line));
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    RETURN_IF_ERROR(AtItsLine(CheckOptions(options_)));
    return std::move(options_);
  }

 private:
  absl::Status Wrong(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrFormat("line %d: %s", line_, what));
  }

  absl::Status EnterSection(std::string_view line) {
    constexpr std::string_view kFamily = "[family";
    std::string_view rest = line.starts_with(kFamily) ? Trimmed(line.substr(kFamily.size())) : "";
    const bool named = rest.starts_with('"');
    std::optional<std::string> name = named ? TakeQuoted(&rest) : std::string();
    if (!name.has_value() || Trimmed(rest) != "]" || (named && name->empty())) {
      return Wrong("a section is [family] or [family \"NAME\"]");
    }
    said_.clear();
    if (!sections_.insert(*name).second) return Wrong("this section is there already");
    if (!named) {
      family_ = &options_.family;
      return absl::OkStatus();
    }
    std::vector<ColumnFamilyDescriptor>& all = options_.column_families;
    auto it = std::find_if(all.begin(), all.end(), [&](const auto& descriptor) { return descriptor.name == *name; });
    if (it == all.end()) it = all.insert(all.end(), {.name = *name, .options = options_.family});
    family_ = &it->options;
    return absl::OkStatus();
  }

  absl::Status TakeLine(std::string_view line) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return Wrong("this is no NAME = VALUE, section or comment");
    const std::string name(Trimmed(line.substr(0, equals)));
    const std::string_view value = Trimmed(line.substr(equals + 1));
    bool known = false;
    absl::Status status;
    const auto take = [&](auto* options) {
      return [&, options](std::string_view option, auto field) {
        if (option != name) return;
        known = true;
        auto& target = field(*options);
        if (Take(value, &target)) return;
        status = Wrong(
            absl::StrFormat("%s = %s: expected %s", name, value, Expected<std::remove_cvref_t<decltype(target)>>()));
      };
    };
    family_ != nullptr ? ForEachFamilyOption(take(family_)) : ForEachDatabaseOption(take(&options_));
    if (!known) return UnknownName(name);
    RETURN_IF_ERROR(status);
    if (!said_.insert(name).second) return Wrong(name + " was said already");
    if (family_ == nullptr) {
      database_lines_.emplace(name, line_);
      return absl::OkStatus();
    }
    const absl::Status valid = CheckFamilyOptions(*family_);
    return valid.ok() ? valid : Wrong(ToStd(valid.message()));
  }

  absl::Status UnknownName(const std::string& name) const {
    for (const auto& [other, why] : kNotInText) {
      if (other == name) return Wrong(absl::StrFormat("a text cannot say %s: %s", name, why));
    }
    std::vector<std::string> here, elsewhere;
    const auto list = [](std::vector<std::string>* names) {
      return [names](std::string_view option, auto) { names->emplace_back(option); };
    };
    ForEachDatabaseOption(list(family_ == nullptr ? &here : &elsewhere));
    ForEachFamilyOption(list(family_ == nullptr ? &elsewhere : &here));
    if (std::find(elsewhere.begin(), elsewhere.end(), name) != elsewhere.end()) {
      return Wrong(absl::StrFormat("%s %s", name,
                                   family_ == nullptr ? "is an option of a column family: write it under [family]"
                                                      : "is an option of the database: write it above the sections"));
    }
    std::string nearest = Nearest(here, name);
    if (nearest.empty()) nearest = Nearest(elsewhere, name);
    return Wrong(absl::StrFormat("there is no option \"%s\"%s", Printable(name),
                                 nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }

  // Adds the line to a message about options of the database, which begins with the name of an option.
  absl::Status AtItsLine(const absl::Status& status) {
    if (status.ok()) return status;
    const std::string_view message = ToStd(status.message());
    for (const auto& [name, line] : database_lines_) {
      if (message.starts_with(name)) line_ = line;
      if (message.starts_with(name)) return Wrong(message);
    }
    return status;
  }

  Options options_;
  ColumnFamilyOptions* family_ = nullptr;  // null above the first section
  int line_ = 0;
  std::set<std::string> sections_;             // by the family's name
  std::set<std::string> said_;                 // names that were set in this section
  std::map<std::string, int> database_lines_;  // of the options above the first section
};

// Follows a link, as files beside programs are often links.
std::filesystem::path Resolved(const FileSystem* files, std::string_view path) {
  if (files != FileSystem::Posix()) return path;
  std::error_code error;
  std::filesystem::path whole = std::filesystem::canonical(path, error);
  return error ? std::filesystem::path(path) : whole;
}

absl::StatusOr<std::string> ReadWhole(FileSystem* files, std::string_view name) {
  const std::filesystem::path path = Resolved(files, name);
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory, files->OpenDirectory(parent, /*create=*/false));
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, directory->OpenForRead(path.filename().string()));
  std::string text(kLargestFile + 1, '\0');
  ASSIGN_OR_RETURN(const size_t bytes, file->Read(0, text.size(), text.data()));
  if (bytes > kLargestFile) {
    return absl::InvalidArgumentError(absl::StrFormat("%s is larger than 1 MiB: no file of options", name));
  }
  text.resize(bytes);
  return text;
}

std::string LineOf(std::string_view name, const std::string& value) {
  return absl::StrFormat("%s =%s%s\n", name, value.empty() ? "" : " ", value);
}

std::string SectionOf(const std::string& head, const ColumnFamilyOptions& options) {
  std::string text = head + "\n";
  ForEachFamilyOption([&](std::string_view name, auto field) { text += LineOf(name, TextOf(field(options))); });
  return text;
}

}  // namespace

absl::StatusOr<Options> OptionsFromText(std::string_view text, const Options& base) {
  return TextReader(base).Read(text);
}

absl::StatusOr<Options> OptionsFromFile(std::string_view path, const Options& base) {
  FileSystem* const files = base.env.file_system != nullptr ? base.env.file_system : FileSystem::Posix();
  ASSIGN_OR_RETURN(const std::string text, ReadWhole(files, path));
  absl::StatusOr<Options> options = OptionsFromText(text, base);
  if (options.ok()) return options;
  return absl::InvalidArgumentError(absl::StrFormat("%s: %s", path, ToStd(options.status().message())));
}

std::string OptionsToText(const Options& options) {
  std::string text;
  ForEachDatabaseOption([&](std::string_view name, auto field) { text += LineOf(name, TextOf(field(options))); });
  absl::StrAppend(&text, "\n", SectionOf("[family]", options.family));
  for (const ColumnFamilyDescriptor& family : options.column_families) {
    absl::StrAppend(&text, "\n", FamilyOptionsToText(family));
  }
  return text;
}

std::string FamilyOptionsToText(const ColumnFamilyDescriptor& family) {
  return SectionOf(absl::StrFormat("[family %s]", Quoted(family.name)), family.options);
}

}  // namespace sepal
