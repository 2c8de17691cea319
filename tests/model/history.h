// A random history of every operation on a database, held against the model after each.
//
// Power may be lost, or the process killed, between operations or in the middle of any file call, opening included.
// What must hold then: the database is the model as of some batch, not before the last one that was acknowledged as
// durable (after a kill: not before the last one acknowledged).
//
// The outcome depends on the seed alone (with simulated threads).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/db/engine/test_database.h"
#include "tests/model/model.h"
#include "tests/reliability/shrink.h"
#include "util/base/random.h"

namespace sepal::model {

// Less than the hour by which the clock may jump and be believed.
inline constexpr uint64_t kClockStepMillis = 50 * 60 * 1000;

class History {
 public:
  // `kept`: the steps that are run, of all that the seed stands for; each is drawn by itself.
  History(uint64_t seed, Threads threads, reliability::Parts kept = reliability::Parts::All());
  ~History();

  // Called before each step that is run, for tests of this class: what it does to the database, the model does not
  // know.
  void Sabotage(std::function<void(DB* db, uint32_t step)> before_step) { sabotage_ = std::move(before_step); }
  // Ends early at the first mistake.
  void Run(uint32_t steps);
  // What was wrong, with seed, options and the last steps; empty if nothing was.
  const std::string& failure() const { return failure_; }
  const SimulatedWorld* world() const { return database_.world.get(); }

 private:
  struct HeldSnapshot {
    std::shared_ptr<const Snapshot> snapshot;
    uint64_t batch;
  };
  // What was visible once a batch had been acknowledged.
  struct PastMoment {
    uint64_t batch;
    uint64_t sequence;
  };
  struct NamedModel {
    uint64_t batch;
    uint64_t expires_millis;  // 0: never
  };
  struct HeldIterator {
    std::unique_ptr<Iterator> iterator;
    const Comparator* comparator;
    Entries expected;
    // Where it stands: an index into `expected`, or its size when it is not valid.
    size_t place;
    std::string family;
  };
  struct HeldPin {
    PinnedValue pin;
    std::string expected;
  };
  // What a read of one moment is made with.
  struct Moment {
    ReadOptions options;
    uint64_t batch;
  };

  // history.cc: the course of things.
  bool failed() const { return !failure_.empty(); }
  void Fail(std::string what);
  void Expect(bool holds, std::string what) {
    if (!holds) Fail(std::move(what));
  }
  std::string Describe() const;
  // The first entry in which two lists differ.
  static std::string Difference(const Entries& found, const Entries& expected);
  void Step();
  void Start();
  void Reopen();
  void Crash(CrashMode mode);
  void ArmCrash();
  void Recover();
  void Settle();
  void RandomizeOptions();
  uint64_t FindSurvivors(uint64_t lowest, uint64_t highest);
  bool Matches(const std::string& family, uint64_t batch, const Entries& contents) const;
  absl::StatusOr<Entries> Dump(const std::string& family);
  void DropHandles();
  // Whether the operation went well; if not, it is a mistake unless a crash explains it.
  bool FindFamily(const std::string& name);
  bool Succeeded(const absl::Status& status, std::string_view what);
  void VerifyAll();

  // history_writes.cc: what changes the database.
  Update RandomUpdate(const std::string& family);
  Update RandomRangeDelete(const std::string& family);
  std::string RandomKey();
  bool IsForSingleDeletes(std::string_view key) const;
  std::string RandomValue();
  std::string RandomFamily();
  const ColumnFamily& Handle(const std::string& family);
  void Write(const std::vector<Update>& batch, bool as_batch);
  absl::Status WriteAsTransaction(const std::vector<Update>& batch, const WriteOptions& options);
  void WriteOne();
  void WriteMany();
  void CreateFamily();
  void DropFamily();
  void Flush();
  void Sync();
  void Compact();
  void Maintain();
  void AdvanceClock();
  void SetEpoch();

  // history_named.cc: snapshots with names.
  void CreateNamed();
  void DropNamed();
  void ReadNamed();
  void CheckNamed(const std::string& name, const Snapshot& snapshot);
  void CheckAllNamed();
  std::string RandomName();
  void ExpireNamed();
  void SettleNames();

  // history_reader.cc: a reader beside the database.
  void Follow();
  void CompareReader();
  void CheckReader(const std::string& family, const ReadOptions& options, uint64_t batch);

  // history_reads.cc: what looks at it.
  Moment RandomMoment();
  void NoteMoment();
  void GetOne();
  void GetMany();
  void AskKeyMayExist();
  void TakeSnapshot();
  void MakeIterator();
  void MoveIterator(HeldIterator* held);
  void Check(const HeldIterator& held, std::string_view move);
  void LetGo();

  const uint64_t seed_;
  const reliability::Parts kept_;
  std::function<void(DB* db, uint32_t step)> sabotage_;
  std::string failure_;
  Random random_;
  const bool deletes_ranges_ = seed_ % 3 != 0;
  // Without merges: what a crash has left is told by what is shown, and operands would build on what is not.
  const bool filters_ = seed_ % 4 == 1;
  const bool hot_keys_ = seed_ % 4 == 2;
  // For how long; 0: families keep none. The shorter one is given up again and again.
  const uint64_t history_millis_ = seed_ % 5 == 2 ? 1000 * kClockStepMillis : seed_ % 5 == 4 ? 2 * kClockStepMillis : 0;
  Model model_;
  std::map<std::string, std::shared_ptr<ColumnFamily>> handles_;
  std::vector<HeldSnapshot> snapshots_;
  std::vector<PastMoment> moments_;
  std::map<std::string, NamedModel> named_;
  std::vector<HeldIterator> iterators_;
  std::vector<HeldPin> pins_;
  // May outlive the database.
  TestDatabase database_;
  std::unique_ptr<DB> reader_;
  std::vector<HeldSnapshot> reader_snapshots_;

  // The last batch that was acknowledged, and the last that was acknowledged as durable.
  uint64_t acknowledged_ = 0;
  uint64_t synced_ = 0;
  // A crash that has happened, or will at a file call.
  std::atomic<bool> crashed_{false};
  std::atomic<bool> power_lost_{false};
  std::atomic<uint64_t> calls_until_crash_{0};
  CrashMode armed_mode_ = CrashMode::kKillProcess;
  uint64_t armed_seed_ = 0;
  // A creation or drop that a crash may have cut off.
  std::string unsure_family_;
  std::string unsure_named_;
  uint64_t values_ = 0;
  std::vector<std::string> trail_;
};

}  // namespace sepal::model
