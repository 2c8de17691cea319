#include "util/files/posix_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/memory/mapped_memory.h"

namespace sepal {
namespace {

// A readahead call loads at most as much as the disk is set to read ahead, and ignores the rest. Few disks are set to
// less than this.
constexpr uint64_t kReadAheadPiece = uint64_t{128} << 10;

absl::StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return LastError().Of(path, "stat");
  return static_cast<uint64_t>(info.st_size);
}

// Offsets are signed in the operating system.
absl::Status CheckRange(uint64_t offset, uint64_t length, const std::string& path, std::string_view operation) {
  constexpr uint64_t kMax = INT64_MAX;
  if (offset > kMax || length > kMax - offset) return PosixError(EFBIG, path, operation);
  return absl::OkStatus();
}

// Reads until `length` bytes were read or the file ends. With O_DIRECT all arguments are aligned, and an unaligned
// result means the end of the file.
absl::StatusOr<size_t> ReadFully(int fd, const std::string& path, uint64_t offset, size_t length, char* buffer,
                                 uint64_t alignment) {
  size_t done = 0;
  while (done < length) {
    const ssize_t n =
        RetryInterrupted([&] { return ::pread(fd, buffer + done, length - done, static_cast<off_t>(offset + done)); });
    if (n < 0) return LastError().Of(path, absl::StrFormat("read %u bytes at %u", length, offset));
    if (n == 0) break;
    done += static_cast<size_t>(n);
    if (static_cast<uint64_t>(n) % alignment != 0) break;
  }
  return done;
}

// The smallest alignment that the kernel allows, since most disks have sectors of 512 bytes, and reading a block of two
// kilobytes by sectors takes half of what its pages take. May also be larger. 0: this file does not support direct
// reads.
uint64_t DirectAlignmentOf(int fd) {
#ifdef STATX_DIOALIGN
  struct statx info;
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 && (info.stx_mask & STATX_DIOALIGN) != 0) {
    const uint64_t alignment = std::max(info.stx_dio_mem_align, info.stx_dio_offset_align);
    const bool usual = alignment >= 512 && alignment <= kMostDirectAlignment && std::has_single_bit(alignment);
    if (alignment == 0 || usual) return alignment;
  }
#else
  (void)fd;
#endif
  return kDirectAlignment;
}

class PosixReadableFile final : public PosixReadable {
 public:
  PosixReadableFile(UniqueFd fd, std::string path) : PosixReadable(std::move(fd), std::move(path), 1) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    RETURN_IF_ERROR(CheckRange(offset, length, path(), "read"));
    return ReadFully(fd(), path(), offset, length, buffer, 1);
  }
  absl::StatusOr<uint64_t> Size() const override { return SizeOf(fd(), path()); }
  size_t ReadCached(uint64_t offset, size_t length, char* buffer) const override {
    if (!CheckRange(offset, length, path(), "read").ok()) return 0;
    const iovec part = {.iov_base = buffer, .iov_len = length};
    return static_cast<size_t>(std::max<ssize_t>(0, ::preadv2(fd(), &part, 1, static_cast<off_t>(offset), RWF_NOWAIT)));
  }
  void Advise(AccessPattern pattern) const override {
    const int advice = pattern == AccessPattern::kSequential ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM;
    (void)::posix_fadvise(fd(), 0, 0, advice);
  }
  void ReadAhead(uint64_t offset, uint64_t length) const override {
    if (!CheckRange(offset, length, path(), "read").ok()) return;
    const absl::StatusOr<uint64_t> size = Size();
    if (!size.ok()) return;
    for (uint64_t at = offset, end = std::min(offset + length, *size); at < end; at += kReadAheadPiece) {
      const uint64_t piece = std::min(kReadAheadPiece, end - at);
      (void)::posix_fadvise(fd(), static_cast<off_t>(at), static_cast<off_t>(piece), POSIX_FADV_WILLNEED);
    }
  }
};

