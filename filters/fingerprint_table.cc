#include "sepal/filter/fingerprint_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "filters/bits.h"
#include "filters/filter_file.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr unsigned kEmpty = 0;
constexpr uint64_t kCells = FingerprintTable::kSlots + 1;

absl::Status CheckWidth(int fingerprint_bits) {
  if (fingerprint_bits == 8 || fingerprint_bits == 16) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("fingerprints of %d bits: 8 or 16 are possible", fingerprint_bits));
}

}  // namespace

absl::StatusOr<FingerprintTable> FingerprintTable::ForKeys(uint64_t keys, int fingerprint_bits, uint64_t seed) {
  RETURN_IF_ERROR(CheckWidth(fingerprint_bits));
  if (keys == 0) return absl::InvalidArgumentError("a filter for no keys");
  if (keys > kMostFilterBytes / 2) {
    return absl::InvalidArgumentError(absl::StrFormat("a table for %u keys is too large: split the keys", keys));
  }
  FingerprintTable table;
  table.fingerprint_bits_ = fingerprint_bits;
  table.capacity_ = keys;
  table.buckets_ = static_cast<uint64_t>(std::ceil(static_cast<double>(keys) / (kSlots * kLoad)));
  table.seed_ = seed;
  const auto bits = static_cast<uint64_t>(fingerprint_bits);
  ASSIGN_OR_RETURN(table.bytes_, FilterBytes::Zeroed(WordBytes(table.buckets_ * kCells * bits)));
  return table;
}

unsigned FingerprintTable::Cell(uint64_t i) const { return ReadCell(bytes_.data(), fingerprint_bits_, i); }

void FingerprintTable::SetCell(uint64_t i, unsigned value) { WriteCell(bytes_.data(), fingerprint_bits_, i, value); }

unsigned FingerprintTable::FingerprintOf(uint64_t hash) const {
  return static_cast<unsigned>(1 + ReduceRange(Mix64(hash), most()));
}

FingerprintTable::Found FingerprintTable::Find(uint64_t hash, unsigned value) const {
  uint64_t bucket = ReduceRange(hash, buckets_);
  for (uint64_t passed = 0; passed < buckets_; ++passed, bucket = After(bucket)) {
    const uint64_t first = bucket * kCells;
    for (uint64_t cell = first; cell < first + kSlots; ++cell) {
      if (Cell(cell) == value) return {.cell = cell, .passed = passed, .found = true};
    }
    if (value != kEmpty && Cell(first + kSlots) == 0) break;
  }
  return {};
}

// A counter that has reached its largest value stays: searches pass its bucket for good.
void FingerprintTable::Count(uint64_t hash, const Found& found, int change) {
  uint64_t bucket = ReduceRange(hash, buckets_);
  for (uint64_t i = 0; i < found.passed; ++i, bucket = After(bucket)) {
    const uint64_t counter = bucket * kCells + kSlots;
    const unsigned count = Cell(counter);
    if (count < most()) SetCell(counter, count + static_cast<unsigned>(change));
  }
}

absl::Status FingerprintTable::Add(std::string_view key) {
  const uint64_t hash = KeyHash(key, seed_);
  const Found room = keys_ < capacity_ ? Find(hash, kEmpty) : Found{};
  if (!room.found) {
    return absl::ResourceExhaustedError(absl::StrFormat("the table holds %u keys, for which it was made", keys_));
  }
  SetCell(room.cell, FingerprintOf(hash));
  Count(hash, room, 1);
  ++keys_;
  return absl::OkStatus();
}

bool FingerprintTable::MayContain(std::string_view key) const {
  const uint64_t hash = KeyHash(key, seed_);
  return Find(hash, FingerprintOf(hash)).found;
}

absl::Status FingerprintTable::Remove(std::string_view key) {
  const uint64_t hash = KeyHash(key, seed_);
  const Found found = Find(hash, FingerprintOf(hash));
  if (!found.found) return absl::NotFoundError("the key is not in the table");
  SetCell(found.cell, kEmpty);
  Count(hash, found, -1);
  --keys_;
  return absl::OkStatus();
}

double FingerprintTable::Fill() const { return static_cast<double>(keys_) / static_cast<double>(slots()); }

// Computed from the fingerprints that a search for an absent key compares, over all buckets in which it may begin.
double FingerprintTable::CurrentRate() const {
  constexpr uint64_t kFar = 64;  // no search of a valid table is so long
  double rates = 0;
  for (uint64_t home = 0; home < buckets_; ++home) {
    uint64_t bucket = home, met = 0;
    for (uint64_t passed = 0; passed < std::min(kFar, buckets_); ++passed, bucket = After(bucket)) {
      const uint64_t first = bucket * kCells;
      for (uint64_t cell = first; cell < first + kSlots; ++cell) met += Cell(cell) != kEmpty;
      if (Cell(first + kSlots) == 0) break;
    }
    rates += 1 - std::pow(1 - 1.0 / most(), static_cast<double>(met));
  }
  return rates / static_cast<double>(buckets_);
}

std::string FingerprintTable::Serialize() const {
  return EncodeFile({.kind = FilterKind::kFingerprintTable,
                     .width = static_cast<uint32_t>(fingerprint_bits_),
                     .seed = seed_,
                     .keys = keys_,
                     .size = buckets_,
                     .extra = capacity_},
                    bytes_);
}

absl::StatusOr<FingerprintTable> FingerprintTable::FromFile(const FileHeader& header, std::string_view body) {
  if (header.width != 8 && header.width != 16) return BadField(header, "width", "8 or 16", header.width);
  if (header.size < 1 || header.size > kMostFilterBytes / 16) {
    return BadField(header, "buckets", "a possible number", header.size);
  }
  FingerprintTable table;
  ASSIGN_OR_RETURN(table.bytes_, BitsOf(header, body, header.size * kCells * header.width));
  table.fingerprint_bits_ = static_cast<int>(header.width);
  table.buckets_ = header.size;
  table.capacity_ = header.extra;
  table.seed_ = header.seed;
  for (uint64_t i = 0; i < header.size * kCells; ++i) table.keys_ += i % kCells < kSlots && table.Cell(i) != kEmpty;
  RETURN_IF_ERROR(CheckField(header, "keys", table.keys_, header.keys));
  if (table.capacity_ > table.slots()) return BadField(header, "capacity", "at most the slots", table.capacity_);
  return table;
}

}  // namespace sepal::filters
