// Replays batches of logs (log_recovery.h, log_salvage.h): updates that are not in tables yet go into memtables, one
// for each column family. Opening and repair replay logs through this alone.
//
// A batch is taken as a whole, and memtables are flushed between batches: the mark of a family, up to which its updates
// are in tables, never splits a batch.
//
// If the batches are few, they are kept as they are, for a new log to begin with them (LogStart::carried): a table of a
// few entries would cost more, and each opening would leave one.
//
// Not safe for concurrent use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/write_ahead_log.h"
#include "db/format/batch_format.h"
#include "db/state/memtable/memtable.h"
#include "db/state/version/snapshot_list.h"
#include "db/state/version/version.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"

namespace sepal {

class Replay {
 public:
  struct Family {
    KeyOrder order;
    SequenceNumber flushed_through;
    // The highest sequence number in level 0, whose entries keep theirs: replayed updates are newer.
    SequenceNumber level0_through = {};
    std::shared_ptr<MemTable> memtable = nullptr;  // null if nothing was replayed, or everything is flushed
    std::vector<SequenceNumber> standing = {};     // later readers read at these, or above the last
  };
  using NewMemTable = std::function<std::shared_ptr<MemTable>(const KeyOrder& order)>;
  struct Options {
    uint64_t hash_seed = 0;
    // From the manifest. Updates of missing families with a lower id are skipped, because those families were dropped.
    FileNumber next_file_number = {};
    // Batches of at most this many bytes together are kept; 0: none is kept.
    size_t keep_bytes = 0;
    NewMemTable new_memtable = nullptr;
    // Writes a memtable to tables; called when it has `memtable_bytes`. If null, nothing is flushed, and memtables can
    // be read at any time. If set, `new_memtable` must make memtables without an index.
    std::function<absl::Status(ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable)> flush = nullptr;
    size_t memtable_bytes = 0;
    // Called for each reference to a value that goes into a memtable.
    std::function<void(MemTable* memtable, std::string_view reference)> on_reference = nullptr;
    // Asked about each reference that would go into a memtable to be flushed: false, the update is left out; else
    // `*value` may be set to another reference, kept in `*settled`. Null: it goes as it is.
    std::function<absl::StatusOr<bool>(ColumnFamilyId id, ValueKind kind, std::string_view key, std::string_view* value,
                                       std::string* settled)>
        settle_reference = nullptr;
    // The snapshots that will be read at, ascending.
    std::vector<SequenceNumber> snapshots = {};
    // For families that keep their history: the sequence number from which on everything can be read.
    std::map<ColumnFamilyId, SequenceNumber> history_floors = {};
    // Adds a range tombstone to a memtable that is being read. Null if no memtable is.
    std::function<void(ColumnFamilyId id, MemTable* memtable, SequenceNumber sequence, const BatchEntry& entry)>
        delete_range = nullptr;
  };

  explicit Replay(Options options) : options_(std::move(options)) {}

  // `memtable`: the memtable of earlier replays, which continues; null if there is none.
  void AddFamily(ColumnFamilyId id, KeyOrder order, SequenceNumber flushed_through, const Version* version,
                 std::shared_ptr<MemTable> memtable = nullptr);

  // Returns the number of the batch's updates that are not in tables. DataLoss for bytes that are not a batch, and for
  // updates that contradict the manifest.
  absl::StatusOr<uint64_t> Count(SequenceNumber first, std::string_view batch);
  // Replays a batch that follows those before it. Errors are those of `Count` and of a flush.
  absl::Status Take(SequenceNumber first, std::string_view batch);
  // Calls `visit` with each reference of a batch's updates that are not in tables.
  void VisitReferences(SequenceNumber first, std::string_view batch,
                       const std::function<void(const BatchEntry& entry)>& visit);
  // Flushes all memtables.
  absl::Status Flush();
  // Inserts the batches that are kept, to be read, into memtables that `new_memtable` makes.
  void InsertKept(const NewMemTable& new_memtable);

  const std::map<ColumnFamilyId, Family>& families() const { return families_; }
  std::span<const LoggedBatch> kept() const { return kept_; }
  // The number of updates that were replayed.
  uint64_t updates() const { return updates_; }
  // Whether the last error said that the manifest lacks something, rather than that the batch is damaged.
  bool contradicts_manifest() const { return contradicts_manifest_; }

 private:
  // Null for a family that was dropped.
  absl::StatusOr<Family*> FamilyOf(const BatchEntry& entry);
  absl::Status Insert(SequenceNumber first, std::string_view batch);
  absl::Status Collect(SequenceNumber sequence, BatchEntry entry, ColumnFamilyId id, Family* family) const;
  // Calls `insert(sequence, entry, id, family)` with each update of a batch that is not in tables.
  template <typename InsertFunction>
  void ForEachUpdate(SequenceNumber first, std::string_view batch, const InsertFunction& insert);
  void NoteReference(const BatchEntry& entry, MemTable* memtable) const;
  // Inserts a range tombstone into either kind of memtable.
  void InsertRange(SequenceNumber sequence, const BatchEntry& entry, const Family& family) const;
  void InsertToRead(SequenceNumber sequence, const BatchEntry& entry, const NewMemTable& new_memtable,
                    ColumnFamilyId id, Family* family);
  absl::Status FlushFamily(ColumnFamilyId id, Family* family);

  const Options options_;
  std::map<ColumnFamilyId, Family> families_;
  std::vector<LoggedBatch> kept_;
  size_t kept_bytes_ = 0;
  bool keeps_ = options_.keep_bytes > 0;
  uint64_t updates_ = 0;
  bool contradicts_manifest_ = false;
};

}  // namespace sepal
