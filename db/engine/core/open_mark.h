// Whether calls on a database are served: until it is closed, and only in the process that opened it. A child made by
// `fork` lacks the threads that a call may wait for, and the files belong to the parent.
//
// Safe for concurrent use. Cost of a look: two loads and a comparison.
#pragma once

#include <atomic>
#include <cstdint>

#include "util/thread/fork.h"

namespace sepal {

class OpenMark {
 public:
  bool IsOpen() const { return open_in_.load(std::memory_order_acquire) == ForkGeneration(); }
  void Close() { open_in_.store(kNowhere, std::memory_order_release); }
  bool IsForked() const { return made_in_ != ForkGeneration(); }

 private:
  static constexpr uint64_t kNowhere = UINT64_MAX;

  const uint64_t made_in_ = WatchForks();
  std::atomic<uint64_t> open_in_{made_in_};
};

}  // namespace sepal
