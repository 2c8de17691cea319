// What a database does while it is closed.
#include <gtest/gtest.h>

#include <atomic>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class CancelledCompactions final : public EventListener {
 public:
  void OnCompactionEnd(const CompactionEvent& event) override { count += absl::IsCancelled(event.status) ? 1 : 0; }
  std::atomic<int> count{0};
};

// However late the closing thread gets its turn.
TEST(ClosingTest, ACompactionThatClosingEndsIsNotBegunAgain) {
  int most = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestDatabase database(Threads::kSimulated, seed, /*switch_one_in=*/2);
    const auto cancelled = std::make_shared<CancelledCompactions>();
    database.options.listeners = {cancelled};
    ASSERT_OK(database.Open());
    for (int run = 0; run < database.tuning.runs_per_level; ++run) {
      for (uint64_t i = 0; i < 60; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), std::string(100, 'v')));
      ASSERT_OK(database.db->Flush());
    }
    ASSERT_OK(database.db->Close());
    most = std::max(most, cancelled->count.load());
    EXPECT_LE(cancelled->count.load(), database.tuning.compaction_threads) << "seed " << seed;
  }
  EXPECT_GT(most, 0) << "no seed closed in the middle of a compaction";
}

}  // namespace
}  // namespace sepal
