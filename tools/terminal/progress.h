// A line on standard error with the progress of a long job.
//
// On a terminal it has a bar and is redrawn ten times a second, also without progress, so that a stall is visible.
// Elsewhere a line is printed every ten seconds. A thread of its own draws it: `Update` is a store.
#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "util/thread/sync.h"

namespace sepal::tools {

class Progress {
 public:
  // `total` 0: not known. With a name that ends with "bytes", numbers have units. During its life, `err` may be written
  // only through `Tell`.
  Progress(std::string name, uint64_t total, std::ostream& err, bool terminal);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  // Removes the line from a terminal.
  ~Progress();

  // From any thread.
  void Update(uint64_t done) { done_.store(done, std::memory_order_relaxed); }
  // Prints lines above that of the progress; each ends with '\n'.
  void Tell(std::string_view lines) { Tell(lines, err_); }
  // On another stream, which may be the same terminal.
  void Tell(std::string_view lines, std::ostream& to) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Pace {
    double rate = 0;           // a second, smoothed
    double still_seconds = 0;  // the time without progress
  };
  // The text of the line, and the bar before it.
  static std::string Format(const std::string& name, uint64_t done, uint64_t total, const Pace& pace);
  static std::string Bar(uint64_t done, uint64_t total);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Draw(uint64_t now_nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const uint64_t total_;
  std::ostream& err_;
  const bool terminal_;
  const uint64_t interval_nanos_;

  std::atomic<uint64_t> done_{0};

  Mutex mutex_;
  CondVar ended_changed_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_nanos_ ABSL_GUARDED_BY(mutex_);
  uint64_t moved_nanos_ ABSL_GUARDED_BY(mutex_);  // when `last_done_` changed
  uint64_t last_done_ ABSL_GUARDED_BY(mutex_) = 0;
  double rate_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t width_ ABSL_GUARDED_BY(mutex_) = 0;  // of the line on the terminal
  Thread drawer_;                             // last: starts when all other members exist
};

// Whether standard error is a terminal on which a line can be redrawn.
bool StandardErrorIsTerminal();

}  // namespace sepal::tools
