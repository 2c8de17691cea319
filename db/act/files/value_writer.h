// Appends values to value files (db/format/value_file.h), one file after another.
//
// Laws:
// - Written bytes never change, and no two openings write to one file.
// - A failed sync is final, as it is for the log.
// - If there is no space, Append fails with ResourceExhausted, and nothing refers to what was written.
//
// Thread-safety: everything may run concurrently.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/rate_limited_file.h"
#include "db/format/stored_value.h"
#include "db/format/value_reference.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/thread/sync.h"

namespace sepal {

class ValueFile;
using ValueFileRef = std::shared_ptr<const ValueFile>;

// The destination of values. The pointers outlive the writer.
struct ValueOutputs {
  Directory* directory = nullptr;
  uint64_t database_id = 0;
  std::function<FileNumber()> new_file_number;
  std::function<uint64_t()> new_file_id;
  std::function<ValueFileRef(FileNumber)> pin;
  // Called when a file gets no more values, with its size.
  std::function<void(FileNumber, uint64_t bytes)> ended;
  // Files end at about `file_bytes`, and reserve space in steps of `step_bytes`.
  uint64_t file_bytes = uint64_t{64} << 20;
  uint64_t step_bytes = uint64_t{4} << 20;
  Pacing pacing = {};
  FileUseKind use = FileUseKind::kValues;
};

class ValueWriter {
 public:
  ValueWriter() = default;
  ValueWriter(const ValueWriter&) = delete;
  ValueWriter& operator=(const ValueWriter&) = delete;

  // Called before anything else.
  void Start(ValueOutputs outputs) { to_ = std::move(outputs); }

  struct Written {
    ValueReference reference;
    ValueFileRef file;  // to be held until the holder of the reference holds it
  };
  absl::StatusOr<Written> Append(const StoredValue& value);
  struct Place {
    FileNumber number;
    uint64_t offset = 0;
    ValueFileRef file;  // as in Written
  };
  // Appends the stored bytes of several values in one write; the kernel handles 256 KiB at once nearly twice as fast as
  // in pages.
  absl::StatusOr<Place> AppendBytes(std::string_view bytes) ABSL_LOCKS_EXCLUDED(append_mutex_);
  // Takes back the result of Append, or a part of that of AppendBytes, once: nothing has, or ever had, the reference.
  // The next value reuses the space, if none has followed.
  void TakeBack(const ValueReference& reference) ABSL_LOCKS_EXCLUDED(append_mutex_);
  // Makes everything appended before the call durable. If it already is, the cost is two loads.
  absl::Status Sync() ABSL_LOCKS_EXCLUDED(append_mutex_, sync_mutex_);
  bool HasUnsynced() const {
    return durable_.load(std::memory_order_acquire) != appended_.load(std::memory_order_acquire);
  }
  // Makes later values go to another file.
  void EndFile() ABSL_LOCKS_EXCLUDED(append_mutex_);

 private:
  // A file that is being written, or is not yet durable.
  struct Output {
    FileNumber number;
    ValueFileRef file;
    std::shared_ptr<WritableFile> writer;
    uint64_t end = 0;    // guarded by `append_mutex_`, like the rest except for `named`
    uint64_t space = 0;  // the end of the reserved space
    bool dirty = false;
    bool named = false;  // the name is durable; guarded by `sync_mutex_`
  };

  absl::Status BeginFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::Status Reserve(uint64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  void EndActive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::Status SyncOutputs(const std::vector<std::shared_ptr<Output>>& outputs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(sync_mutex_);

  ValueOutputs to_;  // constant once anything is appended

  // Bytes of values: appended, and durable.
  std::atomic<uint64_t> appended_{0};
  std::atomic<uint64_t> durable_{0};

  Mutex sync_mutex_;  // taken before `append_mutex_`
  Mutex append_mutex_;
  std::shared_ptr<Output> active_ ABSL_GUARDED_BY(append_mutex_);
  std::vector<std::shared_ptr<Output>> outputs_ ABSL_GUARDED_BY(append_mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(append_mutex_);
};

}  // namespace sepal
