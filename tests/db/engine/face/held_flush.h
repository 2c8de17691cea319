// A flush in the middle of which a test does something else.
#pragma once

#include <atomic>

#include "sepal/event_listener.h"
#include "util/thread/sync.h"

namespace sepal {

// Holds a flush until it is told to go on.
class HeldFlush final : public EventListener {
 public:
  void OnFlushBegin(const FlushEvent&) override {
    if (!holds.load()) return;
    begun.Notify();
    go_on.WaitForNotification();
  }
  std::atomic<bool> holds{false};
  Notification begun, go_on;
};

}  // namespace sepal
