#include "db/act/files/obsolete_table_deleter.h"

#include <utility>

#include "db/format/file_names.h"

namespace sepal {

void ObsoleteTableDeleter::OnLastRelease(FileNumber number) {
  cache_->NoteGone(cache_->FileOf(number.value()));
  Keep(TableFileName(number));
}

void ObsoleteTableDeleter::RemoveValueFile(FileNumber number) { Keep(ValueFileName(number)); }

void ObsoleteTableDeleter::Keep(std::string name) {
  if (beside_a_writer_) return;
  MutexLock lock(&mutex_);
  if (stopped_) return;
  pending_.push_back(std::move(name));
  has_work_.store(true, std::memory_order_release);
}

void ObsoleteTableDeleter::Run() {
  std::vector<std::string> names;
  {
    MutexLock lock(&mutex_);
    if (stopped_) return;
    names.swap(pending_);
    has_work_.store(false, std::memory_order_release);
  }
  for (std::string& name : names) {
    const absl::Status status = directory_->Remove(name);
    if (!status.ok() && !absl::IsNotFound(status)) Keep(std::move(name));
  }
}

void ObsoleteTableDeleter::Stop() {
  MutexLock lock(&mutex_);
  stopped_ = true;
  pending_.clear();
  has_work_.store(false, std::memory_order_release);
}

}  // namespace sepal
