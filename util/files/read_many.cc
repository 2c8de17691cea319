#include "util/files/read_many.h"

#include <liburing.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "util/base/check.h"
#include "util/files/posix_file.h"
#include "util/thread/fork.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// The number of concurrent requests in one ring: enough to keep a flash disk busy.
constexpr unsigned kRingDepth = 64;
constexpr size_t kIdleRings = 8;
constexpr size_t kMostThreads = 8;
// Fewer requests are not worth a thread of their own.
constexpr size_t kRequestsPerThread = 2;

// What the kernel reads for one request: the request's range, or for a direct file the aligned range around it.
class Flight {
 public:
  // Returns false if the request must be read by itself.
  bool Prepare(const ReadRequest& request) {
    SEPAL_DCHECK(dynamic_cast<const PosixReadable*>(request.file) != nullptr);
    const auto& file = static_cast<const PosixReadable&>(*request.file);
    fd_ = file.fd();
    offset_ = request.offset;
    length_ = request.length;
    if (length_ == 0 || length_ > kMaxBounceBytes || offset_ > INT64_MAX - kMaxBounceBytes) return false;
    target_ = request.buffer;
    if (!file.direct()) return true;
    const AlignedRange range = AlignedRange::Around(offset_, length_, file.alignment());
    bounce_ = MakeAligned(range.length, file.alignment());
    offset_ = range.offset;
    length_ = range.length;
    target_ = bounce_.get();
    return bounce_ != nullptr;
  }
  void Submit(io_uring_sqe* entry) const {
    io_uring_prep_read(entry, fd_, target_, static_cast<unsigned>(length_), offset_);
  }
  // A short read (the end of the file, an error, a signal) is repeated by itself, which gives the right result or
  // error.
  void Land(int result, ReadRequest* request) {
    if (result < 0 || static_cast<size_t>(result) != length_) return FillByRead(request);
    if (bounce_ != nullptr) std::memcpy(request->buffer, target_ + (request->offset - offset_), request->length);
    bounce_.reset();
    request->bytes_read = request->length;
    request->status = absl::OkStatus();
  }

 private:
  int fd_ = -1;
  uint64_t offset_ = 0;
  size_t length_ = 0;
  char* target_ = nullptr;
  AlignedBytes bounce_;
};

class Ring {
 public:
  // Returns null and the error if no ring can be created.
  static std::unique_ptr<Ring> Make(int* error) {
    auto ring = std::unique_ptr<Ring>(new Ring);
    // A completion need not interrupt the thread that will wait for it. Kernels before 5.19 do not know the flag.
    *error = -io_uring_queue_init(kRingDepth, &ring->ring_, IORING_SETUP_COOP_TASKRUN);
    if (*error == EINVAL) *error = -io_uring_queue_init(kRingDepth, &ring->ring_, 0);
    ring->made_ = *error == 0;
    return ring->made_ ? std::move(ring) : nullptr;
  }
  ~Ring() {
    if (made_) io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Returns false if the ring can no longer be used; every request has been read nevertheless.
  bool Run(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) {
    std::vector<Flight> flights(requests.size());
    std::vector<size_t> queued;  // given to the ring, but not yet taken by the kernel
    size_t flying = 0;           // taken by the kernel
    for (size_t next = 0; next < requests.size() || !queued.empty() || flying > 0;) {
      for (; next < requests.size() && queued.size() + flying < kRingDepth; ++next) {
        if (flights[next].Prepare(requests[next])) {
          Queue(flights[next], next);
          queued.push_back(next);
        } else {
          FillByRead(&requests[next]);
          done(requests[next]);
        }
      }
      if (queued.empty() && flying == 0) continue;
      const int taken = io_uring_submit_and_wait(&ring_, 1);
      if (taken >= 0) {
        queued.erase(queued.begin(), queued.begin() + taken);
        flying += static_cast<size_t>(taken);
      } else if (taken != -EINTR && flying == 0) {
        for (; next < requests.size(); ++next) queued.push_back(next);
        for (size_t i : queued) {
          FillByRead(&requests[i]);
          done(requests[i]);
        }
        return false;
      }
      flying -= Land(requests, flights, done);
    }
    return true;
  }

 private:
  Ring() = default;

  void Queue(const Flight& flight, size_t number) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    flight.Submit(entry);
    io_uring_sqe_set_data64(entry, number);
  }

