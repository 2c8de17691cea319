// One table file as versions share it: what the manifest says of it, and its reader once somebody needed it.
//
// Shared ownership (TableRef): by every version that lists the file, by plans and by iterators. When the file was
// marked obsolete, the last owner to go hands its number to the sink, which is the only way a table file comes to be
// deleted.
//
// Thread-safety: everything here is safe for concurrent use. Once opened, `reader` is one acquire load.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "db/format/table_metadata.h"
#include "db/state/version/key_sums.h"
#include "table/file/table_reader.h"
#include "util/base/hyperloglog.h"
#include "util/thread/sync.h"

namespace sepal {

// Is told of files that nobody can reach any more. Called by whichever thread lets go last, with any lock held: it may
// only note the number down, without taking a lock of the engine.
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
};

class TableFile {
 public:
  // `sink` may be null.
  TableFile(TableMetadata metadata, std::shared_ptr<ObsoleteTableSink> sink);
  ~TableFile();
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  // `metadata().run` is where the file was first added; a move may have taken it to another run since. The `Run` that
  // lists it knows (Run::MetadataOf).
  const TableMetadata& metadata() const { return metadata_; }
  FileNumber number() const { return metadata_.number; }
  // Starts to fetch all of it.
  void Prefetch() const {
    const char* const begin = reinterpret_cast<const char*>(this);
    for (size_t offset = 0; offset < sizeof(TableFile); offset += 64) __builtin_prefetch(begin + offset);
  }

  // Null until opened. Lives as long as the TableFile.
  const TableReader* reader() const { return reader_.load(std::memory_order_acquire); }
  // The reader, opened now if it was not. One caller opens, the others wait; a failure is not remembered.
  absl::StatusOr<const TableReader*> OpenReader(TableOpener* opener) const;
  // The same for who must hold the reader on its own (iterators).
  absl::StatusOr<std::shared_ptr<const TableReader>> ShareReader(TableOpener* opener) const;

  // The sketch of the user keys; null where it is not known, or there is none. Cost: one acquire load.
  const HyperLogLog* key_sketch() const { return sketch_.load(std::memory_order_acquire); }
  // How many entries lie in the table for each user key of it, by its sketch and rather too few; 1 where that is not
  // known. Cost: one load, but for the first call.
  double EntriesPerKey() const;
  // Whether what the sketch tells does not change any more (db/state/version/key_sums.h).
  bool settled() const { return settled_.load(std::memory_order_acquire); }
  // Adds what the sketch tells, if it is known. Whether that is settled.
  bool AddKeys(KeySums* sums) const;
  // Has the sketch of a table of an earlier opening read from its properties, if it was not sought before: it settles
  // the table, also by a failure. The table is open for as long as that takes only, unless it was open already.
  absl::Status LearnSketch(TableOpener* opener) const;

  // An edit that removes the file is durable: delete it when the last owner goes.
  void MarkObsolete() const { obsolete_.store(true, std::memory_order_release); }
  bool obsolete() const { return obsolete_.load(std::memory_order_acquire); }

 private:
  // nullopt: the table has none.
  absl::StatusOr<std::optional<HyperLogLog>> ReadSketch(TableOpener* opener) const;

  mutable std::atomic<const TableReader*> reader_ = nullptr;
  mutable std::atomic<bool> obsolete_ = false;
  const TableMetadata metadata_;
  const std::shared_ptr<ObsoleteTableSink> sink_;
  mutable Mutex open_mutex_;
  // Set once, before `reader_` is published; never changes afterwards.
  mutable std::shared_ptr<const TableReader> owned_reader_ ABSL_GUARDED_BY(open_mutex_);
  // The metadata's, or the one that was learned, which is set once, before it is published.
  mutable std::atomic<const HyperLogLog*> sketch_;
  // Set once, after `sketch_`; read before it.
  mutable std::atomic<bool> settled_;
  mutable std::atomic<double> entries_per_key_ = 0;  // 0: not known yet
  // Apart: it is four times as large as all the rest, and most tables have none.
  mutable std::unique_ptr<const HyperLogLog> learned_sketch_ ABSL_GUARDED_BY(open_mutex_);
};

using TableRef = std::shared_ptr<const TableFile>;

}  // namespace sepal
