#include "db/engine/core/range_deletes.h"

namespace sepal {

RangeDeletes::RangeDeletes() = default;

std::shared_ptr<const void> RangeDeletes::Stand(SequenceNumber visible) const {
  {
    MutexLock lock(&readers_->mutex);
    ++readers_->standing[visible];
  }
  // In a forked child, a thread that does not exist there may hold the mutex.
  return {readers_.get(), [readers = readers_, visible, generation = fork_generation_](const void*) mutable {
            if (ForkGeneration() != generation) return LeakAfterFork(std::move(readers));
            MutexLock lock(&readers->mutex);
            const auto it = readers->standing.find(visible);
            if (--it->second == 0) readers->standing.erase(it);
          }};
}

std::vector<SequenceNumber> RangeDeletes::Standing(EpochDomain* epochs, SequenceNumber published) {
  if (settling_.has_value() && epochs->OldestReader() > settling_->stamp) {
    settled_ = settling_->published;
    settling_.reset();
  }
  if (!settling_.has_value()) settling_ = {.published = published, .stamp = epochs->Stamp()};
  std::vector<SequenceNumber> standing;
  MutexLock lock(&readers_->mutex);
  for (const auto& [sequence, count] : readers_->standing) {
    if (sequence < settled_) standing.push_back(sequence);
  }
  standing.push_back(settled_);
  return standing;
}

}  // namespace sepal
