// Puts the units of a table into its file (table_format.h): each with a trailer, compressed where that pays, through
// one buffer in which they are compressed as well.
//
// What it asks of the file system costs more than the bytes, if it is asked in the wrong way
// (docs/internals/decisions/0010-aligned-table-writes.md): the file gets whole buffers, each at a multiple of its size,
// in space that was allocated before; and dirty bytes are handed to the disk early, so that the final sync finds little
// to do.
//
// One thread. An error is final.
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
  // At the beginning of `file`, which must outlive the writer. Requires a buffer of a byte at least; its memory is of
  // the `pool`, if there is one.
  UnitWriter(WritableFile* file, uint64_t table_id, size_t buffer_bytes, ChunkPool* pool = nullptr);

  // Of the next byte.
  uint64_t offset() const { return offset_; }
  size_t MemoryBytes() const { return buffer_.capacity(); }

  absl::Status Write(std::string_view bytes, BlockHandle* handle);
  // Compressed, where that saves an eighth.
  absl::Status WriteCompressed(std::string_view bytes, CompressionKind kind, BlockHandle* handle);
  // What is no unit.
  absl::Status Append(std::string_view bytes);
  // Nothing may be written any more. The file has all, and no space but for that.
  absl::Status Finish();

 private:
  absl::Status AppendTrailer(CompressionKind kind, uint32_t checksum);
  // What lies at the beginning of the buffer, as far as it makes whole pieces.
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
  uint64_t appended_ = 0;        // bytes that the file has
  uint64_t behind_ = 0;          // bytes whose write-out was asked for
  uint64_t allocated_ = 0;       // bytes for which there is space
  uint64_t most_allocated_ = 0;  // and may be, by calls that failed
  bool allocates_ = true;
};

}  // namespace sepal
