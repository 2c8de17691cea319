#include "util/side_by_side.h"

#include <memory>
#include <optional>

#include "util/sync.h"

namespace sepal {
namespace {

class Pieces {
 public:
  Pieces(size_t count, const std::function<void(size_t)>* work) : count_(count), work_(work) {}

  void Work() {
    while (const std::optional<size_t> piece = Take()) {
      (*work_)(*piece);
      MutexLock lock(&mutex_);
      ++done_;
      changed_.NotifyAll();
    }
  }

  void WaitUntilDone() {
    MutexLock lock(&mutex_);
    while (done_ < count_) changed_.Wait(&mutex_);
  }

 private:
  std::optional<size_t> Take() {
    MutexLock lock(&mutex_);
    if (next_ == count_) return std::nullopt;
    return next_++;
  }

  const size_t count_;
  const std::function<void(size_t)>* const work_;  // the caller's; it waits until all that was taken is done
  Mutex mutex_;
  CondVar changed_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t done_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

void WorkSideBySide(Executor* executor, Executor::Priority priority, size_t count,
                    const std::function<void(size_t)>& work) {
  const auto pieces = std::make_shared<Pieces>(count, &work);
  for (size_t i = 1; i < count; ++i) {
    executor->Schedule(priority, [pieces] { pieces->Work(); });
  }
  pieces->Work();
  pieces->WaitUntilDone();
}

}  // namespace sepal
