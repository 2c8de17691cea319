// The batches that were committed while somebody watches: what a commit with a check (commit_check.h) has not seen when
// it looked at the database before it took the commit lock.
//
// Everything is called with the commit lock held.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "db/format/batch_format.h"
#include "util/base/numbers.h"

namespace sepal {

class RecentCommits {
 public:
  // Keeps at most `most_bytes` of batches.
  explicit RecentCommits(size_t most_bytes) : most_bytes_(most_bytes) {}

  bool watched() const { return !watches_.empty(); }
  // From now on all commits after `since`, the last one by now, are kept, until as many Unwatch of that number.
  void Watch(SequenceNumber since) { watches_.insert(since); }
  void Unwatch(SequenceNumber since);
  void Note(SequenceNumber last, std::string_view batch);

  // Whether all commits after `since` are here; they were too many otherwise.
  bool HasAllAfter(SequenceNumber since) const { return since >= lost_through_; }
  // Calls `look` with each update after `since`, which HasAllAfter, until it returns false. Whether it never did.
  bool ForEachAfter(SequenceNumber since, const std::function<bool(const BatchEntry&)>& look) const;

 private:
  struct Commit {
    SequenceNumber last;
    std::string batch;
  };
  void DropOldest();

  const size_t most_bytes_;
  std::multiset<SequenceNumber> watches_;
  std::deque<Commit> commits_;
  size_t bytes_ = 0;
  SequenceNumber lost_through_;
};

}  // namespace sepal
