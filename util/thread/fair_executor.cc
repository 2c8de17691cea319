#include "util/thread/fair_executor.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "util/base/check.h"

namespace sepal {
namespace {

size_t IndexOf(Executor::Priority priority) { return static_cast<size_t>(priority); }

}  // namespace

FairExecutor::FairExecutor(Executor* executor, Clock* clock, int flush_threads)
    : executor_(executor), clock_(clock), threads_{flush_threads, executor->CompactionConcurrency(), 0} {}

FairExecutor::~FairExecutor() {
  MutexLock lock(&mutex_);
  SEPAL_CHECK(clients_.empty());
  while (tasks_ > 0) ended_.Wait(&mutex_);
}

FairExecutor::Client::Client(FairExecutor* fair) : fair_(fair) {
  MutexLock lock(&fair_->mutex_);
  place_ = fair_->clients_.insert(fair_->clients_.end(), this);
}

FairExecutor::Client::~Client() {
  Hurry();
  MutexLock lock(&fair_->mutex_);
  while (pending_ > 0) fair_->ended_.Wait(&fair_->mutex_);
  fair_->clients_.erase(place_);
  // The last client may use a thread that it could not have among several.
  for (CondVar& changed : fair_->changed_) changed.NotifyAll();
}

void FairExecutor::Client::PutOff(Priority priority, uint64_t micros, std::function<void()> work) {
  FairExecutor* const fair = fair_;  // the work may end the client
  {
    MutexLock lock(&fair->mutex_);
    Line& line = lines_[IndexOf(priority)];
    if (micros == 0 || hurries_) {
      line.ready.push_back(std::move(work));
    } else {
      line.later.emplace(fair->clock_->MonotonicMicros() + micros, std::move(work));
    }
    ++pending_;
    ++fair->tasks_;
    if (fair->waiting_[IndexOf(priority)] > 0) fair->changed_[IndexOf(priority)].NotifyOne();
  }
  fair->executor_->Schedule(priority, [fair, priority] { fair->RunOne(priority); });
}

void FairExecutor::Client::Hurry() {
  MutexLock lock(&fair_->mutex_);
  hurries_ = true;
  for (size_t i = 0; i < lines_.size(); ++i) {
    for (auto& [due, work] : lines_[i].later) lines_[i].ready.push_back(std::move(work));
    lines_[i].later.clear();
    fair_->changed_[i].NotifyAll();
  }
}

int FairExecutor::MostOfOne(Priority priority) const {
  const int threads = threads_[IndexOf(priority)];
  return threads > 2 && clients_.size() > 1 ? threads - 1 : INT_MAX;
}

FairExecutor::Client* FairExecutor::Next(Priority priority, std::optional<uint64_t>* wait_micros) {
  std::optional<uint64_t> now;  // asked for only if anything was put off
  wait_micros->reset();
  for (Client* const client : clients_) {
    Client::Line& line = client->lines_[IndexOf(priority)];
    if (line.running >= MostOfOne(priority)) continue;
    if (!line.ready.empty()) return client;
    if (line.later.empty()) continue;
    if (!now.has_value()) now = clock_->MonotonicMicros();
    const uint64_t due = line.later.begin()->first;
    if (due <= *now) {
      line.ready.push_back(std::move(line.later.begin()->second));
      line.later.erase(line.later.begin());
      return client;
    }
    *wait_micros = std::min(wait_micros->value_or(UINT64_MAX), due - *now);
  }
  return nullptr;
}

// Keeps the mutex to the end, because a waiting thread may destroy this object as soon as the mutex is free.
void FairExecutor::RunOne(Priority priority) {
  CondVar& changed = changed_[IndexOf(priority)];
  mutex_.Lock();
  int& waiting = waiting_[IndexOf(priority)];
  std::optional<uint64_t> wait_micros;
  Client* client = Next(priority, &wait_micros);
  for (; client == nullptr; client = Next(priority, &wait_micros)) {
    ++waiting;
    if (wait_micros.has_value()) {
      changed.WaitFor(&mutex_, *wait_micros);
    } else {
      changed.Wait(&mutex_);
    }
    --waiting;
  }
  // This thread may have been the one that waits for delayed work.
  if (waiting > 0) changed.NotifyOne();
  clients_.splice(clients_.end(), clients_, client->place_);
  Client::Line& line = client->lines_[IndexOf(priority)];
  std::function<void()> work = std::move(line.ready.front());
  line.ready.pop_front();
  ++line.running;
  mutex_.Unlock();
  work();
  work = nullptr;
  mutex_.Lock();
  // Another client may now have one more thread.
  if (waiting > 0) changed.NotifyAll();
  --line.running;
  --client->pending_;
  --tasks_;
  ended_.NotifyAll();
  mutex_.Unlock();
}

}  // namespace sepal
