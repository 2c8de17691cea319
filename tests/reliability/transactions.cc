// Transactions of simulated clients, each history from a seed.
#include "absl/strings/str_format.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "tests/reliability/transaction_history.h"

namespace sepal::reliability {

namespace {

void SearchHistories(Search* search) {
  ForEachSeed(search, [search](uint64_t seed) {
    const TransactionOptions options{.isolation = seed % 4 == 0 ? Isolation::kSnapshot : Isolation::kSerializable,
                                     .locking = seed % 2 == 0 ? Locking::kOptimistic : Locking::kPessimistic,
                                     .lock_timeout = std::chrono::milliseconds(100)};
    const TransactionHistory history = RunTransactions(options, seed);
    const std::string broken = FindBroken(history);
    if (!broken.empty()) search->Fail(broken);
    if (options.isolation == Isolation::kSerializable && HasCycle(history)) search->Fail("it is not serializable");
    search->Add("transactions", history.committed.size() + history.aborted);
    search->Add("aborted", history.aborted);
    search->Count(history.schedule_hash);
  });
}

}  // namespace

void AddTransactionHarness(std::vector<Harness>* all) {
  all->push_back({"transactions", "histories of concurrent transactions are serializable, and survive a loss of power",
                  SearchHistories});
}

}  // namespace sepal::reliability
