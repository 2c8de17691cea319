// Reads as of a past moment, of column families that keep their history (ColumnFamilyOptions::history).
//
//   db->Get("key", {.as_of_time = std::chrono::system_clock::now() - std::chrono::minutes(10)});
//   absl::StatusOr<std::vector<sepal::KeyVersion>> versions = db->History("key");
//
// Every call of DB that takes ReadOptions accepts as_of_sequence and as_of_time: Get, MultiGet, KeyMayExist, ReadValue,
// iterators, scans, ExplainGet, ExportFilter. They return InvalidArgument together with a snapshot, and in a
// transaction, which reads as of its beginning. A moment in the future means now. A moment before the history is
// OutOfRange, and the message names the oldest time that can be read: a moment stays readable for at least as long as
// `history` says, and until a flush or a compaction drops its versions. A family without a history returns
// FailedPrecondition.
//
// Times. While there are writes, the database keeps one *time mark* each second. A read as of a time shows no later
// writes, and everything that was visible a second before it. Times are those of the wall clock of `Env`; if it goes
// back, no mark is made until it has caught up, and writes meanwhile count as written then. A clock that jumps ahead
// costs at most an eighth of a history, and at most an hour, for each opening that it lasts, until it has kept pace for
// ten minutes. After the clock was set right, DB::AcceptClock lets time go on (docs/guide/history.md).
//
// Keys that have expired by now are never returned, as of whatever moment. A `compaction_filter` is called with the
// epoch of that moment; DB::History calls none.
//
// Cost: each version takes space until it leaves the history, on top of `max_space_amplification`, which counts it as
// live. A read as of a moment costs as much as one with a snapshot. A mark takes 16 bytes of memory: 1.4 MB for a day
// with writes in each second.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/column_family.h"
#include "sepal/value_stream.h"

namespace sepal {

// One update of a key.
struct KeyVersion {
  enum class Kind : uint8_t {
    kPut,      // `value` is the key's value from here on
    kDelete,   // the key is absent from here on: it, or a range around it, was deleted
    kMerge,    // `value` is the operand, which applies to the older versions
    kExpired,  // a put that has since expired; its value is not shown
  };
  // The lowest ReadOptions::as_of_sequence that sees it; 0: it is older than the history, and visible from its
  // beginning. The updates of a batch or a transaction have consecutive numbers: a read as of one of these sees a part
  // of the batch. Reads as of a time, or of Snapshot::sequence, never divide a batch.
  uint64_t sequence = 0;
  // When it was written; up to a second too early, or, if the wall clock had gone back, up to the time that it took to
  // catch up. For writes while the clock was ahead: when that time was accepted. Unset: older than the history.
  std::optional<std::chrono::system_clock::time_point> time = {};
  Kind kind = Kind::kPut;
  std::string value = {};
};

struct HistoryOptions {
  size_t limit = SIZE_MAX;  // the maximum number of versions; the newest are returned
  // Only versions with lower numbers. To read a long history in parts, pass the lowest `sequence` of one call to the
  // next. Each part is as of its call: versions that leave the history between two calls are missing in the second.
  std::optional<uint64_t> below_sequence = {};
};

// The calls of DB about histories. They may be called from any number of threads at once.
class SEPAL_EXPORT Histories : public ValueStreams {
 public:
  // Returns the versions of a key in the family's history, the newest first, down to those that were visible at its
  // beginning. A merge may appear as a put of its result. Empty: the key did not exist at any time. Errors: those of
  // Get except NotFound; FailedPrecondition if the family keeps no history. Cost: a step of an iterator for each
  // version; all of them are in memory at once, and `options` limits their number.
  virtual absl::StatusOr<std::vector<KeyVersion>> History(const ColumnFamily& family, std::string_view key,
                                                          const HistoryOptions& options = {}) = 0;
  absl::StatusOr<std::vector<KeyVersion>> History(std::string_view key, const HistoryOptions& options = {}) {
    return History(*default_column_family_, key, options);
  }

 protected:
  ~Histories() = default;
};

}  // namespace sepal
