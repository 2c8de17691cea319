// The value files of an open database: where values are written that are kept apart from their keys, and read again.
//
// A value is written before the record of the log that refers to it, and made durable before anything says that this
// record is, and before an edit that names a table which refers to it. So a reference in a table has its value, and a
// record without its value was never acknowledged as durable.
//
// Law: A file exists as long as something holds its ValueFile: tables hold those that they refer to, memtables
// likewise, and writers until their update is in a memtable. The last one to let go hands it to the deleter. So a file
// needs no mention in the manifest but for the tables' links.
//
// Thread-safety: everything may run concurrently.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/obsolete_table_deleter.h"
#include "db/act/files/value_stream_writer.h"
#include "db/act/files/value_writer.h"
#include "db/format/table_metadata.h"
#include "db/format/value_reference.h"
#include "db/state/memtable/memtable.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"
#include "util/cache/block_cache.h"
#include "util/thread/sync.h"

namespace sepal {

class ValueStore;

// A value file that somebody may need. The store must outlive it.
class ValueFile {
 public:
  ValueFile(ValueStore* store, FileNumber number, uint64_t cache_file)
      : store_(store), number_(number), cache_file_(cache_file) {}
  ~ValueFile();
  ValueFile(const ValueFile&) = delete;
  ValueFile& operator=(const ValueFile&) = delete;
  FileNumber number() const { return number_; }

 private:
  friend class ValueStore;
  ValueStore* const store_;
  const FileNumber number_;
  const uint64_t cache_file_;  // CacheKey::file
  mutable Mutex open_mutex_;
  mutable std::unique_ptr<const ReadableFile> owned_ ABSL_GUARDED_BY(open_mutex_);
  mutable std::atomic<const ReadableFile*> reader_{nullptr};
};

class ValueStore {
 public:
  // `beside_a_writer`: nothing is removed, and a file that is missing gives `Aborted`. `directory` must outlive it. So
  // must `cache`, as long as others hold files; null: nothing that asks the cache is called. `read_mode`: of the files.
  ValueStore(Directory* directory, bool beside_a_writer, BlockCache* cache, ReadMode read_mode = ReadMode::kBuffered)
      : directory_(directory), beside_a_writer_(beside_a_writer), cache_(cache), read_mode_(read_mode) {}
  ~ValueStore();
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;

  // Before anything else is called.
  void Identify(uint64_t database_id) { database_id_ = database_id; }
  uint64_t database_id() const { return database_id_; }
  // Until LetGo, nothing is removed: what an opening finds may be needed by logs that it has not read.
  void Hold(ValueFileRef file) ABSL_LOCKS_EXCLUDED(map_mutex_);
  // The file gets no more values.
  void NoteEnded(FileNumber number, uint64_t bytes) ABSL_LOCKS_EXCLUDED(map_mutex_);
  // From now on values may be appended.
  struct Writing {
    std::shared_ptr<ObsoleteTableDeleter> deleter;
    std::function<FileNumber()> new_file_number;
    std::function<uint64_t()> new_file_id;
    uint64_t file_bytes = uint64_t{64} << 20;
    uint64_t step_bytes = uint64_t{4} << 20;
    Pacing compactions = {};  // how fast they may write
  };
  void Start(const Writing& writing);
  // From now on a file that nothing holds is handed to the deleter.
  void LetGo() ABSL_LOCKS_EXCLUDED(map_mutex_);

  // Values of fewer bytes are separated in no family. One relaxed load.
  size_t least_separated() const { return least_separated_.load(std::memory_order_relaxed); }
  // Of a family that is there; 0: it separates none.
  void NoteFamily(size_t separate_from);

  // Where the user's values go, and where compactions put those that they move: what has survived that long lies apart
  // from what is new, which may be overwritten soon.
  ValueWriter& fresh() { return fresh_; }
  ValueWriter& moved() { return moved_; }
  // A file for one value, which is written part by part. It must not outlive this.
  absl::StatusOr<std::unique_ptr<ValueStreamWriter>> BeginStream(uint64_t bytes) const {
    return ValueStreamWriter::Begin(outputs_, bytes);
  }

  struct FileState {
    FileNumber number;
    uint64_t ended_bytes = 0;  // 0: it may get more values
    int memtables = 0;         // that hold it
    bool unreadable = false;   // NoteUnreadable
  };
  std::vector<FileState> Files() const ABSL_LOCKS_EXCLUDED(map_mutex_);
  // Grows whenever that may have become another answer.
  uint64_t ended_changes() const { return ended_changes_.load(std::memory_order_acquire); }
  // No value is moved out of the file from now on: one of them could not be read.
  void NoteUnreadable(FileNumber number) ABSL_LOCKS_EXCLUDED(map_mutex_);

