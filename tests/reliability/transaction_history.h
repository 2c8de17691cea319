// Histories of concurrent transactions, checked for serializability. Every write appends the transaction's number to a
// key's list, so that each read tells the order of all writes before it (Kingsbury and Alvaro, "Elle: Inferring
// Isolation Anomalies from Experimental Observations", 2020). Transactions depend on each other by what they read and
// overwrote; a history is serializable if no cycle leads through these dependencies.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sepal/transaction.h"

namespace sepal::reliability {

// What a transaction did that committed.
struct CommittedTransaction {
  std::map<std::string, std::string> read;  // each key's list, empty if the key was absent
  std::set<std::string> appended;
  bool durable = false;  // its commit was synced
};

struct TransactionHistory {
  std::map<uint64_t, CommittedTransaction> committed;  // by number
  std::set<uint64_t> prepared;                         // of these, what was committed after the restart alone
  uint64_t aborted = 0;
  std::map<std::string, std::string> lists;          // at the end
  std::map<std::string, std::string> after_restart;  // after a loss of power that came then
  uint64_t schedule_hash = 0;
  std::string error;  // a call failed that must not; empty: none did
};

// Simulated clients that run transactions over few keys, with flushes among them, a loss of power and an opening. In
// one of five seeds they commit in two phases, and leave some prepared.
TransactionHistory RunTransactions(const TransactionOptions& options, uint64_t seed);

// What cannot be in any isolation: a write that is lost, or of a transaction that did not commit; a read of a state
// that never was; a durable commit that the restart lost, or one of which it kept a part. Empty: nothing.
std::string FindBroken(const TransactionHistory& history);
// Whether the history is not serializable.
bool HasCycle(const TransactionHistory& history);

}  // namespace sepal::reliability
