// The other shape of a log that was thought of (docs/decisions/0012), to be measured beside WriteAheadLog: a ring of
// memory that is mapped from a file, locked and never synced, in front of log files that are written in large pieces
// by a thread of their own, and used again. As much of it as takes part in the cost of an append and a sync; nothing
// reads it back.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/format/log_format.h"
#include "util/check.h"
#include "util/sync.h"

namespace sepal {

struct RingLogOptions {
  uint64_t ring_bytes = uint64_t{4} << 20;
  uint64_t file_bytes = uint64_t{64} << 20;
  uint64_t piece_bytes = uint64_t{512} << 10;  // of a write by the thread
  bool reuse_files = true;                     // rather than removing them and making new ones
  size_t files_behind = 2;                     // whose memtables are still being flushed
};

// Append by one thread at a time; Sync by any.
class RingLog {
 public:
  RingLog(std::string directory, RingLogOptions options)
      : directory_(std::move(directory)), options_(options), ring_file_(NewFile("ring", options.ring_bytes)) {
    ring_ = static_cast<char*>(
        mmap(nullptr, options_.ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_file_, 0));
    SEPAL_CHECK(ring_ != MAP_FAILED);
    SEPAL_CHECK(mlock(ring_, options_.ring_bytes) == 0);
    std::memset(ring_, 0, options_.ring_bytes);
    MutexLock lock(&mutex_);
    StartFile(0);
    writer_.emplace([this] { WriteBehind(); });
  }
  ~RingLog() {
    {
      MutexLock lock(&mutex_);
      ending_ = true;
      changed_.NotifyAll();
    }
    writer_->Join();
    munmap(ring_, options_.ring_bytes);
    close(ring_file_);
    for (const File& file : files_) close(file.descriptor);
    for (const std::string& name : names_) unlink(name.c_str());
  }

  // Returns the position behind the record.
  uint64_t Append(SequenceNumber first, std::string_view payload) {
    const uint64_t begin = end_.load(std::memory_order_relaxed);
    const uint64_t end = begin + kLogRecordHeaderBytes + payload.size();
    if (end - written_.load(std::memory_order_acquire) > options_.ring_bytes) WaitForRoom(end);
    char header[kLogRecordHeaderBytes];
    EncodeLogRecordHeader(header, 1, LogPosition(begin), first, LogRecordKind::kFull, LogPosition(0), payload);
    Store(begin, {header, kLogRecordHeaderBytes});
    Store(begin + kLogRecordHeaderBytes, payload);
    end_.store(end, std::memory_order_release);
    if (end / options_.piece_bytes != begin / options_.piece_bytes) {
      MutexLock lock(&mutex_);
      changed_.NotifyAll();
    }
    return end;
  }

  // One sync carries all who wait.
  void Sync(uint64_t through) {
    MutexLock lock(&mutex_);
    while (durable_ < through) {
      if (syncing_ || writing_) {
        changed_.Wait(&mutex_);
        continue;
      }
      WriteOut(end_.load(std::memory_order_acquire));
      syncing_ = true;
      const uint64_t target = written_.load(std::memory_order_relaxed);
      std::vector<int> dirty;
      for (const File& file : files_) {
        if (file.begin < target && file.begin + options_.file_bytes > durable_) dirty.push_back(file.descriptor);
      }
      mutex_.Unlock();
      for (const int descriptor : dirty) SEPAL_CHECK(fdatasync(descriptor) == 0);
      mutex_.Lock();
      for (const int descriptor : closing_) close(descriptor);
      closing_.clear();
      durable_ = std::max(durable_, target);
      syncing_ = false;
      changed_.NotifyAll();
    }
  }

 private:
  struct File {
    int descriptor;
    uint64_t begin;
    size_t name;
  };

  int NewFile(const std::string& name, uint64_t bytes) {
    names_.push_back(directory_ + "/" + name);
    const int descriptor = open(names_.back().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    SEPAL_CHECK(descriptor >= 0);
    SEPAL_CHECK(posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0);
    return descriptor;
  }

  void Store(uint64_t at, std::string_view bytes) {
    const uint64_t place = at % options_.ring_bytes;
    const uint64_t head = std::min<uint64_t>(bytes.size(), options_.ring_bytes - place);
    std::memcpy(ring_ + place, bytes.data(), head);
    if (head < bytes.size()) std::memcpy(ring_, bytes.data() + head, bytes.size() - head);
  }

  void WaitForRoom(uint64_t end) {
    MutexLock lock(&mutex_);
    while (end - written_.load(std::memory_order_relaxed) > options_.ring_bytes) changed_.Wait(&mutex_);
  }

  void WriteBehind() {
    MutexLock lock(&mutex_);
    for (;;) {
      const uint64_t piece = end_.load(std::memory_order_acquire) / options_.piece_bytes * options_.piece_bytes;
      if (!writing_ && piece > written_.load(std::memory_order_relaxed)) {
        WriteOut(piece);
      } else if (ending_) {
        return;
      } else {
        changed_.Wait(&mutex_);
      }
    }
  }

  // From the ring into the files, up to `through`. With the lock held, but for the writing.
  void WriteOut(uint64_t through) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    uint64_t at = written_.load(std::memory_order_relaxed);
    while (at < through) {
      if (at == files_.back().begin + options_.file_bytes) StartFile(at);
      const File file = files_.back();
      const uint64_t place = at % options_.ring_bytes;
      const uint64_t size =
          std::min({through - at, options_.ring_bytes - place, file.begin + options_.file_bytes - at});
      mutex_.Unlock();
      const ssize_t done = pwrite(file.descriptor, ring_ + place, size, static_cast<off_t>(at - file.begin));
      SEPAL_CHECK(done == static_cast<ssize_t>(size));
      mutex_.Lock();
      at += size;
      written_.store(at, std::memory_order_release);
      changed_.NotifyAll();
    }
    writing_ = false;
    changed_.NotifyAll();
  }

  void StartFile(uint64_t begin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (files_.size() <= options_.files_behind) {
      files_.push_back({NewFile(std::to_string(names_.size()), options_.file_bytes), begin, names_.size() - 1});
      return;
    }
    File oldest = files_.front();
    files_.pop_front();
    if (!options_.reuse_files) {
      if (syncing_) {
        closing_.push_back(oldest.descriptor);  // a sync may be about to use it
      } else {
        close(oldest.descriptor);
      }
      unlink(names_[oldest.name].c_str());
      oldest.descriptor = NewFile(std::to_string(names_.size()), options_.file_bytes);
      oldest.name = names_.size() - 1;
    }
    oldest.begin = begin;
    files_.push_back(oldest);
  }

  const std::string directory_;
  const RingLogOptions options_;
  std::vector<std::string> names_;
  const int ring_file_;
  char* ring_ = nullptr;
  std::atomic<uint64_t> end_{0};
  std::atomic<uint64_t> written_{0};
  Mutex mutex_;
  CondVar changed_;
  std::deque<File> files_ ABSL_GUARDED_BY(mutex_);
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool syncing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<int> closing_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<Thread> writer_;
};

}  // namespace sepal