  // Completes the requests that the kernel has finished; returns how many.
  size_t Land(std::span<ReadRequest> requests, std::span<Flight> flights,
              const std::function<void(ReadRequest&)>& done) {
    size_t landed = 0;
    io_uring_cqe* completion = nullptr;
    while (io_uring_peek_cqe(&ring_, &completion) == 0) {
      const size_t i = io_uring_cqe_get_data64(completion);
      const int result = completion->res;
      io_uring_cqe_seen(&ring_, completion);
      flights[i].Land(result, &requests[i]);
      done(requests[i]);
      ++landed;
    }
    return landed;
  }

  io_uring ring_ = {};
  bool made_ = false;
};

// Rings that no thread uses at the moment. Creating one costs as much as a read.
class RingPool {
 public:
  static RingPool& Get() {
    static RingPool* const pool = [] {
      auto* made = new RingPool;
      // A child that was forked while another thread held the lock must still be able to read its own databases.
      SEPAL_CHECK(::pthread_atfork(LockForFork, UnlockAfterFork, UnlockAfterFork) == 0);
      return made;
    }();
    return *pool;
  }

  // Returns null if io_uring is not available.
  std::unique_ptr<Ring> Take() {
    if (refused_.load(std::memory_order_relaxed)) return nullptr;
    {
      MutexLock lock(&mutex_);
      // The queues of a child's rings would be shared with its parent.
      if (std::exchange(generation_, ForkGeneration()) != ForkGeneration()) ForgetAll();
      if (!idle_.empty()) {
        std::unique_ptr<Ring> ring = std::move(idle_.back());
        idle_.pop_back();
        return ring;
      }
    }
    int error = 0;
    std::unique_ptr<Ring> ring = Ring::Make(&error);
    if (error == ENOSYS || error == EPERM || error == EACCES) refused_.store(true, std::memory_order_relaxed);
    return ring;
  }

  void Return(std::unique_ptr<Ring> ring) {
    MutexLock lock(&mutex_);
    if (idle_.size() < kIdleRings) idle_.push_back(std::move(ring));
  }

 private:
  static void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.Lock(); }
  static void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.Unlock(); }
  void ForgetAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (std::unique_ptr<Ring>& ring : idle_) (void)ring.release();
    idle_.clear();
  }

  std::atomic<bool> refused_{false};
  Mutex mutex_;
  std::vector<std::unique_ptr<Ring>> idle_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = WatchForks();
};

// Requests that several threads take one by one; only the calling thread calls `done`.
class SharedRequests {
 public:
  explicit SharedRequests(std::span<ReadRequest> requests) : requests_(requests) {}

  void Read() {
    for (size_t i = next_.fetch_add(1, std::memory_order_relaxed); i < requests_.size();
         i = next_.fetch_add(1, std::memory_order_relaxed)) {
      FillByRead(&requests_[i]);
      MutexLock lock(&mutex_);
      filled_.push_back(&requests_[i]);
      changed_.NotifyAll();
    }
  }
  ReadRequest* WaitForOne() {
    MutexLock lock(&mutex_);
    while (filled_.empty()) changed_.Wait(&mutex_);
    ReadRequest* request = filled_.back();
    filled_.pop_back();
    return request;
  }

 private:
  const std::span<ReadRequest> requests_;
  std::atomic<size_t> next_{0};
  Mutex mutex_;
  CondVar changed_;
  std::vector<ReadRequest*> filled_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void FillByRead(ReadRequest* request) {
  absl::StatusOr<size_t> bytes_read = request->file->Read(request->offset, request->length, request->buffer);
  request->bytes_read = bytes_read.ok() ? *bytes_read : 0;
  request->status = std::move(bytes_read).status();
}

bool ReadManyByRing(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) {
  std::unique_ptr<Ring> ring = RingPool::Get().Take();
  if (ring == nullptr) return false;
  if (ring->Run(requests, done)) RingPool::Get().Return(std::move(ring));
  return true;
}

void ReadManyByThreads(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) {
  SharedRequests shared(requests);
  std::vector<Thread> threads;
  const size_t count = std::min(kMostThreads, requests.size() / kRequestsPerThread + 1);
  for (size_t i = 0; i < count; ++i) {
    std::optional<Thread> thread = Thread::Make([&shared] { shared.Read(); });
    if (!thread.has_value()) break;
    threads.push_back(*std::move(thread));
  }
  if (threads.empty()) shared.Read();
  for (size_t i = 0; i < requests.size(); ++i) done(*shared.WaitForOne());
  for (Thread& thread : threads) thread.Join();
}

void ReadManyPosix(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) {
  if (requests.size() > 1) {
    if (!ReadManyByRing(requests, done)) ReadManyByThreads(requests, done);
    return;
  }
  for (ReadRequest& request : requests) {
    FillByRead(&request);
    done(request);
  }
}

}  // namespace sepal
