#include "table/filter/filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/table/block/block_fixture.h"
#include "util/base/hash.h"

namespace sepal {
namespace {

double TheoreticalRate(double bits_per_key, int probes) {
  return std::pow(1 - std::exp(-probes / bits_per_key), probes);
}

bool IsValidGuard(std::string_view bytes) {
  std::string why;
  return GuardView::Validate(PaddedBytes(bytes).view(), &why);
}

std::string BuildGuard(uint64_t seed, size_t keys, double bits_per_key, int probes) {
  GuardBuilder builder(bits_per_key, probes);
  Random random(seed);
  for (size_t i = 0; i < keys; ++i) builder.Add(random.Next());
  return builder.Finish();
}

TEST(LaneTest, BytesFollowFromKeysAndBits) {
  EXPECT_EQ(LaneBytes(30, 0), 0u);
  EXPECT_EQ(LaneBytes(0, 8), 8u);
  EXPECT_EQ(LaneBytes(1, 8), 8u);
  EXPECT_EQ(LaneBytes(8, 8), 8u);
  EXPECT_EQ(LaneBytes(9, 8), 16u);
  EXPECT_EQ(LaneBytes(31, 10), 40u);
  EXPECT_EQ(LaneBytes(1'000'000, 64), kMaxLaneBytes);
}

// By the formula in filter.h, in wide arithmetic.
TEST(LaneTest, TheBitsOfAKeyAreThoseOfTheFormat) {
  Random random(1);
  for (const size_t bytes : {8, 16, 24, 40, 64, 1000, 65536}) {
    for (int probes = 1; probes <= kMaxLaneProbes; ++probes) {
      const uint64_t hash = random.Next();
      std::string lane(bytes, '\0');
      LaneAdd(lane.data(), bytes, probes, hash);
      const uint64_t x = Mix64(hash ^ 0x1a4e5e9a1ull);
      const uint64_t a = x % 0x100000000ull, b = (x >> 32) | 1;
      std::string expected(bytes, '\0');
      for (uint64_t i = 0; i < static_cast<uint64_t>(probes); ++i) {
        const uint64_t bit = (a + i * b) % 0x100000000ull * (bytes * 8) / 0x100000000ull;
        expected[bit / 8] = static_cast<char>(expected[bit / 8] | 1 << bit % 8);
      }
      EXPECT_EQ(lane, expected);
    }
  }
}

TEST(LaneTest, ThreeKeysAreTheseBytes) {
  std::string lane(8, '\0');
  for (uint64_t hash = 1; hash <= 3; ++hash) LaneAdd(lane.data(), lane.size(), 2, hash);
  EXPECT_EQ(lane, std::string("\x00\x40\x08\x02\x00\x02\x01\x10", 8));
}

TEST(LaneTest, AnEmptyLaneAdmitsEverything) { EXPECT_TRUE(LaneMayContain(nullptr, 0, 6, 123)); }

TEST(LaneTest, NoKeyThatWasAddedIsRuledOut) {
  Random random(2);
  for (const double bits : {0.5, 4.0, 8.0, 10.0, 23.0, 64.0}) {
    for (int probes = 1; probes <= kMaxLaneProbes; ++probes) {
      for (const size_t keys : {1, 2, 31, 33, 500}) {
        // Exactly as long as it must be: a sanitizer sees what is read beyond.
        const std::vector<char> zeros(LaneBytes(keys, bits));
        std::vector<char> lane(zeros);
        std::vector<uint64_t> hashes(keys);
        for (uint64_t& hash : hashes) LaneAdd(lane.data(), lane.size(), probes, hash = random.Next());
        for (const uint64_t hash : hashes) EXPECT_TRUE(LaneMayContain(lane.data(), lane.size(), probes, hash));
      }
    }
  }
}

TEST(LaneTest, AKeyPassesExactlyWhenAllItsBitsAreSet) {
  Random random(3);
  for (int round = 0; round < 20000; ++round) {
    const int probes = static_cast<int>(1 + random.Uniform(kMaxLaneProbes));
    std::string lane(8 * (1 + random.Uniform(round % 10 == 0 ? 100 : 8)), '\0');
    for (char& c : lane) c = static_cast<char>(random.Next() | random.Next() | random.Next());
    const uint64_t hash = random.Next();
    std::string with = lane;
    LaneAdd(with.data(), with.size(), probes, hash);
    EXPECT_EQ(LaneMayContain(lane.data(), lane.size(), probes, hash), with == lane);
  }
}

TEST(LaneTest, TheFalsePositiveRateIsNearTheory) {
  struct {
    double bits;
    int probes;
  } const cases[] = {{5, 3}, {8, 6}, {10, 7}};
  Random random(4);
  for (const auto& c : cases) {
    constexpr int kLanes = 1000, kKeys = 64, kQueries = 400;  // 64 keys: the lane is not rounded up by much
    int passed = 0;
    for (int i = 0; i < kLanes; ++i) {
      std::string lane(LaneBytes(kKeys, c.bits), '\0');
      for (int k = 0; k < kKeys; ++k) LaneAdd(lane.data(), lane.size(), c.probes, random.Next());
      for (int q = 0; q < kQueries; ++q) passed += LaneMayContain(lane.data(), lane.size(), c.probes, random.Next());
    }
    const double rate = static_cast<double>(passed) / (kLanes * kQueries);
    const double theory = TheoreticalRate(c.bits, c.probes);
    EXPECT_GT(rate, 0.8 * theory) << c.bits;
    EXPECT_LT(rate, 1.4 * theory) << c.bits;  // few bits: the formula is for many
  }
}

TEST(GuardTest, TwoKeysAreTheseBytes) {
  GuardBuilder builder(5, 2);
  builder.Add(0xffffffff00000001);  // v = the multipliers: bits 0x47b6137b >> 23 = 143, 0x44974d91 >> 23 = 137
  builder.Add(0x0000000000000002);  // v = 0x8f6c26f6, 0x892e9b22: bits 286, 274
  std::string expected(128, '\0');
  expected[0] = 1;   // Bloom
  expected[1] = 2;   // probes
  expected[8] = 1;   // lines
  expected[16] = 2;  // keys
  for (const size_t bit : {143, 137, 286, 274}) {
    expected[64 + bit / 8] = static_cast<char>(expected[64 + bit / 8] | 1 << bit % 8);
  }
  EXPECT_EQ(builder.Finish(), expected);
  const PaddedBytes bytes(expected);
  EXPECT_EQ(GuardView(bytes.view()).keys(), 2u);
  EXPECT_EQ(GuardView(bytes.view()).probes(), 2);
  EXPECT_DOUBLE_EQ(GuardView(bytes.view()).Fill(), 4.0 / 512);
}

TEST(GuardTest, HashesMayComeOneByOneOrManyAtOnce) {
  Random random(9);
  std::vector<uint64_t> hashes(20000);  // more than fit the first pieces
  for (uint64_t& hash : hashes) hash = random.Next();
  GuardBuilder one_by_one(5, 3), at_once(5, 3), in_batches(5, 3);
  for (const uint64_t hash : hashes) one_by_one.Add(hash);
  at_once.Add(hashes);
  for (std::span<const uint64_t> rest = hashes; !rest.empty();) {
    const size_t n = std::min<size_t>(rest.size(), random.Uniform(3000));
    in_batches.Add(rest.first(n));
    rest = rest.subspan(n);
  }
  EXPECT_EQ(one_by_one.keys(), hashes.size());
  EXPECT_EQ(at_once.keys(), hashes.size());
  EXPECT_EQ(at_once.Finish(), one_by_one.Finish());
  EXPECT_EQ(in_batches.Finish(), one_by_one.Finish());
}

TEST(GuardTest, MemoryOfAPoolChangesNothing) {
  MemoryBudget budget(size_t{64} << 20);
  ReadyPages pool(size_t{8} << 20, &budget, MemoryPart::kCompaction);
  Random random(10);
  for (int round = 0; round < 3; ++round) {
    std::vector<uint64_t> hashes(20000 + 7000 * static_cast<size_t>(round % 2));
    for (uint64_t& hash : hashes) hash = random.Next();
    GuardBuilder pooled(5, 3, &pool), alone(5, 3);
    EXPECT_EQ(budget.used(MemoryPart::kCompaction) > 0, round > 0) << "of the one before";
    pooled.Add(hashes);
    alone.Add(hashes);
    EXPECT_EQ(pooled.Finish(), alone.Finish());
  }
}

TEST(GuardTest, AKeyLiesInTheLineOfItsHighBits) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    GuardBuilder builder(8, 4);
    for (int i = 0; i < 6400; ++i) builder.Add(0);  // 100 lines; all these in the first
    const uint64_t hash = random.Next();
    builder.Add(hash);
    const std::string guard = builder.Finish();
    const auto line = static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * 101 >> 64);
    ASSERT_EQ(guard.size(), 64u + 101 * 64);
    for (uint64_t l = 1; l < 101; ++l) {
      EXPECT_EQ(guard.substr(64 + l * 64, 64) != std::string(64, '\0'), l == line);
    }
  }
}

