// A table file on its way into the database: created, written, synced; removed again if it is not finished.
//
// Law: the metadata that Finish returns may go into an edit only after the directory was synced as well, and any files
// left unsynced.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/files/rate_limited_file.h"
#include "db/decide/visibility/visibility.h"
#include "db/format/expiring_value.h"
#include "db/format/table_metadata.h"
#include "db/state/version/tuning.h"
#include "sepal/file_system.h"
#include "sepal/options.h"
#include "table/file/table_writer.h"
#include "table/key/internal_key.h"
#include "util/cache/block_cache.h"
#include "util/memory/memory_budget.h"

namespace sepal {

using UnsyncedFiles = std::vector<std::unique_ptr<WritableFile>>;

// What the files of a job have in common. The pointers outlive the job.
struct TableOutputContext {
  Directory* directory = nullptr;
  MemoryBudget* budget = nullptr;
  // The writers' memory; if null, each has its own.
  ReadyPages* buffers = nullptr;
  // The cache that keeps the written blocks, as far as there is free room; the table's number is the file in its keys.
  // Null: nothing is kept.
  BlockCache* cache = nullptr;
  Tuning tuning;
  const ColumnFamilyOptions* options = nullptr;
  // For the guards of these tables (db/decide/writing/guard_budget.h); if unset, the options say.
  std::optional<double> guard_bits_per_key = {};
  KeyOrder order;
  std::string family_name;
  uint32_t family_id = 0;
  uint64_t database_id = 0;
  uint64_t hash_seed = 0;
  uint64_t now_unix_micros = 0;
  // As for Retention.
  uint64_t expired_through_millis = 0;
  // Receives the files of finished tables, for the caller to sync (SyncTables). If null, each is synced when it is
  // finished. Only for jobs with one thread.
  UnsyncedFiles* unsynced = nullptr;
  // Both are safe for concurrent use: subcompactions call them concurrently.
  std::function<FileNumber()> new_file_number;
  std::function<uint64_t()> new_table_id;
  // How fast background work may write.
  Pacing pacing = {};
};

class TableOutput {
 public:
  static absl::StatusOr<std::unique_ptr<TableOutput>> Create(const TableOutputContext& context, int level);
  ~TableOutput();

  absl::Status Add(const InternalKeyView& key, std::string_view value) {
    Note(key.trailer, value);
    return writer_->Add(key, value);
  }
  uint64_t EstimatedBytes() const { return writer_->EstimatedFileSize(); }
  // Writes the rest, and syncs the file or leaves that to the caller. Requires at least one entry.
  absl::StatusOr<TableMetadata> Finish(RunNumber run);

 private:
  TableOutput(const TableOutputContext& context, FileNumber number, uint64_t table_id,
              std::unique_ptr<WritableFile> file, int level);

  void Note(Trailer trailer, std::string_view value) {
    const Meaning meaning = MeaningOf(trailer);
    if (meaning == Meaning::kExpiring || meaning == Meaning::kReference) [[unlikely]]
      return NoteSpecial(TrailerKind(trailer), value);
    any_stays_ |= meaning != Meaning::kAbsent;
  }

  // An entry that expires, refers to its value, or both.
  void NoteSpecial(ValueKind kind, std::string_view value);
  void NoteLink(ValueKind kind, std::string_view value);

  Directory* const directory_;
  BlockCache* const cache_;
  UnsyncedFiles* const unsynced_;
  const FileNumber number_;
  const uint64_t table_id_;
  const uint64_t created_unix_micros_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<TableWriter> writer_;
  uint64_t last_expiry_millis_ = 0;
  bool any_stays_ = false;  // there is an entry that does not expire
  std::map<FileNumber, ValueLinks> links_;
  bool finished_ = false;
};

// Syncs and closes the files, in parallel if the file system can.
absl::Status SyncTables(Directory* directory, UnsyncedFiles files);

// Removes tables of a job that failed after finishing some, and notes that in the cache that it filled, if any. A file
// that cannot be removed is found when the database is opened again.
void RemoveTables(Directory* directory, BlockCache* cache, const std::vector<TableMetadata>& tables);

}  // namespace sepal
