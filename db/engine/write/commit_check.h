// A condition for the commit of a batch: the caller reads the database before the commit lock is taken, and what others
// commit from then on is watched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/decide/transaction/conflict_set.h"

namespace sepal {

// The outcome of a commit that met no error.
enum class CommitOutcome : uint8_t {
  kWritten,
  kLookAgain,  // nothing was written: the check's data is too old
  kRefused,    // nothing was written: the check refuses
  kMustLock,   // nothing was written: transactions hold locks, and the writer does not say that it holds any
};

class CommitCheck {
 public:
  virtual ~CommitCheck() = default;
  // Returns what the caller has read. It does not change while it is watched.
  virtual const ConflictSet& Watched() const = 0;
  // Called just before the batch is written, with the commit lock held, so it must neither wait nor read files.
  // `touched`: the key by which another commit touched the watched set since the watch began. Returns kWritten if the
  // batch may be written.
  virtual CommitOutcome Decide(const std::optional<std::string>& touched) = 0;
};

// All functions but the constructor are called with the commit lock held.
class CommitWatch {
 public:
  // `check` must outlive the watch.
  explicit CommitWatch(CommitCheck* check) : check_(check) {}

  // Notes an entry that another writer has committed.
  void Note(const BatchEntry& entry) {
    if (touched_.has_value()) return;
    const std::optional<std::string_view> key = check_->Watched().Touched(entry);
    if (key.has_value()) touched_.emplace(*key);
  }
  CommitOutcome Decide() { return check_->Decide(touched_); }

 private:
  CommitCheck* const check_;
  std::optional<std::string> touched_;
};

// The conditions under which a batch is written.
struct CommitTerms {
  CommitWatch* watch = nullptr;  // null if there is no check
  bool locked = false;           // the writer holds the locks of all keys of the batch
  CommitOutcome outcome = CommitOutcome::kWritten;
};

}  // namespace sepal
