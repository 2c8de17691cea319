// The windows in which iterators read ahead, which share a bound: an iterator may stand still for as long as its user
// likes, and thousands may be open at a time.
//
// Each may hold its part of the bound, down to a least size; where that is more than there is, the window that was
// unused for longest is taken from its iterator, which then reads anew what it still needs. All of them can be taken
// back at any time, but for those that are being used at that moment. What is held is charged to
// MemoryPart::kReadAhead, and goes back to the system, not to the allocator; small ones to the heap of blocks, since a
// short scan would spend more time on a mapping than on what it reads.
//
// The pool is safe for concurrent use, a window for its one thread: the pool alone takes its memory from another.
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
  // What a window may hold however many there are.
  static constexpr size_t kLeastBytes = size_t{16} << 10;

  // All windows together hold `most_bytes` at most. `budget` must outlive the pool.
  WindowPool(size_t most_bytes, MemoryBudget* budget) : most_bytes_(most_bytes), budget_(budget) {}
  WindowPool(const WindowPool&) = delete;
  WindowPool& operator=(const WindowPool&) = delete;

  // Of a window; none is of 0 bytes.
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
    // While it is held. Null: there is none, or it was taken back. Begins at a multiple of a page.
    char* data() const { return memory_.data(); }
    size_t size() const { return memory_.size(); }
    // While it is held: memory of up to `wanted` bytes, which may be what there is; its bytes are lost. Returns how
    // many may be used: none where there is no room for `least`.
    size_t Take(size_t least, size_t wanted);
    // While it is not held.
    void Drop();

   private:
    friend class WindowPool;

    WindowPool* const pool_;
    std::atomic<bool> held_{false};
    Memory memory_;        // for the thread that holds the window
    bool listed_ = false;  // for the window's thread; what stands at `place_` is the window
    std::list<Window*>::iterator place_;
  };

  // Takes back what is not being used just now.
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
  std::list<Window*> windows_ ABSL_GUARDED_BY(mutex_);  // the one that was unused for longest first
};

}  // namespace sepal
