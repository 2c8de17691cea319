// Entries that an iterator has taken from its sources in advance, so that their values in value files are read
// together.
//
// The iterator takes a batch in its direction, shows one after another, and takes the next. Each batch is twice as
// large as the one before it, and the first after a seek is of one entry: then nothing is read that is not shown. An
// entry may expire before its turn: the iterator asks the clock again then.
// Reading together is a hint (db/act/files/value_window.h): a value that it did not bring is read when it is shown, and
// only then can it fail.
//
// Holds at most kMostHeldBytes of keys and values besides the window, which belongs to the pool of windows. Used by one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/files/value_window.h"
#include "db/engine/core/core.h"
#include "db/format/expiring_value.h"
#include "db/format/value_reference.h"
#include "util/cache/block_cache.h"

namespace sepal {

class EntriesAhead {
 public:
  // `core` must outlive it. With `fill_cache`, values that are read stay in the cache.
  EntriesAhead(Core* core, bool fill_cache)
      : core_(core), fill_cache_(fill_cache), window_(&core->values, &core->windows) {}
  EntriesAhead(const EntriesAhead&) = delete;
  EntriesAhead& operator=(const EntriesAhead&) = delete;

  // Called at a seek or a turn: drops the entries, and begins with a small batch again.
  void Restart() {
    Drop();
    most_references_ = 1;
  }

  // Begins a batch with an entry whose value the reference is to. Requires empty().
  void Begin(std::string_view key, std::string_view reference, uint64_t expiry_millis);
  // Whether another entry fits, and is worth it; then it may be added. An entry of several sources that is none may be
  // passed, a bounded number of times for each batch.
  bool HasRoomFor(std::string_view key, std::string_view value) const {
    return references_.size() < most_references_ && value_bytes_ < kMostValueBytes && inline_run_ < kMostInlineRun &&
           bytes_.size() + key.size() + value.size() <= kMostHeldBytes;
  }
  bool MayPass() { return passed_++ < kPassedPerReference * most_references_; }
  void AddReference(std::string_view key, std::string_view reference, uint64_t expiry_millis);
  void AddValue(std::string_view key, std::string_view value, uint64_t expiry_millis);

  // The first entry is the one that the iterator shows.
  bool empty() const { return shown_ == entries_.size(); }
  // When the first entry expires, or kNoExpiryMillis.
  uint64_t expiry_millis() const { return entries_[shown_].expiry_millis; }
  std::string_view key() const { return Bytes(entries_[shown_].key); }
  // The value of an entry that is not a reference; valid until the batch ends.
  std::string_view value() const { return Bytes(entries_[shown_].value); }
  bool IsReference() const { return entries_[shown_].reference != kNone; }
  // Fetches the value of a reference, as FetchShown does.
  absl::StatusOr<CachePin> Fetch();
  void Pop() { ++shown_; }

 private:
  static constexpr uint32_t kMostReferences = 64;
  static constexpr uint64_t kMostValueBytes = uint64_t{1} << 20;
  static constexpr size_t kMostHeldBytes = size_t{8} << 10;
  // Consecutive entries with inline values. They are copied, so if values are rarely separated, it is not worthwhile to
  // search further for the next reference.
  static constexpr uint32_t kMostInlineRun = 8;
  static constexpr uint32_t kPassedPerReference = 4;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Span {
    size_t begin = 0;
    size_t size = 0;
  };
  struct Entry {
    Span key;
    Span value;                  // or the reference's bytes
    uint32_t reference = kNone;  // its place in `references_`
    uint64_t expiry_millis = kNoExpiryMillis;
  };

  CachePin TakeFromWindow(uint32_t reference);
  Span Hold(std::string_view bytes);
  std::string_view Bytes(Span span) const { return std::string_view(bytes_).substr(span.begin, span.size); }
  void Drop();

  Core* const core_;
  const bool fill_cache_;
  uint32_t most_references_ = 1;  // of this batch
  std::string bytes_;
  std::vector<Entry> entries_;
  size_t shown_ = 0;
  std::vector<ValueReference> references_;
  uint64_t value_bytes_ = 0;  // stored bytes of the values of `references_`
  uint32_t inline_run_ = 0;
  uint32_t passed_ = 0;
  // Covers the values of `references_` from `window_begin_` up to `window_end_`.
  ValueWindow window_;
  uint32_t window_begin_ = 0;
  uint32_t window_end_ = 0;
};

}  // namespace sepal
