#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "sepal/file_system.h"
#include "util/base/status.h"
#include "util/files/paths.h"
#include "util/files/posix_file.h"
#include "util/files/posix_status.h"
#include "util/files/read_many.h"
#include "util/files/sync_many.h"

namespace sepal {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
// O_NONBLOCK keeps the opening of a pipe from blocking; see OpenToRead.
constexpr int kOpenFlags = O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;

bool SameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// Takes an open-file-description lock. It belongs to the opening, so that two openings within one process exclude each
// other, and closing another descriptor does not release it.
bool SetLock(int fd, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return RetryInterrupted([&] { return ::fcntl(fd, F_OFD_SETLK, &lock); }) == 0;
}

class PosixDirectoryLock final : public DirectoryLock {
 public:
  // The lock owns `directory_fd`.
  PosixDirectoryLock(UniqueFd fd, UniqueFd directory_fd, std::string name, std::string path)
      : fd_(std::move(fd)),
        directory_fd_(std::move(directory_fd)),
        name_(std::move(name)),
        path_(std::move(path)),
        owner_(::getpid()) {}

  // A forked child shares the lock: only the owner releases it, and then for every process that inherited the
  // descriptor.
  ~PosixDirectoryLock() override {
    if (::getpid() == owner_) (void)SetLock(fd_.get(), F_UNLCK);
  }

  absl::Status Check() const override {
    if (::getpid() != owner_) {
      return absl::FailedPreconditionError(absl::StrFormat(
          "%s: locked by process %d, which forked this one: open the database after the fork", path_, owner_));
    }
    struct stat held;
    struct stat named;
    if (::fstat(fd_.get(), &held) != 0) return LastError().Of(path_, "stat");
    if (::fstatat(directory_fd_.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return LastError().Of(path_, "stat");
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: the lock file is gone; another process may write here", path_));
    }
    if (!SameFile(held, named)) {
      return absl::FailedPreconditionError(
          absl::StrFormat("%s: the lock file was replaced; another process may write here", path_));
    }
    return absl::OkStatus();
  }

 private:
  const UniqueFd fd_;
  const UniqueFd directory_fd_;
  const std::string name_;
  const std::string path_;
  const pid_t owner_;
};

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Capabilities capabilities() const override;
  const std::string& path() const override { return path_; }
  std::string Identity() const override;
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override {
    ReadManyPosix(requests, done);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override;
  absl::Status SyncMany(std::span<WritableFile* const> files) override { return SyncManyByThreads(files); }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override;
  absl::Status Remove(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override;
  absl::Status Sync() override;
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override;
  absl::StatusOr<uint64_t> FreeBytes() override;

 private:
  std::string PathOf(std::string_view name) const { return absl::StrFormat("%s/%s", path_, name); }
  absl::StatusOr<UniqueFd> OpenAt(std::string_view name, int flags, struct stat* info);
  // `direct`: O_DIRECT or 0.
  absl::StatusOr<UniqueFd> OpenToRead(std::string_view name, int direct);
  absl::Status LockIsTaken(int fd, const std::string& path) const;
  Capabilities Probe(bool* for_good) const;

  const UniqueFd fd_;
  const std::string path_;
  // Bits: 1 probed, 2 allocate, 4 direct reads, 8 map. If two threads probe at once, they get the same result.
  mutable std::atomic<unsigned> probed_{0};
};

std::string PosixDirectory::Identity() const {
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) return path_;
  return absl::StrFormat("%d:%d", status.st_dev, status.st_ino);
}

Capabilities PosixDirectory::capabilities() const {
  const unsigned known = probed_.load(std::memory_order_relaxed);
  if (known != 0) {
    return {.map = (known & 8) != 0, .hard_link = true, .allocate = (known & 2) != 0, .direct_reads = (known & 4) != 0};
  }
  bool for_good = true;
  const Capabilities found = Probe(&for_good);
  if (!for_good) return found;
  probed_.store(1u | (found.allocate ? 2u : 0u) | (found.direct_reads ? 4u : 0u) | (found.map ? 8u : 0u),
                std::memory_order_relaxed);
  return found;
}

// Errors that may be gone in a moment.
bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC || error == EDQUOT;
}

// Tests an unnamed file. If none can be created, no capability is promised. If that may change soon, a caller that
// wants direct reads gets the error from the file that it opens.
Capabilities PosixDirectory::Probe(bool* for_good) const {
  struct statfs kind = {};
  Capabilities found = {.map = ::fstatfs(fd_.get(), &kind) == 0 && MayBeMapped(kind.f_type), .hard_link = true};
  UniqueFd file(::openat(fd_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, kFileMode));
  if (!file.valid()) {
    *for_good = !IsShortage(errno);
    found.direct_reads = !*for_good;
    return found;
  }
  const int allocated = RetryInterrupted([&] { return ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, 4096); });
  found.allocate = allocated == 0 || errno == ENOSPC || errno == EDQUOT;
  found.direct_reads = ::fcntl(file.get(), F_SETFL, O_DIRECT) == 0;
  return found;
}

