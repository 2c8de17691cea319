// A condition under which a batch is written: a look at the database before the commit lock is taken, and a watch over
// what others commit from then on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "db/decide/transaction/conflict_set.h"

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
  // What the look is about. It does not change while it is watched.
  virtual const ConflictSet& Watched() const = 0;
  // Right before the batch is written, with the commit lock held: it must neither wait nor read files. `touched`: the
  // key by which a commit touched that set since the watch began. kWritten: the batch is to be written.
  virtual CommitOutcome Decide(const std::optional<std::string>& touched) = 0;
};

// Everything but the constructor is called with the commit lock held.
class CommitWatch {
 public:
  // `check` must outlive the watch.
  explicit CommitWatch(CommitCheck* check) : check_(check) {}

  // Another has committed that.
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

// On what terms a batch is written.
struct CommitTerms {
  CommitWatch* watch = nullptr;  // null: on none
  bool locked = false;           // the writer holds the locks of all keys of the batch
  CommitOutcome outcome = CommitOutcome::kWritten;
};

}  // namespace sepal
