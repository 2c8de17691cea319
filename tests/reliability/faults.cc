// Every file call of every script fails once, in every way; and pairs of calls do.
#include <array>
#include <memory>
#include <numeric>

#include "absl/strings/str_format.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "tests/reliability/script_run.h"
#include "util/base/check.h"
#include "util/base/hash.h"

namespace sepal::reliability {

namespace {

constexpr std::array kFaults = {Fault::kIoError, Fault::kNoSpace, Fault::kTooManyFiles, Fault::kShortWrite,
                                Fault::kFailAfter};
constexpr std::array<std::string_view, kFaults.size()> kFaultNames = {"eio", "enospc", "emfile", "short", "after"};

// Jobs wait for space as long as it takes, so that a lack of it "for good" ends some day.
constexpr uint64_t kFaultsUntilThereIsSpace = 60;
bool IsForWantOfSpace(Fault fault) {
  return fault == Fault::kNoSpace || fault == Fault::kTooManyFiles || fault == Fault::kShortWrite;
}

struct Planned {
  Fault fault = Fault::kNone;
  uint64_t call = 0;
  bool sticky = false;          // every call from then on
  uint64_t times = UINT64_MAX;  // at the most
};

Planned Plan(size_t fault, uint64_t call, bool sticky) {
  Planned plan{.fault = kFaults[fault], .call = call, .sticky = sticky};
  if (sticky && IsForWantOfSpace(plan.fault)) plan.times = kFaultsUntilThereIsSpace;
  return plan;
}

struct Prepared {
  Script script;
  std::vector<Op> ops;
  uint64_t calls = 0;  // without faults
};

// The world of one case.
struct Stage {
  Stage(const Prepared& prepared, uint64_t seed)
      : database(Threads::kSimulated, seed, /*switch_one_in=*/100), run(&database, &oracle) {
    SEPAL_CHECK(Configure(prepared.script.settings, &database).ok());
  }
  TestDatabase database;
  Oracle oracle;
  ScriptRun run;
};

std::vector<Prepared> Prepare(const std::vector<Script>& scripts, Search* search) {
  std::vector<Prepared> all;
  for (const Script& script : scripts) {
    absl::StatusOr<std::vector<Op>> ops = ParseScript(script.text);
    SEPAL_CHECK(ops.ok());
    Prepared prepared{.script = script, .ops = *std::move(ops)};
    Stage stage(prepared, search->seed());
    stage.run.Run(prepared.ops);
    prepared.calls = stage.database.files.CallCount();
    stage.run.CrashAndVerify(CrashMode::kKillProcess, 1);
    if (!stage.run.failure().empty()) {
      search->Begin(absl::StrFormat("script=%s without faults", script.name));
      search->Fail(stage.run.failure());
    }
    all.push_back(std::move(prepared));
  }
  return all;
}

void RunCase(const Prepared& prepared, std::vector<Planned> planned, uint64_t identity, Search* search) {
  Stage stage(prepared, search->seed());
  std::string failed;  // the first calls that were made to
  stage.database.files.SetTracing(!search->only_case().empty());
  stage.database.files.SetDecider([&](const FileCall& call) {
    for (Planned& plan : planned) {
      const bool due = call.number == plan.call || (plan.sticky && call.number > plan.call);
      if (!due || plan.times == 0) continue;
      --plan.times;
      if (failed.size() < 200) failed += ToString(call) + "; ";
      return plan.fault;
    }
    return Fault::kNone;
  });
  stage.run.Run(prepared.ops);
  const bool all_fired = stage.database.files.FaultCount() >= planned.size();
  stage.run.CrashAndVerify(identity % 2 == 0 ? CrashMode::kAnySubset : CrashMode::kKillProcess, identity);
  if (!stage.run.failure().empty()) {
    search->Fail(
        absl::StrFormat("%s\nafter failed: %s\n%s", stage.run.failure(), failed, stage.database.files.TakeTrace()));
  }
  if (all_fired) search->Count(identity);
}

// The numbers below `total` in an order that is spread out, so that any part of it is a fair sample.
class Spread {
 public:
  Spread(uint64_t total, uint64_t seed) : total_(total), next_(total > 0 ? Mix64(seed) % total : 0) {
    step_ = static_cast<uint64_t>(static_cast<double>(total) * 0.6180339887) | 1;
    while (total_ > 1 && std::gcd(step_, total_) != 1) step_ += 2;
  }
  bool Next(uint64_t* number) {
    if (given_ == total_) return false;
    ++given_;
    *number = next_;
    next_ = (next_ + step_) % total_;
    return true;
  }

 private:
  const uint64_t total_;
  uint64_t given_ = 0;
  uint64_t next_;
  uint64_t step_ = 1;
};

void SearchFaults(Search* search) {
  const std::vector<Prepared> all = Prepare(AllScripts(), search);
  constexpr uint64_t kWays = kFaults.size() * 2;
  uint64_t total = 0;
  for (const Prepared& prepared : all) total += prepared.calls * kWays;
  Spread spread(total, search->seed());
  for (uint64_t number = 0; search->GoOn() && spread.Next(&number);) {
    uint64_t rest = number;
    const Prepared* prepared = all.data();
    for (; rest >= prepared->calls * kWays; ++prepared) rest -= prepared->calls * kWays;
    const size_t fault = rest % kFaults.size();
    const bool sticky = rest / kFaults.size() % 2 == 1;
    const uint64_t call = 1 + rest / kWays;
    if (!search->Begin(absl::StrFormat("script=%s fault=%s%s call=%u", prepared->script.name, kFaultNames[fault],
                                       sticky ? " sticky" : "", call))) {
      continue;
    }
    RunCase(*prepared, {Plan(fault, call, sticky)}, number, search);
  }
}

void SearchPairs(Search* search) {
  const std::vector<Prepared> all = Prepare(ShortScripts(), search);
  constexpr uint64_t kWays = kFaults.size() * kFaults.size() * 2;
  const auto pairs = [](const Prepared& prepared) { return prepared.calls * (prepared.calls - 1) / 2 * kWays; };
  uint64_t total = 0;
  for (const Prepared& prepared : all) total += pairs(prepared);
  Spread spread(total, search->seed());
  for (uint64_t number = 0; search->GoOn() && spread.Next(&number);) {
    uint64_t rest = number;
    const Prepared* prepared = all.data();
    for (; rest >= pairs(*prepared); ++prepared) rest -= pairs(*prepared);
    const size_t first = rest % kFaults.size();
    const size_t second = rest / kFaults.size() % kFaults.size();
    const bool sticky = rest / kFaults.size() / kFaults.size() % 2 == 1;
    rest /= kWays;
    uint64_t early = 1;
    for (; rest >= prepared->calls - early; ++early) rest -= prepared->calls - early;
    const uint64_t late = early + 1 + rest;
    if (!search->Begin(absl::StrFormat("script=%s %s=%u then %s%s=%u", prepared->script.name, kFaultNames[first], early,
                                       kFaultNames[second], sticky ? " sticky" : "", late))) {
      continue;
    }
    RunCase(*prepared, {Plan(first, early, false), Plan(second, late, sticky)}, number, search);
  }
}

}  // namespace

void AddFaultHarnesses(std::vector<Harness>* all) {
  all->push_back({"faults", "each file call of each script fails, in five ways, once and for good", SearchFaults});
  all->push_back({"pairs", "two file calls of a short script fail", SearchPairs});
}

}  // namespace sepal::reliability