  // Opens a file that somebody holds, so that it can be read when a writer elsewhere has removed it. Aborted: it has
  // been already.
  absl::Status OpenNow(FileNumber number) ABSL_LOCKS_EXCLUDED(map_mutex_) { return Open(*Pin(number)).status(); }
  // Of a file that somebody holds, or that an opening has found.
  ValueFileRef Pin(FileNumber number) ABSL_LOCKS_EXCLUDED(map_mutex_);
  // Has the memtable, which gets a reference, hold its file from now on, and count the value's bytes.
  void HoldFor(MemTable* memtable, const ValueReference& reference);
  // What a table that has these links is given for a sink: it holds the files too, so that tables without links are no
  // larger for it.
  std::shared_ptr<ObsoleteTableSink> SinkThatHolds(std::shared_ptr<ObsoleteTableSink> sink,
                                                   std::span<const ValueLinks> links);

  // Finds a value in the cache, or reads it; it stays there if `fill_cache` and it is not large. Errors are those of
  // Read.
  absl::StatusOr<CachePin> Fetch(const ValueReference& reference, bool fill_cache);
  // The same of many, read together. `done(i, value)` is called for each, in any order.
  void FetchMany(std::span<const ValueReference> references, bool fill_cache,
                 const std::function<void(size_t i, absl::StatusOr<CachePin> value)>& done);
  // The same of what is stored of them, for something that copies it. It does not stay in the cache.
  void FetchStored(std::span<const ValueReference> references,
                   const std::function<void(size_t i, absl::StatusOr<CachePin> stored)>& done);
  // From the cache alone; empty: it is not there. Takes no lock.
  CachePin FindCached(const ValueReference& reference);
  // Fetches what FindCached looks at first.
  void Prefetch(const ValueReference& reference) const { cache_->Prefetch(KeyOf(reference)); }

  // Reads a value and checks it. DataLoss names the file and the offset.
  absl::Status Read(const ValueReference& reference, std::string* value);
  // The same of what is stored of it.
  absl::Status ReadStored(const ValueReference& reference, std::string* stored);
  // Decompresses what ReadStored or FetchStored gave.
  absl::Status Decompress(const ValueReference& reference, std::string_view stored, std::string* value) const;
  // Reads what is at `at` of a value, for as long as `to` is; the value reaches that far. Of a chunked value only the
  // chunks there are read and checked; a compressed one is decompressed as a whole, and a large other one is read
  // through. `fill_cache`: of chunk sums, or of a value that is not large.
  absl::Status ReadPart(const ValueReference& reference, uint64_t at, std::span<char> to, bool fill_cache);
  // Reads what is stored of a value and checks it, in memory that does not depend on its size.
  absl::Status Verify(const ValueReference& reference);
  // Reads and checks the chunk sums of a chunked value alone: whether it was written, as both became durable together.
  absl::Status CheckChunkSums(const ValueReference& reference);

 private:
  friend class ValueFile;
  friend class ValueWindow;
  // A memtable's hold of a file.
  class MemTableHold;
  struct Known {
    std::weak_ptr<const ValueFile> file;
    FileState state;
  };

  absl::StatusOr<const ReadableFile*> Open(const ValueFile& file) const;
  absl::StatusOr<CachePin> FetchChunkSums(const ValueReference& reference, bool fill_cache);
  absl::Status Check(const ValueReference& reference, std::string_view stored) const;
  absl::Status ReadStored(const ValueReference& reference, char* stored);
  using Fetched = std::function<void(size_t i, absl::StatusOr<CachePin> bytes)>;
  void FetchAll(std::span<const ValueReference> references, bool as_stored, bool fill_cache, const Fetched& done);
  CacheKey KeyOf(const ValueReference& reference) const {
    return {cache_->FileOf(reference.file.value()), reference.offset};
  }
  CachePin Keep(const ValueReference& reference, BlockBuffer value, bool fill_cache);
  // The same from what is stored, which has been checked.
  absl::StatusOr<CachePin> Show(const ValueReference& reference, BlockBuffer stored, bool fill_cache);
  void CountMemTables(FileNumber number, int more) ABSL_LOCKS_EXCLUDED(map_mutex_);
  void Released(const ValueFile& file) ABSL_LOCKS_EXCLUDED(map_mutex_);
  std::string PathOf(FileNumber number) const;

  Directory* const directory_;
  const bool beside_a_writer_;
  BlockCache* const cache_;
  const ReadMode read_mode_;
  uint64_t database_id_ = 0;
  std::atomic<size_t> least_separated_{SIZE_MAX};
  std::atomic<uint64_t> ended_changes_{0};
  mutable Mutex map_mutex_;
  absl::flat_hash_map<uint64_t, Known> files_ ABSL_GUARDED_BY(map_mutex_);
  std::vector<ValueFileRef> held_ ABSL_GUARDED_BY(map_mutex_);
  std::shared_ptr<ObsoleteTableDeleter> deleter_ ABSL_GUARDED_BY(map_mutex_);
  bool removes_ ABSL_GUARDED_BY(map_mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(map_mutex_) = false;  // the cache may be gone

  ValueOutputs outputs_;  // of `fresh_`, and of streams

  // They hold files, and let go before the rest of this goes.
  ValueWriter fresh_;
  ValueWriter moved_;
};

}  // namespace sepal
