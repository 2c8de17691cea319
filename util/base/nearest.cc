#include "util/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sepal {
namespace {

// Of letters changed, missing, added, or swapped with their neighbour.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Nearest(const std::vector<std::string>& known, std::string_view typed) {
  std::string best;
  size_t best_distance = 2 + typed.size() / 4;
  for (const std::string& name : known) {
    const size_t distance = EditDistance(name, typed);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  if (!best.empty() || typed.size() < 3) return best;
  const auto longer =
      std::find_if(known.begin(), known.end(), [&](const auto& name) { return name.starts_with(typed); });
  return longer == known.end() ? "" : *longer;
}

}  // namespace sepal
