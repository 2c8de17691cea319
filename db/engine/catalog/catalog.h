// The state that the database consists of, and the only way to change it: an edit is written to the manifest first, and
// takes effect in memory once it is durable there.
//
// A failure to write or sync the manifest ends all writing (EngineState::Stop). A full disk is an exception: the edit
// is refused with ResourceExhausted, nothing has changed, and the caller may try again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "db/act/jobs/table_output.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/engine/catalog/manifest_contents.h"
#include "db/engine/core/database_state.h"
#include "db/format/version_edit.h"
#include "util/thread/sync.h"

namespace sepal {

class Catalog {
 public:
  struct Identity {
    uint64_t database_id = 0;
    uint64_t hash_seed = 0;
    std::optional<KeptLogDirectory> log_directory = {};
    Features features = {};
  };
  Catalog(EngineState* state, Identity identity, FileNumber next_file_number)
      : state_(state),
        identity_(std::move(identity)),
        next_file_number_(next_file_number.value()),
        features_(identity_.features.bits()) {}

  const Identity& identity() const { return identity_; }
  // Never returns a number twice, even across openings. Safe for concurrent use.
  FileNumber NewFileNumber() { return FileNumber(next_file_number_.fetch_add(1, std::memory_order_relaxed)); }

  // Returns an id for a new family: a new file number. FailedPrecondition: file numbers no longer fit into an id.
  absl::StatusOr<ColumnFamilyId> NewFamilyId() ABSL_LOCKS_EXCLUDED(database_mutex);

  // Takes over the manifest that edits are written to. `min_log` is the oldest needed log that the manifest records.
  void SetManifest(std::unique_ptr<ManifestWriter> manifest, FileNumber min_log) ABSL_LOCKS_EXCLUDED(edit_mutex_);
  // Returns the manifest's reference for the headers of logs. Does not wait for edits under way.
  ManifestReference Reference() const ABSL_LOCKS_EXCLUDED(reference_mutex_);

  // Makes `edit` durable and effective. `complete` and `install` are called with the database mutex held, and may be
  // null: `complete` may add to the edit before it is written, and `install` makes further changes in the same moment
  // as the versions change.
  // It is noexcept because nothing can be undone between the write to the manifest and the change of versions: an
  // allocation that fails there ends the process.
  absl::Status Apply(VersionEdit edit, const std::function<void(VersionEdit*)>& complete,
                     const std::function<void()>& install) noexcept ABSL_LOCKS_EXCLUDED(edit_mutex_, database_mutex);

  // Returns the whole state for a new manifest. An unset `min_log` means that there is no log yet.
  ManifestContents Snapshot(std::optional<FileNumber> min_log) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // The features that the manifest records as used; the features of edits themselves need not be among them. No log or
  // table contains anything that needs a feature before the manifest records that feature.
  Features features() const { return Features(features_.load(std::memory_order_acquire)); }
  bool Uses(Feature feature) const { return features().Has(feature); }
  // Records the features in the manifest; does nothing if they are recorded already.
  absl::Status Enable(Features features) ABSL_LOCKS_EXCLUDED(edit_mutex_, database_mutex);

  // Makes the family's filter be asked with `epoch` from `sequence` on. No update has that sequence number yet, and it
  // is not visible. The caller holds the commit mutex.
  absl::Status SetFilterEpoch(Family* family, SequenceNumber sequence, std::string_view epoch)
      ABSL_LOCKS_EXCLUDED(edit_mutex_, database_mutex);

  // For a database that another process writes: adopts what its edits have recorded.
  void Follow(FileNumber next_file_number, Features features);

  absl::Status Close() ABSL_LOCKS_EXCLUDED(edit_mutex_);

  // Returns the context for writing tables of `family`, which must outlive the context.
  TableOutputContext OutputContext(const Family& family);

 private:
  struct Change {
    FamilyRef family;
    VersionRef version;
    std::vector<TableRef> removed;
  };
  absl::StatusOr<std::vector<Change>> BuildVersions(const VersionEdit& edit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);
  // Adds the history floors of the changed families to the edit.
  static void KeepHistoryFloors(const std::vector<Change>& changes, VersionEdit* edit);
  // Counts the references of tables to value files, once the edit has taken effect.
  void CountValues(const VersionEdit& edit, const std::vector<Change>& changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Adds the clock floor to the edit if puts may expire.
  void KeepClock(VersionEdit* edit) const;
  absl::Status Write(const VersionEdit& edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);
  void NoteReference() ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);
  absl::Status RollIfLarge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);

  EngineState* const state_;
  const Identity identity_;
  std::atomic<uint64_t> next_file_number_;
  std::atomic<uint64_t> features_;  // bits are only ever added

  mutable Mutex edit_mutex_;
  std::unique_ptr<ManifestWriter> manifest_ ABSL_GUARDED_BY(edit_mutex_);
  // Older manifests that are still to be removed, ascending.
  std::vector<FileNumber> superseded_ ABSL_GUARDED_BY(edit_mutex_);
  // The minimum log number that edits have recorded.
  FileNumber min_log_ ABSL_GUARDED_BY(edit_mutex_);
  // The manifest's size just after it was created.
  uint64_t snapshot_bytes_ ABSL_GUARDED_BY(edit_mutex_) = 0;

  mutable Mutex reference_mutex_;
  ManifestReference reference_ ABSL_GUARDED_BY(reference_mutex_);
};

}  // namespace sepal
