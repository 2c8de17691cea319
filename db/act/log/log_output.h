// The log file that takes records: its space, its length and its bytes. Space is reserved in steps, before anything is
// written there, so that a full disk is reported by `Reserve` and changes nothing.
//
// If the file may be longer than its records (`extended`), it is as long as its space, so that a sync has no new length
// to make durable; everything after the records is zero.
//
// Law: no record is written before the header is durable, so that after a loss of power a file without a header holds
// no records. If only the end of a file can be lost (`in_order`), records may follow a header that is not durable yet.
//
// Thread-safety: one thread at a time, except that `HasSpace`, `begun` and the file's `Sync` may run concurrently with
// everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "sepal/file_system.h"

namespace sepal {

class LogOutput {
 public:
  // `file` has a header, which is durable if `begun`, and space for `space_bytes`, and should have that length if
  // `extended`.
  LogOutput(std::shared_ptr<WritableFile> file, uint64_t space_bytes, bool extended, uint64_t step_bytes, bool begun,
            bool in_order = false)
      : file_(std::move(file)),
        step_bytes_(step_bytes),
        in_order_(in_order),
        extended_(extended),
        begun_(begun),
        space_(space_bytes) {}
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;

  const std::shared_ptr<WritableFile>& file() const { return file_; }
  // Whether the header is durable.
  bool begun() const { return begun_.load(std::memory_order_acquire); }
  // Makes the header durable, unless it already is.
  absl::Status Begin();
  // Makes durable what was written before the call, the header included.
  absl::Status Sync();
  // The file was synced.
  void NoteSynced() { begun_.store(true, std::memory_order_release); }
  bool HasSpace(uint64_t end) const { return end <= space_.load(std::memory_order_acquire); }
  // Reserves space for all bytes before `end`. ResourceExhausted: there is none, and the file is unchanged.
  absl::Status Reserve(uint64_t end);
  // Writes at the end of what was written; space must be reserved.
  absl::Status Write(uint64_t offset, std::string_view bytes);
  // To be called when the file is about to be synced for few bytes, the last of them before `end`. If that happens
  // repeatedly, the blocks after them are written as zeros, many at once: the first sync of a block that is reserved
  // and was never written must also make durable that it is written now, which takes longer than a small record.
  absl::Status ZeroAhead(uint64_t end);
  // Releases the length and the space beyond `end`, where the records end. Later records need space that is reserved
  // anew.
  absl::Status CutTo(uint64_t end);

 private:
  absl::Status Allocate(uint64_t bytes);

  const std::shared_ptr<WritableFile> file_;
  const uint64_t step_bytes_;
  const bool in_order_;
  bool extended_;
  std::atomic<bool> begun_;
  bool synced_before_ = false;
  uint64_t zeroed_ = 0;  // the offset up to which blocks were written ahead
  std::string zeros_;
  std::atomic<uint64_t> space_;
};

}  // namespace sepal
