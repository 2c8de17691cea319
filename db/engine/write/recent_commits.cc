#include "db/engine/write/recent_commits.h"

namespace sepal {

void RecentCommits::DropOldest() {
  bytes_ -= commits_.front().batch.size();
  commits_.pop_front();
}

void RecentCommits::Unwatch(SequenceNumber since) {
  watches_.erase(watches_.find(since));
  while (!commits_.empty() && (watches_.empty() || commits_.front().last <= *watches_.begin())) DropOldest();
}

void RecentCommits::Note(SequenceNumber last, std::string_view batch) {
  while (!commits_.empty() && bytes_ + batch.size() > most_bytes_) {
    lost_through_ = commits_.front().last;
    DropOldest();
  }
  if (batch.size() > most_bytes_) {
    lost_through_ = last;
    return;
  }
  commits_.push_back({last, std::string(batch)});
  bytes_ += batch.size();
}

bool RecentCommits::ForEachAfter(SequenceNumber since, const std::function<bool(const BatchEntry&)>& look) const {
  for (auto commit = commits_.rbegin(); commit != commits_.rend() && commit->last > since; ++commit) {
    BatchReader reader(commit->batch);
    for (BatchEntry entry; reader.Next(&entry);) {
      if (!look(entry)) return false;
    }
  }
  return true;
}

}  // namespace sepal
