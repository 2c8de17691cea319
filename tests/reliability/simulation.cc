// Concurrent histories under simulated schedules, each from a seed.
#include "tests/reliability/concurrent_history.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "util/hash.h"

namespace sepal::reliability {

namespace {

void SearchSchedules(Search* search) {
  std::unordered_set<uint64_t> schedules;
  ForEachSeed(search, [&](uint64_t seed) {
    ConcurrentHistory history(seed);
    const uint64_t began = history.world().micros();
    history.Run();
    if (!history.failure().empty()) search->Fail(history.failure());
    search->Count(Mix64(seed));
    if (schedules.insert(history.world().schedule_hash()).second) search->Add("distinct schedules", 1);
    search->Add("switches", history.world().switches());
    search->Add("operations", history.operations());
    search->Add("virtual microseconds", history.world().micros() - began);
  });
}

}  // namespace

void AddSimulationHarnesses(std::vector<Harness>* all) {
  all->push_back(
      {"simulation", "several clients under random and priority schedules, with faults and crashes", SearchSchedules});
}

}  // namespace sepal::reliability
