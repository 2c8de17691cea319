// Transactions whose calls are interleaved one by one, each case from a seed.
#include <string>

#include "tests/reliability/harness.h"
#include "tests/reliability/interleaved_run.h"
#include "tests/reliability/rooms.h"
#include "tests/reliability/shrink.h"

namespace sepal::reliability {

namespace {

void SearchInterleavings(Search* search) {
  ForEachSeedShrinking(search, InterleavedRun::kTransactions, /*draws=*/1, [search](const SeededCase& what) {
    InterleavedRun run(what);
    std::string wrong = run.Run();
    const InterleavedRun::Counts& counts = run.counts();
    search->Add("transactions", counts.committed + counts.aborted + counts.rolled_back);
    search->Add("committed", counts.committed);
    search->Add("aborted", counts.aborted);
    search->Add("refused calls", counts.refused);
    search->Add("prepared", counts.prepared);
    search->Add("came back prepared", counts.came_back);
    search->Add("restarts", counts.crashes);
    search->Add("histories with write skew", counts.skewed);
    return wrong;
  });
}

}  // namespace

void AddInterleavingHarness(std::vector<Harness>* all) {
  all->push_back(
      {"interleavings",
       "transactions whose calls are interleaved, 10,000 in a case, with losses of power between any two calls",
       SearchInterleavings});
}

}  // namespace sepal::reliability
