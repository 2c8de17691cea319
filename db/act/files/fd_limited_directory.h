// A directory that allows more tables to be open than the process may have open files.
//
// A table stays open (its reader, its root, its hints) as long as a version lists it; its file need not. At most
// `most_open` table files are kept open, those that were read last; the others are closed, and opened again by name
// when they are read. It does not matter when, because a table file never changes and its name is never reused.
//
// If several databases share the process's files, each has an equal part of them, as of the last file that it opened.
//
// If no descriptor is left, because others have taken them, half of the table files are closed for the file that is to
// be opened here.
//
// Everything else is passed on. Safe for concurrent use. A read that finds its file open takes a lock briefly. A file
// is closed only when no thread reads it, so that as many more files may be open as are being read.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sepal/file_system.h"
#include "util/thread/sync.h"

namespace sepal {

class FdLimitedDirectory final : public Directory {
 public:
  // `beside_a_writer`: a table that is missing when it is opened again gives `Aborted` rather than DataLoss. `sharers`:
  // the number of databases that `most_open` is for, which may change; null for one. It must outlive the directory.
  FdLimitedDirectory(std::unique_ptr<Directory> base, size_t most_open, bool beside_a_writer,
                     const std::atomic<size_t>* sharers = nullptr)
      : base_(std::move(base)), most_open_(most_open), beside_a_writer_(beside_a_writer), sharers_(sharers) {}

  // Requires that no file that it returned is left.
  ~FdLimitedDirectory() override;

  // The number of tables to keep open in a process that may have this many open files: half of them. The rest is for
  // logs, for files that are being written, and for the rest of the program.
  static size_t ShareOf(size_t max_open_files);
  // The number of table files that are open, without those that are still being read although they were closed for
  // others.
  size_t open_tables() const;

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override {
    return WithRoom([&] { return base_->OpenForWrite(name, mode, use); });
  }
  absl::Status SyncMany(std::span<WritableFile* const> files) override { return base_->SyncMany(files); }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override {
    return WithRoom([&] { return base_->List(); });
  }
  absl::Status Remove(std::string_view name) override { return base_->Remove(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override { return base_->Rename(from, to); }
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override {
    return base_->Link(name, target, new_name);
  }
  absl::Status Sync() override { return base_->Sync(); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override {
    return base_->Lock(name, mode);
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }

 private:
  class File;
  using Shared = std::shared_ptr<const ReadableFile>;
  // Returns the open file of `file`, and opens it first if necessary.
  absl::StatusOr<Shared> Borrow(const File* file) const;
  absl::StatusOr<Shared> OpenNow(const File* file) const;
  // Calls `open`, and again with fewer tables open if there are no descriptors.
  template <class Open>
  std::invoke_result_t<Open> WithRoom(const Open& open) const {
    std::invoke_result_t<Open> opened = open();
    if (!absl::IsResourceExhausted(opened.status()) || open_tables() == 0) return opened;
    CloseAllBut(open_tables() / 2);
    return open();
  }
  absl::Status Vanished(const File& file) const;
  size_t MostOpen() const;
  void CloseAllBut(size_t count) const;
  void LetGo(const File* file);

  const std::unique_ptr<Directory> base_;
  const size_t most_open_;
  const bool beside_a_writer_;
  const std::atomic<size_t>* const sharers_;
  std::atomic<size_t> files_{0};  // table files that it returned and that still exist
  mutable Mutex mutex_;
  // The tables whose files are open; the one that was read last comes first.
  mutable std::list<const File*> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
