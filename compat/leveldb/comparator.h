// A program's order of keys, as the engine asks for it.
#pragma once

#include <leveldb/comparator.h>

#include <string>
#include <string_view>

#include "compat/leveldb/convert.h"
#include "sepal/comparator.h"

namespace sepal::compat {

// Keys that compare equal may differ, so that tables have no filters. Must not outlive the program's object; as safe
// for concurrent use as that is.
class ComparatorOfProgram final : public Comparator {
 public:
  explicit ComparatorOfProgram(const leveldb::Comparator* order) : order_(order), name_(order->Name()) {}

  int Compare(std::string_view a, std::string_view b) const override { return order_->Compare(ToSlice(a), ToSlice(b)); }
  std::string_view Name() const override { return name_; }

 private:
  const leveldb::Comparator* const order_;
  const std::string name_;
};

// LevelDB's name for the bytewise order, which is in Sepal's databases under Sepal's.
inline constexpr std::string_view kBytewiseName = "leveldb.BytewiseComparator";

}  // namespace sepal::compat
