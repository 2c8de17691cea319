// The difference of two sets of hashes, encoded in bytes that grow with the difference and not with the sets: a sketch
// estimates its size, and a table of a few cells for each of its hashes yields the hashes themselves.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "util/base/coding.h"

namespace sepal {

// Sums of signs, one for each hash in one of 1024 counters. The squares of the differences between two sketches add up
// to about the number of hashes that only one set has, with a standard error of 4.4 % (M. Thorup, Y. Zhang, "Tabulation
// based 4-universal hashing with applications to second moment estimation", 2004).
class DifferenceSketch {
 public:
  static constexpr size_t kCounters = 1024;

  void Add(uint64_t hash) { counters_[hash % kCounters] += (hash / kCounters & 1) != 0 ? 1 : -1; }
  uint64_t DifferenceTo(const DifferenceSketch& other) const;

  void AppendTo(std::string* bytes) const;
  // The decoder has failed if there is none.
  static DifferenceSketch Read(Decoder* decoder);

 private:
  std::array<int64_t, kCounters> counters_ = {};
};

// An invertible Bloom lookup table (M. Goodrich, M. Mitzenmacher, "Invertible Bloom lookup tables", 2011). Each hash is
// in three cells, which hold sums of their hashes; after one set was put in and the other taken out, a cell with one
// hash left yields it, and taking it out of its other cells exposes more hashes.
class DifferenceTable {
 public:
  static constexpr uint64_t kCellBytes = 13;
  // Has as many cells as yield all of about `differences` hashes, a number that a sketch has estimated.
  static uint64_t CellsFor(uint64_t differences);

  explicit DifferenceTable(uint64_t cells) : cells_((cells + kParts - 1) / kParts * kParts) {}
  void Put(uint64_t hash) { Change(hash, 1); }
  void Take(uint64_t hash) { Change(hash, -1); }

  struct Difference {
    std::vector<uint64_t> put;    // and not taken
    std::vector<uint64_t> taken;  // and not put
  };
  // Returns the hashes in order; if the table was too small, some of them or none. Hashes that were found are no longer
  // in the table.
  Difference Find();

  void AppendTo(std::string* bytes) const;
  static absl::StatusOr<DifferenceTable> Parse(std::string_view bytes);

 private:
  static constexpr uint64_t kParts = 3;  // each hash has a cell in each
  struct Cell {
    uint64_t hashes = 0;  // the exclusive or of all
    uint32_t checks = 0;
    uint8_t count = 0;  // modulo 256
  };
  static uint32_t CheckOf(uint64_t hash);
  uint64_t PlaceOf(uint64_t hash, uint64_t part) const;
  void Change(uint64_t hash, int by);
  // Whether the cell has exactly one hash, put or taken.
  bool IsLone(uint64_t place) const;

  std::vector<Cell> cells_;
};

}  // namespace sepal
