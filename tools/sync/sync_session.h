// A sync of two databases, each with a side of its own (docs/reference/sync-protocol.md). Both must be open for
// writing, and nothing else may write meanwhile. Wherever it ends, each side has what it had and some of what the other
// has, every entry whole, and the sync can be begun again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"
#include "tools/sync/sync_messages.h"
#include "tools/sync/sync_side.h"
#include "tools/sync/sync_stream.h"

namespace sepal::tools {

struct SyncConflict {
  std::string family;
  std::string key;
};

struct SyncReport {
  uint64_t families = 0;
  uint64_t entries = 0;  // that both have in common now
  uint64_t rounds = 0;   // in which anything differed
  // Entries that came, and those that were written for them; entries that went.
  uint64_t written = 0, overwritten = 0, sent = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;
  std::vector<SyncConflict> conflicts = {};  // that stay
};

// The side that begins. When it returns a report, sums of all entries have shown that both databases are equal, but for
// the conflicts of the report. `seed`: of the hashes, another one in each sync.
absl::StatusOr<SyncReport> BeginSync(DB* db, ByteStream* other, ConflictPolicy policy, uint64_t seed,
                                     const SyncTuning& tuning = {});
// The side that answers, until the other is done.
absl::Status ServeSync(DB* db, ByteStream* other, const SyncTuning& tuning = {});

}  // namespace sepal::tools
