#include "tests/reliability/shrink.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/hash.h"

namespace sepal::reliability {

namespace {

constexpr uint64_t kTries = 400;
constexpr std::string_view kKeep = "keep=";

}  // namespace

Parts Parts::InName(std::string_view name) {
  const size_t at = name.find(kKeep);
  if (at == std::string_view::npos) return All();
  std::vector<uint32_t> numbers;
  const char* next = name.data() + at + kKeep.size();
  const char* const end = name.data() + name.size();
  while (next != end && *next != ' ') {
    uint32_t first = 0;
    const std::from_chars_result parsed = std::from_chars(next, end, first);
    if (parsed.ec != std::errc()) break;
    next = parsed.ptr;
    uint32_t last = first;
    if (next != end && *next == '-') next = std::from_chars(next + 1, end, last).ptr;
    for (uint32_t number = first; number <= last; ++number) numbers.push_back(number);
    if (next != end && *next == ',') ++next;
  }
  return Parts(std::move(numbers));
}

bool Parts::Has(uint32_t number) const { return all_ || std::binary_search(numbers_.begin(), numbers_.end(), number); }

std::string Parts::ToString() const {
  std::string text;
  for (size_t i = 0; i < numbers_.size();) {
    size_t end = i + 1;
    while (end < numbers_.size() && numbers_[end] == numbers_[end - 1] + 1) ++end;
    if (!text.empty()) text += ",";
    text += std::to_string(numbers_[i]);
    if (end > i + 1) text += "-" + std::to_string(numbers_[end - 1]);
    i = end;
  }
  return text;
}

std::vector<uint32_t> ShrinkParts(uint32_t count, uint64_t tries,
                                  const std::function<bool(const std::vector<uint32_t>&)>& fails) {
  std::vector<uint32_t> kept(count);
  std::iota(kept.begin(), kept.end(), 0);
  size_t pieces = 2;
  while (kept.size() > 1 && tries > 0) {
    pieces = std::min(pieces, kept.size());
    bool smaller = false;
    // From the end, where more follows from less.
    for (size_t piece = pieces; piece-- > 0 && tries > 0 && !smaller;) {
      const auto begin = kept.begin() + static_cast<ptrdiff_t>(kept.size() * piece / pieces);
      const auto end = kept.begin() + static_cast<ptrdiff_t>(kept.size() * (piece + 1) / pieces);
      std::vector<uint32_t> rest(kept.begin(), begin);
      rest.insert(rest.end(), end, kept.end());
      --tries;
      if (!fails(rest)) continue;
      kept = std::move(rest);
      smaller = true;
    }
    if (smaller) {
      pieces = std::max<size_t>(pieces - 1, 2);
    } else if (pieces >= kept.size()) {
      break;
    } else {
      pieces *= 2;
    }
  }
  return kept;
}

void ForEachSeedShrinking(Search* search, uint32_t parts, uint64_t draws, const RunSeeded& run) {
  ForEachSeed(search, [&](uint64_t seed) {
    const SeededCase whole = {.seed = seed,
                              .parts = Parts::InName(search->only_case()),
                              .draw = NumberIn(search->only_case(), "draw").value_or(0)};
    std::string wrong = run(whole);
    search->Count(Mix64(seed));
    if (wrong.empty()) return;
    if (!search->only_case().empty()) return search->Fail(std::move(wrong));
    uint64_t draw = 0;
    const std::vector<uint32_t> kept = ShrinkParts(parts, kTries / draws, [&](const std::vector<uint32_t>& some) {
      for (uint64_t i = 0; i < draws; ++i) {
        // The draw that did it last comes first.
        const SeededCase smaller = {.seed = seed, .parts = Parts(some), .draw = (draw + i) % draws};
        std::string what = run(smaller);
        if (what.empty()) continue;
        draw = smaller.draw;
        wrong = std::move(what);
        return true;
      }
      return false;
    });
    std::string name = absl::StrFormat("seed=%u", seed);
    if (kept.size() < parts) name += absl::StrFormat(" keep=%s", Parts(kept).ToString());
    if (draw != 0) name += absl::StrFormat(" draw=%u", draw);
    search->Fail(absl::StrFormat("%s\nmade smaller, %u of its %u parts: --case '%s'", wrong, kept.size(), parts, name));
  });
}

}  // namespace sepal::reliability
