// Databases that releases have written with their default options (tests/data/databases): each is opened, read,
// compacted and repaired, and holds what it held.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "db/doctor/kept_families.h"
#include "sepal/repair.h"
#include "tests/data/databases/shapes.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using databases::Contents;
using databases::Shape;

constexpr const char* kVersions[] = {"0.1.0"};

struct Kept {
  std::string version;
  Shape shape;
};
void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.version << "/" << kept.shape.name; }

std::vector<Kept> AllKept() {
  std::vector<Kept> all;
  for (const char* version : kVersions) {
    for (Shape& shape : databases::Shapes()) all.push_back({version, std::move(shape)});
  }
  return all;
}

class EarlierVersionsTest : public testing::TestWithParam<Kept> {
 protected:
  // A copy of the database, in memory.
  void SetUp() override {
    database.options = Options{.memory_limit = size_t{8} << 20, .env = database.options.env};
    const char* const data = std::getenv("SEPAL_TEST_DATA");
    ASSERT_NE(data, nullptr) << "SEPAL_TEST_DATA is not set";
    ASSERT_OK(database.memory.OpenDirectory("/db", true).status());
    const std::filesystem::path from =
        std::filesystem::path(data) / "databases" / GetParam().version / GetParam().shape.name;
    for (const auto& entry : std::filesystem::directory_iterator(from)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
      ASSERT_OK(database.memory.WriteFileContents("/db/" + entry.path().filename().string(), bytes));
    }
  }

  // Both ways, and key by key.
  static Contents ReadAllOf(DB* db) {
    Contents contents;
    for (const std::string& name : db->ColumnFamilyNames()) {
      const std::shared_ptr<ColumnFamily> family = db->FindColumnFamily(name).value();
      std::map<std::string, std::string>& all = contents[name];
      const std::unique_ptr<Iterator> it = db->NewIterator(*family);
      for (it->SeekToFirst(); it->Valid(); it->Next()) all.emplace(it->key(), it->value());
      std::map<std::string, std::string> backward;
      for (it->SeekToLast(); it->Valid(); it->Prev()) backward.emplace(it->key(), it->value());
      EXPECT_OK(it->status());
      EXPECT_EQ(backward, all);
      for (const auto& [key, value] : all) {
        const absl::StatusOr<std::string> got = db->Get(*family, key);
        EXPECT_TRUE(got.ok() && *got == value) << key << ": " << got.status();
      }
    }
    return contents;
  }
  Contents Expected() const { return databases::ContentsOf(GetParam().shape); }

  TestDatabase database;
};

TEST_P(EarlierVersionsTest, ADatabaseOfAnEarlierVersionIsOpenedAndReadAndOpenedAgain) {
  const absl::StatusOr<std::unique_ptr<DB>> reader = database.OpenReadOnly();
  ASSERT_OK(reader.status());
  EXPECT_EQ(ReadAllOf(reader->get()), Expected());
  EXPECT_TRUE(absl::IsNotFound(database.memory.ReadFileContents("/db/CURRENT").status()));
  ASSERT_OK(database.Open());
  EXPECT_EQ(database.memory.ReadFileContents("/db/CURRENT").value_or("none"), "Sepal");
  EXPECT_EQ(ReadAllOf(database.db.get()), Expected());
  ASSERT_OK(database.db->VerifyChecksums());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(ReadAllOf(database.db.get()), Expected());
  EXPECT_TRUE(KeptFamilies(&database.files, "/db", "").value().empty());
}

TEST_P(EarlierVersionsTest, ADatabaseOfAnEarlierVersionIsWrittenToAndCompacted) {
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("new", "value"));
  for (const std::string& name : database.db->ColumnFamilyNames()) {
    ASSERT_OK(database.db->CompactRange(*database.db->FindColumnFamily(name).value()));
  }
  Contents expected = Expected();
  expected["default"]["new"] = "value";
  EXPECT_EQ(ReadAllOf(database.db.get()), expected);
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(ReadAllOf(database.db.get()), expected);
}

TEST_P(EarlierVersionsTest, ADatabaseOfAnEarlierVersionIsRepairedWithoutItsManifest) {
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, "/db"));
  EXPECT_FALSE(report.changed) << report.ToString();
  ASSERT_OK(database.memory.OpenDirectory("/db", false).value()->Remove("MANIFEST-000001"));
  ASSERT_OK(RepairTo(&report, database.options, "/db"));
  EXPECT_TRUE(report.changed);
  ASSERT_OK(database.Open());
  // What lay in the logs of families that tables do not name is lost with the manifest.
  const Contents expected = Expected();
  for (const auto& [name, all] : ReadAllOf(database.db.get())) {
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ(all, expected.at(name));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EarlierVersionsTest, testing::ValuesIn(AllKept()), [](const auto& kept) {
  std::string name = kept.param.version + "_" + kept.param.shape.name;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace sepal
