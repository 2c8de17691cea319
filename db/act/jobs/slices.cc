#include "db/act/jobs/slices.h"

#include <algorithm>

namespace sepal {

std::optional<size_t> Slices::Begin() {
  MutexLock lock(&mutex_);
  size_t longest_begin = 0;
  size_t longest = 0;
  size_t begin = 0;
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) {
      begin = i + 1;
    } else if (i + 1 - begin > longest) {
      longest_begin = begin;
      longest = i + 1 - begin;
    }
  }
  if (longest == 0) return std::nullopt;
  const size_t sharers = 1 + std::max<size_t>(1, yet_to_begin_);
  if (yet_to_begin_ > 0) --yet_to_begin_;
  // No thread reaches the first slice from one before it.
  const size_t slice = longest_begin == 0 ? 0 : longest_begin + longest / sharers;
  taken_[slice] = true;
  return slice;
}

bool Slices::GoOn(size_t slice) {
  MutexLock lock(&mutex_);
  if (slice >= taken_.size() || taken_[slice]) return false;
  taken_[slice] = true;
  return true;
}

void Slices::Stop() {
  MutexLock lock(&mutex_);
  taken_.assign(taken_.size(), true);
}

}  // namespace sepal
