#include "rados/open_files.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "util/base/status.h"

namespace sepal::rados {
namespace {

// Bytes of a file that were asked for ahead, and are on their way or there.
class Ahead {
 public:
  Ahead(std::shared_ptr<File> file, uint64_t offset, size_t length)
      : file_(std::move(file)), offset_(offset), length_(length), bytes_(new char[length]) {
    file_->BeginRead(offset, length, bytes_.get(), nullptr, nullptr, &parts_);
  }
  ~Ahead() {
    parts_.clear();  // waits
    file_->LetGoAhead(length_);
  }
  bool InChild() const { return file_->InChild(); }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  bool Has(uint64_t offset, size_t length) const { return offset_ <= offset && offset + length <= offset_ + length_; }
  absl::Status Copy(uint64_t offset, size_t length, char* to) {
    for (File::Part& part : parts_) RETURN_IF_ERROR(file_->FinishRead(&part));
    std::memcpy(to, bytes_.get() + (offset - offset_), length);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<File> file_;
  const uint64_t offset_;
  const size_t length_;
  const std::unique_ptr<char[]> bytes_;
  std::vector<File::Part> parts_;
};

class Reader final : public ReadableFile {
 public:
  Reader(std::shared_ptr<File> file, bool complete) : file_(std::move(file)), complete_(complete) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    ASSIGN_OR_RETURN(const size_t count, file_->PrepareRead(offset, length));
    if (const AheadPtr ahead = TakeAhead(offset, count); ahead != nullptr) {
      RETURN_IF_ERROR(ahead->Copy(offset, count, buffer));
      return count;
    }
    std::vector<File::Part> parts;
    file_->BeginRead(offset, count, buffer, nullptr, nullptr, &parts);
    absl::Status status;
    for (File::Part& part : parts) KeepFirst(&status, file_->FinishRead(&part));
    RETURN_IF_ERROR(status);
    return count;
  }
  // The next read that lies within takes the window, and what it does not want of it goes. Where there is no room the
  // oldest goes, which is waited for if it has not come yet.
  void ReadAhead(uint64_t offset, uint64_t length) const override {
    constexpr size_t kMostWindows = 4;
    const absl::StatusOr<size_t> count = file_->PrepareRead(offset, length);
    if (!count.ok() || *count == 0) return;
    AheadPtr oldest;
    {
      MutexLock lock(&mutex_);
      if (Find(offset, *count) != ahead_.end()) return;
      if (ahead_.size() >= kMostWindows) {
        oldest = std::move(ahead_.front());
        ahead_.pop_front();
      }
    }
    oldest.reset();
    if (!file_->TakeAhead(*count)) {
      DropAheads();
      if (!file_->TakeAhead(*count)) return;
    }
    AheadPtr ahead(new Ahead(file_, offset, *count));
    MutexLock lock(&mutex_);
    ahead_.push_back(std::move(ahead));
  }
  absl::StatusOr<uint64_t> Size() const override { return file_->Size(); }
  std::string UniqueId() const override { return complete_ ? file_->UniqueId() : std::string(); }
  File& file() const { return *file_; }

 private:
  // In a forked child librados' threads are missing, and nobody would answer.
  struct LetGo {
    void operator()(Ahead* ahead) const {
      if (!ahead->InChild()) delete ahead;
    }
  };
  using AheadPtr = std::unique_ptr<Ahead, LetGo>;
  using Aheads = std::deque<AheadPtr>;

  Aheads::iterator Find(uint64_t offset, size_t length) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::find_if(ahead_.begin(), ahead_.end(),
                        [&](const AheadPtr& ahead) { return ahead->Has(offset, length); });
  }
  AheadPtr TakeAhead(uint64_t offset, size_t length) const {
    MutexLock lock(&mutex_);
    const auto it = Find(offset, length);
    if (it == ahead_.end()) return nullptr;
    AheadPtr taken = std::move(*it);
    ahead_.erase(it);
    return taken;
  }
  void DropAheads() const {
    Aheads gone;
    MutexLock lock(&mutex_);
    gone.swap(ahead_);
  }

  const std::shared_ptr<File> file_;
  mutable Mutex mutex_;
  mutable Aheads ahead_ ABSL_GUARDED_BY(mutex_);
  const bool complete_;
};

class Writer final : public WritableFile {
 public:
  Writer(std::shared_ptr<Space> space, std::shared_ptr<File> file, const Entry& entry)
      : space_(std::move(space)), file_(std::move(file)), entry_(entry), size_(file_->Size()) {}
  ~Writer() override {
    if (!closed_ && !space_->client().InChild()) Close().IgnoreError();
  }

