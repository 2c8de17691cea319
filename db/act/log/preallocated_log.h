// The file in which the log continues, created ahead: making its name, its space and its length durable takes the disk
// some milliseconds, for which a writer need not wait. It is zero throughout, which tells recovery that nothing was
// ever written to it, until the log takes it and writes its header.
//
// Not safe for concurrent use, except that a task delivers its result through `Ahead`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class PreallocatedLog {
 public:
  struct Made {
    FileNumber number;
    std::shared_ptr<WritableFile> file;
    uint64_t space_bytes = 0;
  };

  // Creates files with space for `bytes`, at least a header, and of that length if `extend`. They are created in
  // `tasks`; null: none is created ahead. Both must outlive this object; `tasks` must be closed before the directory is
  // destroyed.
  PreallocatedLog(Directory* directory, uint64_t bytes, bool extend, TaskGroup* tasks)
      : directory_(directory), bytes_(bytes), extend_(extend), tasks_(tasks) {}
  // Leaves an existing file to recovery, because in a forked child it belongs to the parent.
  ~PreallocatedLog() = default;
  PreallocatedLog(const PreallocatedLog&) = delete;
  PreallocatedLog& operator=(const PreallocatedLog&) = delete;

  // Whether Prepare would create a file: none exists or is being created.
  bool wanted() const { return tasks_ != nullptr && ahead_ == nullptr; }
  // `then` is called by the task once the file exists, or cannot be created. Only with it can the file be awaited.
  void Prepare(FileNumber number, std::function<void()> then = nullptr);
  // Returns a function that any thread may call to wait until the file that is being created can be taken, or its
  // creation has failed. It does not wait for a task that has not begun, which may be queued behind one that waits for
  // the caller. Null if no file is being created, or none that can be awaited.
  std::function<void()> Awaiter() const;
  // Returns the file, with its name and its bytes durable; nullopt if it could not be created or is not ready, in which
  // case it is removed.
  std::optional<Made> Take();
  // Removes the created file.
  void Discard();

  // Creates a new file with space for `bytes`, or for a header alone if the disk has no more, and no contents; removes
  // it again if there is no space.
  static absl::StatusOr<Made> Create(Directory* directory, FileNumber number, uint64_t bytes);

 private:
  // Where a task leaves the file.
  struct Ahead {
    Ahead(FileNumber file_number, bool may_be_awaited) : number(file_number), awaited(may_be_awaited) {}
    const FileNumber number;
    const bool awaited;  // a thread may wait for it
    Mutex mutex;
    CondVar changed;
    bool dropped ABSL_GUARDED_BY(mutex) = false;  // the file is no longer wanted
    bool begun ABSL_GUARDED_BY(mutex) = false;    // the task
    bool ended ABSL_GUARDED_BY(mutex) = false;    // the task
    std::optional<Made> made ABSL_GUARDED_BY(mutex);
  };

  static void MakeAhead(Ahead* ahead, Directory* directory, uint64_t bytes, bool extend);
  static absl::StatusOr<Made> Make(Directory* directory, FileNumber number, uint64_t bytes, bool extend);
  static void Remove(Directory* directory, FileNumber number);

  Directory* const directory_;
  const uint64_t bytes_;
  const bool extend_;
  TaskGroup* const tasks_;
  std::shared_ptr<Ahead> ahead_;
};

}  // namespace sepal
