// A named key space of a database. It has its own memtable, levels and options, and shares the log with the others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sepal/export.h"

namespace sepal {

inline constexpr std::string_view kDefaultColumnFamilyName = "default";

// A handle, which only a database makes. It stays valid after the family is dropped and after the database is closed:
// calls with it then return an error. Safe to share between threads.
class SEPAL_EXPORT ColumnFamily {
 public:
  virtual ~ColumnFamily() = default;
  virtual std::string_view name() const = 0;
  // Unique within the database; never reused.
  virtual uint32_t id() const = 0;

 private:
  friend class OwnedFamily;
  ColumnFamily() = default;
};

}  // namespace sepal
