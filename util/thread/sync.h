// All waiting and all communication between threads. No other file uses the standard library's mutexes, condition
// variables or threads (a house test checks this), so that every such place is a scheduling point of a simulation.
//
// Law: a thread that waits on a condition variable holds exactly one mutex, the one it waits with; a thread that waits
// on an event count holds none. Otherwise a single-threaded simulation could not run other work inside the wait.
//
// Waits may end without a notification: callers loop over their condition.
//
// A `Scheduler` installed for a thread (ScopedScheduler) replaces the operating system's: a wait runs other work until
// something changes. Without one the cost is one thread-local load.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"

namespace sepal {

// The interface through which a simulation decides which thread continues.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  // Called before a lock is taken, after it is released, before a notification and around atomic publications. May run
  // other work, except when `held_locks`, the number of locks that the caller holds, is INT_MAX.
  virtual void Point(const void* object, int held_locks) = 0;
  // The calling thread has nothing to do until something changes: run other work, or let time pass. `deadline_micros`
  // is in the virtual clock's time; UINT64_MAX: none. Stops the process if nothing can ever change (deadlock).
  virtual void Wait(const void* object, uint64_t deadline_micros) = 0;
  virtual uint64_t NowMicros() = 0;

  // The scheduler of the calling thread, or null.
  static Scheduler* Current();
};

// Installs `scheduler` for the calling thread during the object's life.
class ScopedScheduler {
 public:
  explicit ScopedScheduler(Scheduler* scheduler);
  ~ScopedScheduler();
  ScopedScheduler(const ScopedScheduler&) = delete;
  ScopedScheduler& operator=(const ScopedScheduler&) = delete;

 private:
  Scheduler* previous_;
};

namespace internal {
extern thread_local constinit Scheduler* current_scheduler;
extern thread_local constinit int held_locks;
}  // namespace internal

inline Scheduler* Scheduler::Current() { return internal::current_scheduler; }

// A point, beside an atomic publication, at which a simulation may switch threads.
inline void SchedulePoint(const void* object) {
  if (Scheduler* scheduler = Scheduler::Current()) [[unlikely]] {
    scheduler->Point(object, internal::held_locks);
  }
}

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (Scheduler::Current() != nullptr) [[unlikely]] {
      LockUnderScheduler();
    } else {
      mutex_.lock();
    }
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    if (Scheduler::Current() != nullptr) [[unlikely]] {
      UnlockUnderScheduler();
    } else {
      mutex_.unlock();
    }
  }
  // Takes the lock unless another thread holds it. Returns whether it did.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);
  // Tells the thread-safety analysis that the lock is held where it cannot see it.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {}

 private:
  friend class CondVar;
  void LockUnderScheduler();
  void UnlockUnderScheduler();
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_->Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex* mutex_;
};

// The lock of a memory allocator. It is no scheduling point, so that the schedule of a simulation does not depend on
// memory that was used before. It is held for some tens of instructions, and no other lock of the engine is taken
// within.
class ABSL_LOCKABLE AllocatorMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE AllocatorMutexLock {
 public:
  explicit AllocatorMutexLock(AllocatorMutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }
  ~AllocatorMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  AllocatorMutexLock(const AllocatorMutexLock&) = delete;
  AllocatorMutexLock& operator=(const AllocatorMutexLock&) = delete;

 private:
  AllocatorMutex* mutex_;
};

class CondVar {
 public:
  // Requires that `mutex`, and no other, is held. Releases it while waiting.
  void Wait(Mutex* mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // The same, for at most `micros`.
  void WaitFor(Mutex* mutex, uint64_t micros) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void NotifyOne();
  void NotifyAll();

 private:
  std::condition_variable condition_;
};

// A number that only grows, whose next step many threads await: an event count (Reed and Kanodia 1979). A step wakes
// all of them with one system call, and makes none if no thread waits. They take no lock to continue, whereas threads
// that wait on a condition variable queue up at its mutex.
class EventCount {
 public:
  EventCount() = default;
  EventCount(const EventCount&) = delete;
  EventCount& operator=(const EventCount&) = delete;

  // Read it before checking the awaited condition, or under the mutex with which that changes.
  uint32_t Read() const { return word_.load(std::memory_order_acquire) & ~kAwaited; }
  // Waits for a step after the one that was read as `seen`. Requires that no mutex is held.
  void Await(uint32_t seen) { AwaitFor(seen, UINT64_MAX); }
  // The same, for at most `micros`; UINT64_MAX: without a limit.
  void AwaitFor(uint32_t seen, uint64_t micros);
  // Call it after the awaited condition was made true, preferably without a mutex held.
  void Advance();

 private:
  // The lowest bit: whether a thread waits for the next step.
  static constexpr uint32_t kAwaited = 1;

  std::atomic<uint32_t> word_{0};
};

// Something that happens once.
class Notification {
 public:
  void Notify();
  bool HasBeenNotified();
  void WaitForNotification();

 private:
  Mutex mutex_;
  CondVar changed_;
  bool notified_ ABSL_GUARDED_BY(mutex_) = false;
};

// A thread that is joined when the object goes out of scope.
class Thread {
 public:
  Thread() = default;
  // Stops the process if the system cannot create a thread: for tests and tools.
  explicit Thread(std::function<void()> body);
  // Returns nullopt if the system cannot create a thread: there are too many, or no memory for a stack.
  static std::optional<Thread> Make(std::function<void()> body);
  ~Thread() { Join(); }
  Thread(Thread&& other) noexcept : thread_(std::exchange(other.thread_, std::nullopt)) {}
  Thread& operator=(Thread&&) = delete;
  void Join();
  // Blocks the calling thread in real time. Code of the engine uses its `Clock` instead.
  static void SleepMicros(uint64_t micros) { std::this_thread::sleep_for(std::chrono::microseconds(micros)); }
  static int HardwareConcurrency() { return static_cast<int>(std::thread::hardware_concurrency()); }

 private:
  std::optional<pthread_t> thread_;
};

}  // namespace sepal
