// Runs a script against a database whatever fails, and holds everything that is seen against the oracle.
//
// What is wrong, at any time: a read that gives what cannot be there; an error where no call was made to fail; an error
// that says nothing, or speaks of damage where there is none; after an opening, anything but a state that the oracle
// allows.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/db/engine/test_database.h"
#include "tests/reliability/oracle.h"
#include "tests/reliability/script.h"

namespace sepal::reliability {

// Everything in the database, by all families, and what is prepared; an error if any read fails.
absl::StatusOr<Oracle::Database> ReadDatabase(DB* db);

inline std::string FamilyName(const std::string& family) { return family.empty() ? "default" : family; }
inline bool IsPutOrMerge(ValueKind kind) {
  return kind == ValueKind::kPut || kind == ValueKind::kExpiringPut || kind == ValueKind::kMerge;
}

class ScriptRun {
 public:
  // Both must outlive this. Errors are mistakes until the database's file system has injected a fault.
  ScriptRun(TestDatabase* database, Oracle* oracle) : database_(database), oracle_(oracle) {}
  ~ScriptRun();

  // To the end, or to where the database cannot be opened any more. Leaves it open.
  void Run(const std::vector<Op>& ops);
  // Crashes (or not) and opens twice, without faults from now on; what is then there must be right, stay so, and take
  // writes.
  void CrashAndVerify(CrashMode mode, uint64_t seed);
  // Opens what a crash left.
  void OpenAndVerify(bool power_lost);
  // Loses power and does so again.
  void CrashAndReopen(uint64_t seed);
  const std::string& failure() const { return failure_; }

 private:
  struct HeldSnapshot {
    std::shared_ptr<const Snapshot> snapshot;
    std::map<std::string, Oracle::Contents> expected;
  };
  struct HeldIterator {
    std::unique_ptr<Iterator> iterator;
    Oracle::Contents expected;
  };

  bool Step(const Op& op);
  void Write(const Op& op);
  void Prepare(const Op& op);
  // Of the oldest transaction that is prepared.
  void EndPrepared(bool commit);
  // That nobody else gets what they have written.
  void CheckLocks();
  bool IsLocked(const std::string& family, const Op::Update& update) const;
  bool MayWrite(const Op::Update& update) const;
  absl::Status WriteAlone(const Op::Update& update, std::string_view value, const WriteOptions& options);
  std::string NewValue(const Op::Update& update);
  void ReadAll();
  void ReadFamily(const std::string& family);
  void CheckIterator(Iterator* iterator, const Oracle::Contents& expected, std::string_view what);
  std::string Filling(size_t bytes) const;
  void CreateFamily(const std::string& name);
  void DropFamily(const std::string& name);
  void WriteCheckpoint(bool backup);
  // Those that were acknowledged are whole, and the others whole or none.
  void CheckCheckpoints();
  void Hold(bool snapshots);
  // What is known of all families now.
  Oracle::Database Known();
  void CreateName();
  void DropName();
  void CheckAt(const ReadOptions& options, const Oracle::Database& expected, std::string_view what);
  void CheckNames();
  // What is durable by now is to be read as of this moment for ever.
  void NoteMoment();
  void CheckMoments();
  void LetGo();
  // False if the database cannot be opened, because of a fault.
  bool Reopen(const Op& op);
  bool OpenAndSettle(bool power_lost, bool faults_allowed);

  bool Fault() const { return database_->files.FaultCount() > 0; }
  // Whether it is ok; a mistake if it is not and no fault explains it.
  bool Check(const absl::Status& status, std::string_view what);
  void Expect(bool holds, std::string what);
  DB* db() { return database_->db.get(); }
  const ColumnFamily& Handle(const std::string& family);

  TestDatabase* const database_;
  Oracle* const oracle_;
  std::map<std::string, std::shared_ptr<ColumnFamily>> handles_;
  std::vector<HeldSnapshot> snapshots_;
  std::vector<HeldIterator> iterators_;
  struct PastMoment {
    uint64_t sequence;
    Oracle::Database expected;
  };
  std::vector<PastMoment> moments_;
  // What has been prepared, and may still be, or be again after a loss of power.
  struct Prepared {
    std::vector<Oracle::Update> updates;
    bool ended = false;  // else their keys are locked
  };
  std::map<std::string, Prepared> prepared_;
  uint64_t values_ = 0;
  bool power_lost_ = false;  // since the last opening that went well
  std::string failure_;
};

}  // namespace sepal::reliability
