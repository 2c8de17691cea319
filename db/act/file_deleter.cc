#include "db/act/file_deleter.h"

#include <utility>

#include "db/format/file_names.h"

namespace sepal {

void FileDeleter::OnLastRelease(FileNumber number) {
  MutexLock lock(&mutex_);
  if (!stopped_) pending_.push_back(number);
}

void FileDeleter::Run() {
  std::vector<FileNumber> numbers;
  {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    numbers.swap(pending_);
  }
  for (FileNumber number : numbers) {
    const absl::Status status = directory_->Remove(TableFileName(number));
    if (!status.ok() && !absl::IsNotFound(status)) OnLastRelease(number);
  }
}

void FileDeleter::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  pending_.clear();
}

}  // namespace sepal
