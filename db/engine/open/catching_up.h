// One attempt of a reader to come to what another process has written (live_reader.h). Nothing has changed for readers
// until it has succeeded.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/log_recovery.h"
#include "db/act/log/replay.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/core.h"
#include "db/engine/core/database_state.h"
#include "db/state/version/manifest_state.h"

namespace sepal {

// How far a reader has read, which is what its families have.
struct ReaderPosition {
  ManifestRecovery manifest;
  ManifestState state;
  std::optional<LogPlace> place;          // none: the logs held nothing
  std::vector<DirectoryEntry> log_files;  // logs and rings, as they were last listed
};

// What a reader has ever seen.
struct ReaderHistory {
  FileNumber manifest;
  SequenceNumber visible;
  // When it looked behind the end of the logs (LogRecoveryOptions::look_behind_the_end).
  uint64_t looked_behind_micros = 0;
};

class CatchingUp {
 public:
  // `from`: where the last attempt has ended; none: everything is to be read.
  CatchingUp(Core* core, EngineState* state, Catalog* catalog, ReaderHistory* history,
             std::optional<ReaderPosition> from);

  // Aborted, NotFound, DataLoss: perhaps only that the writer changed the files meanwhile.
  absl::StatusOr<ReaderPosition> Run();

 private:
  // What a family has, and what it is to have.
  struct Part {
    FamilyRef family;
    VersionRef version;
    SequenceNumber flushed_through;
    std::shared_ptr<MemTable> memtable;
  };
  using Parts = std::map<ColumnFamilyId, Part>;

  absl::Status TakeManifest();
  absl::Status ReadManifest();
  absl::Status CheckIdentity() const;
  absl::Status TakeFamilies();
  absl::Status TakeVersions();
  // Tables that `now`, which `builder` has made, does not have any more.
  void NoteGone(const Version& had, const VersionBuilder& builder, const Version& now);
  absl::Status OpenTables(const Version& version);
  absl::Status OpenTable(const TableFile& table, TableOpener* opener);
  // The table's, with those that it refers to.
  static size_t FilesOf(const TableFile& table);
  size_t MostOpen() const;
  absl::Status TakeLogs();
  bool MayGoOn() const;
  bool HasNewSnapshotBelowVisible() const;
  // Finds the logs. `goes_on`: the replay continues from the place of the position.
  absl::StatusOr<std::vector<LogFile>> FindLogs(bool goes_on);
  // Whether no log can exist beyond those that were listed before.
  bool MayKnowLogs() const;
  // False: the logs do not go on from `from`.
  absl::StatusOr<bool> ReplayLogs(const std::vector<LogFile>& logs, std::optional<LogPlace> from);
  Replay::Options HowToReplay(bool goes_on);
  absl::Status CheckValues(Replay* replay, SequenceNumber first, std::string_view batch);
  void HoldValue(MemTable* memtable, std::string_view reference);
  void ForgetDeadRanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(core_->commit_mutex);
  void Publish() EXCLUDES_STATE_LOCK;
  void PublishFamily(ColumnFamilyId id, const Part& part) REQUIRES_STATE_LOCK;

  Core* const core_;
  EngineState* const state_;
  Catalog* const catalog_;
  ReaderHistory* const history_;
  std::optional<ReaderPosition> next_;
  const uint64_t edits_before_;
  bool anew_ = false;  // the manifest was read from its beginning
  Parts before_;
  Parts parts_;
  std::vector<TableRef> gone_;
  size_t opened_ = 0;
  bool replayed_anew_ = false;
  uint64_t batches_ = 0;
  SequenceNumber visible_;
};

}  // namespace sepal
