#include "util/stats/perf_times.h"

namespace sepal {

namespace internal {
thread_local constinit PerfTimes perf_times;
}  // namespace internal

std::string_view Name(PerfPart part) {
  switch (part) {
    case PerfPart::kThrottle:
      return "throttle";
    case PerfPart::kLock:
      return "lock";
    case PerfPart::kRead:
      return "read";
    case PerfPart::kLog:
      return "log";
    case PerfPart::kSync:
      return "sync";
    case PerfPart::kCount:
      break;
  }
  return "unknown";
}

}  // namespace sepal
