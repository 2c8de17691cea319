// Reads as of a past moment, of column families that keep their history (ColumnFamilyOptions::history).
//
//   db->Get("key", {.as_of_time = std::chrono::system_clock::now() - std::chrono::minutes(10)});
//   absl::StatusOr<std::vector<sepal::KeyVersion>> versions = db->History("key");
//
// ReadOptions::as_of_sequence and as_of_time are for every call that takes ReadOptions: Get, MultiGet, KeyMayExist,
// ReadValue, iterators, scans, ExplainGet, ExportFilter; but not for those of a transaction, which reads as of its
// beginning (InvalidArgument), as a read with a snapshot does. A read as of a moment that is still to come is one as of
// now. What lies further back than the history is OutOfRange, and the message names the oldest time that can be read:
// a moment counts as the history's for at least as long as `history` says, and until a flush or a compaction gives it
// up. A family without a history is FailedPrecondition.
//
// Times. While something is written, the database keeps a *time mark* a second. A read as of a time shows nothing that
// was written after it, and all that was visible a second before it. The wall clock of `Env` counts; where it goes
// back, no mark is made until it has caught up, and what is written meanwhile counts as written then. A clock that
// jumps ahead costs an eighth of a history at most, and an hour at most, for each opening that it lasts, until it has
// kept pace for ten minutes. After one that was set right, DB::AcceptClock lets time go on (docs/guide/history.md).
//
// Keys that expire: what is expired now is never returned, as of whatever moment. A `compaction_filter` is asked with
// the epoch of that moment; DB::History asks none.
//
// Cost: each version takes space until it leaves the history, on top of `max_space_amplification`, which counts it as
// live. A read as of a moment costs what one of a snapshot does. A mark takes 16 bytes of memory: 1.4 MB for a day in
// which something was written each second.
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
    kDelete,   // the key is not there from here on: it was deleted, or a range that it lies in
    kMerge,    // `value` is the operand, which changes what is older
    kExpired,  // a put that has expired meanwhile; its value is not shown
  };
  // As ReadOptions::as_of_sequence, from which on it is seen; 0: older than the history, at whose beginning it was
  // seen. The updates of a batch or a transaction have numbers one after another: as of one of these, a part of them is
  // seen. Times, and Snapshot::sequence, never part a batch.
  uint64_t sequence = 0;
  // When it was written, early by less than a second, or by the time for which a wall clock stood that had gone back;
  // of what was written while it was ahead, when that was accepted. None: older than the history.
  std::optional<std::chrono::system_clock::time_point> time = {};
  Kind kind = Kind::kPut;
  std::string value = {};
};

struct HistoryOptions {
  size_t limit = SIZE_MAX;  // at most so many versions, the newest ones
  // Only those with a lower number. To read a long history in parts, give each call the last one's lowest `sequence`.
  // Each part is as of its call: what leaves the history between two calls is missing in the second.
  std::optional<uint64_t> below_sequence = {};
};

// The calls of DB about histories. They may be called from any number of threads at once.
class SEPAL_EXPORT Histories : public ValueStreams {
 public:
  // The versions of a key in the family's history, the newest first, down to those that made it what it was at the
  // history's beginning. A merge may be there as the put of what came of it. Empty: the key was not there all the
  // time. Errors: those of Get but NotFound; FailedPrecondition if the family keeps no history. Cost: a step of an
  // iterator for each version, all of which are in memory at once: `options` bounds them.
  virtual absl::StatusOr<std::vector<KeyVersion>> History(const ColumnFamily& family, std::string_view key,
                                                          const HistoryOptions& options = {}) = 0;
  absl::StatusOr<std::vector<KeyVersion>> History(std::string_view key, const HistoryOptions& options = {}) {
    return History(*default_column_family_, key, options);
  }

 protected:
  ~Histories() = default;
};

}  // namespace sepal