TEST(GuardTest, TheHashesOfAGuardTakeTheMemoryTheyNeed) {
  size_t pieces = 0;
  size_t before = 0;
  GuardBuilder builder(1, 1);
  Random random(3);
  for (size_t keys = 1; keys <= 1'000'000; ++keys) {
    builder.Add(random.Next());
    ASSERT_EQ(builder.keys(), keys);
    if (builder.MemoryBytes() == before) continue;
    ++pieces;
    EXPECT_LE(builder.MemoryBytes() - before, std::max(size_t{16} << 10, 2 * before)) << keys;
    EXPECT_GE(builder.MemoryBytes(), keys * sizeof(uint64_t));
    before = builder.MemoryBytes();
  }
  EXPECT_EQ(pieces, 10u);  // 16 KiB, twice as much up to 2 MiB, and two more of these
  const PaddedBytes bytes(builder.Finish());
  const GuardView guard(bytes.view());
  EXPECT_EQ(guard.keys(), 1'000'000u);
  Random again(3);
  for (size_t i = 0; i < 1'000'000; ++i) ASSERT_TRUE(guard.MayContain(again.Next())) << i;
}

TEST(GuardTest, NoKeyThatWasAddedIsRuledOut) {
  for (int probes = 1; probes <= kMaxGuardProbes; ++probes) {
    for (const double bits : {1.0, 5.0, 12.0}) {
      for (const size_t keys : {0, 1, 100, 5000}) {
        const PaddedBytes bytes(BuildGuard(keys, keys, bits, probes));
        std::string why;
        ASSERT_TRUE(GuardView::Validate(bytes.view(), &why)) << why;
        const GuardView guard(bytes.view());
        EXPECT_EQ(guard.keys(), keys);
        Random random(keys);
        for (size_t i = 0; i < keys; ++i) EXPECT_TRUE(guard.MayContain(random.Next()));
      }
    }
  }
}

