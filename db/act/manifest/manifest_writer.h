// Writes a manifest (db/format/manifest_format.h).
//
// Laws:
// - An edit counts once `AddEdit` has returned ok: it is then durable.
// - A failed write or sync is final: every later call fails with its error, and the outcome of the failed edit is
//   unknown. A full disk is not such a failure, because space is reserved before anything is written.
// - A manifest takes edits only after its snapshot is sealed and synced, its name is synced, and the previous manifest
//   says durably that it continues here.
// - Before a new manifest is created, the leftovers of a crash are removed durably. After an opening has created one,
//   all older ones are removed (RemoveManifestsBefore) before it takes its first edit, and those before the last
//   recovered one before any log names that one. So no older state can be taken for the newest one, even if the disk
//   lacks what a failed sync promised.
//
// Not safe for concurrent use, except `Reference`.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/format/log_format.h"
#include "db/format/manifest_format.h"
#include "db/format/version_edit.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

struct ManifestRecovery;

// Gives edits one by one.
class EditSource {
 public:
  virtual ~EditSource() = default;
  // Returns the next edit, which is valid until the next call; null after the last.
  virtual const VersionEdit* Next() = 0;
};

class ManifestWriter {
 public:
  // Creates manifest `number` with `snapshot` (the state of the whole database) and makes `old`, if any, continue in
  // it; `old` takes no edits afterwards. If this fails before `old` was written to, the new file is removed and `old`
  // remains usable.
  static absl::StatusOr<std::unique_ptr<ManifestWriter>> Create(Directory* directory, FileNumber number,
                                                                uint64_t database_id, EditSource* snapshot,
                                                                ManifestWriter* old);
  // The same with edits that are in memory.
  static absl::StatusOr<std::unique_ptr<ManifestWriter>> Create(Directory* directory, FileNumber number,
                                                                uint64_t database_id,
                                                                std::span<const VersionEdit> snapshot,
                                                                ManifestWriter* old);
  // Opens the recovered manifest, so that a new one can continue it: cuts off a torn end. It takes no edits.
  static absl::StatusOr<std::unique_ptr<ManifestWriter>> Reopen(Directory* directory,
                                                                const ManifestRecovery& recovered);

  // Makes `edit` durable. ResourceExhausted (a full disk) leaves everything as it was, and so does FailedPrecondition
  // (an edit longer than a record can be).
  absl::Status AddEdit(const VersionEdit& edit);

  absl::Status Close();

  FileNumber number() const { return number_; }
  // The error that made the manifest fail for good, or ok.
  const absl::Status& failure() const { return failure_; }
  uint64_t size_bytes() const { return size_; }
  // For the headers of logs. Safe concurrently with everything.
  ManifestReference Reference() const { return {number_, durable_.load(std::memory_order_acquire)}; }

 private:
  ManifestWriter(Directory* directory, FileNumber number) : directory_(directory), number_(number) {}
  absl::Status WriteSnapshot(uint64_t database_id, EditSource* snapshot);
  absl::Status ContinueIn(FileNumber next);
  absl::Status ReserveSpace(uint64_t bytes);
  // Appends `buffer_`, whose last record has `checksum`, and syncs.
  absl::Status AppendAndSync(uint64_t checksum);
  void MarkSynced();
  absl::Status Latch(const absl::Status& error);

  Directory* const directory_;
  const FileNumber number_;
  std::unique_ptr<WritableFile> file_;
  uint64_t header_checksum_ = 0;
  uint64_t checksum_ = 0;  // of the last record
  uint64_t size_ = 0;
  uint64_t allocated_ = 0;  // bytes of the file that have space reserved
  std::atomic<uint64_t> durable_{0};
  bool takes_edits_ = false;
  absl::Status failure_;
  std::string buffer_;
};

// Removes the files, then makes the removal durable. A missing file is no error.
absl::Status RemoveDurably(Directory* directory, std::span<const std::string> names);

// Removes `*manifests`, which ascend, each one durably before the next. After an error, those that are still in it were
// not removed.
absl::Status RemoveManifests(Directory* directory, std::vector<FileNumber>* manifests);
// Removes all manifests below `number`, the oldest first, each one durably before the next.
absl::Status RemoveManifestsBefore(Directory* directory, FileNumber number);
// The same from a listing of the directory, or at least of its manifests; a listed file that is missing by now is no
// error.
absl::Status RemoveManifestsBefore(Directory* directory, std::span<const DirectoryEntry> listing, FileNumber number);

}  // namespace sepal
