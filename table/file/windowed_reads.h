// How checks read the units of a table, from front to back: from windows of the file. Data blocks and leaf pages are in
// two parts of it, each of which has a window. One thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/file/read_ahead.h"
#include "table/file/table_reader_impl.h"

namespace sepal {

class WindowedReads {
 public:
  explicit WindowedReads(const TableReader::Impl& table)
      : table_(table),
        blocks_(table, kBytes, kBytes, ReadAhead::For::kCompaction),
        leaves_(table, kLeafBytes, kLeafBytes, ReadAhead::For::kCompaction) {}

  // As BlockSource::Read, which is also used for units that are damaged in a window, or in none.
  absl::StatusOr<BlockBuffer> Read(BlockHandle handle, UnitKind kind, CompressionKind* stored_as = nullptr) {
    if (kind == UnitKind::kDataBlock) return ReadFrom(&blocks_, handle, kind, table_.data_bytes(), stored_as);
    if (kind == UnitKind::kLeafPage) return ReadFrom(&leaves_, handle, kind, table_.footer.root.offset, stored_as);
    return table_.source->Read(handle, kind, stored_as);
  }

 private:
  static constexpr uint64_t kBytes = uint64_t{1} << 20;
  static constexpr uint64_t kLeafBytes = uint64_t{256} << 10;

  absl::StatusOr<BlockBuffer> ReadFrom(ReadAhead* window, BlockHandle handle, UnitKind kind, uint64_t part_end,
                                       CompressionKind* stored_as) {
    std::string_view bytes = window->Find(handle);
    if (bytes.empty()) {
      window->Fill(handle, Travel::kForward, part_end);
      bytes = window->Find(handle);
    }
    if (!bytes.empty()) {
      absl::StatusOr<BlockBuffer> buffer = table_.source->Decode(handle, kind, bytes, stored_as);
      if (buffer.ok()) return buffer;
    }
    return table_.source->Read(handle, kind, stored_as);
  }

  const TableReader::Impl& table_;
  ReadAhead blocks_;
  ReadAhead leaves_;
};

}  // namespace sepal
