// The windows in which iterators read ahead. They share a limit, because an iterator may stay unused for as long as its
// user likes, and thousands may be open.
//
// Each may hold its part of the limit, down to a minimum; if that exceeds the limit, the least recently used window is
// taken from its iterator, which then reads again what it still needs. All windows can be taken back at any time,
// except for those in use at that moment. The memory is charged to MemoryPart::kReadAhead, and returns to the system,
// not to the allocator; small windows return to the block heap, because a short scan would spend more time on mapping
// than on reading.
//
// The pool is safe for concurrent use; a window is for its one thread, and only the pool takes its memory from another
// thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>

#include "util/memory/block_buffer.h"
#include "util/memory/mapped_memory.h"
#include "util/memory/memory_budget.h"
#include "util/thread/sync.h"

namespace sepal {

class WindowPool {
 public:
  // The minimum that a window may hold, however many there are.
  static constexpr size_t kLeastBytes = size_t{16} << 10;

  // All windows together hold at most `most_bytes`. `budget` must outlive the pool.
  WindowPool(size_t most_bytes, MemoryBudget* budget) : most_bytes_(most_bytes), budget_(budget) {}
  WindowPool(const WindowPool&) = delete;
  WindowPool& operator=(const WindowPool&) = delete;

  // The memory of a window; null if it has 0 bytes.
  class Memory {
   public:
    Memory() = default;
    explicit Memory(size_t size);
    char* data() const { return data_; }
    size_t size() const { return size_; }
    size_t charge() const { return ChargeFor(size_); }
    static size_t ChargeFor(size_t size);

   private:
    BlockBuffer small_ = {};
    MappedMemory large_ = {};
    char* data_ = nullptr;
    size_t size_ = 0;
  };

  class Window {
   public:
    explicit Window(WindowPool* pool) : pool_(pool) {}
    ~Window() { Drop(); }
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    // From Hold to LetGo the memory stays.
    void Hold();
    void LetGo() { held_.store(false, std::memory_order_release); }
    // Requires Hold. Null if there is no memory, or it was taken back. Begins at a multiple of a page.
    char* data() const { return memory_.data(); }
    size_t size() const { return memory_.size(); }
    // Requires Hold. Gets memory of up to `wanted` bytes, possibly the present one, whose contents are lost. Returns
    // how many bytes may be used: 0 if there is no room for `least`.
    size_t Take(size_t least, size_t wanted);
    // Requires that the window is not held.
    void Drop();

   private:
    friend class WindowPool;

    WindowPool* const pool_;
    std::atomic<bool> held_{false};
    Memory memory_;        // for the thread that holds the window
    bool listed_ = false;  // for the window's thread: `place_` is the window's place in the list
    std::list<Window*>::iterator place_;
  };

  // Takes back all windows that are not in use at the moment.
  void TakeBack();
  size_t used_bytes() const;

 private:
  bool TakeFrom(Window* window) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(size_t before, size_t after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  MemoryBudget* const budget_;
  mutable Mutex mutex_;
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t holders_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Window*> windows_ ABSL_GUARDED_BY(mutex_);  // least recently used first
};

}  // namespace sepal
