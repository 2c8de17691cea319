#include "db/engine/core/log_pins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "util/base/random.h"

namespace sepal {
namespace {

constexpr FileNumber kNone(UINT64_MAX);

TEST(LogPinsTest, TheOldestPinnedLogIsNeeded) {
  LogPins pins;
  EXPECT_EQ(pins.OldestWithout({}), kNone);
  FileNumber first, second;
  pins.Move(&first, FileNumber(7));
  pins.Move(&second, FileNumber(5));
  EXPECT_EQ(pins.OldestWithout({}), FileNumber(5));
  EXPECT_EQ(pins.OldestWithout(std::array{second}), FileNumber(7));
  EXPECT_EQ(pins.OldestWithout(std::array{first, second}), kNone);
  pins.Release(&second);
  EXPECT_EQ(second, FileNumber());
  EXPECT_EQ(pins.OldestWithout({}), FileNumber(7));
  pins.Release(&second);  // it pins nothing any more
  EXPECT_EQ(pins.OldestWithout({}), FileNumber(7));
}

TEST(LogPinsTest, ALogThatAnotherPinsTooIsNeeded) {
  LogPins pins;
  FileNumber first, second;
  pins.Move(&first, FileNumber(5));
  pins.Move(&second, FileNumber(5));
  EXPECT_EQ(pins.OldestWithout(std::array{first}), FileNumber(5));
  EXPECT_EQ(pins.OldestWithout(std::array{first, second}), kNone);
}

// As a walk over all holders would have it.
TEST(LogPinsTest, AnyMovesLeaveTheOldestOfAllHolders) {
  Random random(301);
  LogPins pins;
  std::array<FileNumber, 12> held = {};
  for (int round = 0; round < 20'000; ++round) {
    pins.Move(&held[random.Uniform(held.size())], FileNumber(random.Uniform(6)));
    std::vector<FileNumber> gone;
    FileNumber oldest = kNone;
    for (const FileNumber log : held) {
      if (log == FileNumber()) continue;
      if (random.OneIn(3)) {
        gone.push_back(log);
      } else {
        oldest = std::min(oldest, log);
      }
    }
    ASSERT_EQ(pins.OldestWithout(gone), oldest) << "round " << round;
  }
}

}  // namespace
}  // namespace sepal
