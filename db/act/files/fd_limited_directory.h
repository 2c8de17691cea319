// A directory that lets more tables be open than the process may have open files.
//
// A table stays open (its reader, its root, its hints) as long as a version lists it; its file need not. At most
// `most_open` files of tables are kept open, those that were read last; the others are closed, and opened again by name
// when they are read. A table file never changes and its name is never given to another, so that it does not matter
// when.
//
// Where no descriptor is left, as others have taken them, tables give back half of theirs to whatever is to be opened
// here.
//
// Everything else is passed on. Safe for concurrent use. A read that finds its file open takes a short lock. Files are
// closed once nobody is reading them, so that as many more may be open as are being read.
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

class ReopeningDirectory final : public Directory {
 public:
  // `beside_a_writer`: a table that is gone when it is opened again is `Aborted`, and no loss.
  ReopeningDirectory(std::unique_ptr<Directory> base, size_t most_open, bool beside_a_writer)
      : base_(std::move(base)), most_open_(most_open), beside_a_writer_(beside_a_writer) {}

  // Requires that none of the files that it gave is left.
  ~ReopeningDirectory() override;

  // How many tables to keep open where a process may have so many files: half of them. The rest is for logs, files that
  // are being written, and the program around.
  static size_t ShareOf(size_t max_open_files);
  // Files of tables that are open now, but for those that are being read and were closed for others meanwhile.
  size_t open_tables() const;

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode) override {
    return WithRoom([&] { return base_->OpenForWrite(name, mode); });
  }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override {
    return WithRoom([&] { return base_->List(); });
  }
  absl::Status Remove(std::string_view name) override { return base_->Remove(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override { return base_->Rename(from, to); }
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override {
    return base_->Link(name, target, new_name);
  }
  absl::Status Sync() override { return base_->Sync(); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name) override { return base_->Lock(name); }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }

 private:
  class File;
  using Shared = std::shared_ptr<const ReadableFile>;
  // The file of `file`, opened now if it is not.
  absl::StatusOr<Shared> Borrow(const File* file) const;
  absl::StatusOr<Shared> OpenNow(const File* file) const;
  // Tries again with fewer tables open.
  template <class Open>
  std::invoke_result_t<Open> WithRoom(const Open& open) const {
    std::invoke_result_t<Open> opened = open();
    if (!absl::IsResourceExhausted(opened.status()) || open_tables() == 0) return opened;
    CloseAllBut(open_tables() / 2);
    return open();
  }
  absl::Status Vanished(const File& file) const;
  void CloseAllBut(size_t count) const;
  void LetGo(const File* file);

  const std::unique_ptr<Directory> base_;
  const size_t most_open_;
  const bool beside_a_writer_;
  std::atomic<size_t> files_{0};  // of tables, that it gave and that live
  mutable Mutex mutex_;
  // Whose files are open; the one that was read last first.
  mutable std::list<const File*> open_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
