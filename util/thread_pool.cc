#include "util/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

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

ThreadPool::ThreadPool(int flush_threads, int compaction_threads)
    : compaction_threads_(std::max(compaction_threads, 1)) {
  flush_threads = std::max(flush_threads, 1);
  threads_.reserve(static_cast<size_t>(flush_threads + compaction_threads_ + 1));
  for (int i = 0; i < flush_threads; ++i) threads_.emplace_back([this] { RunWorker(Priority::kFlush); });
  for (int i = 0; i < compaction_threads_; ++i) threads_.emplace_back([this] { RunWorker(Priority::kCompaction); });
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
    MutexLock lock(&mutex_);
    if (priority == Priority::kScrub && !scrub_thread_) {
      scrub_thread_ = true;
      threads_.emplace_back([this] { RunWorker(Priority::kScrub); });
    }
    QueueOf(priority).push_back(std::move(work));
  }
  // Without the lock: who is woken may take this thread's processor, which then holds it for a turn of milliseconds.
  ChangeOf(priority).NotifyOne();
}

void ThreadPool::WakeAll() {
  for (CondVar& each : changed_) each.NotifyAll();
}

bool ThreadPool::AllWorkDone() const {
  return running_ == 0 && std::all_of(queues_.begin(), queues_.end(), [](const Queue& queue) { return queue.empty(); });
}

void ThreadPool::RunWorker(Priority priority) {
  // As top, ps and debuggers show it; at most 15 characters. That it fails matters to nobody.
  (void)pthread_setname_np(pthread_self(), ThreadName(priority));
  mutex_.Lock();
  Queue& queue = QueueOf(priority);
  while (true) {
    // Work that still runs, of either priority, may schedule more for this thread.
    while (queue.empty() && !(stopping_ && AllWorkDone())) ChangeOf(priority).Wait(&mutex_);
    if (queue.empty()) break;
    std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    ++running_;
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
