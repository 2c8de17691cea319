// The file that the log goes on in, made ahead: its name, its space and its length take the disk some milliseconds to
// make durable, for which a writer need not wait. It is zero throughout, as recovery knows files in which nothing was
// ever written, until the log takes it and writes its header.
//
// One thread at a time; what a task does meets it at `Ahead` alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class NextLogFile {
 public:
  struct Made {
    FileNumber number;
    std::shared_ptr<WritableFile> file;
  };

  // Files with space for `bytes`, at least a header, and of that length if `extend`. `tasks` make them; null: none is
  // made ahead. Both must outlive this; `tasks` must be closed before the directory goes.
  NextLogFile(Directory* directory, uint64_t bytes, bool extend, TaskGroup* tasks)
      : directory_(directory), bytes_(bytes), extend_(extend), tasks_(tasks) {}
  // Leaves a file that is there to recovery: in a forked child it is the parent's.
  ~NextLogFile() = default;
  NextLogFile(const NextLogFile&) = delete;
  NextLogFile& operator=(const NextLogFile&) = delete;

  // Whether Prepare would make one: none is there, or under way.
  bool wanted() const { return tasks_ != nullptr && ahead_ == nullptr; }
  void Prepare(FileNumber number);
  // The file, with its name and its bytes durable; none if it could not be made or is not ready. That one is removed.
  std::optional<Made> Take();
  // Removes what was made.
  void Discard();

  // A new file with space for `bytes` and nothing in it; removed again if there is no space.
  static absl::StatusOr<std::shared_ptr<WritableFile>> Create(Directory* directory, FileNumber number, uint64_t bytes);

 private:
  // Where a task leaves the file.
  struct Ahead {
    explicit Ahead(FileNumber file_number) : number(file_number) {}
    const FileNumber number;
    Mutex mutex;
    bool dropped ABSL_GUARDED_BY(mutex) = false;  // nobody takes it any more
    std::optional<Made> made ABSL_GUARDED_BY(mutex);
  };

  static absl::StatusOr<Made> Make(Directory* directory, FileNumber number, uint64_t bytes, bool extend);
  static void Remove(Directory* directory, FileNumber number);

  Directory* const directory_;
  const uint64_t bytes_;
  const bool extend_;
  TaskGroup* const tasks_;
  std::shared_ptr<Ahead> ahead_;
};

}  // namespace sepal
