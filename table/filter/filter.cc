#include "table/filter/filter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/hash.h"

namespace sepal {
namespace {

constexpr size_t kGuardHeaderBytes = kGuardLineBytes;
constexpr uint64_t kGuardLineBits = kGuardLineBytes * 8;

struct LaneHash {
  explicit LaneHash(uint64_t hash) {
    const uint64_t x = Mix64(hash ^ kLaneMix);
    at = static_cast<uint32_t>(x);
    step = static_cast<uint32_t>(x >> 32) | 1;
  }
  uint64_t Bit(int probe, uint64_t bits) const { return (static_cast<uint32_t>(at + probe * step) * bits) >> 32; }
  uint32_t at, step;
};

// Adds hashes to the lines of a guard.
struct GuardLines {
  char* first;
  uint64_t count;
  int probes;
};

void AddHashes(std::span<const uint64_t> hashes, const GuardLines& lines) {
  constexpr size_t kAhead = 16;  // the number of lines that are being fetched
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) {
      __builtin_prefetch(lines.first + ReduceRange(hashes[i + kAhead], lines.count) * kGuardLineBytes, 1);
    }
    char* const line = lines.first + ReduceRange(hashes[i], lines.count) * kGuardLineBytes;
    const auto x = static_cast<uint32_t>(hashes[i]);
    for (int p = 0; p < lines.probes; ++p) {
      const uint32_t v = x * kGuardMultiplier[p];
      char* const word = line + (v >> 29) * 8;
      EncodeFixed64(word, DecodeFixed64(word) | uint64_t{1} << ((v >> 23) & 63));
    }
  }
}

}  // namespace

size_t LaneBytes(size_t keys, double bits_per_key) {
  if (!(bits_per_key > 0)) return 0;
  const double words = std::ceil(static_cast<double>(keys) * bits_per_key / 64);
  return static_cast<size_t>(std::clamp(words * 8, 8.0, static_cast<double>(kMaxLaneBytes)));
}

void LaneAdd(char* lane, size_t lane_bytes, int probes, uint64_t hash) {
  const uint64_t bits = lane_bytes * 8;
  auto [at, step] = LaneHash(hash);
  for (int i = 0; i < probes; ++i, at += step) {
    const uint64_t bit = (at * bits) >> 32;
    char* const word = lane + bit / 64 * 8;
    EncodeFixed64(word, DecodeFixed64(word) | uint64_t{1} << (bit % 64));
  }
}

bool LaneMayContain(const char* lane, size_t lane_bytes, int probes, uint64_t hash) {
  if (lane_bytes == 0) return true;
  const uint64_t bits = lane_bytes * 8;
  const LaneHash h(hash);
  const auto shifted = [&](int probe) {
    const uint64_t bit = h.Bit(probe, bits);
    return DecodeFixed64(lane + bit / 64 * 8) >> (bit % 64);
  };
  int i = 0;
  for (; i + kProbeGroup <= probes; i += kProbeGroup) {
    if ((shifted(i) & shifted(i + 1) & shifted(i + 2) & 1) == 0) return false;
  }
  uint64_t rest = 1;
  for (; i < probes; ++i) rest &= shifted(i);
  return (rest & 1) != 0;
}

void GuardBuilder::Add(std::span<const uint64_t> hashes) {
  while (!hashes.empty()) {
    if (next_ == end_) AddPiece();
    const size_t fit = std::min(hashes.size(), static_cast<size_t>(end_ - next_));
    std::memcpy(next_, hashes.data(), fit * sizeof(uint64_t));
    next_ += fit;
    hashes = hashes.subspan(fit);
  }
}

void GuardBuilder::AddPiece() {
  const size_t bytes = pieces_.empty() ? kFirstPieceBytes : std::min(2 * pieces_.back().size(), kLargestPieceBytes);
  const size_t hashes = bytes / sizeof(uint64_t);
  pieces_.push_back(pool_ != nullptr ? pool_->Take(bytes) : LargeBuffer(bytes));
  next_ = reinterpret_cast<uint64_t*>(pieces_.back().data());
  end_ = next_ + hashes;
  room_ += hashes;
}

uint64_t GuardBuilder::Lines() const {
  const double bits = static_cast<double>(keys()) * bits_per_key_;
  return std::max(uint64_t{1}, static_cast<uint64_t>(std::ceil(bits / kGuardLineBits)));
}

uint64_t GuardBuilder::Bytes() const { return kGuardHeaderBytes + Lines() * kGuardLineBytes; }

std::string GuardBuilder::Finish() const {
  SEPAL_DCHECK(probes_ >= 1 && probes_ <= kMaxGuardProbes && bits_per_key_ > 0);
  const uint64_t lines = Lines();
  std::string out(Bytes(), '\0');
  out[0] = static_cast<char>(FilterKind::kBloom);
  out[1] = static_cast<char>(probes_);
  EncodeFixed64(out.data() + 8, lines);
  EncodeFixed64(out.data() + 16, keys());
  const GuardLines to{out.data() + kGuardHeaderBytes, lines, probes_};
  for (const LargeBuffer& piece : pieces_) {
    const auto* const first = reinterpret_cast<const uint64_t*>(piece.data());
    const bool last = &piece == &pieces_.back();
    AddHashes({first, last ? static_cast<size_t>(next_ - first) : piece.size() / sizeof(uint64_t)}, to);
  }
  return out;
}

bool GuardView::Validate(std::string_view bytes, std::string* why) {
  const auto fail = [why](const char* reason) {
    *why = reason;
    return false;
  };
  if (bytes.size() < kGuardHeaderBytes) return fail("guard is shorter than its header");
  if (bytes[0] != static_cast<char>(FilterKind::kBloom)) return fail("unknown kind of guard");
  if (bytes[1] < 1 || bytes[1] > kMaxGuardProbes) return fail("number of probes of the guard");
  const auto is_zero = [](char c) { return c == 0; };
  if (!std::all_of(bytes.begin() + 2, bytes.begin() + 8, is_zero) ||
      !std::all_of(bytes.begin() + 24, bytes.begin() + kGuardHeaderBytes, is_zero)) {
    return fail("unknown fields in the guard's header");
  }
  const uint64_t lines = DecodeFixed64(bytes.data() + 8);
  const size_t room = bytes.size() - kGuardHeaderBytes;
  if (lines == 0 || room % kGuardLineBytes != 0 || lines != room / kGuardLineBytes) {
    return fail("number of lines of the guard");
  }
  return true;
}

uint64_t GuardView::keys() const { return DecodeFixed64(lines_ - kGuardHeaderBytes + 16); }

double GuardView::Fill() const {
  uint64_t set = 0;
  for (uint64_t i = 0; i < lines_count_ * kGuardLineBytes; i += 8) {
    set += static_cast<uint64_t>(std::popcount(DecodeFixed64(lines_ + i)));
  }
  return static_cast<double>(set) / static_cast<double>(lines_count_ * kGuardLineBits);
}

}  // namespace sepal
