#include "db/act/log/log_output.h"

#include <algorithm>
#include <utility>

#include "util/base/status.h"

namespace sepal {
namespace {

constexpr uint64_t kBlockBytes = 4096;
constexpr uint64_t kZeroAheadBytes = uint64_t{64} << 10;

}  // namespace

absl::Status LogOutput::Reserve(uint64_t end) {
  const uint64_t space = space_.load(std::memory_order_relaxed);
  if (end <= space) return absl::OkStatus();
  const absl::Status status = Allocate(std::max(end - space, step_bytes_));
  return absl::IsResourceExhausted(status) ? Allocate(end - space) : status;
}

absl::Status LogOutput::Allocate(uint64_t bytes) {
  const uint64_t space = space_.load(std::memory_order_relaxed);
  RETURN_IF_ERROR(file_->Allocate(space, bytes));
  // If this fails, writes extend the file, and meet any lasting failure themselves.
  if (extended_) file_->Truncate(space + bytes).IgnoreError();
  space_.store(space + bytes, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status LogOutput::Begin() { return begun() ? absl::OkStatus() : Sync(); }

absl::Status LogOutput::Sync() {
  RETURN_IF_ERROR(file_->Sync());
  NoteSynced();
  return absl::OkStatus();
}

absl::Status LogOutput::Write(uint64_t offset, std::string_view bytes) {
  if (!in_order_) RETURN_IF_ERROR(Begin());
  return extended_ ? file_->WriteAt(offset, bytes) : file_->Append(bytes);
}

absl::Status LogOutput::ZeroAhead(uint64_t end) {
  if (!std::exchange(synced_before_, true) || !extended_ || end <= zeroed_) return absl::OkStatus();
  const uint64_t begin = (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  const uint64_t behind = std::min(begin + kZeroAheadBytes, space_.load(std::memory_order_relaxed));
  if (begin >= behind) return absl::OkStatus();
  zeros_.resize(kBlockBytes);
  // Blocks are written one by one, so that the system keeps them apart: for a block that it keeps together with others,
  // each sync counts them all as written (/proc/PID/io), whatever goes to the disk.
  for (zeroed_ = begin; zeroed_ + kBlockBytes <= behind; zeroed_ += kBlockBytes) {
    const absl::Status status = file_->WriteAt(zeroed_, zeros_);
    if (absl::IsResourceExhausted(status)) {
      zeroed_ = UINT64_MAX;  // the file system never overwrites in place, so nothing is gained
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status LogOutput::CutTo(uint64_t end) {
  if (!extended_ && space_.load(std::memory_order_relaxed) <= end) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Truncate(end));
  extended_ = false;
  space_.store(end, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace sepal
