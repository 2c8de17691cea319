#include "tools/foreign/rocksdb_options.h"

#include <sstream>

namespace sepal::tools {
namespace {

constexpr std::string_view kFamilyHead = "[CFOptions \"", kHeadEnd = "\"]";

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

std::map<std::string, RocksDbSettings> RocksDbFamilySettings(std::string_view options_file) {
  std::map<std::string, RocksDbSettings> families;
  RocksDbSettings* family = nullptr;
  std::istringstream lines{std::string(options_file)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kFamilyHead)) {
      // The name of a family may hold line breaks.
      for (std::string more; !line.ends_with(kHeadEnd) && std::getline(lines, more);) line += "\n" + more;
      family = &families[line.substr(kFamilyHead.size(), line.size() - kFamilyHead.size() - kHeadEnd.size())];
    } else if (line.starts_with("[")) {
      family = nullptr;
    } else if (const size_t equals = line.find('='); family != nullptr && equals != line.npos) {
      const std::string_view view = line;
      (*family)[std::string(Trimmed(view.substr(0, equals)))] = Trimmed(view.substr(equals + 1));
    }
  }
  return families;
}

std::string RocksDbName(const RocksDbSettings& settings, std::string_view key) {
  const auto setting = settings.find(key);
  if (setting == settings.end() || setting->second == "nullptr") return "";
  const std::string& value = setting->second;
  constexpr std::string_view kId = "{id=";
  if (!value.starts_with(kId)) return value;
  return value.substr(kId.size(), value.find_first_of(";}") - kId.size());
}

std::string RocksDbSettingOf(const RocksDbSettings& settings, std::string_view object, std::string_view name) {
  const auto setting = settings.find(object);
  if (setting == settings.end()) return "";
  const std::string start = ";" + std::string(name) + "=";
  const size_t begin = setting->second.find(start);
  if (begin == std::string::npos) return "";
  const std::string value = setting->second.substr(begin + start.size());
  return value.substr(0, value.find_first_of(";}"));
}

}  // namespace sepal::tools
