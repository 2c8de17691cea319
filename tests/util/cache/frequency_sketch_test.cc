#include "util/cache/frequency_sketch.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/base/hash.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

uint64_t NotedHash(uint64_t i) { return Mix64(i + 1); }

void NoteTimes(FrequencySketch* sketch, uint64_t key, int times) {
  for (int i = 0; i < times; ++i) sketch->Note(NotedHash(key));
}

TEST(FrequencySketchTest, AKeyIsEstimatedAsOftenAsItWasNoted) {
  FrequencySketch sketch(1000);
  EXPECT_EQ(sketch.Estimate(NotedHash(1)), 0);
  for (int times = 1; times <= FrequencySketch::kMostEstimate; ++times) {
    sketch.Note(NotedHash(1));
    EXPECT_EQ(sketch.Estimate(NotedHash(1)), times);
  }
  EXPECT_EQ(sketch.Estimate(NotedHash(2)), 0);
}

TEST(FrequencySketchTest, CountersStopAtTheMostAndLeaveTheirNeighboursAlone) {
  FrequencySketch sketch(100'000);
  // So few notes that hardly any line is halved meanwhile.
  for (uint64_t key = 0; key < 20; ++key) NoteTimes(&sketch, key, 20);
  for (uint64_t key = 0; key < 20; ++key) EXPECT_EQ(sketch.Estimate(NotedHash(key)), FrequencySketch::kMostEstimate);
  int others = 0;
  for (uint64_t key = 1000; key < 11'000; ++key) others += sketch.Estimate(NotedHash(key)) > 0 ? 1 : 0;
  EXPECT_LT(others, 100) << "more than 1 %";
}

TEST(FrequencySketchTest, KeysNotedOnceStayAtTheDoorAndTakeNoCounter) {
  constexpr uint64_t kKeys = 10'000;
  FrequencySketch sketch(kKeys);
  NoteTimes(&sketch, 0, 8);
  // Three for each key that is kept: enough to fill all counters, had they been let in, and too few to halve many.
  for (uint64_t key = 1; key <= 3 * kKeys; ++key) sketch.Note(NotedHash(key));
  int counted = 0, at_the_door = 0;
  for (uint64_t key = 1; key <= 3 * kKeys; ++key) {
    counted += sketch.Estimate(NotedHash(key)) > 1 ? 1 : 0;
    at_the_door += key > 2 * kKeys && sketch.Estimate(NotedHash(key)) == 1 ? 1 : 0;
  }
  EXPECT_LT(counted, 3 * 100) << "more than 1 %";
  EXPECT_GT(at_the_door, 9'900) << "the last are known";
  EXPECT_GE(sketch.Estimate(NotedHash(0)), 3);
}

TEST(FrequencySketchTest, TheDoorForgetsWhatWasNotedLongAgo) {
  FrequencySketch sketch(1000);
  for (uint64_t key = 0; key < 2100; ++key) sketch.Note(NotedHash(key));
  int forgotten = 0, new_again = 0;
  for (uint64_t key = 0; key < 100; ++key) forgotten += sketch.Estimate(NotedHash(key)) == 0 ? 1 : 0;
  EXPECT_GE(forgotten, 97);
  for (uint64_t key = 0; key < 100; ++key) {
    sketch.Note(NotedHash(key));
    new_again += sketch.Estimate(NotedHash(key)) == 1 ? 1 : 0;
  }
  EXPECT_GE(new_again, 97) << "as if for the first time";
}

TEST(FrequencySketchTest, CountsAreHalvedOnceInTenNotesAKey) {
  constexpr uint64_t kKeys = 1600;
  FrequencySketch sketch(kKeys);
  for (uint64_t key = 0; key < 50; ++key) NoteTimes(&sketch, key, 30);  // fewer notes than a tenth of a period
  // One other key takes the notes: a period's, and a bit for what was noted before.
  NoteTimes(&sketch, 1000, 10 * kKeys);
  for (uint64_t key = 0; key < 50; ++key) {
    EXPECT_GE(sketch.Estimate(NotedHash(key)), 15 / 4) << key;
    EXPECT_LE(sketch.Estimate(NotedHash(key)), 15 / 2 + 1) << key;
  }
  for (int periods = 0; periods < 4; ++periods) NoteTimes(&sketch, 1000, 10 * kKeys);
  for (uint64_t key = 0; key < 50; ++key) EXPECT_LE(sketch.Estimate(NotedHash(key)), 1) << key;
  EXPECT_GE(sketch.Estimate(NotedHash(1000)), 15) << "what is still noted stays high";
}

TEST(FrequencySketchTest, TheSmallestCounts) {
  FrequencySketch sketch(0);
  NoteTimes(&sketch, 7, 4);
  EXPECT_GE(sketch.Estimate(NotedHash(7)), 1);
}

TEST(FrequencySketchTest, ThreadsThatNoteAtOnceLoseFewCountsAndAddNone) {
  constexpr uint64_t kKeys = 20'000;
  FrequencySketch sketch(kKeys);
  {
    std::vector<Thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&sketch, t] {
        // 200 keys that are noted by each thread, and 3,000 of each thread's own.
        for (uint64_t i = 0; i < 3'000; ++i) {
          sketch.Note(NotedHash(i % 200));
          sketch.Note(NotedHash((t + 1) << 32 | i));
        }
      });
    }
  }
  int frequent = 0, once = 0;
  for (uint64_t i = 0; i < 200; ++i) frequent += sketch.Estimate(NotedHash(i)) >= 7 ? 1 : 0;
  for (uint64_t i = 0; i < 12'000; ++i) once += sketch.Estimate(NotedHash((i / 3'000 + 1) << 32 | i % 3'000)) <= 1;
  EXPECT_EQ(frequent, 200);
  EXPECT_GT(once, 11'800);
}

}  // namespace
}  // namespace sepal
