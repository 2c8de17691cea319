// Power is lost at every place of every script, and again within the recoveries, three deep.
//
// At file calls that change the disk, the disk is copied with all that is unsynced, together with what the oracle knows
// then. From each copy states are drawn that a loss of power may leave: any subset of the unsynced sectors (old, new,
// zeros or garbage) and of the directory changes. Each state that was not met before is recovered, checked, and
// recovered again; at some calls of that recovery the next copy is taken. In every other run of a script, and in all of
// those for it, one sync fails first, loses what it would have covered, and later syncs succeed.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_format.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "tests/reliability/script_run.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal::reliability {

namespace {

constexpr int kDeepest = 3;
constexpr uint64_t kStatesOfACopy = 6;
// Round by round twice as many of the file calls are tried, so that a short run has met every script.
constexpr uint64_t kCopyOneCallInAtFirst = 48;
constexpr uint64_t kCopyOneCallInLater = 3;
constexpr uint64_t kCopyOneRecoveryCallIn = 24;

struct Moment {
  MemoryFileSystem disk;
  Oracle oracle;
  uint64_t call;
};

SimulationOptions Simulation(uint64_t seed) { return {.seed = seed, .compaction_workers = 1, .switch_one_in = 100}; }

class PowerSearch {
 public:
  PowerSearch(Search* search, const Script& script, uint64_t round)
      : search_(search),
        script_(script),
        prefix_(absl::StrFormat("round=%u script=%s ", round, script.name)),
        random_(Mix64(search->seed() + round * 1000003) ^ Checksum64(script.name, 1)),
        copy_one_call_in_(std::max(kCopyOneCallInAtFirst >> std::min<uint64_t>(round, 63), kCopyOneCallInLater)),
        a_sync_fails_(ForFailedSyncs(script) || (round + Checksum64(script.name, 0)) % 2 == 1),
        unmapped_((round + Checksum64(script.name, 2)) % 3 == 2) {}

  // Whose synced records have sectors of their own, so that none writes again what a failed sync has lost.
  static bool ForFailedSyncs(const Script& script) { return script.name.starts_with("synced-"); }

  void Run() {
    if (!search_->only_case().empty() && !search_->only_case().starts_with(prefix_)) return;
    std::vector<Moment> moments;
    RunScript(&moments);
    for (const Moment& moment : moments) {
      const std::string name = absl::StrFormat("%scall=%u", prefix_, moment.call);
      const uint64_t seed = random_.Next();
      if (!search_->GoOn()) return;
      if (search_->Begin(name)) Cut(moment, /*depth=*/1, Random(seed));
    }
  }

 private:
  void Prepare(TestDatabase* database) const {
    SEPAL_CHECK(Configure(script_.settings, database).ok());
    if (unmapped_) database->tuning.log_ring_bytes = 0;
    // Its times would make states differ that do not.
    database->options.info_log = false;
  }

  void RunScript(std::vector<Moment>* moments) {
    TestDatabase database(Threads::kSimulated, Simulation(random_.Next()), MemoryFileSystem());
    Prepare(&database);
    uint64_t failing_sync = a_sync_fails_ ? 1 + random_.Uniform(40) : 0;
    Oracle oracle;
    ScriptRun run(&database, &oracle);
    const absl::StatusOr<std::vector<Op>> ops = ParseScript(script_.text);
    SEPAL_CHECK(ops.ok());
    database.files.SetTracing(!search_->only_case().empty());
    database.files.SetDecider([&](const FileCall& call) {
      if (!IsMutation(call.op)) return Fault::kNone;
      if (random_.OneIn(copy_one_call_in_)) moments->push_back({database.memory.Clone(), oracle, call.number});
      const bool sync = call.op == FileOp::kSync || call.op == FileOp::kDirectorySync;
      if (!sync || failing_sync == 0 || --failing_sync > 0) return Fault::kNone;
      story_ = absl::StrFormat("call %u failed: %s\n", call.number, ToString(call));
      return Fault::kIoError;
    });
    run.Run(*ops);
    story_ += database.files.TakeTrace();
    database.files.Clear();
    moments->push_back({database.memory.Clone(), oracle, database.files.CallCount() + 1});
    if (!run.failure().empty()) {
      search_->Begin(prefix_ + "itself");
      search_->Fail(run.failure());
    }
  }

