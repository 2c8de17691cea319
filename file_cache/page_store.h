// The pages of a cache: where they lie, which are used, and who makes room (layout.h says what is on the disk).
//
// A slot is free, is being filled, or holds a page. Reads of a slot take no lock: one that is given to another page
// meanwhile gives bytes that do not match the checksum, and is a miss. Room is made by a clock over the slots: a page
// that was found since the hand last passed gets another round. New pages have none, so that what is read once, as by
// a scan, goes first.
//
// Locks: `write_mutex_` is held during writes to the local files, which have one writer each; `mutex_`, under it or
// alone, for the index, and never during a file call.
//
// In a forked child nothing may be called but the destructor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "file_cache/layout.h"
#include "sepal/cached_file_system.h"
#include "sepal/file_system.h"
#include "util/thread/sync.h"

namespace sepal::file_cache {

class PageStore {
 public:
  // An error where the directory cannot be used, or is in use.
  static absl::StatusOr<std::unique_ptr<PageStore>> Open(const CacheOptions& options);

  // A page that is, or was, in a slot.
  struct Place {
    uint32_t slot = 0;
    uint64_t checksum = 0;
  };
  // `use`: it is going to be read, which lets it stay longer.
  std::optional<Place> Find(const PageName& name, bool use = true);
  // To be read by `ReadMany`; `buffer` takes the page's length.
  ReadRequest RequestFor(const Place& place, const PageName& name, char* buffer) const;
  void ReadMany(std::span<ReadRequest> requests) const;
  // Reads it if the local system has it in memory.
  bool ReadCached(const Place& place, const PageName& name, char* buffer);
  // Starts to load it into memory.
  void ReadAhead(const Place& place, const PageName& name) const;
  // Whether `bytes` are those of the page. If not, it is dropped, unless the slot has another page by now.
  bool Verify(const Place& place, const PageName& name, std::string_view bytes);

  // A page that is on the disk, and is not found yet.
  struct Staged {
    uint32_t slot = 0;
    Entry entry;
  };
  // None if the page is there already, or if there is no room.
  std::optional<Staged> Stage(const PageName& name, std::string_view bytes);
  void Publish(const Staged& staged);
  void Abandon(const Staged& staged);
  void Put(const PageName& name, std::string_view bytes);
  // Drops all pages of a file of so many bytes, on the disk too. Returns the first failure of a write, after which a
  // page may be found again when the store is opened anew.
  absl::Status Forget(const FileKey& file, uint64_t file_bytes);
  // What was dropped stays so after a loss of power.
  absl::Status Sync();

  void CountHits(uint64_t pages) { hits_.fetch_add(pages, std::memory_order_relaxed); }
  void CountMisses(uint64_t pages) { misses_.fetch_add(pages, std::memory_order_relaxed); }
  CacheCounts Counts() const;
  // The first failure of a write.
  absl::Status failure() const;
  // Whether this is a child of the process that opened it.
  bool InChild() const;

 private:
  enum class State : uint8_t { kFree, kStaged, kHeld, kUsed };

  PageStore(std::unique_ptr<Directory> directory, std::unique_ptr<DirectoryLock> lock, uint64_t capacity);
  absl::Status OpenFiles();
  absl::Status OpenIndex() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status Load();
  void TakeEntry(uint32_t slot, const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  uint32_t* BucketOf(uint64_t tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<uint32_t> Look(uint64_t tag) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Link(uint32_t slot, const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The slot holds no page any more.
  void Unlink(uint32_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<uint32_t> Claim() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<uint32_t> Evict() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(uint32_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteFailedWrite(uint32_t slot, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the slot's entry as the index has it now.
  absl::Status WriteEntry(uint32_t slot);

  const std::unique_ptr<Directory> directory_;
  const std::unique_ptr<DirectoryLock> lock_;
  const uint32_t capacity_;  // slots
  const uint64_t born_in_;   // ForkGeneration
  std::unique_ptr<ReadableFile> reader_;
  mutable Mutex write_mutex_;
  std::unique_ptr<WritableFile> pages_ ABSL_PT_GUARDED_BY(write_mutex_);
  std::unique_ptr<WritableFile> index_ ABSL_PT_GUARDED_BY(write_mutex_);

  mutable Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::vector<State> states_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> buckets_ ABSL_GUARDED_BY(mutex_);  // the first slot of each, or kNone
  std::vector<uint32_t> next_ ABSL_GUARDED_BY(mutex_);     // the next one in the same bucket
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  uint32_t begun_ ABSL_GUARDED_BY(mutex_) = 0;    // slots that were ever used; those behind are not in `free_`
  uint32_t no_room_ ABSL_GUARDED_BY(mutex_) = 0;  // claims until room on the disk is tried again
  // Slots that were used before and could not be written because the disk was full. One is tried again after a while;
  // if that succeeds, the others are free again.
  std::vector<uint32_t> without_room_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint32_t> tried_ ABSL_GUARDED_BY(mutex_);
  uint32_t hand_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t staged_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  CacheCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

}  // namespace sepal::file_cache
