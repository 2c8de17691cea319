#include "db/act/files/fd_limited_directory.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/base/no_memory.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

constexpr size_t kFewestOpen = 4;

bool IsTableOrValues(std::string_view name) {
  const std::optional<ParsedFileName> parsed = ParseFileName(name);
  return parsed.has_value() && (parsed->kind == FileKind::kTable || parsed->kind == FileKind::kValues);
}

}  // namespace

// `open_` and `place_` belong to the directory and are guarded by its lock.
class FdLimitedDirectory::File final : public ReadableFile {
 public:
  File(FdLimitedDirectory* directory, std::string_view name, ReadMode mode)
      : directory_(directory), name_(name), mode_(mode) {
    directory_->files_.fetch_add(1, std::memory_order_relaxed);
  }
  ~File() override {
    directory_->LetGo(this);
    directory_->files_.fetch_sub(1, std::memory_order_relaxed);
  }

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    ASSIGN_OR_RETURN(const Shared file, directory_->Borrow(this));
    return file->Read(offset, length, buffer);
  }
  absl::StatusOr<uint64_t> Size() const override {
    ASSIGN_OR_RETURN(const Shared file, directory_->Borrow(this));
    return file->Size();
  }
  size_t ReadCached(uint64_t offset, size_t length, char* buffer) const override {
    const absl::StatusOr<Shared> file = directory_->Borrow(this);
    return file.ok() ? (*file)->ReadCached(offset, length, buffer) : 0;
  }
  void Advise(AccessPattern pattern) const override {
    pattern_.store(pattern, std::memory_order_relaxed);
    advised_.store(true, std::memory_order_release);
    if (const absl::StatusOr<Shared> file = directory_->Borrow(this); file.ok()) (*file)->Advise(pattern);
  }
  void ReadAhead(uint64_t offset, uint64_t length) const override {
    if (const absl::StatusOr<Shared> file = directory_->Borrow(this); file.ok()) (*file)->ReadAhead(offset, length);
  }

 private:
  friend class FdLimitedDirectory;
  FdLimitedDirectory* const directory_;
  const std::string name_;
  const ReadMode mode_;
  bool was_open_ = false;  // set before another thread can see the file
  // Advice is repeated when the file is opened again.
  mutable std::atomic<AccessPattern> pattern_{AccessPattern::kRandom};
  mutable std::atomic<bool> advised_{false};
  mutable Shared open_;                             // null: closed
  mutable std::list<const File*>::iterator place_;  // only while the file is open
};

FdLimitedDirectory::~FdLimitedDirectory() { SEPAL_CHECK(files_.load(std::memory_order_relaxed) == 0); }

size_t FdLimitedDirectory::ShareOf(size_t max_open_files) { return std::max(max_open_files / 2, kFewestOpen); }

size_t FdLimitedDirectory::MostOpen() const {
  if (sharers_ == nullptr) return most_open_;
  const size_t sharers = std::max<size_t>(sharers_->load(std::memory_order_relaxed), 1);
  return std::max(most_open_ / sharers, kFewestOpen);
}

size_t FdLimitedDirectory::open_tables() const {
  MutexLock lock(&mutex_);
  return open_.size();
}

absl::StatusOr<std::unique_ptr<ReadableFile>> FdLimitedDirectory::OpenForRead(std::string_view name, ReadMode mode) {
  if (!IsTableOrValues(name)) {
    return WithRoom([&] { return base_->OpenForRead(name, mode); });
  }
  auto file = std::make_unique<File>(this, name, mode);
  RETURN_IF_ERROR(Borrow(file.get()).status());
  file->was_open_ = true;
  return file;
}

// Requests for tables are passed on with the files that they need open, and these stay open until the last request is
// read. So they are passed on in limited numbers, because several threads may do this at once.
void FdLimitedDirectory::ReadMany(std::span<ReadRequest> requests,
                                  const std::function<void(ReadRequest&)>& done) const {
  const size_t most_borrowed = std::max<size_t>(MostOpen() / 4, 1);
  std::vector<ReadRequest> passed;
  std::vector<size_t> places;  // the indexes in `requests` of those that are passed on
  std::vector<Shared> borrowed;
  passed.reserve(requests.size());
  places.reserve(requests.size());
  const auto pass_on = [&] {
    base_->ReadMany(passed, [&](ReadRequest& request) {
      ReadRequest& asked = requests[places[static_cast<size_t>(&request - passed.data())]];
      asked.status = std::move(request.status);
      asked.bytes_read = request.bytes_read;
      done(asked);
    });
    passed.clear();
    places.clear();
    borrowed.clear();
  };
  for (size_t i = 0; i < requests.size(); ++i) {
    ReadRequest request = requests[i];
    if (const auto* file = dynamic_cast<const File*>(request.file)) {
      if (borrowed.size() == most_borrowed) pass_on();
      absl::StatusOr<Shared> open = Borrow(file);
      if (!open.ok()) {
        requests[i].status = open.status();
        requests[i].bytes_read = 0;
        done(requests[i]);
        continue;
      }
      request.file = open->get();
      borrowed.push_back(*std::move(open));
    }
    passed.push_back(request);
    places.push_back(i);
  }
  if (!passed.empty()) pass_on();
}

absl::StatusOr<FdLimitedDirectory::Shared> FdLimitedDirectory::Borrow(const File* file) const {
  {
    MutexLock lock(&mutex_);
    if (file->open_ != nullptr) {
      open_.splice(open_.begin(), open_, file->place_);
      return file->open_;
    }
  }
  ASSIGN_OR_RETURN(const Shared opened, OpenNow(file));
  if (file->advised_.load(std::memory_order_acquire)) opened->Advise(file->pattern_.load(std::memory_order_relaxed));
  {
    MutexLock lock(&mutex_);
    if (file->open_ != nullptr) return file->open_;  // another thread has opened it
    file->open_ = opened;
    file->place_ = open_.insert(open_.begin(), file);
  }
  CloseAllBut(MostOpen());
  return opened;
}

absl::StatusOr<FdLimitedDirectory::Shared> FdLimitedDirectory::OpenNow(const File* file) const {
  absl::StatusOr<std::unique_ptr<ReadableFile>> opened =
      WithRoom([&] { return base_->OpenForRead(file->name_, file->mode_); });
  if (absl::IsResourceExhausted(opened.status()) && !IsNoMemory(opened.status())) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("%s; raise the limit of open files (ulimit -n), or close some of the program's own",
                        ToStd(opened.status().message())));
  }
  if (absl::IsNotFound(opened.status()) && file->was_open_) return Vanished(*file);
  RETURN_IF_ERROR(opened.status());
  return Shared(std::move(opened).value());
}

absl::Status FdLimitedDirectory::Vanished(const File& file) const {
  if (beside_a_writer_) {
    return absl::AbortedError(absl::StrFormat(
        "%s/%s: the writer has removed the table since this view was opened; open it again", path(), file.name_));
  }
  return absl::DataLossError(
      absl::StrFormat("%s/%s: the table is missing; restore it from a backup", path(), file.name_));
}

void FdLimitedDirectory::CloseAllBut(size_t count) const {
  std::vector<Shared> closed;  // closed after the lock is released
  MutexLock lock(&mutex_);
  while (open_.size() > count) {
    closed.push_back(std::move(open_.back()->open_));
    open_.pop_back();
  }
}

void FdLimitedDirectory::LetGo(const File* file) {
  MutexLock lock(&mutex_);
  if (file->open_ != nullptr) open_.erase(file->place_);
}

}  // namespace sepal
