// Makes two databases equal over any two-way stream of bytes, by sending filters and the differences
// (docs/guide/sync.md; docs/reference/sync-protocol.md has the format). `sepal sync` is built on it.
//
//   // Here:                                          // There:
//   auto report = sepal::BeginSync(db, stream, {});   absl::Status served = sepal::ServeSync(db, stream);
//
// All column families are compared; one that is missing on a side is created there with default options, unless it has
// a comparator of its own: then it must be created there first. A key that only one side has is copied, even if it was
// deleted on the other side: a sync sees the current state and not past deletes. Values are those that a Get returns.
// Puts that expire would lose their expiry time, so a database that has had any is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/abi.h"
#include "sepal/db.h"
#include "sepal/export.h"

namespace sepal {

// An ordered two-way stream of bytes: a socket, a pair of pipes. Used by one thread at a time. BeginSync and ServeSync
// return its errors; if the other side has sent an error, they return that one where possible.
class SEPAL_EXPORT SyncChannel {
 public:
  virtual ~SyncChannel() = default;
  // Reads exactly `size` bytes; Unavailable if the stream ends before.
  virtual absl::Status Read(char* to, size_t size) = 0;
  virtual absl::Status Write(std::string_view bytes) = 0;
};

// The result for a key that has different values on the two sides.
enum class ConflictPolicy : uint8_t {
  kReport = 0,  // both stay
  kOurs = 1,    // the value of the side that began the sync
  kTheirs = 2,
  // The value with the higher sequence number; both stay if the numbers are equal, or if a compaction has dropped one.
  // Sequence numbers count the updates of one database. So they show which value is newer only between a database and
  // its copy, and only until their first sync, since the entries that a sync writes get the numbers of the receiving
  // database.
  kNewerBySequence = 3,
};

struct SyncOptions {
  ConflictPolicy policy = ConflictPolicy::kReport;
  // The seed of the hashes; use another one in each sync. 0: from the operating system.
  uint64_t seed = 0;
};

struct SyncConflict {
  std::string column_family;
  std::string key;
};

struct SyncReport {
  uint64_t column_families = 0;
  uint64_t entries = 0;  // that both have in common now
  uint64_t rounds = 0;   // in which anything differed
  // Entries that were written here, those of them that replaced another value, and entries that were sent.
  uint64_t written = 0, overwritten = 0, sent = 0;
  // The same for the other side.
  uint64_t written_there = 0, overwritten_there = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
  std::vector<SyncConflict> conflicts = {};  // that stay
};

// Runs a sync from the side that begins; the other one calls ServeSync. Both databases must be open for writing, and
// nothing else may write meanwhile. When it returns a report, sums of the hashes (of 64 bits) of all entries have shown
// that both are equal, except for the conflicts, and all writes are durable. After an error each side has its old
// entries, and perhaps some of the other side's, each of them complete: begin again. Errors, of either side:
//   DataLoss            the bytes received are damaged, or not of this protocol
//   InvalidArgument     a family has different comparators on the two sides, or one that is not bytewise
//   FailedPrecondition  another version of the protocol; keys that expire
//   ResourceExhausted   more than a million conflicts, or more than 64 MiB of keys in conflict
//   Aborted             something else writes to one of the databases
//   Unavailable         the other side is gone
// Cost: two or three scans a round on each side. Memory: the filter of the differences, at most 64 MiB, and up to three
// copies while it is sent; a key and 25 bytes for each thousand entries, at most 64 MiB, and up to two copies; the keys
// in conflict; three copies of the largest value; the entries of a message, 1 MiB at most.
SEPAL_EXPORT absl::StatusOr<SyncReport> BeginSync(DB& db, SyncChannel& other, const SyncOptions& options = {});
// Runs the side that answers, until the other side has finished.
SEPAL_EXPORT absl::Status ServeSync(DB& db, SyncChannel& other);
// Call this in place of ServeSync if there is no database to serve: the other side gets `why` as its error. Waits for
// its greeting, as ServeSync does.
SEPAL_EXPORT void RefuseSync(const absl::Status& why, SyncChannel& other);

}  // namespace sepal
