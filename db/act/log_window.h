// The part of a log file that is mapped into memory, so that a record is stored there instead of written.
//
// Windows are made beside the writer: the first one when a record comes that wants it, each later one when the one
// before is entered, as far as the file has space; and the last one is taken down there, too. A page that the system
// must find and clear first costs many times what storing into it does, 2 MiB of them several milliseconds, and for all
// that time no other mapping can be changed. Until a window is ready, records are written, 128 KiB of them; a writer
// that needs more by then makes the window itself.
//
// A window that begins at a multiple of 2 MiB reaches to the next, so that the kernel can take one large page for it
// where the file system has them, in a ninth of the time that small pages take
// (docs/decisions/0026-large-pages-for-the-log.md); others have a quarter of a step of the file's space, 1 MiB at most.
// But a store into a large page that is clean makes all of it dirty, and the next sync has to write all of it. So in a
// file that is synced in smaller pieces while it takes records, what is left of a large window is written instead, and
// the windows behind it are of small pages.
//
// Thread-safety: one thread at a time; only `OnSync` may be called beside it. What `tasks` do meets it at `Ahead`
// alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "sepal/file_system.h"
#include "util/memory_budget.h"
#include "util/sync.h"
#include "util/task_group.h"

namespace sepal {

class LogWindow {
 public:
  // How far ahead of a record that is stored the file should have space, so that the next window can be made.
  static constexpr uint64_t kAheadBytes = uint64_t{4} << 20;

  // Space comes in steps of `step_bytes`, of which a window of small pages takes a part. `budget` is charged with the
  // window that takes records; may be null, else it must outlive the window. `tasks` take the memory of windows ahead;
  // null: every window is made when it is wanted. Must be closed before what mapped regions need goes.
  LogWindow(uint64_t step_bytes, MemoryBudget* budget, TaskGroup* tasks);
  // Gives nothing to `tasks`, and waits for none: in a forked child they have no threads.
  ~LogWindow() { Replace({}); }
  LogWindow(const LogWindow&) = delete;
  LogWindow& operator=(const LogWindow&) = delete;

  // Goes on with another file, of which nothing is mapped yet, and never is unless `enabled`.
  void SetFile(std::shared_ptr<WritableFile> file, bool enabled);
  // False once mapping has failed in this file.
  bool enabled() const { return enabled_; }
  void Disable() { enabled_ = false; }

  // Stores a record at `offset`. The file has space and length for `space` bytes. False: write the record.
  bool Store(uint64_t offset, std::string_view header, std::string_view payload, uint64_t space);
  void Unmap();
  // Whether records are being stored, so that space ahead is of use. Not in a file that is synced in small pieces: a
  // sync would write what was made ready.
  bool WantsSpaceAhead() const {
    return tasks_ != nullptr && (region_.bytes != nullptr || ahead_ != nullptr) && !synced_in_pieces();
  }
  // The file is synced in pieces much smaller than a window.
  bool synced_in_pieces() const { return synced_in_pieces_.load(std::memory_order_relaxed); }

  // The file is synced, and `bytes` are new since the last time. From any thread.
  void OnSync(uint64_t bytes);

 private:
  struct Region {
    std::shared_ptr<MappedRegion> bytes = {};
    uint64_t begin = 0;
    bool large = false;
    size_t size() const { return bytes != nullptr ? bytes->Contents().size() : 0; }
    // Records only go forward.
    bool Covers(uint64_t offset) const { return begin <= offset && offset < begin + size(); }
  };

  // Where a task leaves the window that it made.
  struct Ahead {
    Ahead(uint64_t window_begin, uint64_t window_end) : begin(window_begin), end(window_end) {}
    const uint64_t begin;
    const uint64_t end;
    Mutex mutex;
    bool failed ABSL_GUARDED_BY(mutex) = false;
    Region window ABSL_GUARDED_BY(mutex);
  };

  bool EnterWindowAt(uint64_t offset, uint64_t space);
  // Maps [window->begin, end) and takes its memory.
  static bool MakeWindow(WritableFile* file, uint64_t end, Region* window);
  // Where the window at `offset` ends, and whether it is a large one.
  Region Extent(uint64_t offset, uint64_t space, uint64_t* end) const;
  // Gives the window at `offset` to a task. False if that cannot be.
  bool Prepare(uint64_t offset, uint64_t space);
  // What has become of it. kReady: `window` is it, and `offset` lies in it. kUnusable: it failed, takes too long, or
  // lies elsewhere; `begin` is where one that the writer makes should begin.
  enum class Preparation : uint8_t { kNone, kUnderWay, kUnusable, kReady };
  Preparation TakePrepared(uint64_t offset, Region* window, uint64_t* begin);
  // What is made ahead is of no use any more.
  void TakeNothing();
  bool StorePieces(uint64_t offset, std::string_view bytes, uint64_t space);
  void Replace(Region by);
  void Leave();
  void UnmapBeside(std::shared_ptr<MappedRegion> bytes);

  const uint64_t small_window_bytes_;
  MemoryBudget* const budget_;
  TaskGroup* const tasks_;
  std::shared_ptr<WritableFile> file_;
  bool enabled_ = false;
  Region region_;
  std::shared_ptr<Ahead> ahead_;  // null: nobody makes a window ahead
  uint64_t large_end_ = 0;        // behind the last large window of this file that was entered
  std::atomic<bool> synced_in_pieces_{false};
};

}  // namespace sepal
