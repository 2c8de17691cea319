// A directory that forwards every call that a log or a manifest needs, for tests to change some of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/file_system.h"

namespace sepal {

class PassingDirectory : public Directory {
 public:
  explicit PassingDirectory(Directory* base) : base_(base) {}

  Capabilities capabilities() const override { return base_->capabilities(); }
  const std::string& path() const override { return base_->path(); }
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(std::string_view name, ReadMode mode) override {
    return base_->OpenForRead(name, mode);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(std::string_view name, WriteMode mode,
                                                             FileUse use) override {
    return base_->OpenForWrite(name, mode, use);
  }
  absl::Status SyncMany(std::span<WritableFile* const> files) override { return base_->SyncMany(files); }
  absl::StatusOr<std::vector<DirectoryEntry>> List() override { return base_->List(); }
  absl::Status Remove(std::string_view name) override { return base_->Remove(name); }
  absl::Status Rename(std::string_view from, std::string_view to) override { return base_->Rename(from, to); }
  absl::Status Sync() override { return base_->Sync(); }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> Lock(std::string_view name, LockRequest mode) override {
    return base_->Lock(name, mode);
  }
  absl::StatusOr<uint64_t> FreeBytes() override { return base_->FreeBytes(); }

 protected:
  Directory* base() const { return base_; }

 private:
  Directory* const base_;
};

}  // namespace sepal