class PosixDirectFile final : public PosixReadable {
 public:
  PosixDirectFile(UniqueFd fd, std::string path, uint64_t alignment)
      : PosixReadable(std::move(fd), std::move(path), alignment) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    RETURN_IF_ERROR(CheckRange(offset, length, path(), "read"));
    if (length == 0) return size_t{0};
    if ((offset | length | reinterpret_cast<uintptr_t>(buffer)) % alignment() == 0) {
      return ReadFully(fd(), path(), offset, length, buffer, alignment());
    }
    return ReadThroughBounce(offset, length, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override { return SizeOf(fd(), path()); }

 private:
  absl::StatusOr<size_t> ReadThroughBounce(uint64_t offset, size_t length, char* buffer) const {
    const AlignedRange range = AlignedRange::Around(offset, length, alignment());
    const size_t bounce_bytes = std::min(range.length, kMaxBounceBytes);
    const AlignedBytes bounce = MakeAligned(bounce_bytes, alignment());
    if (bounce == nullptr) return PosixError(ENOMEM, path(), "direct read");
    size_t done = 0;
    uint64_t position = range.offset;
    while (done < length) {
      ASSIGN_OR_RETURN(const size_t got, ReadFully(fd(), path(), position, bounce_bytes, bounce.get(), alignment()));
      const size_t skip = static_cast<size_t>(offset + done - position);
      if (got <= skip) break;
      const size_t take = std::min(got - skip, length - done);
      std::memcpy(buffer + done, bounce.get() + skip, take);
      done += take;
      position += got;
      if (got < bounce_bytes) break;
    }
    return done;
  }
};

}  // namespace

