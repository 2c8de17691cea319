// A directory in which every sync fails once one sync has failed.
//
// A sync of a directory covers the names that all jobs created. After one has failed, nothing may be assumed of any of
// these names, and a later successful sync says nothing about them: a job that relied on it would put a table into the
// manifest whose name can still be lost. Only one sync runs at a time, so that none can succeed between another's
// failure and the moment at which it is known.
//
// Everything else is passed on. Safe for concurrent use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sepal/file_system.h"
#include "util/thread/sync.h"

namespace sepal {

class SyncFailureLatchDirectory final : public Directory {
 public:
  explicit SyncFailureLatchDirectory(std::unique_ptr<Directory> base) : base_(std::move(base)) {}

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override {
    return base_->OpenForRead(name, mode);
  }
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(ReadRequest&)>& done) const override {
    base_->ReadMany(requests, done);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override {
    return base_->OpenForWrite(name, mode, use);
  }
  absl::Status SyncMany(std::span<WritableFile* const> files) override { return base_->SyncMany(files); }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override { return base_->List(); }
  absl::Status Remove(std::string_view name) override { return base_->Remove(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override { return base_->Rename(from, to); }
  absl::Status Link(std::string_view name, Directory& target, std::string_view new_name) override {
    return base_->Link(name, target, new_name);
  }
  absl::Status Sync() override;
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override {
    return base_->Lock(name, mode);
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }

 private:
  const std::unique_ptr<Directory> base_;
  Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal
