#include "tests/reliability/transaction_history.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sepal/db.h"
#include "tests/db/engine/test_database.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/base/status.h"

namespace sepal::reliability {

namespace {

constexpr uint64_t kTransactionKeys = 6;
constexpr uint64_t kClients = 4;
constexpr int kTransactionsOfAClient = 15;

using Lists = std::map<std::string, std::string>;
using Edges = std::map<uint64_t, std::set<uint64_t>>;

std::vector<uint64_t> NumbersOf(const Lists& lists, const std::string& key) {
  std::vector<uint64_t> numbers;
  const auto it = lists.find(key);
  if (it == lists.end()) return numbers;
  for (const auto& part : absl::StrSplit(it->second, ',', absl::SkipEmpty()))
    numbers.push_back(std::stoull(std::string(part)));
  return numbers;
}

// Reads all keys, as one range.
absl::Status ScanAll(Transaction* transaction, CommittedTransaction* done) {
  for (uint64_t key = 0; key < kTransactionKeys; ++key) done->read[NumberedKey(key)] = "";
  const std::unique_ptr<Iterator> iterator = transaction->NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    done->read[std::string(iterator->key())] = iterator->value();
  }
  return iterator->status();
}

std::string NameOf(uint64_t number) { return absl::StrFormat("t%u", number); }

enum class Outcome : uint8_t { kCommitted, kRolledBack, kPrepared };

// From a source of its own, so that histories stay as they are without: prepared, perhaps taken over by another object,
// then committed, rolled back or, if that may be, left to those that come after the restart.
absl::StatusOr<Outcome> EndInTwoPhases(DB* db, std::unique_ptr<Transaction> transaction, bool may_leave, uint64_t seed,
                                       CommittedTransaction* done) {
  Random random(seed);
  const std::string name = NameOf(transaction->id());
  RETURN_IF_ERROR(transaction->Prepare(name));
  const auto must = [&](const absl::Status& status) {
    return status.ok() ? status : absl::InternalError("what is prepared: " + status.ToString());
  };
  const bool leaves = may_leave && random.OneIn(2);
  if (leaves || random.OneIn(2)) transaction.reset();
  if (leaves) return Outcome::kPrepared;
  if (transaction == nullptr) {
    absl::StatusOr<std::unique_ptr<Transaction>> found = db->FindPrepared(name);
    RETURN_IF_ERROR(must(found.status()));
    transaction = *std::move(found);
  }
  if (random.OneIn(4)) {
    RETURN_IF_ERROR(must(transaction->Rollback()));
    return Outcome::kRolledBack;
  }
  RETURN_IF_ERROR(must(transaction->Commit({.sync = done->durable})));
  return Outcome::kCommitted;
}

struct Manner {
  TransactionOptions options;
  bool two_phases = false;
};

// One transaction: perhaps a scan, then reads, and appends to some of what was read.
absl::StatusOr<Outcome> RunOne(DB* db, const Manner& manner, bool last, Random* random, CommittedTransaction* done,
                               uint64_t* number) {
  const TransactionOptions& options = manner.options;
  ASSIGN_OR_RETURN(std::unique_ptr<Transaction> transaction, db->BeginTransaction(options));
  *number = transaction->id();
  if (random->OneIn(4)) RETURN_IF_ERROR(ScanAll(transaction.get(), done));
  for (uint64_t count = 1 + random->Uniform(3); count > 0; --count) {
    const std::string key = NumberedKey(random->Uniform(kTransactionKeys));
    const bool appends = random->OneIn(2);
    const absl::StatusOr<std::string> list =
        appends && random->OneIn(2) ? transaction->GetForUpdate(key) : transaction->Get(key);
    if (!list.ok() && !absl::IsNotFound(list.status())) return list.status();
    if (!done->appended.contains(key)) done->read[key] = list.value_or("");
    if (!appends || done->appended.contains(key)) continue;
    RETURN_IF_ERROR(transaction->Put(key, (list.ok() ? *list + "," : "") + std::to_string(*number)));
    done->appended.insert(key);
  }
  done->durable = random->OneIn(4);
  if (manner.two_phases) return EndInTwoPhases(db, std::move(transaction), last, Mix64(*number), done);
  RETURN_IF_ERROR(transaction->Commit({.sync = done->durable}));
  return Outcome::kCommitted;
}

void RunClient(DB* db, const Manner& manner, uint64_t seed, TransactionHistory* history) {
  Random random(seed);
  for (int i = 0; i < kTransactionsOfAClient; ++i) {
    CommittedTransaction done;
    uint64_t number = 0;
    const bool last = i + 1 == kTransactionsOfAClient;
    const absl::StatusOr<Outcome> outcome = RunOne(db, manner, last, &random, &done, &number);
    if (outcome.ok() && *outcome != Outcome::kRolledBack) {
      history->committed[number] = done;
      if (*outcome == Outcome::kPrepared) history->prepared.insert(number);
    } else if (outcome.ok() || absl::IsAborted(outcome.status()) || absl::IsDeadlineExceeded(outcome.status())) {
      ++history->aborted;
    } else {
      history->error = outcome.status().ToString();
    }
    if (random.OneIn(10) && !db->Flush().ok()) history->error = "a flush failed";
  }
}

Lists ListsOf(DB* db) {
  Lists lists;
  for (auto& [key, list] : ReadAll(db->NewIterator().get())) lists[key] = list;
  return lists;
}

// What was left prepared comes last on its keys, which nobody else could write to since: it is committed after the
// restart, and so are those that were committed and come back prepared.
void NotePrepared(TransactionHistory* history) {
  for (const uint64_t number : history->prepared) {
    CommittedTransaction& done = history->committed.at(number);
    done.durable = true;
    for (const std::string& key : done.appended) {
      std::string& list = history->lists[key];
      list += (list.empty() ? "" : ",") + std::to_string(number);
    }
  }
}

absl::Status CommitPrepared(DB* db, const TransactionHistory& history) {
  std::set<std::string> missing;
  for (const uint64_t number : history.prepared) missing.insert(NameOf(number));
  ASSIGN_OR_RETURN(const std::vector<PreparedTransaction> all, db->PreparedTransactions());
  for (const PreparedTransaction& prepared : all) {
    missing.erase(prepared.name);
    ASSIGN_OR_RETURN(const std::unique_ptr<Transaction> transaction, db->FindPrepared(prepared.name));
    RETURN_IF_ERROR(transaction->Commit());
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat("the restart lost %s, which was prepared", *missing.begin()));
}

// After a loss of power each list is a part of what it was, with all durable appends; and an append of which one key
// kept its part is in all of its keys.
std::string FindBrokenByRestart(const TransactionHistory& history) {
  std::string broken;
  std::map<uint64_t, std::set<std::string>> kept;
  for (const auto& [key, list] : history.after_restart) {
    const std::vector<uint64_t> now = NumbersOf(history.after_restart, key);
    const std::vector<uint64_t> before = NumbersOf(history.lists, key);
    if (now.size() > before.size() || !std::equal(now.begin(), now.end(), before.begin())) {
      broken += absl::StrFormat("after the restart %s is %s; ", key, list);
    }
    for (const uint64_t number : now) kept[number].insert(key);
  }
  for (const auto& [number, done] : history.committed) {
    const auto it = kept.find(number);
    if (it == kept.end() ? done.durable && !done.appended.empty() : it->second != done.appended) {
      broken += absl::StrFormat("the restart lost %s of transaction %u; ", it == kept.end() ? "all" : "a part", number);
    }
  }
  return broken;
}

Edges DependenciesOf(const TransactionHistory& history) {
  Edges edges;
  for (const auto& [key, list] : history.lists) {
    const std::vector<uint64_t> order = NumbersOf(history.lists, key);
    for (size_t i = 0; i + 1 < order.size(); ++i) edges[order[i]].insert(order[i + 1]);
  }
  for (const auto& [number, done] : history.committed) {
    for (const auto& [key, list] : done.read) {
      const std::vector<uint64_t> order = NumbersOf(history.lists, key);
      const std::vector<uint64_t> seen = NumbersOf(done.read, key);
      // After the last writer that it saw, before the first that it did not.
      if (!seen.empty()) edges[seen.back()].insert(number);
      if (seen.size() < order.size() && order[seen.size()] != number) edges[number].insert(order[seen.size()]);
    }
  }
  return edges;
}

}  // namespace

TransactionHistory RunTransactions(const TransactionOptions& options, uint64_t seed) {
  TransactionHistory history;
  TestDatabase database(Threads::kSimulated, seed, 3);
  // Lists grow past it.
  if (seed % 3 == 0) database.options.family.separate_from = 64;
  const absl::Status opened = database.Open();
  if (!opened.ok()) {
    history.error = opened.ToString();
    return history;
  }
  for (uint64_t client = 0; client < kClients; ++client) {
    database.world->Spawn([&, db = database.db.get(), client] {
      RunClient(db, {options, /*two_phases=*/seed % 5 == 0}, Mix64(seed * kClients + client), &history);
    });
  }
  database.world->RunUntilIdle();
  history.schedule_hash = database.world->schedule_hash();
  history.lists = ListsOf(database.db.get());
  NotePrepared(&history);
  if (database.db->GetProperty("sepal.transactions") != "") history.error = "a transaction is open for ever";
  const absl::Status restarted = database.CrashAndReopen(CrashMode::kLoseUnsynced);
  if (!restarted.ok()) {
    history.error = restarted.ToString();
    return history;
  }
  const absl::Status ended = CommitPrepared(database.db.get(), history);
  if (!ended.ok()) history.error = ended.ToString();
  history.after_restart = ListsOf(database.db.get());
  return history;
}

std::string FindBroken(const TransactionHistory& history) {
  if (!history.error.empty()) return history.error;
  std::string broken = FindBrokenByRestart(history);
  for (const auto& [key, list] : history.lists) {
    for (const uint64_t number : NumbersOf(history.lists, key)) {
      if (!history.committed.contains(number))
        broken += absl::StrFormat("transaction %u wrote %s and did not commit; ", number, key);
    }
  }
  for (const auto& [number, done] : history.committed) {
    for (const auto& [key, list] : done.read) {
      const std::vector<uint64_t> order = NumbersOf(history.lists, key);
      const std::vector<uint64_t> seen = NumbersOf(done.read, key);
      if (seen.size() > order.size() || !std::equal(seen.begin(), seen.end(), order.begin())) {
        broken += absl::StrFormat("transaction %u read %s=%s, which never was; ", number, key, list);
      }
    }
    for (const std::string& key : done.appended) {
      const std::vector<uint64_t> order = NumbersOf(history.lists, key);
      if (std::count(order.begin(), order.end(), number) != 1)
        broken += absl::StrFormat("the append of transaction %u to %s is lost; ", number, key);
    }
  }
  return broken;
}

// Takes away what nothing comes before, until nothing is left (Kahn, "Topological Sorting of Large Networks", 1962).
bool HasCycle(const TransactionHistory& history) {
  const Edges edges = DependenciesOf(history);
  std::map<uint64_t, size_t> before;
  for (const auto& [from, all] : edges) {
    before.try_emplace(from, 0);
    for (const uint64_t to : all) ++before[to];
  }
  std::vector<uint64_t> first;
  for (const auto& [number, count] : before) {
    if (count == 0) first.push_back(number);
  }
  size_t taken = 0;
  for (; !first.empty(); ++taken) {
    const auto it = edges.find(first.back());
    first.pop_back();
    if (it == edges.end()) continue;
    for (const uint64_t to : it->second) {
      if (--before[to] == 0) first.push_back(to);
    }
  }
  return taken < before.size();
}

}  // namespace sepal::reliability
