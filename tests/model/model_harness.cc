// The model's histories as a harness: each seed is one.
#include "tests/model/history.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "tests/reliability/shrink.h"

namespace sepal::reliability {

namespace {

constexpr uint32_t kSteps = 400;

void SearchHistories(Search* search) {
  ForEachSeedShrinking(search, kSteps, /*draws=*/1, [search](const SeededCase& what) {
    model::History history(what.seed, Threads::kSimulated, what.parts);
    history.Run(kSteps);
    search->Add("operations", kSteps);
    return history.failure();
  });
}

}  // namespace

void AddModelHarnesses(std::vector<Harness>* all) {
  all->push_back(
      {"model", "random histories with crashes and random options, against an ordered map", SearchHistories});
}

}  // namespace sepal::reliability
