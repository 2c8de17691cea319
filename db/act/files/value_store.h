// The value files of an open database: where separated values are written, and read again.
//
// A value is written before the log record that refers to it, and made durable before anything says that this record is
// durable, and before an edit that names a table which refers to it. So the value of a reference in a table always
// exists, and a record without its value was never acknowledged as durable.
//
// Law: a file exists as long as something holds its ValueFile: tables and memtables hold those that they refer to, and
// writers until their update is in a memtable. The last release hands the file to the deleter. So the manifest mentions
// files only in the tables' links.
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

// A value file that may be needed. The store must outlive it.
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
  const uint64_t cache_file_;  // see CacheKey::file
  mutable Mutex open_mutex_;
  mutable std::unique_ptr<const ReadableFile> owned_ ABSL_GUARDED_BY(open_mutex_);
  mutable std::atomic<const ReadableFile*> reader_{nullptr};
};

class ValueStore {
 public:
  // `beside_a_writer`: nothing is removed, and a missing file gives `Aborted`. `directory` must outlive the store. So
  // must `cache`, as long as files are held; if null, functions that use the cache must not be called. `read_mode`: for
  // the files.
  ValueStore(Directory* directory, bool beside_a_writer, BlockCache* cache, ReadMode read_mode = ReadMode::kBuffered)
      : directory_(directory), beside_a_writer_(beside_a_writer), cache_(cache), read_mode_(read_mode) {}
  ~ValueStore();
  ValueStore(const ValueStore&) = delete;
  ValueStore& operator=(const ValueStore&) = delete;

  // Called before anything else.
  void Identify(uint64_t database_id) { database_id_ = database_id; }
  uint64_t database_id() const { return database_id_; }
  // Until LetGo nothing is removed, because a file may be needed by logs that the opening has not read.
  void Hold(ValueFileRef file) ABSL_LOCKS_EXCLUDED(map_mutex_);
  // Notes that the file gets no more values.
  void NoteEnded(FileNumber number, uint64_t bytes) ABSL_LOCKS_EXCLUDED(map_mutex_);
  // After this, values may be appended.
  struct Writing {
    std::shared_ptr<ObsoleteTableDeleter> deleter;
    std::function<FileNumber()> new_file_number;
    std::function<uint64_t()> new_file_id;
    uint64_t file_bytes = uint64_t{64} << 20;
    uint64_t step_bytes = uint64_t{4} << 20;
    Pacing compactions = {};  // how fast compactions may write
  };
  void Start(const Writing& writing);
  // After this, a file that nothing holds is handed to the deleter.
  void LetGo() ABSL_LOCKS_EXCLUDED(map_mutex_);

  // The size below which no family separates values. One relaxed load.
  size_t least_separated() const { return least_separated_.load(std::memory_order_relaxed); }
  // Notes an existing family; 0: it separates no values.
  void NoteFamily(size_t separate_from);

  // The writer for new values, and the one for values that compactions move: values that have survived that long are
  // kept apart from new ones, which may be overwritten soon.
  ValueWriter& fresh() { return fresh_; }
  ValueWriter& moved() { return moved_; }
  // Begins a file for a single value, which is written in parts. The writer must not outlive this.
  absl::StatusOr<std::unique_ptr<ValueStreamWriter>> BeginStream(uint64_t bytes) const {
    return ValueStreamWriter::Begin(outputs_, bytes);
  }

  struct FileState {
    FileNumber number;
    uint64_t ended_bytes = 0;  // 0 if it may get more values
    int memtables = 0;         // the number of memtables that hold it
    bool unreadable = false;   // see NoteUnreadable
  };
  std::vector<FileState> Files() const ABSL_LOCKS_EXCLUDED(map_mutex_);
  // Increases whenever the result of Files may have changed.
  uint64_t ended_changes() const { return ended_changes_.load(std::memory_order_acquire); }
  // After this, no value is moved out of the file, because one of them could not be read.
  void NoteUnreadable(FileNumber number) ABSL_LOCKS_EXCLUDED(map_mutex_);

  // Opens a file that is held, so that it can be read even when another process has removed it. Aborted: it was removed
  // already.
  absl::Status OpenNow(FileNumber number) ABSL_LOCKS_EXCLUDED(map_mutex_) { return Open(*Pin(number)).status(); }
  // Pins a file that is held, or that an opening has found.
  ValueFileRef Pin(FileNumber number) ABSL_LOCKS_EXCLUDED(map_mutex_);
  // Called when a memtable gets a reference: makes it hold the file, and count the value's bytes.
  void HoldFor(MemTable* memtable, const ValueReference& reference);
  // Returns the sink for a table with these links: it also holds the files, so that tables without links need no more
  // memory.
  std::shared_ptr<ObsoleteTableSink> SinkThatHolds(std::shared_ptr<ObsoleteTableSink> sink,
                                                   std::span<const ValueLinks> links);

  // Finds a value in the cache, or reads it; it is cached if `fill_cache` is set and it is not large. Errors are those
  // of Read.
  absl::StatusOr<CachePin> Fetch(const ValueReference& reference, bool fill_cache);
  // The same for many values, read together. `done(i, value)` is called for each, in any order.
  void FetchMany(std::span<const ValueReference> references, bool fill_cache,
                 const std::function<void(size_t i, absl::StatusOr<CachePin> value)>& done);
  // The same for their stored form, for callers that copy it. It is not cached.
  void FetchStored(std::span<const ValueReference> references,
                   const std::function<void(size_t i, absl::StatusOr<CachePin> stored)>& done);
  // Finds a value in the cache only; empty if it is not there. Takes no lock.
  CachePin FindCached(const ValueReference& reference);
  // Prefetches what FindCached checks first.
  void Prefetch(const ValueReference& reference) const { cache_->Prefetch(KeyOf(reference)); }

  // Reads and checks a value. DataLoss names the file and the offset.
  absl::Status Read(const ValueReference& reference, std::string* value);
  // The same for its stored form.
  absl::Status ReadStored(const ValueReference& reference, std::string* stored);
  // Decompresses the result of ReadStored or FetchStored.
  absl::Status Decompress(const ValueReference& reference, std::string_view stored, std::string* value) const;
  // Fills `to` from `at` of a value, which must reach that far. Of a chunked value only the chunks there are read and
  // checked; a compressed one is decompressed as a whole, and another large one is read completely. `fill_cache`
  // applies to chunk sums and to values that are not large.
  absl::Status ReadPart(const ValueReference& reference, uint64_t at, std::span<char> to, bool fill_cache);
  // Reads and checks a value's stored form, in memory that does not depend on its size.
  absl::Status Verify(const ValueReference& reference);
  // Reads and checks only the chunk sums of a chunked value. They prove that the value was written, because both became
  // durable together.
  absl::Status CheckChunkSums(const ValueReference& reference);

 private:
  friend class ValueFile;
  friend class ValueWindow;
  // A memtable's hold on a file.
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
  // The same from the stored form, which has been checked.
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

  ValueOutputs outputs_;  // for `fresh_` and for streams

  // Declared last, because they hold files and must be destroyed first.
  ValueWriter fresh_;
  ValueWriter moved_;
};

}  // namespace sepal
