// Concurrent histories under simulated schedules, each from a seed.
#include "tests/reliability/concurrent_history.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "tests/reliability/shrink.h"

namespace sepal::reliability {

namespace {

// Schedules that are tried for each smaller form of a case that failed.
constexpr uint64_t kDraws = 4;

void SearchSchedules(Search* search, bool families_pass) {
  std::unordered_set<uint64_t> schedules;
  ForEachSeedShrinking(search, ConcurrentHistory::kParts, kDraws, [&](const SeededCase& what) {
    ConcurrentHistory history(what, families_pass);
    const uint64_t began = history.world().micros();
    history.Run();
    if (schedules.insert(history.world().schedule_hash()).second) search->Add("distinct schedules", 1);
    search->Add("switches", history.world().switches());
    search->Add("operations", history.operations());
    search->Add("virtual microseconds", history.world().micros() - began);
    return history.failure();
  });
}

}  // namespace

void AddSimulationHarnesses(std::vector<Harness>* all) {
  all->push_back({"simulation", "several clients under random and priority schedules, with faults and crashes",
                  [](Search* search) { SearchSchedules(search, /*families_pass=*/false); }});
  all->push_back({"drops", "the same beside column families that are made and dropped",
                  [](Search* search) { SearchSchedules(search, /*families_pass=*/true); }});
}

}  // namespace sepal::reliability
