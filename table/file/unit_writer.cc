#include "table/file/unit_writer.h"

#include <algorithm>
#include <utility>

#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/compression.h"
#include "util/base/status.h"

namespace sepal {
namespace {

constexpr uint64_t kWriteBehindBytes = uint64_t{2} << 20;
// Space is allocated ahead in proportion to the size of the file, within these numbers of pieces.
constexpr uint64_t kLeastPiecesAhead = 4;
constexpr uint64_t kMostPiecesAhead = 16;
// Room for a block of the usual size after a buffer that is nearly full.
constexpr size_t kRoomToCompress = size_t{8} << 10;

}  // namespace

UnitWriter::UnitWriter(WritableFile* file, uint64_t table_id, size_t buffer_bytes, ReadyPages* pool)
    : file_(file), table_id_(table_id), piece_bytes_(buffer_bytes), buffer_(pool) {
  SEPAL_CHECK(piece_bytes_ > 0);
  buffer_.Room(piece_bytes_ + kRoomToCompress);
}

absl::Status UnitWriter::Write(std::string_view bytes, BlockHandle* handle) {
  // A reader would refuse the file.
  if (bytes.size() > kMaxUnitBytes) return absl::InternalError("a unit of a table is larger than any may be");
  *handle = {offset_, bytes.size()};
  const uint32_t checksum = UnitChecksum(bytes, CompressionKind::kNone, table_id_, offset_);
  RETURN_IF_ERROR(Append(bytes));
  return AppendTrailer(CompressionKind::kNone, checksum);
}

absl::Status UnitWriter::WriteCompressed(std::string_view bytes, CompressionKind kind, BlockHandle* handle) {
  if (kind == CompressionKind::kNone || bytes.size() > kMaxCompressibleBytes) return Write(bytes, handle);
  char* const room = buffer_.Room(MaxCompressedSize(kind, bytes.size()));
  ASSIGN_OR_RETURN(const size_t size, Compress(kind, bytes, room));
  if (size > bytes.size() - bytes.size() / 8) return Write(bytes, handle);
  *handle = {offset_, size};
  const uint32_t checksum = UnitChecksum({room, size}, kind, table_id_, offset_);
  buffer_.Extend(size);
  offset_ += size;
  RETURN_IF_ERROR(WritePieces());
  return AppendTrailer(kind, checksum);
}

absl::Status UnitWriter::AppendTrailer(CompressionKind kind, uint32_t checksum) {
  char trailer[kUnitTrailerBytes];
  trailer[0] = static_cast<char>(kind);
  EncodeFixed32(trailer + 1, checksum);
  return Append({trailer, sizeof trailer});
}

absl::Status UnitWriter::Append(std::string_view bytes) {
  offset_ += bytes.size();
  if (buffer_.size() + bytes.size() >= piece_bytes_) {
    const std::string_view head = bytes.substr(0, piece_bytes_ - buffer_.size());
    buffer_.Append(head);
    bytes.remove_prefix(head.size());
    RETURN_IF_ERROR(WritePieces());
    // Whole pieces need not go through the buffer.
    const std::string_view pieces = bytes.substr(0, bytes.size() / piece_bytes_ * piece_bytes_);
    RETURN_IF_ERROR(AppendPieces(pieces));
    bytes.remove_prefix(pieces.size());
  }
  buffer_.Append(bytes);
  return absl::OkStatus();
}

absl::Status UnitWriter::WritePieces() {
  const size_t whole = buffer_.size() / piece_bytes_ * piece_bytes_;
  if (whole == 0) return absl::OkStatus();
  RETURN_IF_ERROR(AppendPieces(buffer_.view().substr(0, whole)));
  buffer_.DropFront(whole);
  return absl::OkStatus();
}

absl::Status UnitWriter::AppendPieces(std::string_view bytes) {
  if (bytes.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(AllocateAhead(appended_ + bytes.size()));
  return AppendToFile(bytes);
}

// Writing to allocated space costs less than writing to space that is promised page by page and found when the bytes go
// to the disk.
absl::Status UnitWriter::AllocateAhead(uint64_t end) {
  if (!allocates_ || end <= allocated_) return absl::OkStatus();
  const uint64_t ahead = std::clamp(appended_, kLeastPiecesAhead * piece_bytes_, kMostPiecesAhead * piece_bytes_);
  const uint64_t needed = end - allocated_;
  absl::Status status = Allocate(std::max(needed, ahead));
  if (absl::IsResourceExhausted(status)) status = Allocate(needed);
  if (!absl::IsResourceExhausted(status)) return status;
  // What is left may be enough for the bytes themselves.
  allocates_ = false;
  return absl::OkStatus();
}

// A failed call may have allocated a part.
absl::Status UnitWriter::Allocate(uint64_t length) {
  const absl::Status status = file_->Allocate(allocated_, length);
  most_allocated_ = std::max(most_allocated_, allocated_ + length);
  if (status.ok()) allocated_ += length;
  return status;
}

absl::Status UnitWriter::AppendToFile(std::string_view bytes) {
  RETURN_IF_ERROR(file_->Append(bytes));
  appended_ += bytes.size();
  if (appended_ - behind_ < kWriteBehindBytes) return absl::OkStatus();
  const uint64_t begin = std::exchange(behind_, appended_);
  return file_->SyncRange(begin, appended_ - begin);
}

absl::Status UnitWriter::Finish() {
  if (!buffer_.empty()) RETURN_IF_ERROR(AppendToFile(buffer_.view()));
  buffer_.Clear();
  if (most_allocated_ <= appended_) return absl::OkStatus();
  const absl::Status cut = file_->Truncate(appended_);
  // A disk so full that it cannot even release space is no reason to write everything again.
  return absl::IsResourceExhausted(cut) ? absl::OkStatus() : cut;
}

}  // namespace sepal
