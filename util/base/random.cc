#include "util/base/random.h"

#include <sys/random.h>

#include <chrono>

namespace sepal {

uint64_t SystemRandomSeed() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) == static_cast<ssize_t>(sizeof seed)) return seed;
  return Mix64(static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
}

}  // namespace sepal
