// Runs docs/examples/from_leveldb.cc (the path of the program is FROM_LEVELDB) on a LevelDB database.
#include <gtest/gtest.h>
#include <leveldb/db.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "sepal/db.h"
#include "tests/tools/temporary_directory.h"

namespace sepal::tools {
namespace {

TEST(FromLevelDbTest, BringsEveryEntryOver) {
  TemporaryDirectory directory;
  constexpr int kEntries = 20000;
  {
    leveldb::Options options;
    options.create_if_missing = true;
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, directory.File("old"), &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    for (int i = 0; i < kEntries; ++i) {
      const std::string value = std::string(50, 'v') + std::to_string(i);
      ASSERT_TRUE(db->Put(leveldb::WriteOptions(), "key" + std::to_string(i), value).ok());
    }
    ASSERT_TRUE(db->Delete(leveldb::WriteOptions(), "key7").ok());
  }
  const std::string command = std::string(FROM_LEVELDB) + " " + directory.File("old") + " " + directory.File("new");
  ASSERT_EQ(std::system(command.c_str()), 0);

  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({.read_only = true}, directory.File("new"));
  ASSERT_TRUE(db.ok()) << db.status();
  int entries = 0;
  const std::unique_ptr<Iterator> it = (*db)->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++entries;
  EXPECT_EQ(entries, kEntries - 1);
  EXPECT_EQ((*db)->Get("key123").value_or(""), std::string(50, 'v') + "123");
  EXPECT_TRUE(absl::IsNotFound((*db)->Get("key7").status()));
  // A second time the target is taken.
  EXPECT_NE(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace sepal::tools
