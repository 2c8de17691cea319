#include "db/sync/difference_table.h"

#include <algorithm>
#include <utility>

#include "db/sync/sync_messages.h"
#include "util/base/hash.h"

namespace sepal {

namespace {

// With three cells for each hash, a table of 1.222 cells a hash yields all of them (M. Molloy, "Cores in random
// hypergraphs and boolean formulas", 2005); the rest is for a sketch that is off by three standard errors, and for
// small tables.
constexpr double kCellsOfHash = 1.4;
constexpr uint64_t kLeastCells = 48;

// Signed numbers as varints: 0, -1, 1, -2, ...
uint64_t Zigzag(int64_t number) { return (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63); }
int64_t Unzigzag(uint64_t coded) { return static_cast<int64_t>((coded >> 1) ^ (~(coded & 1) + 1)); }

}  // namespace

uint64_t DifferenceSketch::DifferenceTo(const DifferenceSketch& other) const {
  double squares = 0;
  for (size_t i = 0; i < kCounters; ++i) {
    const double difference = static_cast<double>(counters_[i]) - static_cast<double>(other.counters_[i]);
    squares += difference * difference;
  }
  return static_cast<uint64_t>(std::min(squares, 1e18));
}

void DifferenceSketch::AppendTo(std::string* bytes) const {
  for (const int64_t counter : counters_) PutVarint(bytes, Zigzag(counter));
}

DifferenceSketch DifferenceSketch::Read(Decoder* decoder) {
  DifferenceSketch sketch;
  for (int64_t& counter : sketch.counters_) counter = Unzigzag(decoder->Varint());
  return sketch;
}

uint64_t DifferenceTable::CellsFor(uint64_t differences) {
  return static_cast<uint64_t>(kCellsOfHash * static_cast<double>(differences)) + kLeastCells;
}

uint32_t DifferenceTable::CheckOf(uint64_t hash) {
  return static_cast<uint32_t>(Mix64(hash + 0x9e3779b97f4a7c15U) >> 32);
}

uint64_t DifferenceTable::PlaceOf(uint64_t hash, uint64_t part) const {
  const uint64_t cells = cells_.size() / kParts;
  return part * cells + ReduceRange(Mix64(hash ^ (part + 1) * 0xd6e8feb86659fd93U), cells);
}

void DifferenceTable::Change(uint64_t hash, int by) {
  for (uint64_t part = 0; part < kParts; ++part) {
    Cell& cell = cells_[PlaceOf(hash, part)];
    cell.hashes ^= hash;
    cell.checks ^= CheckOf(hash);
    cell.count = static_cast<uint8_t>(cell.count + by);
  }
}

bool DifferenceTable::IsLone(uint64_t place) const {
  const Cell& cell = cells_[place];
  return (cell.count == 1 || cell.count == UINT8_MAX) && cell.checks == CheckOf(cell.hashes) &&
         PlaceOf(cell.hashes, place / (cells_.size() / kParts)) == place;
}

DifferenceTable::Difference DifferenceTable::Find() {
  Difference found;
  std::vector<uint64_t> open;
  uint64_t next = 0;  // of the cells that have not been examined
  // Hostile bytes could cause an endless loop.
  const size_t most = cells_.size();
  while ((!open.empty() || next < most) && found.put.size() + found.taken.size() < most) {
    if (open.empty()) open.push_back(next++);
    const uint64_t place = open.back();
    open.pop_back();
    if (!IsLone(place)) continue;
    const Cell cell = cells_[place];
    const bool put = cell.count == 1;
    (put ? found.put : found.taken).push_back(cell.hashes);
    Change(cell.hashes, put ? -1 : 1);
    for (uint64_t part = 0; part < kParts; ++part) open.push_back(PlaceOf(cell.hashes, part));
  }
  std::sort(found.put.begin(), found.put.end());
  std::sort(found.taken.begin(), found.taken.end());
  return found;
}

void DifferenceTable::AppendTo(std::string* bytes) const {
  bytes->reserve(bytes->size() + cells_.size() * kCellBytes);
  for (const Cell& cell : cells_) {
    PutFixed64(bytes, cell.hashes);
    PutFixed32(bytes, cell.checks);
    bytes->push_back(static_cast<char>(cell.count));
  }
}

absl::StatusOr<DifferenceTable> DifferenceTable::Parse(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % (kParts * kCellBytes) != 0) {
    return StreamDamage("a message with a table of differences that cannot be read");
  }
  DifferenceTable table(bytes.size() / kCellBytes);
  Decoder decoder(bytes);
  for (Cell& cell : table.cells_) {
    cell.hashes = decoder.Fixed64();
    cell.checks = decoder.Fixed32();
    cell.count = decoder.Byte();
  }
  return table;
}

}  // namespace sepal
