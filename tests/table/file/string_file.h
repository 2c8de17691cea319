// A file in a string, with faults on demand, for tests of single files.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal {

// Collects the written bytes. `append_status` is the result of the next appends.
class StringWritableFile final : public WritableFile {
 public:
  absl::Status Append(std::string_view bytes) override {
    if (!append_status.ok()) return append_status;
    contents.append(bytes);
    appended_to_allocated.push_back(contents.size() <= allocated);
    append_sizes.push_back(bytes.size());
    return absl::OkStatus();
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    if (contents.size() < offset + bytes.size()) contents.resize(offset + bytes.size());
    contents.replace(offset, bytes.size(), bytes);
    return absl::OkStatus();
  }
  absl::Status Allocate(uint64_t offset, uint64_t length) override {
    ++allocations;
    // A call that fails has written a part.
    if (offset <= allocated) allocated = std::max(allocated, offset + (allocate_status.ok() ? length : length / 2));
    return allocate_status;
  }
  absl::Status SyncRange(uint64_t offset, uint64_t length) override {
    sync_ranges.emplace_back(offset, length);
    return absl::OkStatus();
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Truncate(uint64_t size) override {
    contents.resize(size);
    allocated = std::min(allocated, size);
    return truncate_status;
  }
  uint64_t Size() const override { return contents.size(); }
  absl::Status Close() override { return absl::OkStatus(); }

  std::string contents;
  absl::Status append_status;
  absl::Status allocate_status;
  absl::Status truncate_status;
  uint64_t allocations = 0;
  uint64_t allocated = 0;  // up to here
  std::vector<bool> appended_to_allocated;
  std::vector<size_t> append_sizes;
  std::vector<std::pair<uint64_t, uint64_t>> sync_ranges;
};

// The faults of a StringReadableFile's reads; shared by the test and the file, which the reader under test owns.
struct ReadFaults {
  // Returned by every read that touches [from, to), but for the first `well` reads of all.
  absl::Status status;
  uint64_t well = 0;
  uint64_t from = 0;
  uint64_t to = ~uint64_t{0};
  // The next this many reads of two bytes or more have a bit flipped.
  int flips = 0;
  // Returned when the size is asked for.
  absl::Status size_status;
  // Reads end here, though the file says that it is longer.
  uint64_t end = ~uint64_t{0};
  uint64_t reads = 0;
};

class StringReadableFile final : public ReadableFile {
 public:
  explicit StringReadableFile(std::shared_ptr<const std::string> contents, std::shared_ptr<ReadFaults> faults = nullptr)
      : contents_(std::move(contents)), faults_(std::move(faults)) {}
  explicit StringReadableFile(std::string contents)
      : StringReadableFile(std::make_shared<const std::string>(std::move(contents))) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    const size_t end = faults_ == nullptr ? contents_->size() : std::min<uint64_t>(faults_->end, contents_->size());
    const size_t n = offset >= end ? 0 : std::min<size_t>(length, end - offset);
    if (n > 0) std::memcpy(buffer, contents_->data() + offset, n);
    if (faults_ == nullptr) return n;
    ++faults_->reads;
    const bool fails = faults_->reads > faults_->well && offset < faults_->to && offset + length > faults_->from;
    if (fails && !faults_->status.ok()) return faults_->status;
    if (faults_->flips > 0 && n > 1) {
      --faults_->flips;
      buffer[n / 2] ^= 4;
    }
    return n;
  }
  absl::StatusOr<uint64_t> Size() const override {
    if (faults_ != nullptr && !faults_->size_status.ok()) return faults_->size_status;
    return contents_->size();
  }

 private:
  std::shared_ptr<const std::string> contents_;
  std::shared_ptr<ReadFaults> faults_;
};

}  // namespace sepal
