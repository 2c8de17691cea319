// One table file as versions share it: its metadata from the manifest, and its reader once it was needed.
//
// Ownership is shared (TableRef) by every version that lists the file, by plans and by iterators. If the file was
// marked obsolete, its last owner hands its number to the sink when it is released; table files are deleted only in
// this way.
//
// Thread-safety: everything here is safe for concurrent use. Once the file is open, `reader` is one acquire load.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "db/format/table_metadata.h"
#include "db/state/ranges/range_tombstones.h"
#include "db/state/version/key_sums.h"
#include "table/file/table_reader.h"
#include "util/base/hyperloglog.h"
#include "util/thread/sync.h"

namespace sepal {

// Receives the numbers of files that are no longer reachable. It is called by the thread that releases the last
// reference, with any lock held, so it may only note the number, without taking a lock of the engine.
class ObsoleteTableSink {
 public:
  virtual ~ObsoleteTableSink() = default;
  virtual void OnLastRelease(FileNumber number) = 0;
};

// Opens the reader of a table. Safe for concurrent use.
class TableOpener {
 public:
  virtual ~TableOpener() = default;
  virtual absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(const TableMetadata& metadata) = 0;
  // Returns whether opening waits for a remote store.
  virtual bool IsFar() const { return false; }
  // Makes such a store fetch what opening reads, without waiting, and returns the file, to be passed to OpenAsked. Null
  // on failure, which opening then reports.
  virtual std::unique_ptr<ReadableFile> Ask(const TableMetadata& metadata) {
    (void)metadata;
    return nullptr;
  }
  virtual absl::StatusOr<std::shared_ptr<TableReader>> OpenAsked(const TableMetadata& metadata,
                                                                 std::unique_ptr<ReadableFile> asked) {
    (void)asked;
    return OpenTable(metadata);
  }
};

class TableFile {
 public:
  // `sink` may be null.
  TableFile(TableMetadata metadata, std::shared_ptr<ObsoleteTableSink> sink);
  ~TableFile();
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  // `metadata().run` is the run to which the file was first added. A move may have put it into another run since; the
  // `Run` that lists it knows (Run::MetadataOf).
  const TableMetadata& metadata() const { return metadata_; }
  FileNumber number() const { return metadata_.number; }
  // Prefetches the whole object.
  void Prefetch() const {
    const char* const begin = reinterpret_cast<const char*>(this);
    for (size_t offset = 0; offset < sizeof(TableFile); offset += 64) __builtin_prefetch(begin + offset);
  }

  // Null until the file is opened. Valid as long as the TableFile.
  const TableReader* reader() const { return reader_.load(std::memory_order_acquire); }
  // Returns the reader, and opens it first if necessary. One caller opens while others wait; a failure is not
  // remembered.
  absl::StatusOr<const TableReader*> OpenReader(TableOpener* opener) const;
  // The same for a caller that must own the reader (iterators).
  absl::StatusOr<std::shared_ptr<const TableReader>> ShareReader(TableOpener* opener) const;
  // For a caller that is about to open several files: calling this on all of them first lets their fetches overlap. It
  // does not wait for them. Returns whether anything was fetched; the file must be opened then.
  bool Ask(TableOpener* opener) const;

  // The sketch of the user keys; null if it is not known or does not exist. Cost: one acquire load.
  const HyperLogLog* key_sketch() const { return sketch_.load(std::memory_order_acquire); }
  // The number of entries for each user key of the table, estimated from its sketch and tending to be too low; 1 if
  // unknown. Cost: one load, except for the first call.
  double EntriesPerKey() const;
  // Whether the sketch's contribution never changes again (db/state/version/key_sums.h).
  bool settled() const { return settled_.load(std::memory_order_acquire); }
  // Adds the sketch's estimates, if they are known. Returns whether that is settled.
  bool AddKeys(KeySums* sums) const;
  // Reads the sketch of a table of an earlier opening from its properties, unless that was tried before. The table is
  // settled then, even after a failure. The table is open only for this call, unless it was open already.
  absl::Status LearnSketch(TableOpener* opener) const;

  // The contents of a table of range tombstones (HoldsRangeTombstones). Set before a version that is to be read lists
  // it.
  void SetRangeTombstones(RangeTombstonesRef tombstones) const { range_tombstones_ = std::move(tombstones); }
  const RangeTombstonesRef& range_tombstones() const { return range_tombstones_; }

  // An edit that removes the file is durable: the file is deleted when its last owner releases it.
  void MarkObsolete() const { obsolete_.store(true, std::memory_order_release); }
  bool obsolete() const { return obsolete_.load(std::memory_order_acquire); }

 private:
  // nullopt if the table has no sketch.
  absl::StatusOr<std::optional<HyperLogLog>> ReadSketch(TableOpener* opener) const;

  mutable std::atomic<const TableReader*> reader_ = nullptr;
  const TableMetadata metadata_;
  const std::shared_ptr<ObsoleteTableSink> sink_;
  mutable Mutex open_mutex_;
  // Set once, before `reader_` is published; never changed afterwards.
  mutable std::shared_ptr<const TableReader> owned_reader_ ABSL_GUARDED_BY(open_mutex_);
  mutable std::unique_ptr<ReadableFile> asked_ ABSL_GUARDED_BY(open_mutex_);  // TableOpener::Ask
  // The metadata's sketch, or the one that was read later, which is set once, before it is published.
  mutable std::atomic<const HyperLogLog*> sketch_;
  // Set once, after `sketch_`; readers load it before `sketch_`.
  mutable std::atomic<bool> settled_;
  mutable std::atomic<bool> obsolete_ = false;
  mutable std::atomic<double> entries_per_key_ = 0;  // 0 if not known yet
  mutable RangeTombstonesRef range_tombstones_;
  // Allocated separately, because it is four times as large as all the rest, and most tables have none.
  mutable std::unique_ptr<const HyperLogLog> learned_sketch_ ABSL_GUARDED_BY(open_mutex_);
};

using TableRef = std::shared_ptr<const TableFile>;

}  // namespace sepal
