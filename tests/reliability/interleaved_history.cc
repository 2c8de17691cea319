#include "tests/reliability/interleaved_history.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace sepal::reliability {

void InterleavedHistory::Break(std::string_view what) {
  if (!broken_.empty()) broken_ += "; ";
  if (broken_.size() < 2000) broken_ += what;
}

void InterleavedHistory::Begin(Standing standing) {
  for (size_t key = 0; key < order_.size(); ++key) {
    order_[key].assign(1, {.value = standing.values[key], .node = 0, .position = 0});
  }
  std::fill(holders_.begin(), holders_.end(), 0);
  commits_ = 0;
  looks_.clear();
  at_begin_ = std::move(standing);
  events_.clear();
  written_.clear();
  durable_ = 0;
}

uint32_t InterleavedHistory::VersionAt(uint32_t key, uint32_t position) const {
  const std::vector<Version>& versions = order_[key];
  size_t version = versions.size() - 1;
  while (versions[version].position > position) --version;
  return static_cast<uint32_t>(version);
}

bool InterleavedHistory::DiffersFrom(uint32_t key, uint32_t version) const {
  const std::vector<Version>& versions = order_[key];
  if (version + 1 == versions.size()) return false;
  return versions[version].value != kNothing || versions.back().value != kNothing;
}

InterleavedHistory::SeenVersion InterleavedHistory::Read(uint64_t number, uint32_t key, uint64_t value,
                                                         uint32_t position) {
  const std::vector<Version>& versions = order_[key];
  const uint32_t due = VersionAt(key, position);
  if (versions[due].value == value) return {key, due, value};
  const auto found = std::find_if(versions.begin(), versions.end(), [&](const Version& v) { return v.value == value; });
  if (found == versions.end()) {
    Break(absl::StrFormat("transaction %u read %x of key %u, which was never committed", number, value, key));
    return {key, due, value};
  }
  Break(absl::StrFormat("transaction %u read %x of key %u, where %x was there as of its snapshot", number, value, key,
                        versions[due].value));
  return {key, static_cast<uint32_t>(found - versions.begin()), value};
}

void InterleavedHistory::Hold(uint64_t number, uint32_t key) {
  if (holders_[key] != 0 && holders_[key] != number) {
    Break(absl::StrFormat("transaction %u got the lock of key %u, which %u holds", number, key, holders_[key]));
  }
  holders_[key] = number;
}

void InterleavedHistory::LetGo(uint64_t number, uint32_t key) {
  if (holders_[key] == number) holders_[key] = 0;
}

void InterleavedHistory::AddEvent(uint64_t prepares, uint64_t ends) {
  events_.push_back({.writes_end = written_.size(), .prepares = prepares, .ends = ends});
}

void InterleavedHistory::Prepare(uint64_t number) {
  AddEvent(number, 0);
  MakeDurable();
}

void InterleavedHistory::RollBackPrepared(uint64_t number) {
  AddEvent(0, number);
  MakeDurable();
}

// What a transaction overwrites it has seen: it was there by its snapshot, and at each of its reads.
void InterleavedHistory::CheckOverwritten(const Transaction& transaction, const Write& write) {
  const std::vector<Version>& versions = order_[write.key];
  const bool after_snapshot =
      transaction.snapshot.has_value() && DiffersFrom(write.key, VersionAt(write.key, *transaction.snapshot));
  const bool after_read = std::any_of(transaction.seen.begin(), transaction.seen.end(), [&](const SeenVersion& seen) {
    return seen.key == write.key && DiffersFrom(seen.key, seen.version);
  });
  if (after_snapshot || after_read) {
    Break(absl::StrFormat("transaction %u overwrote %x of key %u unseen: a lost update", transaction.number,
                          versions.back().value, write.key));
  }
  if (holders_[write.key] != 0 && holders_[write.key] != transaction.number) {
    Break(absl::StrFormat("transaction %u wrote key %u, of which %u holds the lock", transaction.number, write.key,
                          holders_[write.key]));
  }
}