  // Power is lost at this moment, in several ways.
  void Cut(const Moment& moment, int depth, Random random) {
    const uint64_t states = depth == 1 ? kStatesOfACopy : 2;
    for (uint64_t i = 0; i < states && search_->failed() == 0; ++i) {
      MemoryFileSystem disk = moment.disk.Clone();
      disk.Crash(i == 0 && depth == 1 ? CrashMode::kLoseUnsynced : CrashMode::kAnySubset, random.Next());
      const uint64_t state = disk.Fingerprint();
      if (!verified_.insert(Checksum64(moment.oracle.Bounds(), state)).second) continue;
      search_->Count(state);
      search_->Add(absl::StrFormat("at depth %d", depth), 1);
      Recover(std::move(disk), moment.oracle, depth, Random(random.Next()));
    }
  }

  void Recover(MemoryFileSystem disk, Oracle oracle, int depth, Random random) {
    std::vector<Moment> moments;
    std::string recovery;
    {
      TestDatabase database(Threads::kSimulated, Simulation(random.Next()), std::move(disk));
      Prepare(&database);
      ScriptRun run(&database, &oracle);
      database.files.SetTracing(!search_->only_case().empty());
      if (depth < kDeepest) {
        database.files.SetDecider([&](const FileCall& call) {
          if (IsMutation(call.op) && random.OneIn(kCopyOneRecoveryCallIn)) {
            moments.push_back({database.memory.Clone(), oracle, call.number});
          }
          return Fault::kNone;
        });
      }
      run.OpenAndVerify(/*power_lost=*/true);
      database.files.Clear();
      if (random.OneIn(4)) {
        run.CrashAndVerify(CrashMode::kAnySubset, random.Next());
      } else if (run.failure().empty()) {
        // Recovered twice, it is the same.
        oracle.AllDurable();
        run.CrashAndReopen(random.Next());
      }
      if (!run.failure().empty()) {
        search_->Fail(absl::StrFormat("depth %d: %s\n%s", depth, run.failure(), story_));
      }
      recovery = database.files.TakeTrace();
    }
    const size_t length = story_.size();
    story_ += absl::StrFormat("--- the recovery at depth %d:\n%s", depth, recovery);
    for (const Moment& moment : moments) {
      story_ += absl::StrFormat("power is lost at call %u of it\n", moment.call);
      Cut(moment, depth + 1, Random(random.Next()));
    }
    story_.resize(length);
  }

  Search* const search_;
  const Script& script_;
  const std::string prefix_;
  Random random_;
  const uint64_t copy_one_call_in_;
  const bool a_sync_fails_;
  const bool unmapped_;
  std::unordered_set<uint64_t> verified_;
  std::string story_;  // of a failure: the file calls, if one case is looked at
};

void SearchPower(Search* search) {
  const bool only_one = !search->only_case().empty();
  uint64_t round = only_one ? NumberIn(search->only_case(), "round").value_or(0) : 0;
  for (; search->GoOn(); ++round) {
    // First those that were made for this harness.
    std::vector<Script> scripts = AllScripts();
    std::stable_partition(scripts.begin(), scripts.end(), [](const Script& s) { return s.name.ends_with("-sectors"); });
    for (const Script& script : scripts) {
      if (search->GoOn()) PowerSearch(search, script, round).Run();
    }
    // Later rounds have scripts of their own too.
    for (uint64_t i = 0; i < 20 && search->GoOn(); ++i) {
      PowerSearch(search, RandomScript(1000 + round * 20 + i, 40), round).Run();
    }
    if (only_one) return;
  }
}

}  // namespace

void AddPowerHarnesses(std::vector<Harness>* all) {
  all->push_back({"power", "losses of power at every file call, and in the recoveries, three deep", SearchPower});
}

}  // namespace sepal::reliability
