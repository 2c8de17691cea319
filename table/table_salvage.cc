// Reading what can be read of a damaged table.
#include <utility>

#include "table/block.h"
#include "table/block_cursor.h"
#include "table/table_reader.h"
#include "table/table_reader_impl.h"
#include "util/status.h"

namespace sepal {
namespace {

InternalKey BoundOf(const Separator& separator) {
  return InternalKey(separator.user_key, separator.has_trailer ? separator.trailer : kLastTrailer);
}

}  // namespace

absl::Status TableReader::Salvage(const std::function<absl::Status(InternalKeyView key, std::string_view value)>& entry,
                                  const std::function<void(const Gap&)>& gap) const {
  std::optional<InternalKey> after;
  for (uint32_t page = 0; page < impl_->root->count(); ++page) {
    const BlockHandle page_handle = impl_->root->handle(page);
    const absl::StatusOr<BlockBuffer> page_bytes = impl_->source->Read(page_handle, UnitKind::kLeafPage);
    if (!page_bytes.ok()) {
      InternalKey through = BoundOf(impl_->root->separator(page));
      gap({.handle = page_handle, .after = after, .through = through, .status = page_bytes.status()});
      after = std::move(through);
      continue;
    }
    const IndexPageView leaf(page_bytes->view());
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      const BlockHandle handle = leaf.handle(i);
      InternalKey through = BoundOf(leaf.separator(i));
      const absl::StatusOr<BlockBuffer> bytes = impl_->source->Read(handle, UnitKind::kDataBlock);
      if (!bytes.ok()) {
        gap({.handle = handle, .after = after, .through = through, .status = bytes.status()});
      } else {
        BlockCursor cursor;
        cursor.Attach(bytes->view(), impl_->options.order);
        for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) RETURN_IF_ERROR(entry(cursor.key(), cursor.value()));
      }
      after = std::move(through);
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal
