// LevelDB and RocksDB themselves, which are told to open a database of Sepal's and to make one there.
#include <gtest/gtest.h>

#ifdef SEPAL_WITH_LEVELDB
#include <leveldb/db.h>
#endif
#ifdef SEPAL_WITH_ROCKSDB
#include <rocksdb/db.h>
#endif

#include "tests/tools/sepal_command_fixture.h"

#if defined(SEPAL_WITH_LEVELDB) || defined(SEPAL_WITH_ROCKSDB)
namespace sepal::tools {
namespace {

class OtherEnginesTest : public SepalCommandTest {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({.create_if_missing = true}, path_);
    ASSERT_TRUE(db.ok()) << db.status();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*db)->Put("key" + std::to_string(i), "value").ok());
    ASSERT_TRUE((*db)->Flush().ok());
    ASSERT_TRUE((*db)->Put("in the log", "value").ok());
    ASSERT_TRUE((*db)->Checkpoint(copy_).ok());
    ASSERT_TRUE((*db)->Close().ok());
  }
  // All files but those that the other engines have in common with Sepal, and do not read.
  static std::set<std::string> StateOf(const std::string& path) {
    std::set<std::string> state;
    for (const std::string& file : SepalCommandTest::StateOf(path)) {
      if (!file.starts_with("LOG") && !file.starts_with("LOCK")) state.insert(file);
    }
    return state;
  }
  // `open` says what is wrong; empty: nothing.
  template <class Open>
  void ExpectRefused(const Open& open) {
    for (const std::string& path : {path_, copy_}) {
      const std::set<std::string> before = StateOf(path);
      ASSERT_GE(before.size(), 3u);
      for (const bool create : {true, false}) {
        const std::string error = open(path, create);
        EXPECT_TRUE(error.find("CURRENT file does not end with newline") != std::string::npos) << error;
        EXPECT_EQ(StateOf(path), before);
      }
      absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({}, path);
      ASSERT_TRUE(db.ok()) << db.status();
      EXPECT_EQ((*db)->Get("key7").value_or("absent"), "value");
      EXPECT_EQ((*db)->Get("in the log").value_or("absent"), "value");
    }
  }

  const std::string path_ = directory_.File("made");
  const std::string copy_ = directory_.File("copy");
};

#ifdef SEPAL_WITH_LEVELDB
TEST_F(OtherEnginesTest, LevelDbRefusesADatabaseAndTouchesNothing) {
  ExpectRefused([](const std::string& path, bool create) {
    leveldb::Options options;
    options.create_if_missing = create;
    leveldb::DB* opened = nullptr;
    const std::string error = leveldb::DB::Open(options, path, &opened).ToString();
    delete opened;
    return error;
  });
}
#endif

#ifdef SEPAL_WITH_ROCKSDB
TEST_F(OtherEnginesTest, RocksDbRefusesADatabaseAndTouchesNothing) {
  ExpectRefused([](const std::string& path, bool create) {
    rocksdb::Options options;
    options.create_if_missing = create;
    rocksdb::DB* opened = nullptr;
    const std::string error = rocksdb::DB::Open(options, path, &opened).ToString();
    delete opened;
    return error;
  });
}
#endif

TEST_F(OtherEnginesTest, ADatabaseOfSepalsIsNoSourceOfAnImport) {
  const Outcome refused = RunSepal({"import", directory_.File("new"), path_});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "is a database of Sepal's")) << refused.err;
}

}  // namespace
}  // namespace sepal::tools
#endif
