// The bytes of filters: committed files of every kind, which readers in other languages are tested with too, and
// damage.
//
// SEPAL_REWRITE=1 writes tests/data/filters anew. If the files differ then, the format has changed: filters of before
// can no longer be read.
#include "filters/filter_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "tests/filters/filter_fixture.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/base/strings.h"

namespace sepal::filters {
namespace {

constexpr int kGoldenKeys = 320;  // of which the even ones are added
constexpr int kAbsentKeys = 680;
constexpr uint64_t kGoldenSeed = 0x123456789abcdef0;

std::string GoldenDirectory() {
  const char* const data = std::getenv("SEPAL_TEST_DATA");
  return std::string(data != nullptr ? data : "tests/data") + "/filters/";
}

std::string ReadGolden(const std::string& name) {
  std::ifstream file(GoldenDirectory() + name, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

void ExpectGolden(const std::string& name, const std::string& contents) {
  if (std::getenv("SEPAL_REWRITE") != nullptr) std::ofstream(GoldenDirectory() + name, std::ios::binary) << contents;
  EXPECT_TRUE(ReadGolden(name) == contents) << name << " differs: the file format has changed";
}

// Every length that the hash treats in a way of its own.
std::string GoldenKey(int i) {
  std::string key(static_cast<size_t>(i < 300 ? i : 1000 + i * 37), '\0');
  for (size_t j = 0; j < key.size(); ++j) key[j] = static_cast<char>(static_cast<size_t>(i) * 131 + j * 7 + (j >> 8));
  return key;
}

std::vector<std::string> AddedKeys() {
  std::vector<std::string> keys;
  for (int i = 0; i < kGoldenKeys; i += 2) keys.push_back(GoldenKey(i));
  return keys;
}

std::vector<std::string> AskedKeys() {
  std::vector<std::string> keys;
  for (int i = 0; i < kGoldenKeys; ++i) keys.push_back(GoldenKey(i));
  for (const std::string& key : NumberedKeys("absent", kAbsentKeys)) keys.push_back(key);
  return keys;
}

// What a reader must answer for each of AskedKeys, a digit each: how often, or 1 for "maybe".
std::string Answers(const AnyFilter& filter) {
  std::string answers;
  for (const std::string& key : AskedKeys()) {
    const absl::StatusOr<uint64_t> count = EstimateCount(filter, key);
    const absl::StatusOr<bool> maybe = MayContain(filter, key);
    if (!maybe.ok()) return "";
    answers += static_cast<char>('0' + (count.ok() ? *count : *maybe));
  }
  return answers;
}

std::string AnswersFile() {
  std::string json = "{\n";
  for (const FilterMaker& maker : AllFilters()) {
    const AnyFilter filter = maker.build(AddedKeys(), kGoldenSeed);
    json += absl::StrFormat("\"%s\": {\"kind\": \"%s\", \"answers\": \"%s\", \"estimated_keys\": %d},\n", maker.name,
                            NameOf(Describe(filter).kind), Answers(filter),
                            static_cast<int>(std::lround(Describe(filter).estimated_keys)));
  }
  json += "\"hashes\": [";
  for (int i = 0; i < kGoldenKeys; ++i) {
    json += absl::StrFormat("%s\"%016x\"", i == 0 ? "" : ", ", KeyHash(GoldenKey(i), kGoldenSeed));
  }
  return json + "]\n}\n";
}

TEST(FilterFileTest, TheBytesOfEveryKindAreStable) {
  for (const FilterMaker& maker : AllFilters()) {
    ExpectGolden(std::string(maker.name) + ".filter", Serialize(maker.build(AddedKeys(), kGoldenSeed)));
  }
  ExpectGolden("answers.json", AnswersFile());
}

TEST(FilterFileTest, TheCommittedFilesAreRead) {
  for (const FilterMaker& maker : AllFilters()) {
    const std::string name = std::string(maker.name) + ".filter";
    const absl::StatusOr<AnyFilter> filter = ParseFilter(ReadGolden(name), name);
    ASSERT_TRUE(filter.ok()) << filter.status();
    EXPECT_EQ(Answers(*filter), Answers(maker.build(AddedKeys(), kGoldenSeed)));
  }
}

// clang-format off: each comment stands beside the bytes that it explains.
TEST(FilterFileTest, ThreeKeysAreTheseBytes) {
  BloomFilter filter = BloomFilter::Create({.layout = BloomLayout::kClassic, .bits = 100, .probes = 2}, 5).value();
  for (const char* const key : {"a", "b", "c"}) filter.Add(key);
  EXPECT_EQ(ToHex(filter.Serialize()).substr(0, 112),
            "8953464c540d0a1a"  // magic
            "01"
            "01"
            "01"
            "02"                  // version, kind, hash, probes
            "00000000"            // width
            "0500000000000000"    // seed
            "0300000000000000"    // keys
            "6400000000000000"    // bits
            "0000000000000000"    // extra
            "1000000000000000");  // bytes of the body: two words
}
// clang-format on

// As a file of another length or content: every byte counts.
TEST(FilterFileTest, EveryDamagedByteIsFound) {
  for (const FilterMaker& maker : AllFilters()) {
    const std::string bytes = Serialize(maker.build(NumberedKeys("key", 20), 1));
    for (size_t i = 0; i < bytes.size(); i += i < 200 ? 1 : 41) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      const absl::Status status = ParseFilter(damaged, "some.filter").status();
      const absl::StatusCode expected = i < 8    ? absl::StatusCode::kInvalidArgument
                                        : i == 8 ? absl::StatusCode::kFailedPrecondition
                                                 : absl::StatusCode::kDataLoss;
      EXPECT_EQ(status.code(), expected) << maker.name << " " << i << ": " << status;
      EXPECT_NE(status.ToString().find("some.filter"), std::string::npos) << status;
    }
    for (const size_t size : {size_t{8}, size_t{63}, size_t{64}, bytes.size() - 1}) {
      const absl::Status status = ParseFilter(bytes.substr(0, size), "f").status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << maker.name << " " << size << ": " << status;
      EXPECT_NE(status.ToString().find("expected"), std::string::npos) << status;
    }
    EXPECT_TRUE(absl::IsDataLoss(ParseFilter(bytes + "x", "f").status()));
  }
}

TEST(FilterFileTest, ForeignFilesAreRefusedInWords) {
  for (const std::string& bytes : {std::string(), std::string("#!/bin/sh\n"), std::string(5000, '\0')}) {
    const absl::Status status = ParseFilter(bytes, "script").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string why = bytes.empty() ? "script is empty, and no filter" : "script is no filter file";
    EXPECT_NE(status.ToString().find(why), std::string::npos) << status;
  }
}

// A writer's mistake, with a checksum that is right: fields that contradict each other are damage, and nothing is read
// or allocated beyond what the file has.
TEST(FilterFileTest, FieldsThatCannotBeAreDamage) {
  for (const FilterMaker& maker : AllFilters()) {
    const std::string bytes = Serialize(maker.build(NumberedKeys("key", 20), 1));
    const DecodedFile file = DecodeFile(bytes, "f").value();
    Random random(1);
    for (int i = 0; i < 300; ++i) {
      FileHeader header = file.header;
      const uint64_t value = random.OneIn(2) ? random.Next() >> random.Uniform(64) : ~uint64_t{0} << random.Uniform(64);
      const uint64_t field = random.Uniform(4);
      if (field == 0) header.probes = static_cast<uint8_t>(value);
      if (field == 1) header.width = static_cast<uint32_t>(value);
      if (field == 2) header.size = value;
      if (field == 3) header.kind = static_cast<FilterKind>(1 + value % 11);
      const absl::StatusOr<AnyFilter> filter = ParseFilter(EncodeFile(header, file.body), "f");
      if (filter.ok()) {
        static_cast<void>(MayContain(*filter, "key"));
        Describe(*filter);
      } else {
        EXPECT_TRUE(absl::IsDataLoss(filter.status())) << filter.status();
      }
    }
  }
}

// With the first key too many it would ask for memory that its file does not account for.
TEST(FilterFileTest, PartsOfAScalableFilterHaveTheSizesThatItsKeysNeed) {
  ScalableBloomFilter filter = ScalableBloomFilter::Create(100, 0.01, 1).value();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(filter.Add("key" + std::to_string(i)).ok());
  ASSERT_GT(filter.parts().size(), 2);
  const std::string bytes = filter.Serialize();
  const DecodedFile file = DecodeFile(bytes, "f").value();
  EXPECT_TRUE(ParseFilter(EncodeFile(file.header, file.body), "f").ok());
  for (const uint64_t first_keys : {uint64_t{1}, uint64_t{1} << 32, uint64_t{1} << 63}) {
    FileHeader header = file.header;
    header.size = first_keys;
    EXPECT_TRUE(absl::IsDataLoss(ParseFilter(EncodeFile(header, file.body), "f").status())) << first_keys;
  }
}

TEST(FilterFileTest, KindsAndHashesOfLaterVersionsAreNamed) {
  const std::string bytes = Serialize(AnyFilter(BloomFilter::ForKeys(10, 0.1).value()));
  for (const size_t at : {size_t{9}, size_t{10}}) {
    std::string later = bytes;
    later[at] = 99;
    const std::string_view body = std::string_view(later).substr(kFileHeaderBytes);
    EncodeFixed64(later.data() + 56, Checksum64(body, Checksum64(std::string_view(later).substr(0, 56), 0)));
    const absl::Status status = ParseFilter(later, "f").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(status.ToString().find("99"), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace sepal::filters
