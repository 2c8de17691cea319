#include "db/act/files/obsolete_table_deleter.h"

#include <utility>

#include "db/format/file_names.h"

namespace sepal {

void ObsoleteTableDeleter::OnLastRelease(FileNumber number) {
  cache_->NoteGone(cache_->FileOf(number.value()));
  Keep(number);
}

void ObsoleteTableDeleter::Keep(FileNumber number) {
  MutexLock lock(&mutex_);
  if (stopped_) return;
  pending_.push_back(number);
  has_work_.store(true, std::memory_order_release);
}

void ObsoleteTableDeleter::Run() {
  std::vector<FileNumber> numbers;
  {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    numbers.swap(pending_);
    has_work_.store(false, std::memory_order_release);
  }
  for (FileNumber number : numbers) {
    const absl::Status status = directory_->Remove(TableFileName(number));
    if (!status.ok() && !absl::IsNotFound(status)) Keep(number);
  }
}

void ObsoleteTableDeleter::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  pending_.clear();
  has_work_.store(false, std::memory_order_release);
}

}  // namespace sepal