absl::StatusOr<UniqueFd> PosixDirectory::OpenAt(std::string_view name, int flags, struct stat* info) {
  RETURN_IF_ERROR(CheckFileName(path_, name));
  const std::string name_text(name);
  UniqueFd fd(RetryInterrupted([&] { return ::openat(fd_.get(), name_text.c_str(), flags | kOpenFlags, kFileMode); }));
  if (!fd.valid()) return LastError().Of(PathOf(name), "open");
  if (::fstat(fd.get(), info) != 0) return LastError().Of(PathOf(name), "stat");
  if (!S_ISREG(info->st_mode)) {
    return absl::FailedPreconditionError(absl::StrFormat("%s: not a regular file", PathOf(name)));
  }
  return fd;
}

// Reads of a regular file ignore O_NONBLOCK, except through io_uring before Linux 6.5 on disks that cannot tell whether
// a read would wait: there it refuses data outside of the page cache instead of having a thread read it.
absl::StatusOr<UniqueFd> PosixDirectory::OpenToRead(std::string_view name, int direct) {
  struct stat info;
  ASSIGN_OR_RETURN(UniqueFd fd, OpenAt(name, O_RDONLY | direct, &info));
  (void)::fcntl(fd.get(), F_SETFL, direct);
  return fd;
}

