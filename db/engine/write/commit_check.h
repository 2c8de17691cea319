// A condition under which a batch is written.
#pragma once

#include <cstdint>

#include "db/engine/write/recent_commits.h"

namespace sepal {

class CommitCheck {
 public:
  enum class Verdict : uint8_t {
    kWrite,
    kLookAgain,  // nothing is written: what the check knows is too old
    kRefuse,     // nothing is written
  };
  virtual ~CommitCheck() = default;
  // Right before the batch is written, with the commit lock held: it must neither wait nor read files.
  virtual Verdict Decide(const RecentCommits& recent) = 0;
};

// How a commit went that met no error.
enum class CommitOutcome : uint8_t {
  kWritten,
  kLookAgain,  // the check's verdicts; nothing was written
  kRefused,
  kMustLock,  // nothing was written: transactions hold locks, and the terms say nothing of them
};

// On what terms a batch is written.
struct CommitTerms {
  CommitCheck* check = nullptr;  // null: on none
  bool locked = false;           // the writer holds the locks of all keys of the batch
  CommitOutcome outcome = CommitOutcome::kWritten;
};

}  // namespace sepal
