// Two databases that get what the other one has, over any two-way stream of bytes, moving filters and what differs
// (docs/guide/sync.md; docs/reference/sync-protocol.md has the bytes). `sepal sync` is built on it.
//
//   // Here:                                          // There:
//   auto report = sepal::BeginSync(db, stream, {});   absl::Status served = sepal::ServeSync(db, stream);
//
// All column families are compared; one that is missing on a side is made there with default options, unless it has a
// comparator of its own: then it must be made there first. What a side has and the other has not is copied, also what
// was deleted there: a sync knows what there is, and not what was. Values are those that a Get returns. Puts that
// expire would come without their time: a database that has had any is refused.
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

// Bytes both ways, in order: a socket, a pair of pipes. Used by one thread at a time. Whatever makes an error of it
// goes to the caller of BeginSync or ServeSync; where it can be, an error that the other side has sent takes its place.
class SEPAL_EXPORT SyncChannel {
 public:
  virtual ~SyncChannel() = default;
  // Exactly `size` bytes; Unavailable if the other side ends before.
  virtual absl::Status Read(char* to, size_t size) = 0;
  virtual absl::Status Write(std::string_view bytes) = 0;
};

// What becomes of a key that has two values.
enum class ConflictPolicy : uint8_t {
  kReport = 0,  // both stay
  kOurs = 1,    // the value of the side that began the sync
  kTheirs = 2,
  // The one with the higher sequence number; both stay where the numbers are equal, or a compaction has dropped one.
  // They count the updates of a database, so they say what is newer between a database and its copy, and only until
  // the first sync of the two: what a sync brings gets the numbers of the database that it comes to.
  kNewerBySequence = 3,
};

struct SyncOptions {
  ConflictPolicy policy = ConflictPolicy::kReport;
  // Of the hashes; another one in each sync. 0: from the operating system.
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
  // Entries that were written here, those of them that took the place of another value, and entries that were sent.
  uint64_t written = 0, overwritten = 0, sent = 0;
  // The same of the other side.
  uint64_t written_there = 0, overwritten_there = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
  std::vector<SyncConflict> conflicts = {};  // that stay
};

// The side that begins; the other one calls ServeSync. Both databases must be open for writing, and nothing else may
// write meanwhile. When it returns a report, sums of the hashes (of 64 bits) of all entries have shown that both are
// equal, but for the conflicts; what was written is durable. After an error each side has what it had, and perhaps some
// of what the other has, every entry whole: begin again. Errors, of either side:
//   DataLoss            what came is damaged, or no sync
//   InvalidArgument     a family has two comparators, or another order of keys than the bytewise one
//   FailedPrecondition  another version of the protocol; keys that expire
//   ResourceExhausted   more than a million conflicts, or than 64 MiB of keys that have one
//   Aborted             something else writes to one of the databases
//   Unavailable         the other side is gone
// Costs two or three scans a round on each side. Memory: the filter of what differs, at most 64 MiB and up to three
// times while it is sent; a key and 25 bytes for each thousand entries, at most 64 MiB and up to twice; the keys in
// conflict; the largest value, three times; the entries of a message, 1 MiB at most.
SEPAL_EXPORT absl::StatusOr<SyncReport> BeginSync(DB& db, SyncChannel& other, const SyncOptions& options = {});
// The side that answers, until the other one is done.
SEPAL_EXPORT absl::Status ServeSync(DB& db, SyncChannel& other);
// In place of ServeSync, where there is no database to serve: the other side gets `why` as its error. Waits for its
// greeting, as ServeSync does.
SEPAL_EXPORT void RefuseSync(const absl::Status& why, SyncChannel& other);

}  // namespace sepal
