// A condition under which a batch is written.
#pragma once

#include <cstdint>

#include "db/engine/write/recent_commits.h"

namespace sepal {

// How a commit went that met no error.
enum class CommitOutcome : uint8_t {
  kWritten,
  kLookAgain,  // nothing was written: what the check knows is too old
  kRefused,    // nothing was written: the check is against it
  kMustLock,   // nothing was written: transactions hold locks, and the terms say nothing of them
};

class CommitCheck {
 public:
  virtual ~CommitCheck() = default;
  // Right before the batch is written, with the commit lock held: it must neither wait nor read files. kWritten: it is
  // to be written.
  virtual CommitOutcome Decide(const RecentCommits& recent) = 0;
};

// On what terms a batch is written.
struct CommitTerms {
  CommitCheck* check = nullptr;  // null: on none
  bool locked = false;           // the writer holds the locks of all keys of the batch
  CommitOutcome outcome = CommitOutcome::kWritten;
};

}  // namespace sepal
