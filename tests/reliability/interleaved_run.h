// Transactions whose calls one thread interleaves, on a database in memory that loses power among them.
//
// Several transactions are open at a time. At each step the seed chooses one, which makes its next call: a read, a read
// for update, a scan, a put, a delete, a delete of a range, a savepoint, a return to it, a preparation, a commit or a
// rollback. No call waits: a lock that another one holds is refused. Every few hundred transactions, between any two
// calls, the database dies or is closed; it is opened again, and what stands then is the next history's beginning. What
// is prepared is ended at once, later, or after further crashes.
//
// No thread is switched at a call, so that there are about a hundred thousand transactions a second. What happens
// between the steps of one call is for `transactions`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/db.h"
#include "tests/db/engine/test_database.h"
#include "tests/reliability/interleaved_history.h"
#include "tests/reliability/shrink.h"
#include "util/base/random.h"

namespace sepal::reliability {

class InterleavedRun {
 public:
  // The number of a transaction, less one, is a part of the case.
  static constexpr uint32_t kTransactions = 10'000;

  struct Counts {
    uint64_t committed = 0;
    uint64_t aborted = 0;      // for what others wrote
    uint64_t rolled_back = 0;  // by the transaction itself, or with the crash
    uint64_t refused = 0;      // calls, as others hold locks
    uint64_t prepared = 0;
    uint64_t crashes = 0;
    uint64_t came_back = 0;  // prepared, with a restart
    uint64_t skewed = 0;     // histories in which snapshot isolation let a cycle pass
    uint64_t read_only = 0;  // that committed
  };

  explicit InterleavedRun(const SeededCase& what);
  ~InterleavedRun();
  // What was wrong; empty: nothing.
  std::string Run();
  const Counts& counts() const { return counts_; }
  // Of all that was read and decided.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  static constexpr uint32_t kFamilies = 2;
  static constexpr uint32_t kKeysOfFamily = 48;
  static constexpr uint32_t kRunKeys = kFamilies * kKeysOfFamily;
  static constexpr size_t kOpen = 8;
  static constexpr size_t kMostPrepared = 3;

  // A transaction that is open or prepared.
  struct Actor {
    void Reset(uint64_t number, uint64_t seed);

    std::unique_ptr<Transaction> object = nullptr;  // null: it is prepared, and no object stands for it
    InterleavedHistory::Transaction done = {};
    Random random{0};
    bool pessimistic = false;
    bool read_only = false;
    bool two_phases = false;
    bool ended = false;  // prepared, and then committed or rolled back, which the crash may undo
    uint32_t calls = 0;  // that are to come
    uint32_t tries = 0;  // of its end
    uint32_t values = 0;
    int to_write = -1;                   // the key that was read to be written
    std::vector<uint32_t> touched = {};  // keys, all that a check may look at
    std::vector<uint32_t> held = {};     // keys that it has locked exclusively
    std::vector<std::vector<InterleavedHistory::Write>> savepoints = {};
  };

  std::string_view KeyName(uint32_t key) const { return names_[key % kKeysOfFamily]; }
  const ColumnFamily& FamilyOf(uint32_t key) const {
    return key < kKeysOfFamily ? database_.db->DefaultColumnFamily() : *other_;
  }
  bool ok() const { return history_.broken().empty(); }
  void Break(const Actor& actor, std::string_view call, const absl::Status& status);
  void Mix(uint64_t value) { fingerprint_ = Mix64(fingerprint_ ^ value); }

  absl::Status Open();
  InterleavedHistory::Standing WhatStands();

  void Step();
  bool BeginNext(Actor* actor);
  void WritePlainly(uint64_t number);
  void Call(Actor* actor);
  void ReadCall(Actor* actor);
  void WriteCall(Actor* actor, uint32_t key);
  void Get(Actor* actor, uint32_t key);
  void MultiGet(Actor* actor);
  void GetLocked(Actor* actor, uint32_t key, bool exclusive);
  void Scan(Actor* actor);
  void Put(Actor* actor, uint32_t key);
  void Delete(Actor* actor, uint32_t key);
  void DeleteRange(Actor* actor, uint32_t key);
  void Savepoint(Actor* actor);
  void Finish(Actor* actor);
  void Prepare(Actor* actor);
  void StepPrepared();
  void EndPrepared(Actor* actor, bool commit);
  void Crash();
  void TakeOver(const InterleavedHistory::Standing& standing);
  void ProbeLocks();
  void CheckHistory();

  uint64_t Observe(const absl::StatusOr<std::string>& value, const Actor& actor);
  uint64_t NumberOf(std::string_view value, const Actor& actor);
  void TakeSnapshot(Actor* actor);
  void Saw(Actor* actor, uint32_t key, uint64_t value);
  void Wrote(Actor* actor, uint32_t key, uint64_t value);
  // False: the call was refused, or the transaction has ended.
  bool Took(Actor* actor, const absl::Status& status, std::string_view call);
  void Ended(Actor* actor);
  bool AnotherHoldsLocks(const Actor* but) const;
  std::string_view ValueFor(Actor* actor, uint64_t number);

  const SeededCase case_;
  Random random_;
  TestDatabase database_;
  std::shared_ptr<ColumnFamily> other_;
  std::array<std::string, kKeysOfFamily> names_;
  InterleavedHistory history_{kRunKeys};
  std::array<Actor, kOpen> open_;
  std::map<uint64_t, Actor> prepared_;  // by number; those that have ended, too, until the next crash
  uint64_t pessimistic_of_8_ = 4;
  uint64_t next_ = 1;
  uint64_t crash_at_ = 0;    // when this transaction is to begin
  bool crash_next_ = false;  // whatever is to come
  Counts counts_;
  uint64_t fingerprint_ = 0;
  std::string buffer_;
};

}  // namespace sepal::reliability
