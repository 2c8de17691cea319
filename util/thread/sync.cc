#include "util/thread/sync.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <memory>
#include <utility>

#include "util/base/check.h"

namespace sepal {

namespace internal {
thread_local constinit Scheduler* current_scheduler = nullptr;
thread_local constinit int held_locks = 0;
}  // namespace internal

ScopedScheduler::ScopedScheduler(Scheduler* scheduler) : previous_(internal::current_scheduler) {
  internal::current_scheduler = scheduler;
}

ScopedScheduler::~ScopedScheduler() { internal::current_scheduler = previous_; }

void Mutex::LockUnderScheduler() {
  Scheduler::Current()->Point(this, internal::held_locks);
  while (!mutex_.try_lock()) Scheduler::Current()->Wait(this, UINT64_MAX);
  ++internal::held_locks;
}

bool Mutex::TryLock() {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return mutex_.try_lock();
  scheduler->Point(this, internal::held_locks);
  if (!mutex_.try_lock()) return false;
  ++internal::held_locks;
  return true;
}

void Mutex::UnlockUnderScheduler() {
  mutex_.unlock();
  --internal::held_locks;
  Scheduler::Current()->Point(this, internal::held_locks);
}

// Threads that wait for the mutex may run, but not before the caller waits too, so that no notification is missed.
static constexpr int kOnlyWake = INT_MAX;

void CondVar::Wait(Mutex* mutex) {
  if (Scheduler* scheduler = Scheduler::Current()) {
    SEPAL_CHECK(internal::held_locks == 1);
    mutex->mutex_.unlock();
    --internal::held_locks;
    scheduler->Point(mutex, kOnlyWake);
    scheduler->Wait(this, UINT64_MAX);
    mutex->LockUnderScheduler();
    return;
  }
  std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
  condition_.wait(lock);
  lock.release();
}

// Longer waits would overflow sums of times. Waits may end early.
static constexpr uint64_t kLongestWaitMicros = 3'600'000'000;

void CondVar::WaitFor(Mutex* mutex, uint64_t micros) {
  if (Scheduler* scheduler = Scheduler::Current()) {
    SEPAL_CHECK(internal::held_locks == 1);
    mutex->mutex_.unlock();
    --internal::held_locks;
    scheduler->Point(mutex, kOnlyWake);
    scheduler->Wait(this, scheduler->NowMicros() + std::min(micros, kLongestWaitMicros));
    mutex->LockUnderScheduler();
    return;
  }
  std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
  condition_.wait_for(lock, std::chrono::microseconds(std::min(micros, kLongestWaitMicros)));
  lock.release();
}

void CondVar::NotifyOne() {
  condition_.notify_one();
  SchedulePoint(this);
}

void CondVar::NotifyAll() {
  condition_.notify_all();
  SchedulePoint(this);
}

void EventCount::AwaitFor(uint32_t seen, uint64_t micros) {
  const uint64_t wait_micros = std::min(micros, kLongestWaitMicros);
  if (Scheduler* scheduler = Scheduler::Current()) {
    SEPAL_CHECK(internal::held_locks == 0);
    const uint64_t deadline = micros == UINT64_MAX ? UINT64_MAX : scheduler->NowMicros() + wait_micros;
    if (Read() == seen) scheduler->Wait(this, deadline);
    return;
  }
  uint32_t word = seen;
  const uint32_t awaited = seen | kAwaited;
  if (!word_.compare_exchange_strong(word, awaited, std::memory_order_acq_rel) && word != awaited) return;
  const timespec time{.tv_sec = static_cast<time_t>(wait_micros / 1'000'000),
                      .tv_nsec = static_cast<long>(wait_micros % 1'000'000 * 1000)};
  // Sleeps only if the word is unchanged. The result is ignored, since waits may end early.
  syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, awaited, micros == UINT64_MAX ? nullptr : &time, nullptr, 0);
}

void EventCount::Advance() {
  uint32_t word = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(word, (word | kAwaited) + 1, std::memory_order_acq_rel)) {
  }
  if ((word & kAwaited) != 0) syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  SchedulePoint(this);
}

namespace {

using ThreadBody = std::function<void()>;

void* RunThread(void* body) noexcept {
  (*std::unique_ptr<ThreadBody>(static_cast<ThreadBody*>(body)))();
  return nullptr;
}

// During its life, the calling thread, and thus every thread that it creates, takes only signals raised by its own
// faults: all others go to the program's handlers and signalfds, on the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

// std::thread cannot be used, because it throws if the thread cannot be created.
std::optional<Thread> Thread::Make(std::function<void()> body) {
  auto owned = std::make_unique<ThreadBody>(std::move(body));
  pthread_t made;
  const SignalsBlocked while_it_is_made;
  if (pthread_create(&made, nullptr, RunThread, owned.get()) != 0) return std::nullopt;
  (void)owned.release();  // the new thread owns it
  std::optional<Thread> thread(std::in_place);
  thread->thread_ = made;
  return thread;
}

Thread::Thread(std::function<void()> body) {
  std::optional<Thread> made = Make(std::move(body));
  SEPAL_CHECK(made.has_value());
  std::swap(thread_, made->thread_);
}

void Thread::Join() {
  if (thread_.has_value()) SEPAL_CHECK(pthread_join(*std::exchange(thread_, std::nullopt), nullptr) == 0);
}

void Notification::Notify() {
  MutexLock lock(&mutex_);
  notified_ = true;
  changed_.NotifyAll();
}

bool Notification::HasBeenNotified() {
  MutexLock lock(&mutex_);
  return notified_;
}

void Notification::WaitForNotification() {
  MutexLock lock(&mutex_);
  while (!notified_) changed_.Wait(&mutex_);
}

}  // namespace sepal
