// The settings of a RocksDB database's newest OPTIONS file, as text: names of objects that only its own program has,
// such as a merge operator.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace sepal::tools {

// "comparator" -> "leveldb.BytewiseComparator".
using RocksDbSettings = std::map<std::string, std::string, std::less<>>;

// The settings of each column family, by its name.
std::map<std::string, RocksDbSettings> RocksDbFamilySettings(std::string_view options_file);

// The value of a setting, empty if it is not set. Of an object with settings of its own ("{id=X;...}") its id.
std::string RocksDbName(const RocksDbSettings& settings, std::string_view key);
// A setting of such an object, empty if it has none of that name.
std::string RocksDbSettingOf(const RocksDbSettings& settings, std::string_view object, std::string_view name);

}  // namespace sepal::tools
