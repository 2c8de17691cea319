#include "compat/leveldb/posix_files.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "absl/strings/str_format.h"
#include "compat/leveldb/convert.h"
#include "util/thread/sync.h"

namespace sepal::compat {

namespace {

using leveldb::Slice;
using leveldb::Status;

constexpr mode_t kFileMode = 0644;
constexpr size_t kBufferBytes = size_t{64} << 10;

class OpenFile {
 public:
  OpenFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int get() const { return descriptor_; }
  Status Failure() const { return PosixError(name_, errno); }
  // Repeats a call that a signal has interrupted.
  template <class Call>
  static ssize_t Retry(Call call) {
    ssize_t result;
    do {
      result = call();
    } while (result < 0 && errno == EINTR);
    return result;
  }
  Status Close() {
    if (descriptor_ < 0) return Status();
    return ::close(std::exchange(descriptor_, -1)) == 0 ? Status() : Failure();
  }

 private:
  const std::string name_;
  int descriptor_;
};

class SequentialPosixFile final : public leveldb::SequentialFile {
 public:
  SequentialPosixFile(const std::string& name, int descriptor) : file_(name, descriptor) {}

  Status Read(size_t count, Slice* result, char* scratch) override {
    const ssize_t got = OpenFile::Retry([&] { return ::read(file_.get(), scratch, count); });
    if (got < 0) return file_.Failure();
    *result = Slice(scratch, static_cast<size_t>(got));
    return Status();
  }
  Status Skip(uint64_t count) override {
    return ::lseek(file_.get(), static_cast<off_t>(count), SEEK_CUR) < 0 ? file_.Failure() : Status();
  }

 private:
  OpenFile file_;
};

class RandomAccessPosixFile final : public leveldb::RandomAccessFile {
 public:
  RandomAccessPosixFile(const std::string& name, int descriptor) : file_(name, descriptor) {}

  Status Read(uint64_t offset, size_t count, Slice* result, char* scratch) const override {
    const ssize_t got =
        OpenFile::Retry([&] { return ::pread(file_.get(), scratch, count, static_cast<off_t>(offset)); });
    *result = Slice(scratch, got < 0 ? 0 : static_cast<size_t>(got));
    return got < 0 ? file_.Failure() : Status();
  }

 private:
  OpenFile file_;
};

class WritablePosixFile final : public leveldb::WritableFile {
 public:
  WritablePosixFile(const std::string& name, int descriptor) : file_(name, descriptor) {}
  ~WritablePosixFile() override { (void)Flush(); }

  Status Append(const Slice& bytes) override {
    buffer_.append(bytes.data(), bytes.size());
    return buffer_.size() >= kBufferBytes ? Flush() : Status();
  }
  Status Close() override {
    Status flushed = Flush();
    const Status closed = file_.Close();
    return flushed.ok() ? closed : flushed;
  }
  Status Flush() override {
    Status result;
    for (size_t done = 0; done < buffer_.size() && result.ok();) {
      const ssize_t wrote =
          OpenFile::Retry([&] { return ::write(file_.get(), buffer_.data() + done, buffer_.size() - done); });
      if (wrote < 0) {
        result = file_.Failure();
      } else {
        done += static_cast<size_t>(wrote);
      }
    }
    buffer_.clear();  // also of what failed: it is not written twice
    return result;
  }
  Status Sync() override {
    Status flushed = Flush();
    if (!flushed.ok()) return flushed;
    return ::fdatasync(file_.get()) == 0 ? Status() : file_.Failure();
  }

 private:
  OpenFile file_;
  std::string buffer_;
};

// A line for each call, with the time in front.
class PosixLogger final : public leveldb::Logger {
 public:
  explicit PosixLogger(std::FILE* file) : file_(file) {}
  ~PosixLogger() override { std::fclose(file_); }

  void Logv(const char* format, std::va_list arguments) override {
    timespec now;
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm parts;
    ::localtime_r(&now.tv_sec, &parts);
    MutexLock lock(&mutex_);
    absl::FPrintF(file_, "%04d/%02d/%02d-%02d:%02d:%02d.%06d ", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                  parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1000);
    std::vfprintf(file_, format, arguments);
    std::fputc('\n', file_);
    std::fflush(file_);
  }

 private:
  Mutex mutex_;
  std::FILE* const file_;
};

template <class File, class Interface>
Status Open(const std::string& name, int flags, Interface** file) {
  const int descriptor = ::open(name.c_str(), flags | O_CLOEXEC, kFileMode);
  *file = descriptor < 0 ? nullptr : new File(name, descriptor);
  return descriptor < 0 ? PosixError(name, errno) : Status();
}

}  // namespace

Status OpenSequential(const std::string& name, leveldb::SequentialFile** file) {
  return Open<SequentialPosixFile>(name, O_RDONLY, file);
}

Status OpenRandomAccess(const std::string& name, leveldb::RandomAccessFile** file) {
  return Open<RandomAccessPosixFile>(name, O_RDONLY, file);
}

Status OpenWritable(const std::string& name, bool keep, leveldb::WritableFile** file) {
  return Open<WritablePosixFile>(name, O_WRONLY | O_CREAT | (keep ? O_APPEND : O_TRUNC), file);
}

Status OpenLogger(const std::string& name, leveldb::Logger** logger) {
  std::FILE* const file = std::fopen(name.c_str(), "we");
  *logger = file == nullptr ? nullptr : new PosixLogger(file);
  return file == nullptr ? PosixError(name, errno) : Status();
}

}  // namespace sepal::compat
