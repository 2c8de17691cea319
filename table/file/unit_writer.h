// Writes the units of a table to its file (table_format.h): each with a trailer, compressed if that pays, through one
// buffer in which they are also compressed.
//
// System calls can cost more than the bytes if they are made in the wrong way
// (docs/internals/decisions/0010-aligned-table-writes.md): therefore the file gets whole buffers, each at a multiple of
// its size, in space that was allocated before; and dirty bytes are handed to the disk early, so that the final sync
// finds little to do.
//
// Not safe for concurrent use. An error is final.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/file_system.h"
#include "sepal/options.h"
#include "table/file/table_format.h"
#include "util/memory/append_buffer.h"

namespace sepal {

class UnitWriter {
 public:
  // Begins at the start of `file`, which must outlive the writer. Requires a buffer of at least one byte; its memory
  // comes from `pool`, if there is one.
  UnitWriter(WritableFile* file, uint64_t table_id, size_t buffer_bytes, ReadyPages* pool = nullptr);

  // The offset of the next byte.
  uint64_t offset() const { return offset_; }
  size_t MemoryBytes() const { return buffer_.capacity(); }

  absl::Status Write(std::string_view bytes, BlockHandle* handle);
  // Writes the unit compressed if that saves an eighth.
  absl::Status WriteCompressed(std::string_view bytes, CompressionKind kind, BlockHandle* handle);
  // Appends bytes that are not a unit.
  absl::Status Append(std::string_view bytes);
  // Ends the file, which then has all bytes and no space beyond them. Nothing may be written afterwards.
  absl::Status Finish();

 private:
  absl::Status AppendTrailer(CompressionKind kind, uint32_t checksum);
  // Writes the beginning of the buffer, as far as it makes whole pieces.
  absl::Status WritePieces();
  absl::Status AppendPieces(std::string_view bytes);
  absl::Status AppendToFile(std::string_view bytes);
  absl::Status AllocateAhead(uint64_t end);
  absl::Status Allocate(uint64_t length);

  WritableFile* const file_;
  const uint64_t table_id_;
  const size_t piece_bytes_;
  AppendBuffer buffer_;
  uint64_t offset_ = 0;
  uint64_t appended_ = 0;        // bytes in the file
  uint64_t behind_ = 0;          // bytes whose write-out was started
  uint64_t allocated_ = 0;       // bytes with allocated space
  uint64_t most_allocated_ = 0;  // an upper bound of that, as failed calls may have allocated some
  bool allocates_ = true;
};

}  // namespace sepal
