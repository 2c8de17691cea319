#include "util/thread/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <utility>

#include "util/base/check.h"

namespace sepal {
namespace {

const char* ThreadName(Executor::Priority priority) {
  switch (priority) {
    case Executor::Priority::kFlush:
      return "sepal-flush";
    case Executor::Priority::kCompaction:
      return "sepal-compact";
    case Executor::Priority::kScrub:
      return "sepal-scrub";
  }
  return "sepal";
}

}  // namespace

// Starts one thread of each kind that is wanted first.
ThreadPool::ThreadPool(int flush_threads, int compaction_threads, bool scrubs)
    : wanted_{flush_threads, compaction_threads, scrubs ? 1 : 0} {
  constexpr Priority kKinds[] = {Priority::kFlush, Priority::kCompaction, Priority::kScrub};
  const auto add = [this](Priority kind, int most) {
    int& count = counts_[static_cast<size_t>(kind)];
    while (count < std::min(most, wanted_[static_cast<size_t>(kind)])) {
      if (!AddThread(kind)) return false;
      ++count;
    }
    return true;
  };
  for (const Priority kind : kKinds) {
    if (!add(kind, 1)) return;
  }
  for (const Priority kind : kKinds) {
    if (!add(kind, INT_MAX)) return;
  }
}

bool ThreadPool::AddThread(Priority priority) {
  std::optional<Thread> thread = Thread::Make([this, priority] { RunWorker(priority); });
  if (thread.has_value()) threads_.push_back(*std::move(thread));
  return thread.has_value();
}

absl::Status ThreadPool::Check() const {
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0 || wanted_[i] == 0) continue;
    return absl::ResourceExhaustedError(
        "the system grants no thread for background work: allow the process more threads or memory, or share an "
        "executor between databases (Env::executor)");
  }
  return absl::OkStatus();
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  WakeAll();
  for (Thread& thread : threads_) thread.Join();
}

void ThreadPool::Schedule(Priority priority, std::function<void()> work) {
  {
    SEPAL_CHECK(counts_[static_cast<size_t>(priority)] > 0);
    MutexLock lock(&mutex_);
    QueueOf(priority).push_back(std::move(work));
  }
  // Notifies without the lock: the woken thread may take this thread's processor, which would then hold the lock for
  // milliseconds.
  ChangeOf(priority).NotifyOne();
}

bool ThreadPool::ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) {
  {
    SEPAL_CHECK(counts_[static_cast<size_t>(priority)] > 0);
    MutexLock lock(&mutex_);
    later_[static_cast<size_t>(priority)].emplace(Clock::System()->MonotonicMicros() + micros, std::move(work));
  }
  ChangeOf(priority).NotifyOne();  // so that it wakes by that time
  return true;
}

std::optional<uint64_t> ThreadPool::QueueDue(Priority priority) {
  auto& later = later_[static_cast<size_t>(priority)];
  if (later.empty()) [[likely]]
    return std::nullopt;
  const uint64_t now = Clock::System()->MonotonicMicros();
  for (; !later.empty() && later.begin()->first <= now; later.erase(later.begin())) {
    QueueOf(priority).push_back(std::move(later.begin()->second));
  }
  return later.empty() ? std::nullopt : std::optional(later.begin()->first - now);
}

void ThreadPool::WakeAll() {
  for (CondVar& each : changed_) each.NotifyAll();
}

bool ThreadPool::AllWorkDone() const {
  return running_ == 0 && std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.empty(); });
}

void ThreadPool::RunWorker(Priority priority) {
  // The name that top, ps and debuggers show, at most 15 characters. A failure does not matter.
  (void)pthread_setname_np(pthread_self(), ThreadName(priority));
  mutex_.Lock();
  Queue& queue = QueueOf(priority);
  while (true) {
    std::optional<uint64_t> wait_micros = QueueDue(priority);
    // Running work of either priority may schedule more work for this thread.
    for (; queue.empty() && !(stopping_ && AllWorkDone()); wait_micros = QueueDue(priority)) {
      if (wait_micros.has_value()) {
        ChangeOf(priority).WaitFor(&mutex_, *wait_micros);
      } else {
        ChangeOf(priority).Wait(&mutex_);
      }
    }
    if (queue.empty()) break;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    ++running_;
    // Another thread must wait for work that is due later.
    if (wait_micros.has_value()) ChangeOf(priority).NotifyOne();
    mutex_.Unlock();
    work();
    work = nullptr;
    mutex_.Lock();
    --running_;
    if (stopping_ && AllWorkDone()) WakeAll();
  }
  mutex_.Unlock();
}

}  // namespace sepal