bool MayBeMapped(int64_t file_system_kind) {
  constexpr int64_t kKnown[] = {EXT4_SUPER_MAGIC /* also ext2 and ext3 */, XFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
                                TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
  return std::find(std::begin(kKnown), std::end(kKnown), file_system_kind) != std::end(kKnown);
}

namespace {

class PosixMappedRegion final : public MappedRegion {
 public:
  PosixMappedRegion(char* base, size_t size) : base_(base), size_(size) {}
  ~PosixMappedRegion() override { ::munmap(base_, size_); }
  PosixMappedRegion(const PosixMappedRegion&) = delete;
  PosixMappedRegion& operator=(const PosixMappedRegion&) = delete;

  void Store(size_t offset, std::string_view bytes) override {
    SEPAL_CHECK(offset <= size_ && bytes.size() <= size_ - offset);
    if (!bytes.empty()) std::memcpy(base_ + offset, bytes.data(), bytes.size());
  }
  // Beyond the end of a file that was made shorter, the system refuses and does nothing.
  bool Populate() override { return PopulatePages(base_, size_); }
  bool Lock() override { return ::mlock(base_, size_) == 0; }
  std::string_view Contents() const override { return std::string_view(base_, size_); }

 private:
  char* const base_;
  const size_t size_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(UniqueFd fd, std::string path, uint64_t size)
      : fd_(std::move(fd)), path_(std::move(path)), size_(size) {}

  absl::Status Append(std::string_view bytes) override {
    RETURN_IF_ERROR(WriteFully(size_, bytes, "append"));
    size_ += bytes.size();
    return absl::OkStatus();
  }

  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    RETURN_IF_ERROR(WriteFully(offset, bytes, "write"));
    if (!bytes.empty()) size_ = std::max(size_, offset + bytes.size());
    return absl::OkStatus();
  }

  absl::Status Allocate(uint64_t offset, uint64_t length) override {
    RETURN_IF_ERROR(CheckUse(offset, length, "allocate"));
    if (length == 0) return absl::OkStatus();
    const int result = RetryInterrupted([&] {
      return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(length));
    });
    if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return absl::OkStatus();
    return LastError().Of(path_, absl::StrFormat("allocate %u bytes at %u", length, offset));
  }

  absl::Status SyncRange(uint64_t offset, uint64_t length) override {
    RETURN_IF_ERROR(CheckUse(offset, length, "sync range"));
    if (length == 0) return absl::OkStatus();  // For the operating system it means "to the end".
    const int result = RetryInterrupted([&] {
      return ::sync_file_range(fd_.get(), static_cast<off_t>(offset), static_cast<off_t>(length),
                               SYNC_FILE_RANGE_WRITE);
    });
    if (result == 0 || errno == ENOSYS || errno == ESPIPE) return absl::OkStatus();
    return LastError().Of(path_, "sync range");
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(CheckUse(0, 0, "sync"));
    if (RetryInterrupted([&] { return ::fdatasync(fd_.get()); }) != 0) return LastError().Of(path_, "sync");
    return absl::OkStatus();
  }

  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(CheckUse(size, 0, "truncate"));
    if (RetryInterrupted([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0) {
      return LastError().Of(path_, absl::StrFormat("truncate to %u", size));
    }
    size_ = size;
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length) override {
    RETURN_IF_ERROR(CheckUse(offset, length, "map"));
    ASSIGN_OR_RETURN(const uint64_t file_size, SizeOf(fd_.get(), path_));
    if (length == 0 || offset + length > file_size) {
      return absl::InvalidArgumentError(
          absl::StrFormat("%s: map %u bytes at %u: the file has %u bytes", path_, length, offset, file_size));
    }
    void* base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), static_cast<off_t>(offset));
    if (base == MAP_FAILED) return LastError().Of(path_, absl::StrFormat("map %u bytes at %u", length, offset));
    // Asks for large pages in the page cache of the file if whole ones fit.
    constexpr uint64_t kLarge = MappedMemory::kHugePageBytes;
    if (offset % kLarge == 0 && length % kLarge == 0) (void)::madvise(base, length, MADV_HUGEPAGE);
    return std::make_unique<PosixMappedRegion>(static_cast<char*>(base), length);
  }

  uint64_t Size() const override { return size_; }

  absl::Status Close() override {
    RETURN_IF_ERROR(CheckUse(0, 0, "close"));
    const int error = fd_.Close();
    return error == 0 ? absl::OkStatus() : PosixError(error, path_, "close");
  }

 private:
  absl::Status CheckUse(uint64_t offset, uint64_t length, std::string_view operation) const {
    if (!fd_.valid()) {
      return absl::FailedPreconditionError(absl::StrFormat("%s: %s: the file is closed", path_, operation));
    }
    return CheckRange(offset, length, path_, operation);
  }

  absl::Status WriteFully(uint64_t offset, std::string_view bytes, std::string_view operation) {
    RETURN_IF_ERROR(CheckUse(offset, bytes.size(), operation));
    while (!bytes.empty()) {
      const ssize_t n =
          RetryInterrupted([&] { return ::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
      if (n < 0) return LastError().Of(path_, absl::StrFormat("%s %u bytes at %u", operation, bytes.size(), offset));
      if (n == 0) return PosixError(EIO, path_, operation);
      bytes.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  UniqueFd fd_;
  const std::string path_;
  uint64_t size_;
};

}  // namespace

std::unique_ptr<ReadableFile> MakePosixReadableFile(UniqueFd fd, std::string path) {
  return std::make_unique<PosixReadableFile>(std::move(fd), std::move(path));
}

absl::StatusOr<std::unique_ptr<ReadableFile>> MakePosixDirectFile(UniqueFd fd, std::string path) {
  const uint64_t alignment = DirectAlignmentOf(fd.get());
  if (alignment == 0) return absl::UnimplementedError(absl::StrFormat("%s: open: no direct reads of this file", path));
  return std::make_unique<PosixDirectFile>(std::move(fd), std::move(path), alignment);
}

std::unique_ptr<WritableFile> MakePosixWritableFile(UniqueFd fd, std::string path, uint64_t size) {
  return std::make_unique<PosixWritableFile>(std::move(fd), std::move(path), size);
}

}  // namespace sepal
