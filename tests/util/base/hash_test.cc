// Checksums and hashes are XXH3's, by whichever code they are computed: what is on disk depends on it.
#include "util/base/hash.h"

#include <gtest/gtest.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "util/base/random.h"
#include "util/base/simd.h"
#include "util/base/vector_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sepal {
namespace {

// Without vectors beyond those that every machine has, whatever is used elsewhere.
uint64_t Expected(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string RandomBytes(size_t size) {
  Random random(17);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random.Next());
  return bytes;
}

TEST(HashTest, EveryLengthAtEveryPlaceWithAndWithoutASeedIsXxh3) {
  const std::string bytes = RandomBytes(5000);
  for (size_t size = 0; size + 64 <= bytes.size(); size += size < 600 ? 1 : 37) {
    for (const size_t place : {size_t{0}, size % 61}) {
      const std::string_view part = std::string_view(bytes).substr(place, size);
      for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0} - size}) {
        ASSERT_EQ(Checksum64(part, seed), Expected(part, seed)) << size << " bytes";
        ASSERT_EQ(HashKey(part, seed), Expected(part, seed)) << size << " bytes";
      }
      ASSERT_EQ(ChecksumWithTail(part, 7), Mix64(Expected(part, 0) ^ 8)) << size << " bytes";
    }
  }
}

TEST(HashTest, TheHashOfAMebibyteIsTheReferences) {
  const std::string bytes = RandomBytes((size_t{1} << 20) + 13);
  EXPECT_EQ(Checksum64(bytes, 5), Expected(bytes, 5));
  if (HasVectorHash()) {
    EXPECT_EQ(VectorHash(bytes, 5), Expected(bytes, 5));
  }
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
  EXPECT_EQ(HasVectorHash(), UsedSimd() != SimdLevel::kPortable);
#endif
}

#ifdef __x86_64__
// Which parts of the vector registers are in use (XGETBV with ECX = 1); 0 where the processor does not say.
uint32_t RegistersInUse() {
  uint32_t extensions = 0, b = 0, c = 0, d = 0;
  if (OfferedSimd() == SimdLevel::kPortable || __get_cpuid_count(13, 1, &extensions, &b, &c, &d) == 0) return 0;
  if ((extensions & 4) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low;
}

// Otherwise the thread would pay for every change between SSE and AVX instructions from then on.
TEST(HashTest, TheUpperHalvesOfVectorRegistersAreFreeAfterwards) {
  constexpr uint32_t kUpperHalves = 0x44;  // of the registers 0 to 15: bits 128 to 255, and 256 to 511
  const std::string bytes = RandomBytes(5000);
  if (OfferedSimd() != SimdLevel::kPortable) __asm__ volatile("vzeroupper");
  for (const size_t size : {size_t{100}, size_t{241}, size_t{1024}, size_t{5000}}) {
    const uint64_t hash = Checksum64(std::string_view(bytes).substr(0, size), 3);
    EXPECT_EQ(RegistersInUse() & kUpperHalves, 0u) << size << " bytes, " << hash;
  }
}
#endif

// So that not all of them change together.
TEST(HashTest, TheValuesAreTheOnesThatLieOnDisk) {
  EXPECT_EQ(Checksum64("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(Checksum64(std::string(1000, 'a'), 0), 0xb3e7af627147db7cu);
}

TEST(HashTest, AChecksumOfPartsIsThatOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 31 >> 3);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16}, size_t{240}, size_t{241}, size_t{1024}, size_t{5000}}) {
    for (const size_t part : {size_t{1}, size_t{63}, size_t{5000}}) {
      RunningChecksum32 sum(7);
      for (size_t at = 0; at < size; at += part) sum.Add(std::string_view(bytes).substr(at, std::min(part, size - at)));
      EXPECT_EQ(sum.value(), Checksum32(std::string_view(bytes).substr(0, size), 7)) << size << " by " << part;
    }
  }
}

TEST(HashTest, OfABitThatFlipsTheChecksumIsAnother) {
  std::string bytes = RandomBytes(4096);
  const uint64_t whole = Checksum64(bytes, 3);
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 7) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(Checksum64(bytes, 3), whole) << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

}  // namespace
}  // namespace sepal
