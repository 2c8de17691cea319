// Several clients on one database in a simulated world; what they saw is held against what can have been.
//
// Every batch has a number and writes, beside data keys of two families, a mark of its own. So whatever is read as of
// one moment shows exactly which batches it holds. What must be:
// - a batch is there whole or not at all, in both families;
// - every batch that was acknowledged before the moment is there, and none that was begun after it;
// - of any two moments, one holds all batches of the other;
// - a data key has the value of a batch that is there, and none of those that surely came later wrote that key;
// - a moment that is held and read again is the same;
// - of families that come and go beside it, what passing_families.h says;
// - after a crash the same holds, of what was acknowledged (power lost: as durable) before it.
//
// The outcome depends on the case alone. Its parts are the operations of all clients, and the fault or crash.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/test_database.h"
#include "tests/reliability/passing_families.h"
#include "tests/reliability/shrink.h"
#include "util/base/random.h"

namespace sepal::reliability {

class ConcurrentHistory {
 public:
  static constexpr uint32_t kClients = 3;
  static constexpr uint32_t kOperationsOfClient = 14;
  static constexpr uint32_t kTroublePart = kClients * kOperationsOfClient;
  static constexpr uint32_t kParts = kTroublePart + 1;

  // Families come and go where `families_pass` says so, and in some histories else.
  explicit ConcurrentHistory(SeededCase what, bool families_pass = false);
  ~ConcurrentHistory();

  void Run();
  // Empty if all was as it must be.
  const std::string& failure() const { return failure_; }
  const SimulatedWorld& world() const { return *database_.world; }
  uint64_t operations() const { return operations_; }

 private:
  using DataKey = std::pair<int, std::string>;  // family, key
  struct Batch {
    uint64_t begun = 0;
    uint64_t ended = UINT64_MAX;  // if acknowledged: when
    bool durable = false;
    std::set<DataKey> puts, deletes;
  };
  // What is seen as of one moment.
  struct View {
    std::set<int> batches;
    std::map<DataKey, int> data;
    friend bool operator==(const View&, const View&) = default;
  };
  struct Held {
    std::shared_ptr<const Snapshot> snapshot;
    View view;
  };

  static SimulationOptions DrawSimulation(const SeededCase& what);
  void Configure();
  void ArmTrouble();
  void Client(uint32_t number);
  bool OneOperation(Random* random, std::vector<Held>* held);
  bool Write(Random* random);
  bool Look(Random* random, std::vector<Held>* held);
  bool Get(Random* random);
  bool RetryBesideWriter(const Held& held);
  void Recover();

  absl::StatusOr<View> Read(const Snapshot* snapshot);
  // Holds a view, taken between two times, against all that is known.
  void Check(const View& view, uint64_t from, uint64_t to, std::string_view what);
  void CheckData(const View& view, std::string_view what);
  // The batches in `present` that can have written the key last.
  bool MayBe(const DataKey& key, int value, const std::set<int>& present) const;

  uint64_t Now() { return ++now_; }
  bool Check(const absl::Status& status, std::string_view what);
  bool CheckPassing(const absl::StatusOr<std::string>& wrong, std::string_view what);
  void Fail(std::string what);
  const ColumnFamily& Handle(int family) const { return family == 0 ? database_.db->DefaultColumnFamily() : *second_; }

  const SeededCase case_;
  Random random_;
  bool families_pass_;
  uint64_t data_keys_ = 8;
  bool flushes_often_ = false;
  uint64_t written_families_ = 2;
  uint32_t syncs_one_in_ = 3;  // writes
  bool fills_ring_ = false;    // with records that are not synced and stay in the memtable
  std::shared_ptr<ColumnFamily> second_;
  TestDatabase database_;
  uint64_t now_ = 0;
  std::vector<Batch> batches_;
  std::vector<std::set<int>> moments_;  // each holds the one before
  bool trouble_ = false;                // a fault or crash has come: errors are to be expected
  bool power_lost_ = false;
  bool crashed_ = false;
  PassingFamilies passing_{&database_, &crashed_};
  uint64_t operations_ = 0;
  std::string failure_;
};

}  // namespace sepal::reliability
