#include "util/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sepal {

void CheckFailed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "sepal: %s:%d: check failed: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace sepal
