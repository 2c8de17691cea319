// Goes through a table that may be damaged, reads what can be read, and finds what cannot.
#include <utility>

#include "table/block/block.h"
#include "table/block/block_cursor.h"
#include "table/file/table_reader.h"
#include "table/file/table_reader_impl.h"
#include "table/file/windowed_reads.h"
#include "util/base/status.h"

namespace sepal {
namespace {

InternalKey BoundOf(const Separator& separator) {
  return InternalKey(separator.user_key, separator.has_trailer ? separator.trailer : kLastTrailer);
}

// Reads the leaf pages and data blocks from front to back.
struct Walk {
  const TableReader::Impl& table;
  WindowedReads* const reads;
  // Called before each unit. May be null.
  const std::function<bool(uint64_t bytes)>& go_on;
  const std::function<void(const TableReader::Gap&)>& gap;
  // Whether the first failure other than damage ends the walk; otherwise it counts as a gap too.
  const bool ends_without_damage;

  absl::StatusOr<BlockBuffer> Read(BlockHandle handle, UnitKind kind) const {
    if (go_on != nullptr && !go_on(handle.size + kUnitTrailerBytes))
      return absl::CancelledError("scrubbing was cancelled");
    return reads->Read(handle, kind);
  }
  absl::StatusOr<BlockBuffer> ReadLeaf(uint32_t page) const {
    ASSIGN_OR_RETURN(BlockBuffer bytes, Read(table.root->handle(page), UnitKind::kLeafPage));
    RETURN_IF_ERROR(table.CheckPlace(page, IndexPageView(bytes.view())));
    return bytes;
  }
  absl::StatusOr<BlockBuffer> ReadBlock(uint32_t page, const IndexPageView& leaf, uint32_t i) const {
    ASSIGN_OR_RETURN(BlockBuffer bytes, Read(leaf.handle(i), UnitKind::kDataBlock));
    std::string key;
    RETURN_IF_ERROR(table.CheckPlace(page, leaf, i, bytes.view(), &key));
    return bytes;
  }

  // Reports what cannot be read, or returns what ends the walk.
  absl::Status StepOver(const TableReader::Gap& unread) const {
    const bool ends = ends_without_damage ? !absl::IsDataLoss(unread.status) : absl::IsCancelled(unread.status);
    if (ends) return unread.status;
    gap(unread);
    return absl::OkStatus();
  }

  // Calls `block` with the bytes of every intact data block; its first error ends the walk.
  template <class Block>
  absl::Status Run(const Block& block) const {
    std::optional<InternalKey> after;
    for (uint32_t page = 0; page < table.root->count(); ++page) {
      const absl::StatusOr<BlockBuffer> page_bytes = ReadLeaf(page);
      if (!page_bytes.ok()) {
        InternalKey through = BoundOf(table.root->separator(page));
        RETURN_IF_ERROR(StepOver(
            {.handle = table.root->handle(page), .after = after, .through = through, .status = page_bytes.status()}));
        after = std::move(through);
        continue;
      }
      const IndexPageView leaf(page_bytes->view());
      for (uint32_t i = 0; i < leaf.count(); ++i) {
        InternalKey through = BoundOf(leaf.separator(i));
        const absl::StatusOr<BlockBuffer> bytes = ReadBlock(page, leaf, i);
        if (bytes.ok()) {
          RETURN_IF_ERROR(block(bytes->view()));
        } else {
          RETURN_IF_ERROR(
              StepOver({.handle = leaf.handle(i), .after = after, .through = through, .status = bytes.status()}));
        }
        after = std::move(through);
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status TableReader::Salvage(const std::function<absl::Status(InternalKeyView key, std::string_view value)>& entry,
                                  const std::function<void(const Gap&)>& gap) const {
  const std::function<bool(uint64_t)> unhindered;
  WindowedReads reads(*impl_);
  return Walk{*impl_, &reads, unhindered, gap, /*ends_without_damage=*/true}.Run([&](std::string_view bytes) {
    BlockCursor cursor;
    cursor.Attach(bytes, impl_->options.order);
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) RETURN_IF_ERROR(entry(cursor.key(), cursor.value()));
    return absl::OkStatus();
  });
}

absl::Status TableReader::Scrub(const std::function<bool(uint64_t bytes)>& go_on,
                                const std::function<void(const Gap&)>& gap) const {
  WindowedReads reads(*impl_);
  const Walk walk{*impl_, &reads, go_on, gap, /*ends_without_damage=*/false};
  if (impl_->has_guard()) {
    const absl::StatusOr<BlockBuffer> guard = walk.Read(impl_->footer.guard, UnitKind::kGuard);
    if (!guard.ok()) {
      RETURN_IF_ERROR(
          walk.StepOver({.handle = impl_->footer.guard, .after = {}, .through = {}, .status = guard.status()}));
    }
  }
  return walk.Run([](std::string_view) { return absl::OkStatus(); });
}

}  // namespace sepal
