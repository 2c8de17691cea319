// How a compaction shares the memory in which it reads ahead: each of its threads has a window for each run that it
// reads. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sepal {

struct ReadAheadShare {
  int threads = 1;
  uint64_t window_bytes = 0;  // the most that one window holds
};

// Returns at most `threads` threads, and as many as have windows that are large enough for a read; at least one,
// however small its windows are.
inline ReadAheadShare ShareReadAhead(uint64_t memory_bytes, uint64_t runs, int threads) {
  constexpr uint64_t kLeast = uint64_t{4} << 10;
  constexpr uint64_t kWorthARead = uint64_t{64} << 10;
  constexpr uint64_t kLargest = uint64_t{1} << 20;
  const uint64_t of_thread = std::max<uint64_t>(runs, 1);
  const uint64_t most_threads =
      std::clamp<uint64_t>(memory_bytes / (of_thread * kWorthARead), 1, static_cast<uint64_t>(std::max(threads, 1)));
  return {.threads = static_cast<int>(most_threads),
          .window_bytes = std::clamp(memory_bytes / (of_thread * most_threads), kLeast, kLargest)};
}

}  // namespace sepal