  absl::Status Append(std::string_view bytes) override {
    RETURN_IF_ERROR(CheckOpen());
    RETURN_IF_ERROR(file_->Write(size_, bytes));
    size_ += bytes.size();
    return absl::OkStatus();
  }
  absl::Status WriteAt(uint64_t offset, std::string_view bytes) override {
    RETURN_IF_ERROR(CheckOpen());
    RETURN_IF_ERROR(file_->Write(offset, bytes));
    if (!bytes.empty()) size_ = std::max<uint64_t>(size_, offset + bytes.size());
    return absl::OkStatus();
  }
  absl::Status Allocate(uint64_t offset, uint64_t length) override {
    RETURN_IF_ERROR(CheckOpen());
    return file_->CheckRoom(offset + length);
  }
  // Of a file that grows, objects are sent as they fill; what SyncMany asks for is sent whatever it is.
  absl::Status SyncRange(uint64_t offset, uint64_t length) override {
    RETURN_IF_ERROR(CheckOpen());
    if (offset == 0 && length == kWholeFile) file_->BeginSync();
    return absl::OkStatus();
  }
  absl::Status Sync() override {
    RETURN_IF_ERROR(CheckOpen());
    return file_->Sync();
  }
  absl::Status Truncate(uint64_t size) override {
    RETURN_IF_ERROR(CheckOpen());
    RETURN_IF_ERROR(file_->Truncate(size));
    size_ = size;
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<MappedRegion>> Map(uint64_t offset, size_t length) override {
    RETURN_IF_ERROR(CheckOpen());
    return WritableFile::Map(offset, length);
  }
  uint64_t Size() const override { return size_; }
  absl::Status Close() override {
    RETURN_IF_ERROR(CheckOpen());
    closed_ = true;
    RETURN_IF_ERROR(file_->EndWriting());
    if (file_->Removed()) return absl::OkStatus();
    // The size in the index is a help: nobody waits for it, and it is left out where the name has changed.
    Entry closed = entry_;
    closed.size = static_cast<int64_t>(file_->Size());
    return space_->Replace(file_->Name(), &entry_, &closed, /*wait=*/false);
  }
  std::string UniqueId() const override { return file_->UniqueId(); }

 private:
  absl::Status CheckOpen() const {
    if (!closed_) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(file_->path(), ": the file is closed"));
  }

  const std::shared_ptr<Space> space_;
  const std::shared_ptr<File> file_;
  const Entry entry_;
  std::atomic<uint64_t> size_;
  std::atomic<bool> closed_{false};
};

// The requests whose parts are all there, in the order in which they came.
struct Arrivals {
  struct Tag {
    Arrivals* all = nullptr;
    size_t request = 0;
  };
  void Arrive(size_t request) {
    MutexLock lock(&mutex);
    if (--left[request] > 0) return;
    ready.push_back(request);
    changed.NotifyOne();
  }
  size_t Next() {
    MutexLock lock(&mutex);
    while (ready.empty()) changed.Wait(&mutex);
    const size_t first = ready.front();
    ready.pop_front();
    return first;
  }
  static void OnPart(rados_completion_t, void* argument) {
    const Tag* const tag = static_cast<Tag*>(argument);
    tag->all->Arrive(tag->request);
  }

  Mutex mutex;
  CondVar changed;
  std::deque<size_t> ready ABSL_GUARDED_BY(mutex);
  std::vector<size_t> left ABSL_GUARDED_BY(mutex);
};

}  // namespace

std::unique_ptr<ReadableFile> MakeReader(std::shared_ptr<File> file, bool complete) {
  return std::make_unique<Reader>(std::move(file), complete);
}

std::unique_ptr<WritableFile> MakeWriter(std::shared_ptr<Space> space, std::shared_ptr<File> file, const Entry& entry) {
  return std::make_unique<Writer>(std::move(space), std::move(file), entry);
}

void ReadTogether(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) {
  Arrivals arrivals;
  std::vector<Arrivals::Tag> tags(requests.size());
  std::vector<std::vector<File::Part>> parts(requests.size());
  {
    // One more than there are parts, until all have begun.
    MutexLock lock(&arrivals.mutex);
    arrivals.left.assign(requests.size(), 0);
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    ReadRequest& request = requests[i];
    File& file = static_cast<const Reader*>(request.file)->file();
    tags[i] = {&arrivals, i};
    const absl::StatusOr<size_t> count = file.PrepareRead(request.offset, request.length);
    request.status = count.status();
    request.bytes_read = count.value_or(0);
    const uint64_t object_bytes = file.made_as().object_bytes;
    const uint64_t objects = request.bytes_read == 0 ? 0
                                                     : (request.offset + request.bytes_read - 1) / object_bytes -
                                                           request.offset / object_bytes + 1;
    {
      MutexLock lock(&arrivals.mutex);
      arrivals.left[i] = objects + 1;
    }
    parts[i].reserve(objects);
    file.BeginRead(request.offset, request.bytes_read, request.buffer, &Arrivals::OnPart, &tags[i], &parts[i]);
    arrivals.Arrive(i);
  }
  for (size_t left = requests.size(); left > 0; --left) {
    const size_t i = arrivals.Next();
    ReadRequest& request = requests[i];
    for (File::Part& part : parts[i]) {
      KeepFirst(&request.status, static_cast<const Reader*>(request.file)->file().FinishRead(&part));
    }
    if (!request.status.ok()) request.bytes_read = 0;
    done(request);
  }
}

}  // namespace sepal::rados