absl::StatusOr<std::unique_ptr<ReadableFile>> PosixDirectory::OpenForRead(std::string_view name, ReadMode mode) {
  if (mode == ReadMode::kBuffered) {
    ASSIGN_OR_RETURN(UniqueFd fd, OpenToRead(name, 0));
    return MakePosixReadableFile(std::move(fd), PathOf(name));
  }
  absl::StatusOr<UniqueFd> fd = OpenToRead(name, O_DIRECT);
  if (absl::IsInvalidArgument(fd.status()) && CheckFileName(path_, name).ok()) {
    return absl::UnimplementedError(absl::StrFormat("%s: open: no direct reads on this file system", PathOf(name)));
  }
  RETURN_IF_ERROR(fd.status());
  return MakePosixDirectFile(*std::move(fd), PathOf(name));
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixDirectory::OpenForWrite(std::string_view name, WriteMode mode,
                                                                           FileUse) {
  struct stat info;
  const int flags = mode == WriteMode::kCreateNew ? O_RDWR | O_CREAT | O_EXCL : O_RDWR;
  ASSIGN_OR_RETURN(UniqueFd fd, OpenAt(name, flags, &info));
  return MakePosixWritableFile(std::move(fd), PathOf(name), static_cast<uint64_t>(info.st_size));
}

absl::StatusOr<std::vector<DirectoryEntry>> PosixDirectory::List() {
  // Listing changes the position of a descriptor, so it uses one of its own.
  const int fd = RetryInterrupted([&] { return ::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return LastError().Of(path_, "list");
  DIR* stream = ::fdopendir(fd);
  if (stream == nullptr) {
    const int error = errno;
    ::close(fd);
    return PosixError(error, path_, "list");
  }
  std::vector<DirectoryEntry> entries;
  absl::Status status;
  while (status.ok()) {
    errno = 0;
    const struct dirent* entry = ::readdir(stream);
    if (entry == nullptr) {
      if (errno != 0) status = LastError().Of(path_, "list");
      break;
    }
    struct stat info;
    if (::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) status = LastError().Of(PathOf(entry->d_name), "stat");
    } else if (S_ISREG(info.st_mode)) {
      entries.push_back({.name = entry->d_name, .size_bytes = static_cast<uint64_t>(info.st_size)});
    }
  }
  ::closedir(stream);
  RETURN_IF_ERROR(status);
  return entries;
}

absl::Status PosixDirectory::Remove(std::string_view name) {
  RETURN_IF_ERROR(CheckFileName(path_, name));
  if (::unlinkat(fd_.get(), std::string(name).c_str(), 0) != 0) return LastError().Of(PathOf(name), "remove");
  return absl::OkStatus();
}

absl::Status PosixDirectory::Rename(std::string_view from, std::string_view to) {
  RETURN_IF_ERROR(CheckFileName(path_, from));
  RETURN_IF_ERROR(CheckFileName(path_, to));
  const std::string from_text(from);
  const std::string to_text(to);
  int result = ::renameat2(fd_.get(), from_text.c_str(), fd_.get(), to_text.c_str(), RENAME_NOREPLACE);
  if (result != 0 && errno == EINVAL) {
    // The file system or the kernel does not know the flag. A link never replaces a file either.
    result = ::linkat(fd_.get(), from_text.c_str(), fd_.get(), to_text.c_str(), 0);
    if (result == 0) result = ::unlinkat(fd_.get(), from_text.c_str(), 0);
  }
  if (result == 0) return absl::OkStatus();
  return LastError().Of(PathOf(from), absl::StrFormat("rename to %s", to));
}

absl::Status PosixDirectory::Link(std::string_view name, Directory& target, std::string_view new_name) {
  auto* posix_target = dynamic_cast<PosixDirectory*>(&target);
  if (posix_target == nullptr) return Directory::Link(name, target, new_name);
  RETURN_IF_ERROR(CheckFileName(path_, name));
  RETURN_IF_ERROR(CheckFileName(target.path(), new_name));
  if (::linkat(fd_.get(), std::string(name).c_str(), posix_target->fd_.get(), std::string(new_name).c_str(), 0) != 0) {
    return LastError().Of(PathOf(name), absl::StrFormat("link to %s", posix_target->PathOf(new_name)));
  }
  return absl::OkStatus();
}

absl::Status PosixDirectory::Sync() {
  if (RetryInterrupted([&] { return ::fsync(fd_.get()); }) != 0) return LastError().Of(path_, "sync directory");
  return absl::OkStatus();
}

// The holder wrote its process number into the lock file.
absl::Status PosixDirectory::LockIsTaken(int fd, const std::string& path) const {
  char text[24];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  int64_t holder = 0;
  if (n > 0) (void)std::from_chars(text, text + n, holder);
  const std::string who = holder > 0 ? absl::StrFormat("process %d", holder) : std::string("another process");
  return absl::UnavailableError(absl::StrFormat(
      "%s: the directory %s is in use by %s; close the database there first, or open it read-only", path, path_, who));
}

absl::Status CannotTakeOver(const std::string& path) {
  return absl::UnimplementedError(
      absl::StrFormat("%s: lock: a lock on local files cannot be taken over (take_over), because the file system "
                      "cannot keep its holder "
                      "from writing; end the process that holds it, and open the database without take_over",
                      path));
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> PosixDirectory::Lock(std::string_view name, LockRequest mode) {
  constexpr int kAttempts = 16;
  const std::string name_text(name);
  const std::string path = PathOf(name);
  if (mode == LockRequest::kTakeOver) return CannotTakeOver(path);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    struct stat held;
    ASSIGN_OR_RETURN(UniqueFd fd, OpenAt(name, O_RDWR | O_CREAT, &held));
    if (!SetLock(fd.get(), F_WRLCK)) {
      if (errno == EAGAIN || errno == EACCES) return LockIsTaken(fd.get(), path);
      return LastError().Of(path, "lock");
    }
    // Between opening and locking, another process may have removed and recreated the file.
    struct stat named;
    if (::fstatat(fd_.get(), name_text.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 || !SameFile(held, named)) continue;
    UniqueFd directory_fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
    if (!directory_fd.valid()) return LastError().Of(path_, "duplicate the descriptor");
    // For the message that other processes show; on a full disk it is cut short.
    const std::string owner = absl::StrFormat("%d\n", ::getpid());
    if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), owner.data(), owner.size(), 0);
    return std::make_unique<PosixDirectoryLock>(std::move(fd), std::move(directory_fd), name_text, path);
  }
  return absl::UnavailableError(absl::StrFormat("%s: the lock file keeps being replaced", path));
}

absl::StatusOr<uint64_t> PosixDirectory::FreeBytes() {
  struct statvfs info;
  if (RetryInterrupted([&] { return ::fstatvfs(fd_.get(), &info); }) != 0) return LastError().Of(path_, "statvfs");
  // ramfs, tmpfs without a size limit and some FUSE file systems do not count blocks.
  if (info.f_blocks == 0) return UINT64_MAX;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

absl::StatusOr<UniqueFd> OpenDirectoryFd(const std::string& path) {
  UniqueFd fd(RetryInterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd.valid()) return fd;
  if (errno == ENOTDIR) return absl::FailedPreconditionError(absl::StrFormat("%s: not a directory", path));
  return LastError().Of(path, "open directory");
}

// Makes the name of a directory durable.
absl::Status SyncParentOf(const std::string& path) {
  const std::string parent = ParentPath(path);
  absl::StatusOr<UniqueFd> parent_fd = OpenDirectoryFd(parent);
  // A parent that this process may search but not read cannot be synced.
  if (absl::IsPermissionDenied(parent_fd.status())) return absl::OkStatus();
  RETURN_IF_ERROR(parent_fd.status());
  if (RetryInterrupted([&] { return ::fsync(parent_fd->get()); }) == 0) return absl::OkStatus();
  // The directory above a mount point may be on a file system that is never written.
  return errno == EINVAL || errno == EROFS ? absl::OkStatus() : LastError().Of(parent, "sync directory");
}

// Creates the directory and its missing parents. Each name is durable before anything is created below it.
absl::Status MakeDirectories(const std::string& path) {
  const std::string parent = ParentPath(path);
  int result = ::mkdir(path.c_str(), kDirectoryMode);
  if (result != 0 && errno == ENOENT && parent != path) {
    RETURN_IF_ERROR(MakeDirectories(parent));
    result = ::mkdir(path.c_str(), kDirectoryMode);
  }
  if (result != 0 && errno != EEXIST) return LastError().Of(path, "make directory");
  return SyncParentOf(path);
}

// Must not allocate memory: children made by `fork` come here too, where the allocator may be locked for good.
bool IsEmpty(int directory) {
  const UniqueFd fd(RetryInterrupted([&] { return ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd.valid()) return false;
  alignas(struct dirent64) char entries[1024];
  while (true) {
    const ssize_t bytes = ::getdents64(fd.get(), entries, sizeof(entries));
    if (bytes <= 0) return bytes == 0;
    for (ssize_t at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const struct dirent64*>(entries + at);
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return false;
      at += entry->d_reclen;
    }
  }
}

class PosixFileSystem final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(std::string_view path, bool create) override {
    ASSIGN_OR_RETURN(std::string cleaned, CleanPath(path));
    absl::StatusOr<UniqueFd> fd = OpenDirectoryFd(cleaned);
    if (create && absl::IsNotFound(fd.status())) {
      RETURN_IF_ERROR(MakeDirectories(cleaned));
      fd = OpenDirectoryFd(cleaned);
    } else if (create && fd.ok() && IsEmpty(fd->get())) {
      // The process that created it may have died before its name was durable, or may be about to sync it.
      RETURN_IF_ERROR(SyncParentOf(cleaned));
    }
    RETURN_IF_ERROR(fd.status());
    return std::make_unique<PosixDirectory>(*std::move(fd), std::move(cleaned));
  }

  absl::Status RemoveDirectory(std::string_view path) override {
    ASSIGN_OR_RETURN(const std::string cleaned, CleanPath(path));
    if (::rmdir(cleaned.c_str()) != 0) return LastError().Of(cleaned, "remove directory");
    return absl::OkStatus();
  }

  size_t MaxOpenFiles() const override {
    struct rlimit limit;
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;
  }
};

}  // namespace

FileSystem* FileSystem::Posix() {
  static PosixFileSystem file_system;
  return &file_system;
}

}  // namespace sepal
