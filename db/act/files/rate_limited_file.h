// A table file that is written no faster than a rate limiter allows.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "sepal/env.h"
#include "sepal/file_system.h"
#include "util/stats/statistics_impl.h"
#include "util/thread/rate_limiter.h"

namespace sepal {

// How writes are paced. The pointers must outlive the job.
struct Pacing {
  RateLimiter* limiter = nullptr;  // null: writes are not paced
  Executor::Priority priority = Executor::Priority::kCompaction;
  StatisticsImpl* statistics = nullptr;  // counts the waiting; set if `limiter` is
};

// Passes everything on; an append waits first. Not safe for concurrent use.
class RateLimitedFile final : public WritableFile {
 public:
  // Requires a limiter.
  RateLimitedFile(std::unique_ptr<WritableFile> base, const Pacing& pacing) : base_(std::move(base)), pacing_(pacing) {}

  absl::Status Append(std::string_view bytes) override {
    const uint64_t waited_micros = pacing_.limiter->Take(bytes.size(), pacing_.priority);
    if (waited_micros > 0) pacing_.statistics->Add(Ticker::kPacedMicros, waited_micros);
    return base_->Append(bytes);
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override { return base_->WriteAt(offset, bytes); }
  absl::Status Allocate(uint64_t offset, uint64_t length) override { return base_->Allocate(offset, length); }
  absl::Status SyncRange(uint64_t offset, uint64_t length) override { return base_->SyncRange(offset, length); }
  absl::Status Sync() override { return base_->Sync(); }
  absl::Status Truncate(uint64_t size) override { return base_->Truncate(size); }
  uint64_t Size() const override { return base_->Size(); }
  absl::Status Close() override { return base_->Close(); }

 private:
  const std::unique_ptr<WritableFile> base_;
  const Pacing pacing_;
};

}  // namespace sepal
