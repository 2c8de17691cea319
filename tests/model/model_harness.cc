// The model's histories as a harness: each seed is one.
#include "tests/model/history.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "util/hash.h"

namespace sepal::reliability {

namespace {

constexpr int kSteps = 400;

void SearchHistories(Search* search) {
  ForEachSeed(search, [search](uint64_t seed) {
    model::History history(seed, Threads::kSimulated);
    history.Run(kSteps);
    if (!history.failure().empty()) search->Fail(history.failure());
    search->Count(Mix64(seed));
    search->Add("operations", kSteps);
  });
}

}  // namespace

void AddModelHarnesses(std::vector<Harness>* all) {
  all->push_back(
      {"model", "random histories with crashes and random options, against an ordered map", SearchHistories});
}

}  // namespace sepal::reliability
