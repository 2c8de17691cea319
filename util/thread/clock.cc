#include <chrono>

#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class SystemClock final : public Clock {
 public:
  uint64_t MonotonicMicros() override { return Micros(std::chrono::steady_clock::now().time_since_epoch()); }
  uint64_t UnixMicros() override { return Micros(std::chrono::system_clock::now().time_since_epoch()); }
  void SleepMicros(uint64_t micros) override { Thread::SleepMicros(micros); }

 private:
  template <typename Duration>
  static uint64_t Micros(Duration since_epoch) {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count());
  }
};

}  // namespace

Clock* Clock::System() {
  static SystemClock clock;
  return &clock;
}

}  // namespace sepal
