// How two sets of hashes differ: the sketch that says how much, and the table that says in what.
#include "db/sync/difference_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "util/base/coding.h"
#include "util/base/random.h"

namespace sepal {
namespace {

std::vector<uint64_t> SomeHashes(Random* random, uint64_t count) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < count; ++i) hashes.push_back(random->Next());
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

TEST(DifferenceSketchTest, TellsTheSizeOfADifferenceWithinFourStandardErrors) {
  Random random(1);
  for (const uint64_t common : {0, 100'000}) {
    for (const uint64_t differences : {0, 1, 10, 1'000, 100'000}) {
      DifferenceSketch a, b;
      for (const uint64_t hash : SomeHashes(&random, common)) a.Add(hash), b.Add(hash);
      for (const uint64_t hash : SomeHashes(&random, differences)) (hash % 3 == 0 ? a : b).Add(hash);
      const auto told = static_cast<double>(a.DifferenceTo(b));
      EXPECT_NEAR(told, static_cast<double>(differences), 4 * 0.0442 * static_cast<double>(differences) + 1e-9);
      EXPECT_EQ(a.DifferenceTo(b), b.DifferenceTo(a));
      std::string bytes;
      a.AppendTo(&bytes);
      Decoder decoder(bytes);
      EXPECT_EQ(DifferenceSketch::Read(&decoder).DifferenceTo(b), a.DifferenceTo(b));
      EXPECT_TRUE(decoder.Done());
    }
  }
}

TEST(DifferenceTableTest, GivesAllOfADifferenceWhoseSizeIsKnown) {
  Random random(2);
  for (const uint64_t differences : {0, 1, 2, 50, 1'000, 30'000}) {
    for (int round = 0; round < 10; ++round) {
      DifferenceTable table(DifferenceTable::CellsFor(differences));
      for (const uint64_t hash : SomeHashes(&random, 5'000)) table.Put(hash), table.Take(hash);
      const std::vector<uint64_t> put = SomeHashes(&random, differences / 3);
      const std::vector<uint64_t> taken = SomeHashes(&random, differences - differences / 3);
      for (const uint64_t hash : put) table.Put(hash);
      std::string bytes;
      table.AppendTo(&bytes);
      EXPECT_EQ(bytes.size() % (3 * DifferenceTable::kCellBytes), 0u);
      DifferenceTable read = DifferenceTable::Parse(bytes).value();
      for (const uint64_t hash : taken) read.Take(hash);
      const DifferenceTable::Difference found = read.Find();
      EXPECT_EQ(found.put, put);
      EXPECT_EQ(found.taken, taken);
    }
  }
}

TEST(DifferenceTableTest, OneThatIsTooSmallGivesNothingThatIsWrong) {
  Random random(3);
  for (const uint64_t differences : {200, 400, 800}) {
    DifferenceTable table(DifferenceTable::CellsFor(50));
    const std::vector<uint64_t> put = SomeHashes(&random, differences);
    for (const uint64_t hash : put) table.Put(hash);
    const DifferenceTable::Difference found = table.Find();
    EXPECT_TRUE(found.taken.empty());
    EXPECT_TRUE(std::includes(put.begin(), put.end(), found.put.begin(), found.put.end()));
    EXPECT_LT(found.put.size(), put.size());
  }
}

TEST(DifferenceTableTest, BytesAreAsDocumented) {
  DifferenceTable table(3);
  table.Put(0x0102030405060708);
  std::string bytes;
  table.AppendTo(&bytes);
  std::string cell;
  PutFixed64(&cell, 0x0102030405060708);
  EXPECT_EQ(bytes.substr(0, 8), cell);
  EXPECT_EQ(bytes[12], 1);
  EXPECT_EQ(bytes.substr(0, 13), bytes.substr(13, 13));
  EXPECT_EQ(bytes.substr(0, 13), bytes.substr(26, 13));
  EXPECT_EQ(DecodeFixed32(bytes.data() + 8), 0xab9df591u);
  for (size_t cut = 0; cut < bytes.size(); ++cut) EXPECT_FALSE(DifferenceTable::Parse(bytes.substr(0, cut)).ok());
}

}  // namespace
}  // namespace sepal
