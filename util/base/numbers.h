// Numbers that cannot be mistaken for one another: each kind has its own type and an order, and no arithmetic across
// types.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace sepal {

template <class Tag, class Rep>
class StrongNumber {
 public:
  constexpr StrongNumber() = default;
  constexpr explicit StrongNumber(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr StrongNumber next() const { return StrongNumber(static_cast<Rep>(value_ + 1)); }
  friend constexpr auto operator<=>(StrongNumber, StrongNumber) = default;
  template <class H>
  friend H AbslHashValue(H h, StrongNumber n) {
    return H::combine(std::move(h), n.value_);
  }

 private:
  Rep value_ = 0;
};

template <class Tag, class Rep>
std::string ToString(StrongNumber<Tag, Rep> number) {
  return std::to_string(number.value());
}

// The place of an update in the history of a database. It grows with every update and has 56 bits; 0 is before all
// updates.
using SequenceNumber = StrongNumber<struct SequenceNumberTag, uint64_t>;
inline constexpr SequenceNumber kMaxSequenceNumber{(uint64_t{1} << 56) - 1};

// Names a file of the database (table, log, manifest); never reused.
using FileNumber = StrongNumber<struct FileNumberTag, uint64_t>;
// Orders the runs of a level: a run with a larger number holds newer data.
using RunNumber = StrongNumber<struct RunNumberTag, uint64_t>;
using ColumnFamilyId = StrongNumber<struct ColumnFamilyIdTag, uint32_t>;
// The place of a byte in all log files of a database, laid end to end; never goes back.
using LogPosition = StrongNumber<struct LogPositionTag, uint64_t>;

}  // namespace sepal

template <class Tag, class Rep>
struct std::hash<sepal::StrongNumber<Tag, Rep>> {
  size_t operator()(sepal::StrongNumber<Tag, Rep> n) const { return std::hash<Rep>()(n.value()); }
};
