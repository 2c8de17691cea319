#include "db/act/log_window.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "util/mapped_memory.h"

namespace sepal {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kLargePageBytes = MappedMemory::kHugePageBytes;
constexpr uint64_t kSmallWindowBytes = uint64_t{1} << 20;

uint64_t RoundDown(uint64_t offset, uint64_t multiple) { return offset / multiple * multiple; }

}  // namespace

void LogWindow::SetFile(std::shared_ptr<WritableFile> file, bool enabled) {
  Unmap();
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
  if (synced_in_pieces_.load(std::memory_order_relaxed) && offset < large_end_) {
    Unmap();
    return false;
  }
  while (!bytes.empty()) {
    if (!Covers(offset) && !MapAt(offset, space)) return false;
    const std::string_view piece = bytes.substr(0, end() - offset);
    region_->Store(offset - begin_, piece);
    offset += piece.size();
    bytes.remove_prefix(piece.size());
  }
  return true;
}

bool LogWindow::MapAt(uint64_t offset, uint64_t space) {
  if (!enabled_) return false;
  const uint64_t begin = RoundDown(offset, kPageBytes);
  const uint64_t boundary = RoundDown(begin, kLargePageBytes) + kLargePageBytes;
  // The first page has been written and synced with the header.
  const bool large =
      begin > 0 && boundary - begin == kLargePageBytes && !synced_in_pieces_.load(std::memory_order_relaxed);
  const uint64_t end =
      std::min({boundary, begin + (large ? kLargePageBytes : kSmallWindowBytes), RoundDown(space, kPageBytes)});
  Unmap();
  absl::StatusOr<std::unique_ptr<MappedRegion>> region = file_->Map(begin, end - begin);
  enabled_ = region.ok();
  if (!enabled_) return false;
  Replace(std::move(region).value(), begin);
  if (large) large_end_ = end;
  return true;
}

void LogWindow::OnSync(uint64_t bytes) {
  if (bytes < kLargePageBytes) synced_in_pieces_.store(true, std::memory_order_relaxed);
}

void LogWindow::Replace(std::unique_ptr<MappedRegion> region, uint64_t begin) {
  const auto bytes = [](const auto& mapped) { return mapped != nullptr ? mapped->Contents().size() : 0; };
  if (budget_ != nullptr) {
    budget_->Release(MemoryPart::kLog, bytes(region_));
    budget_->Charge(MemoryPart::kLog, bytes(region));
  }
  region_ = std::move(region);
  begin_ = begin;
}

}  // namespace sepal
