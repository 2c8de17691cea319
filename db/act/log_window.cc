#include "db/act/log_window.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "util/mapped_memory.h"

namespace sepal {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kLargePageBytes = MappedMemory::kHugePageBytes;
constexpr uint64_t kMostSmallWindowBytes = uint64_t{1} << 20;
// Written while a window is made. Beyond it the writer writes faster than windows are made, and makes its own.
constexpr uint64_t kPatienceBytes = uint64_t{128} << 10;

uint64_t RoundDown(uint64_t offset, uint64_t multiple) { return offset / multiple * multiple; }

}  // namespace

LogWindow::LogWindow(uint64_t step_bytes, MemoryBudget* budget, TaskGroup* tasks)
    : small_window_bytes_(std::clamp(RoundDown(step_bytes / 4, kPageBytes), kPageBytes, kMostSmallWindowBytes)),
      budget_(budget),
      tasks_(tasks) {}

void LogWindow::SetFile(std::shared_ptr<WritableFile> file, bool enabled) {
  TakeNothing();
  Leave();
  file_ = std::move(file);
  enabled_ = enabled;
  large_end_ = 0;
  synced_in_pieces_.store(false, std::memory_order_relaxed);
}

bool LogWindow::Store(uint64_t offset, std::string_view header, std::string_view payload, uint64_t space) {
  // A store cannot report a full disk.
  if (offset + header.size() + payload.size() > RoundDown(space, kPageBytes)) return false;
  // What was stored before mapping failed is written again: the same bytes.
  return StorePieces(offset, header, space) && StorePieces(offset + header.size(), payload, space);
}

bool LogWindow::StorePieces(uint64_t offset, std::string_view bytes, uint64_t space) {
  if (synced_in_pieces() && offset < large_end_) {
    Unmap();
    return false;
  }
  while (!bytes.empty()) {
    if (!region_.Covers(offset) && !EnterWindowAt(offset, space)) return false;
    const std::string_view piece = bytes.substr(0, region_.begin + region_.size() - offset);
    region_.bytes->Store(offset - region_.begin, piece);
    offset += piece.size();
    bytes.remove_prefix(piece.size());
  }
  return true;
}

bool LogWindow::EnterWindowAt(uint64_t offset, uint64_t space) {
  if (!enabled_) return false;
  Region entered;
  uint64_t begin = offset;
  const Preparation prepared = TakePrepared(offset, &entered, &begin);
  Leave();
  if (prepared == Preparation::kUnderWay) return false;
  if (prepared == Preparation::kNone && !synced_in_pieces() && Prepare(offset, space)) return false;
  if (prepared != Preparation::kReady) {
    uint64_t end = 0;
    entered = Extent(begin, space, &end);
    // A sync that came meanwhile makes windows small.
    if (offset >= end) entered = Extent(offset, space, &end);
    enabled_ = MakeWindow(file_.get(), end, &entered);
    if (!enabled_) return false;
  }
  Replace(std::move(entered));
  if (region_.large) large_end_ = region_.begin + region_.size();
  if (WantsSpaceAhead()) (void)Prepare(region_.begin + region_.size(), space);
  return true;
}

bool LogWindow::MakeWindow(WritableFile* file, uint64_t end, Region* window) {
  absl::StatusOr<std::unique_ptr<MappedRegion>> bytes = file->Map(window->begin, end - window->begin);
  if (!bytes.ok()) return false;
  if (!(*bytes)->Populate()) return false;
  window->bytes = std::move(bytes).value();
  return true;
}

LogWindow::Preparation LogWindow::TakePrepared(uint64_t offset, Region* window, uint64_t* begin) {
  if (ahead_ == nullptr) return Preparation::kNone;
  bool failed = false;
  {
    MutexLock lock(&ahead_->mutex);
    failed = ahead_->failed;
    *window = std::move(ahead_->window);
  }
  const bool done = failed || window->bytes != nullptr;
  const bool synced = synced_in_pieces();
  if (!done && !synced && offset < std::min(ahead_->end, ahead_->begin + kPatienceBytes)) return Preparation::kUnderWay;
  if (!synced && offset < ahead_->end) *begin = ahead_->begin;
  ahead_ = nullptr;
  if (window->Covers(offset) && !(window->large && synced)) return Preparation::kReady;
  if (window->bytes != nullptr) UnmapBeside(std::move(window->bytes));
  return Preparation::kUnusable;
}

// What comes too late goes with the task, which is the last to know of it.
bool LogWindow::Prepare(uint64_t offset, uint64_t space) {
  if (tasks_ == nullptr || RoundDown(offset, kPageBytes) >= RoundDown(space, kPageBytes)) return false;
  uint64_t end = 0;
  Region window = Extent(offset, space, &end);
  auto ahead = std::make_shared<Ahead>(window.begin, end);
  const bool runs = tasks_->Run([ahead, window, file = file_]() mutable {
    const bool made = MakeWindow(file.get(), ahead->end, &window);
    MutexLock lock(&ahead->mutex);
    ahead->failed = !made;
    ahead->window = std::move(window);
  });
  if (runs) ahead_ = std::move(ahead);
  return runs;
}

LogWindow::Region LogWindow::Extent(uint64_t offset, uint64_t space, uint64_t* end) const {
  const uint64_t begin = RoundDown(offset, kPageBytes);
  const uint64_t boundary = RoundDown(begin, kLargePageBytes) + kLargePageBytes;
  // The first page has been written and synced with the header.
  const bool large = begin > 0 && boundary - begin == kLargePageBytes && !synced_in_pieces();
  *end = std::min({boundary, begin + (large ? kLargePageBytes : small_window_bytes_), RoundDown(space, kPageBytes)});
  return {.bytes = nullptr, .begin = begin, .large = large};
}

void LogWindow::OnSync(uint64_t bytes) {
  if (bytes < kLargePageBytes) synced_in_pieces_.store(true, std::memory_order_relaxed);
}

void LogWindow::Unmap() {
  TakeNothing();
  Replace({});
}

void LogWindow::TakeNothing() {
  Region unused;
  uint64_t begin = 0;
  (void)TakePrepared(UINT64_MAX, &unused, &begin);
}

// Unmaps beside the writer where that is possible.
void LogWindow::Leave() {
  if (region_.bytes != nullptr && tasks_ != nullptr) UnmapBeside(region_.bytes);
  Replace({});
}

// The file stays open until then.
void LogWindow::UnmapBeside(std::shared_ptr<MappedRegion> bytes) {
  (void)tasks_->Run([file = file_, bytes = std::move(bytes)]() mutable { bytes.reset(); });
}

void LogWindow::Replace(Region by) {
  if (budget_ != nullptr) {
    budget_->Release(MemoryPart::kLog, region_.size());
    budget_->Charge(MemoryPart::kLog, by.size());
  }
  region_ = std::move(by);
}

}  // namespace sepal
