#include "sepal/filter/static_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_format.h"
#include "filters/bits.h"
#include "filters/filter_file.h"
#include "util/base/random.h"
#include "util/base/status.h"

namespace sepal::filters {
namespace {

constexpr int kMostTries = 100;  // each fails with a chance of a few percent
constexpr uint64_t kMostSegment = uint64_t{1} << 18;

// From the paper: segments that grow with the set, and slots for each key that shrink with it.
uint64_t SegmentFor(double keys) {
  const double log2 = std::floor(std::log(std::max(2.0, keys)) / std::log(3.33) + 2.25);
  return std::min(kMostSegment, uint64_t{1} << static_cast<int>(log2));
}
double SlotsPerKey(double keys) {
  return std::max(1.125, 0.875 + 0.25 * std::log(1'000'000.0) / std::log(std::max(2.0, keys)));
}

}  // namespace

absl::StatusOr<StaticFilter> StaticFilter::Build(std::span<const std::string_view> keys, int fingerprint_bits,
                                                 uint64_t seed) {
  std::vector<uint64_t> hashes;
  hashes.reserve(keys.size());
  for (const std::string_view key : keys) hashes.push_back(KeyHash(key, seed));
  return BuildFromHashes(std::move(hashes), fingerprint_bits, seed);
}

// The keys that use a slot, while keys are placed: their count and their exclusive or.
struct StaticFilter::Peeling {
  std::vector<uint32_t> count;
  std::vector<uint64_t> mixed;
  struct Placed {
    uint64_t mixed;
    uint64_t slot;
  };
  std::vector<uint64_t> alone;  // slots of one key
  std::vector<Placed> placed;
};

absl::StatusOr<StaticFilter> StaticFilter::BuildFromHashes(std::vector<uint64_t> hashes, int fingerprint_bits,
                                                           uint64_t seed) {
  if (fingerprint_bits != 8 && fingerprint_bits != 16) {
    return absl::InvalidArgumentError(
        absl::StrFormat("fingerprints of %d bits: 8 or 16 are possible", fingerprint_bits));
  }
  if (hashes.empty()) return absl::InvalidArgumentError("a filter for no keys");
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  StaticFilter filter;
  filter.fingerprint_bits_ = fingerprint_bits;
  filter.keys_ = hashes.size();
  filter.seed_ = seed;
  RETURN_IF_ERROR(filter.Reserve());
  Random random(seed);
  Peeling work;
  for (int i = 0; i < kMostTries; ++i) {
    filter.mix_ = random.Next();
    if (filter.TryPlace(hashes, &work)) return filter;
  }
  return absl::InternalError(absl::StrFormat("%u keys could not be placed in %d tries", filter.keys_, kMostTries));
}

absl::Status StaticFilter::Reserve() {
  const auto keys = static_cast<double>(keys_);
  segment_ = SegmentFor(keys);
  const auto slots = static_cast<uint64_t>(std::ceil(keys * SlotsPerKey(keys)));
  const uint64_t segments = (slots + segment_ - 1) / segment_;
  range_ = (segments > 2 ? segments - 2 : 1) * segment_;
  ASSIGN_OR_RETURN(bytes_, FilterBytes::Zeroed(WordBytes(this->slots() * static_cast<uint64_t>(fingerprint_bits_))));
  return absl::OkStatus();
}

StaticFilter::Places StaticFilter::PlacesOf(uint64_t mixed) const {
  const uint64_t first = ReduceRange(mixed, range_);
  const uint64_t mask = segment_ - 1;
  Places places;
  places.slot[0] = first;
  places.slot[1] = (first + segment_) ^ (mixed >> 18 & mask);
  places.slot[2] = (first + 2 * segment_) ^ (mixed & mask);
  places.fingerprint = static_cast<unsigned>((mixed ^ mixed >> 32) & ((uint64_t{1} << fingerprint_bits_) - 1));
  return places;
}

// Keys that have a slot of their own are removed, which frees slots of others, until no key is left. In the reverse
// order each key can then set its slot as it needs it, without changing a key that was set before.
bool StaticFilter::TryPlace(std::span<const uint64_t> hashes, Peeling* work) {
  work->count.assign(slots(), 0);
  work->mixed.assign(slots(), 0);
  work->alone.clear();
  work->placed.clear();
  for (const uint64_t hash : hashes) {
    const uint64_t mixed = Mix64(hash + mix_);
    for (const uint64_t slot : PlacesOf(mixed).slot) {
      ++work->count[slot];
      work->mixed[slot] ^= mixed;
    }
  }
  for (uint64_t slot = 0; slot < slots(); ++slot) {
    if (work->count[slot] == 1) work->alone.push_back(slot);
  }
  while (!work->alone.empty()) {
    const uint64_t own = work->alone.back();
    work->alone.pop_back();
    if (work->count[own] != 1) continue;
    const uint64_t mixed = work->mixed[own];
    work->placed.push_back({mixed, own});
    const Places places = PlacesOf(mixed);
    for (const uint64_t slot : places.slot) {
      work->mixed[slot] ^= mixed;
      if (--work->count[slot] == 1) work->alone.push_back(slot);
    }
  }
  if (work->placed.size() != hashes.size()) return false;
  for (auto key = work->placed.rbegin(); key != work->placed.rend(); ++key) {
    const Places places = PlacesOf(key->mixed);
    SetSlot(key->slot,
            places.fingerprint ^ Slot(places.slot[0]) ^ Slot(places.slot[1]) ^ Slot(places.slot[2]) ^ Slot(key->slot));
  }
  return true;
}

bool StaticFilter::MayContain(std::string_view key) const {
  const Places places = PlacesOf(Mix64(KeyHash(key, seed_) + mix_));
  return (Slot(places.slot[0]) ^ Slot(places.slot[1]) ^ Slot(places.slot[2])) == places.fingerprint;
}

unsigned StaticFilter::Slot(uint64_t i) const { return ReadCell(bytes_.data(), fingerprint_bits_, i); }

void StaticFilter::SetSlot(uint64_t i, unsigned value) { WriteCell(bytes_.data(), fingerprint_bits_, i, value); }

double StaticFilter::CurrentRate() const { return std::pow(2, -fingerprint_bits_); }

std::string StaticFilter::Serialize() const {
  return EncodeFile({.kind = FilterKind::kStatic,
                     .probes = static_cast<uint8_t>(std::countr_zero(segment_)),
                     .width = static_cast<uint32_t>(fingerprint_bits_),
                     .seed = seed_,
                     .keys = keys_,
                     .size = range_,
                     .extra = mix_},
                    bytes_);
}

absl::StatusOr<StaticFilter> StaticFilter::FromFile(const FileHeader& header, std::string_view body) {
  if (header.width != 8 && header.width != 16) return BadField(header, "width", "8 or 16", header.width);
  if (header.probes > std::countr_zero(kMostSegment)) return BadField(header, "segment", "at most 18", header.probes);
  StaticFilter filter;
  filter.segment_ = uint64_t{1} << header.probes;
  if (header.size == 0 || header.size > kMostFilterBytes || header.size % filter.segment_ != 0) {
    return BadField(header, "slots", "whole segments", header.size);
  }
  filter.range_ = header.size;
  filter.fingerprint_bits_ = static_cast<int>(header.width);
  filter.keys_ = header.keys;
  filter.seed_ = header.seed;
  filter.mix_ = header.extra;
  ASSIGN_OR_RETURN(filter.bytes_, BitsOf(header, body, filter.slots() * header.width));
  return filter;
}

}  // namespace sepal::filters
