// Who waits for whom at the gate of background work.
#include "db/engine/background/pause_gate.h"

#include <gtest/gtest.h>

#include "sepal/simulation/simulated_world.h"

namespace sepal {
namespace {

class PauseGateTest : public testing::Test {
 protected:
  void Continue() {
    StateLock lock(&state_);
    EXPECT_TRUE(gate_.Continue().ok());
  }
  // Begins a compaction that goes on until `ends_` is set.
  void BeginCompaction() {
    world_.Spawn([this] {
      const PauseGate::Section section(&gate_);
      while (!ends_) {
        gate_.StepAside();
        ++steps_;
        world_.SleepMicros(10);
      }
    });
    world_.SleepMicros(100);
  }
  int StepsIn(uint64_t micros) {
    const int before = steps_;
    world_.SleepMicros(micros);
    return steps_ - before;
  }

  SimulatedWorld world_{1};
  EngineState state_{nullptr, Options()};
  PauseGate gate_{&state_};
  bool ends_ = false;
  int steps_ = 0;
};

TEST_F(PauseGateTest, ACompactionStepsAsideForAFlushThatGoesFirst) {
  BeginCompaction();
  EXPECT_GT(StepsIn(1000), 10);
  {
    const PauseGate::Section flush(&gate_, PauseGate::Work::kFirstFlush);
    world_.SleepMicros(100);
    EXPECT_EQ(StepsIn(1000), 0);
  }
  EXPECT_GT(StepsIn(1000), 10);
  {
    const PauseGate::Section flush(&gate_, PauseGate::Work::kFlush);
    EXPECT_GT(StepsIn(1000), 10);
  }
  ends_ = true;
}

TEST_F(PauseGateTest, WorkGoesOnOnlyAfterTheLastOfSeveralPauses) {
  BeginCompaction();
  {
    const PauseGate::Section first(&gate_, PauseGate::Work::kFirstFlush);
    {
      const PauseGate::Section second(&gate_, PauseGate::Work::kFirstFlush);
      world_.SleepMicros(100);
    }
    EXPECT_EQ(StepsIn(1000), 0);
  }
  EXPECT_GT(StepsIn(1000), 10);
  ends_ = true;
}

TEST_F(PauseGateTest, APauseWaitsForAFlushThatGoesFirstAndHoldsBothBack) {
  BeginCompaction();
  bool flushed = false;
  world_.Spawn([&] {
    const PauseGate::Section flush(&gate_, PauseGate::Work::kFirstFlush);
    world_.SleepMicros(500);
    flushed = true;
  });
  world_.SleepMicros(50);
  gate_.Pause();
  EXPECT_TRUE(flushed);
  bool flushes = false;
  world_.Spawn([&] {
    const PauseGate::Section flush(&gate_, PauseGate::Work::kFirstFlush);
    flushes = true;
  });
  EXPECT_EQ(StepsIn(1000), 0);
  EXPECT_FALSE(flushes);
  Continue();
  EXPECT_GT(StepsIn(1000), 10);
  EXPECT_TRUE(flushes);
  ends_ = true;
}

TEST_F(PauseGateTest, ClosingEndsTheWaitAtThePauseGate) {
  BeginCompaction();
  const PauseGate::Section flush(&gate_, PauseGate::Work::kFirstFlush);
  world_.SleepMicros(100);
  EXPECT_EQ(StepsIn(1000), 0);
  {
    StateLock lock(&state_);
    state_.closing = true;
    state_.NotifyChanged();
  }
  EXPECT_GT(StepsIn(1000), 0);
  ends_ = true;
}

}  // namespace
}  // namespace sepal
