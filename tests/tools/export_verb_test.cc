// sepal export, to LevelDB and back.
#include <gtest/gtest.h>

#ifdef SEPAL_WITH_LEVELDB
#include <leveldb/db.h>
#endif

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class ExportVerbTest : public ImportVerbTest {
 protected:
  // In `old_`: entries of all kinds, of which the dead ones are not to come over.
  void MakeDatabase() {
    Options options;
    options.create_if_missing = true;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, old_);
    ASSERT_TRUE(db.ok()) << db.status();
    for (int i = 0; i < 5000; ++i)
      ASSERT_TRUE((*db)->Put(Key(i), std::string(100, static_cast<char>('a' + i % 26))).ok());
    ASSERT_TRUE((*db)->Delete(Key(7)).ok());
    ASSERT_TRUE((*db)->Put(std::string("\0\xff", 2), "").ok());
    WriteOptions soon;
    soon.ttl = std::chrono::milliseconds(1);
    ASSERT_TRUE((*db)->Put("expired", "x", soon).ok());
    ASSERT_TRUE((*db)->Close().ok());
    usleep(5000);
  }
};

TEST_F(ExportVerbTest, AnUnknownEngineOrNoneIsAMistake) {
  EXPECT_EQ(RunSepal({"export", old_, new_}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"export", old_, new_, "--to", "rocksdb"}).exit, kExitUsage);
}

#ifndef SEPAL_WITH_LEVELDB
TEST_F(ExportVerbTest, WithoutTheLibraryItSaysWhatToInstall) {
  MakeDatabase();
  const Outcome refused = RunSepal({"export", old_, new_, "--to", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "install libleveldb-dev")) << refused.err;
}
#else
TEST_F(ExportVerbTest, EveryEntryComesOverAndBack) {
  MakeDatabase();
  const Outcome exported = RunSepal({"export", old_, new_ + "/", "--to", "leveldb", "--json"});
  ASSERT_EQ(exported.exit, kExitOk) << exported.err;
  EXPECT_EQ(LastJson(exported.out).at("entries"), 5000);
  EXPECT_FALSE(std::filesystem::exists(new_ + ".part"));
  EXPECT_FALSE(std::filesystem::exists(new_ + "/EXPORTING"));
  {
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open({}, new_, &opened).ok());
    const std::unique_ptr<leveldb::DB> level(opened);
    std::string value;
    EXPECT_TRUE(level->Get({}, Key(4999), &value).ok());
    EXPECT_EQ(value, std::string(100, static_cast<char>('a' + 4999 % 26)));
    EXPECT_TRUE(level->Get({}, std::string("\0\xff", 2), &value).ok());
    EXPECT_TRUE(level->Get({}, Key(7), &value).IsNotFound());
    EXPECT_TRUE(level->Get({}, "expired", &value).IsNotFound());
  }
  const std::string back = new_ + ".back";
  const Outcome imported = RunSepal({"import", back, new_, "--compare", "--json"});
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("entries"), 5000);
}

TEST_F(ExportVerbTest, NothingIsReplacedAndNothingUnfinishedIsLeft) {
  const Outcome missing = RunSepal({"export", old_, new_, "--to", "leveldb"});
  EXPECT_NE(missing.exit, kExitOk);
  EXPECT_FALSE(std::filesystem::exists(new_)) << "and nothing was made";
  MakeDatabase();
  std::filesystem::create_directory(new_);
  std::ofstream(new_ + "/kept") << "mine";
  const Outcome full = RunSepal({"export", old_, new_, "--to", "leveldb"});
  EXPECT_EQ(full.exit, kExitError);
  EXPECT_TRUE(std::filesystem::exists(new_ + "/kept")) << full.err;
  const Outcome inside = RunSepal({"export", old_, old_ + "/copy", "--to", "leveldb"});
  EXPECT_EQ(inside.exit, kExitError);
  EXPECT_TRUE(Has(inside.err, "in the source")) << inside.err;
  std::filesystem::remove_all(new_);
  // What is no export's own stays; what an interrupted one has left goes.
  std::filesystem::create_directory(new_ + ".part");
  std::ofstream(new_ + ".part/kept") << "mine";
  const Outcome others = RunSepal({"export", old_, new_, "--to", "leveldb"});
  EXPECT_EQ(others.exit, kExitError);
  EXPECT_TRUE(Has(others.err, "not what an interrupted export has left")) << others.err;
  std::filesystem::remove(new_ + ".part/kept");
  std::ofstream(new_ + ".part/EXPORTING");
  std::ofstream(new_ + ".part/000005.ldb") << "half";
  EXPECT_EQ(RunSepal({"export", old_, new_, "--to", "leveldb"}).exit, kExitOk);
  EXPECT_FALSE(std::filesystem::exists(new_ + ".part"));
}

TEST_F(ExportVerbTest, OfSeveralFamiliesOneIsToBeNamed) {
  MakeDatabase();
  ASSERT_EQ(RunSepal({"family", "create", old_, "mail"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", old_, "k", "v", "--family", "mail"}).exit, kExitOk);
  const Outcome refused = RunSepal({"export", old_, new_, "--to", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "default, mail") && Has(refused.err, "--family")) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(new_ + ".part"));
  EXPECT_NE(RunSepal({"export", old_, new_, "--to", "leveldb", "--family", "none"}).exit, kExitOk);
  const Outcome one = RunSepal({"export", old_, new_, "--to", "leveldb", "--family", "mail", "--json"});
  ASSERT_EQ(one.exit, kExitOk) << one.err;
  EXPECT_EQ(LastJson(one.out).at("entries"), 1);
  EXPECT_EQ(LastJson(one.out).at("family").at("utf8"), "mail");
}
#endif

}  // namespace
}  // namespace sepal::tools
