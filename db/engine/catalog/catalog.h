// What the database consists of, and the only way to change it: an edit goes to the manifest first, and takes effect in
// memory once it is durable there.
//
// A failure to write or sync the manifest ends all writing (EngineState::Stop). A full disk is no such failure: the
// edit is refused with ResourceExhausted, nothing has changed, and it may be tried again.
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
  // Never returns a number twice, over all openings. Safe for concurrent use.
  FileNumber NewFileNumber() { return FileNumber(next_file_number_.fetch_add(1, std::memory_order_relaxed)); }

  // For a family to be made: a new file number, as long as those fit into an id. FailedPrecondition: no longer.
  absl::StatusOr<ColumnFamilyId> NewFamilyId() ABSL_LOCKS_EXCLUDED(database_mutex);

  // Takes over the manifest that edits go to; it says that `min_log` is the oldest log that is needed.
  void SetManifest(std::unique_ptr<ManifestWriter> manifest, FileNumber min_log) ABSL_LOCKS_EXCLUDED(edit_mutex_);
  // For the headers of logs. Does not wait for edits under way.
  ManifestReference Reference() const ABSL_LOCKS_EXCLUDED(reference_mutex_);

  // Makes `edit` durable and effective. With the database mutex held, `complete` may add to the edit before it is
  // written, and `install` changes what else must change in the same moment as the versions; both may be null.
  // noexcept: between the manifest and the versions nothing can be taken back, and an allocation that fails ends the
  // process.
  absl::Status Apply(VersionEdit edit, const std::function<void(VersionEdit*)>& complete,
                     const std::function<void()>& install) noexcept ABSL_LOCKS_EXCLUDED(edit_mutex_, database_mutex);

  // All of it, for a new manifest. An unset `min_log`: there is no log yet.
  ManifestContents Snapshot(std::optional<FileNumber> min_log) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // What the manifest says that the database uses; of what edits themselves have, it need not know. Neither a log nor a
  // table has what needs a feature before that feature is among these.
  Features features() const { return Features(features_.load(std::memory_order_acquire)); }
  bool Uses(Feature feature) const { return features().Has(feature); }
  // Makes the manifest say so; a no-op if it does.
  absl::Status Enable(Features features) ABSL_LOCKS_EXCLUDED(edit_mutex_, database_mutex);

  // From `sequence` on, which nothing has and nobody sees yet, the family's filter is asked with `epoch`. With the
  // commit mutex held.
  absl::Status SetFilterEpoch(Family* family, SequenceNumber sequence, std::string_view epoch)
      ABSL_LOCKS_EXCLUDED(edit_mutex_, database_mutex);

  // Of a database that another process writes: what its edits have said.
  void Follow(FileNumber next_file_number, Features features);

  absl::Status Close() ABSL_LOCKS_EXCLUDED(edit_mutex_);

  // What tables of `family` are written with. It must outlive the context.
  TableOutputContext OutputContext(const Family& family);

 private:
  struct Change {
    FamilyRef family;
    VersionRef version;
    std::vector<TableRef> removed;
  };
  absl::StatusOr<std::vector<Change>> BuildVersions(const VersionEdit& edit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);
  // Has the edit say from where on the families that it changes can be read.
  static void KeepHistoryFloors(const std::vector<Change>& changes, VersionEdit* edit);
  // What tables refer to, once the edit has taken effect.
  void CountValues(const VersionEdit& edit, const std::vector<Change>& changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Where puts may expire, the edit says so, and how far the clock is.
  void KeepClock(VersionEdit* edit) const;
  absl::Status Write(const VersionEdit& edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);
  void NoteReference() ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);
  absl::Status RollIfLarge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(edit_mutex_);

  EngineState* const state_;
  const Identity identity_;
  std::atomic<uint64_t> next_file_number_;
  std::atomic<uint64_t> features_;  // they only become more

  mutable Mutex edit_mutex_;
  std::unique_ptr<ManifestWriter> manifest_ ABSL_GUARDED_BY(edit_mutex_);
  // Those before it that are still to be removed, ascending.
  std::vector<FileNumber> superseded_ ABSL_GUARDED_BY(edit_mutex_);
  // As edits said.
  FileNumber min_log_ ABSL_GUARDED_BY(edit_mutex_);
  // The manifest's size when it was made.
  uint64_t snapshot_bytes_ ABSL_GUARDED_BY(edit_mutex_) = 0;

  mutable Mutex reference_mutex_;
  ManifestReference reference_ ABSL_GUARDED_BY(reference_mutex_);
};

}  // namespace sepal
