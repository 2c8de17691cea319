#include "db/act/jobs/sliced_job.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace sepal {

SlicedJob::SlicedJob(KeyOrder order, Cut cut, Executor* executor, std::function<absl::Status(size_t)> part)
    : order_(order),
      boundaries_(std::move(cut.boundaries)),
      most_threads_(std::min(cut.most_threads, SliceCount())),
      threads_(std::move(cut.threads)),
      part_(std::move(part)),
      slices_(SliceCount(), Granted()),
      helpers_(executor, Executor::Priority::kCompaction, [this] { Work(); }) {}

void SlicedJob::Run() {
  AskForHelp();
  Work();
  helpers_.CallOff();
}

void SlicedJob::AskForHelp() { helpers_.Ask(Granted() - 1); }

size_t SlicedJob::Granted() const {
  if (most_threads_ <= 1) return 1;
  return std::clamp<size_t>(static_cast<size_t>(std::max(1, threads_())), 1, most_threads_);
}

void SlicedJob::Work() {
  while (const std::optional<size_t> first = slices_.Begin()) {
    if (!part_(*first).ok()) slices_.Stop();
  }
}

bool SlicedJob::GoesOn(std::string_view user_key, size_t* slice) {
  do {
    if (!slices_.GoOn(*slice + 1)) return false;
    ++*slice;
  } while (*slice < boundaries_.size() && !order_.Less(user_key, boundaries_[*slice]));
  return true;
}

}  // namespace sepal
