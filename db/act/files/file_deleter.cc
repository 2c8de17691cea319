#include "db/act/files/file_deleter.h"

#include <utility>

#include "db/format/file_names.h"

namespace sepal {

void FileDeleter::OnLastRelease(FileNumber number) {
  cache_->NoteGone(number.value());
  Keep(number);
}

void FileDeleter::Keep(FileNumber number) {
  MutexLock lock(&mutex_);
  if (stopped_) return;
  pending_.push_back(number);
  has_work_.store(true, std::memory_order_release);
}

void FileDeleter::Run() {
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

void FileDeleter::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  pending_.clear();
  has_work_.store(false, std::memory_order_release);
}

}  // namespace sepal