TEST(GuardTest, TheFalsePositiveRateIsNearTheory) {
  for (const int probes : {3, 5, 7}) {
    const double bits = probes / std::log(2);
    const PaddedBytes bytes(BuildGuard(6, 100'000, bits, probes));
    const GuardView guard(bytes.view());
    Random random(7);
    int passed = 0;
    constexpr int kQueries = 400'000;
    for (int i = 0; i < kQueries; ++i) passed += guard.MayContain(random.Next());
    const double rate = static_cast<double>(passed) / kQueries;
    const double theory = TheoreticalRate(bits, probes);
    EXPECT_GT(rate, 0.9 * theory) << probes;
    EXPECT_LT(rate, 1.5 * theory) << probes;  // lines are filled unevenly
    EXPECT_NEAR(guard.Fill(), 0.5, 0.02);
  }
}

TEST(GuardTest, LaneAndGuardErrIndependently) {
  GuardBuilder builder(3, 2);
  Random random(8);
  std::vector<std::string> lanes(2000, std::string(LaneBytes(32, 3), '\0'));
  for (std::string& lane : lanes) {
    for (int i = 0; i < 32; ++i) {
      const uint64_t hash = random.Next();
      LaneAdd(lane.data(), lane.size(), 2, hash);
      builder.Add(hash);
    }
  }
  const PaddedBytes bytes(builder.Finish());
  const GuardView guard(bytes.view());
  double lane_passed = 0, guard_passed = 0, both_passed = 0;
  constexpr int kQueries = 300'000;
  for (int i = 0; i < kQueries; ++i) {
    const uint64_t hash = random.Next();
    const std::string& lane = lanes[static_cast<size_t>(ReduceRange(hash, lanes.size()))];
    const bool by_lane = LaneMayContain(lane.data(), lane.size(), 2, hash), by_guard = guard.MayContain(hash);
    lane_passed += by_lane;
    guard_passed += by_guard;
    both_passed += by_lane && by_guard;
  }
  const double product = lane_passed / kQueries * guard_passed / kQueries;
  EXPECT_NEAR(both_passed / kQueries, product, 0.1 * product);
}

TEST(GuardTest, EveryFieldThatCouldMisleadIsChecked) {
  const std::string guard = BuildGuard(9, 1000, 5, 3);
  EXPECT_TRUE(IsValidGuard(guard));
  for (size_t size = 0; size < guard.size(); ++size) EXPECT_FALSE(IsValidGuard(guard.substr(0, size)));
  EXPECT_FALSE(IsValidGuard(guard + '\0'));
  EXPECT_FALSE(IsValidGuard(guard + std::string(64, '\0')));
  for (size_t i = 0; i < 64; ++i) {
    if (i >= 16 && i < 24) continue;  // the count of keys is only told
    for (const int value : {0, 9, 0x80, 0xff}) {
      std::string damaged = guard;
      damaged[i] = static_cast<char>(value);
      EXPECT_EQ(IsValidGuard(damaged), damaged == guard) << i;
    }
  }
}

}  // namespace
}  // namespace sepal