void InterleavedHistory::Commit(const Transaction& transaction, bool prepared, bool durable) {
  const uint32_t node = ++commits_;
  for (const SeenVersion& seen : transaction.seen) {
    const bool as_of_now = !transaction.writes.empty() && !DiffersFrom(seen.key, seen.version);
    const uint32_t version = as_of_now ? static_cast<uint32_t>(order_[seen.key].size() - 1) : seen.version;
    looks_.push_back({node, seen.key, version, transaction.serializable});
  }
  for (const Write& write : transaction.writes) {
    CheckOverwritten(transaction, write);
    order_[write.key].push_back({.value = write.value, .node = node, .position = node});
    written_.push_back(write);
  }
  // What only reads is not in the log; but a synced commit of it makes durable what came before.
  if (!transaction.writes.empty() || prepared) AddEvent(0, prepared ? transaction.number : 0);
  if (durable) MakeDurable();
}

void InterleavedHistory::CollectEdges(bool all_reads) {
  edges_.clear();
  const auto add = [&](uint32_t from, uint32_t to) {
    if (from != 0 && from != to) edges_.push_back({from, to});
  };
  for (const std::vector<Version>& versions : order_) {
    for (size_t i = 1; i < versions.size(); ++i) add(versions[i - 1].node, versions[i].node);
  }
  for (const Look& look : looks_) {
    if (!all_reads && !look.serializable) continue;
    const std::vector<Version>& versions = order_[look.key];
    add(versions[look.version].node, look.node);
    if (look.version + 1 < versions.size()) add(look.node, versions[look.version + 1].node);
  }
}

// Takes away what nothing comes before, until nothing is left (Kahn, "Topological Sorting of Large Networks", 1962).
bool InterleavedHistory::HasCycle(bool all_reads) {
  CollectEdges(all_reads);
  const uint32_t nodes = commits_ + 1;
  out_.assign(nodes + 1, 0);
  before_.assign(nodes, 0);
  for (const Edge& edge : edges_) {
    ++out_[edge.from];
    ++before_[edge.to];
  }
  uint32_t sum = 0;
  for (uint32_t& out : out_) out = std::exchange(sum, sum + out);
  targets_.resize(edges_.size());
  // Afterwards out_[n] is where the targets of n end, and those of n + 1 begin.
  for (const Edge& edge : edges_) targets_[out_[edge.from]++] = edge.to;
  first_.clear();
  for (uint32_t node = 0; node < nodes; ++node) {
    if (before_[node] == 0) first_.push_back(node);
  }
  uint32_t taken = 0;
  for (; !first_.empty(); ++taken) {
    const uint32_t node = first_.back();
    first_.pop_back();
    for (uint32_t i = node == 0 ? 0 : out_[node - 1]; i < out_[node]; ++i) {
      if (--before_[targets_[i]] == 0) first_.push_back(targets_[i]);
    }
  }
  return taken < nodes;
}

void InterleavedHistory::Survive(const Standing& standing, bool everything) {
  const size_t least = everything ? events_.size() : durable_;
  Standing state = at_begin_;
  std::optional<size_t> last_match, last_with_values;
  size_t written = 0;
  for (size_t done = 0;; ++done) {
    if (state.values == standing.values) {
      last_with_values = done;
      if (state.prepared == standing.prepared) last_match = done;
    }
    if (done == events_.size()) break;
    const Event& event = events_[done];
    for (; written < event.writes_end; ++written) state.values[written_[written].key] = written_[written].value;
    std::vector<uint64_t>& prepared = state.prepared;
    if (event.prepares != 0) {
      prepared.insert(std::upper_bound(prepared.begin(), prepared.end(), event.prepares), event.prepares);
    }
    if (event.ends != 0) std::erase(prepared, event.ends);
  }
  if (last_match.has_value() && *last_match >= least) return;
  const char* const what = last_match.has_value() ? "the restart lost a commit that was durable"
                           : last_with_values.has_value()
                               ? "the restart lost what was prepared, or brought back what ended"
                               : "the restart kept a part of a transaction";
  std::string differences;
  for (size_t key = 0; key < state.values.size() && differences.size() < 200; ++key) {
    if (state.values[key] == standing.values[key]) continue;
    absl::StrAppendFormat(&differences, ", key %u is %x and was %x", key, standing.values[key], state.values[key]);
  }
  Break(absl::StrFormat("%s: of %u events at least %u stand; %u are prepared%s", what, events_.size(), least,
                        standing.prepared.size(), differences));
}

}  // namespace sepal::reliability
