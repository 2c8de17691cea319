// sepal import, from databases that LevelDB and RocksDB have made here.
#include <gtest/gtest.h>

#ifdef SEPAL_WITH_LEVELDB
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#endif

#include "tests/tools/sepal_command_fixture.h"
#include "tests/util/files/watched_calls.h"

namespace sepal::tools {
namespace {

TEST_F(ImportVerbTest, WhatIsNoDatabaseIsRefused) {
  const Outcome missing = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(missing.exit, kExitError);
  EXPECT_TRUE(Has(missing.err, "does not exist") && Has(missing.err, "comes first")) << missing.err;
  std::filesystem::create_directory(old_);
  const Outcome empty = RunSepal({"import", new_, old_});
  EXPECT_EQ(empty.exit, kExitError);
  EXPECT_TRUE(Has(empty.err, "no file CURRENT") && Has(empty.err, "comes first")) << empty.err;
  EXPECT_EQ(RunSepal({"import", new_, old_, "--from", "lmdb"}).exit, kExitUsage);
  ExpectNothingLeft();
}

#ifndef SEPAL_WITH_LEVELDB
TEST_F(ImportVerbTest, WithoutTheLibraryItSaysWhatToInstall) {
  std::filesystem::create_directory(old_);
  std::ofstream(old_ + "/CURRENT") << "MANIFEST-000002\n";
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "install libleveldb-dev")) << refused.err;
  ExpectNothingLeft();
}
#else
class ImportLevelDbTest : public ImportVerbTest {
 protected:
  // Tables, a deletion, and something in the log.
  void MakeLevelDb(int entries) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 256 << 10;
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, old_, &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    for (int i = 0; i < entries; ++i) ASSERT_TRUE(db->Put({}, Key(i), Value(i)).ok());
    ASSERT_TRUE(db->Delete({}, Key(7)).ok());
    ASSERT_TRUE(db->Put({}, std::string("\0\xff", 2), "").ok());
  }
  static std::string Value(int i) { return std::string(100, static_cast<char>('a' + i % 26)) + std::to_string(i); }
};

TEST_F(ImportLevelDbTest, EveryEntryComesOverAndTheSourceIsNotTouched) {
  MakeLevelDb(10000);
  const std::set<std::string> before = StateOf(old_);
  const Outcome imported = RunSepal({"import", new_, old_ + "/", "--from", "leveldb", "--compare", "--json"});
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(StateOf(old_), before);
  const nlohmann::json json = LastJson(imported.out);
  EXPECT_EQ(json.at("entries"), 10000);
  EXPECT_TRUE(json.at("compared"));
  EXPECT_FALSE(std::filesystem::exists(new_ + ".part"));
  EXPECT_FALSE(std::filesystem::exists(new_ + "/source"));
  absl::StatusOr<std::unique_ptr<DB> > db = DB::Open({}, new_);
  ASSERT_TRUE(db.ok()) << db.status();
  for (int i = 0; i < 10000; ++i) {
    const absl::StatusOr<std::string> value = (*db)->Get(Key(i));
    if (i == 7) {
      EXPECT_TRUE(absl::IsNotFound(value.status()));
    } else {
      ASSERT_EQ(value.value_or("absent"), Value(i)) << i;
    }
  }
  EXPECT_EQ((*db)->Get(std::string("\0\xff", 2)).value_or("absent"), "");
  // The source is a LevelDB database as before.
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open({}, old_, &opened).ok());
  std::string value;
  EXPECT_TRUE(opened->Get({}, Key(9999), &value).ok());
  delete opened;
}

TEST_F(ImportLevelDbTest, AnEmptyDirectoryIsTakenAndAnyOtherRefused) {
  MakeLevelDb(100);
  std::filesystem::create_directory(new_);
  EXPECT_EQ(RunSepal({"import", new_, old_, "--from", "leveldb"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "verify", new_}).exit, kExitOk);
  const std::set<std::string> before = StateOf(new_);
  const Outcome again = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(again.exit, kExitError);
  EXPECT_TRUE(Has(again.err, "not an empty directory")) << again.err;
  EXPECT_EQ(StateOf(new_), before);
}

TEST_F(ImportLevelDbTest, SlashesBehindNamesAndNamesWithoutADirectoryMeanTheSame) {
  MakeLevelDb(100);
  EXPECT_EQ(RunSepal({"import", new_ + "//", old_ + "//", "--from", "leveldb"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "verify", new_}).exit, kExitOk);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  const Outcome here = RunSepal({"import", "here", "old", "--from", "leveldb"});
  std::filesystem::current_path(before);
  EXPECT_EQ(here.exit, kExitOk) << here.err;
  EXPECT_EQ(RunSepal({"db", "verify", directory_.File("here")}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"import", directory_.File("none/new"), old_, "--from", "leveldb"}).exit, kExitOk);
}

TEST_F(ImportLevelDbTest, AKeyThatIsTooLongForSepalIsToldAndNothingIsLeft) {
  MakeLevelDb(100);
  {
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open({}, old_, &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    ASSERT_TRUE(db->Put({}, std::string(17'000'000, 'k'), "v").ok());
  }
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "a key of 17000000 and a value of 1 bytes; Sepal takes 16777216")) << refused.err;
  ExpectNothingLeft();
}

TEST_F(ImportLevelDbTest, AValueThatIsTooLargeForTheMemoryIsNamedAndComesOverWithMore) {
  MakeLevelDb(100);
  {
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open({}, old_, &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    ASSERT_TRUE(db->Put({}, "key0050large", std::string(size_t{3} << 20, 'v')).ok());
  }
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb", "--memory-limit", "8MiB"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "family default, key 'key0050large': ") && Has(refused.err, "--memory-limit"))
      << refused.err;
  ExpectNothingLeft();
  const Outcome imported =
      RunSepal({"import", new_, old_, "--from", "leveldb", "--memory-limit", "16MiB", "--compare", "--json"});
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("entries"), 101);
}

// Of which a batch takes many times its bytes in memory.
TEST_F(ImportLevelDbTest, TheSmallestEntriesComeOverWithTheLeastMemory) {
  {
    leveldb::Options options;
    options.create_if_missing = true;
    leveldb::DB* opened = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, old_, &opened).ok());
    const std::unique_ptr<leveldb::DB> db(opened);
    for (int i = 0; i < 60'000; ++i) ASSERT_TRUE(db->Put({}, absl::StrFormat("%05d", i), "").ok());
  }
  const Outcome imported = RunSepal({"import", new_, old_, "--from", "leveldb", "--memory-limit", "8MiB", "--json"});
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("entries"), 60'000);
}

TEST_F(ImportLevelDbTest, BesideAnotherImportToTheSamePlaceItIsRefused) {
  MakeLevelDb(100);
  const std::unique_ptr<DB> other = DB::Open({.create_if_missing = true}, new_ + ".part").value();
  std::ofstream(new_ + ".part/IMPORTING").flush();
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "another import writes to")) << refused.err;
  EXPECT_TRUE(other->Put("still", "there").ok());
}

TEST_F(ImportLevelDbTest, TheOtherEnginesDatabaseIsNotOpened) {
  MakeLevelDb(100);
  std::ofstream(old_ + "/000099.ldb") << "x";
  const Outcome as_rocksdb = RunSepal({"import", new_, old_, "--from", "rocksdb"});
  EXPECT_EQ(as_rocksdb.exit, kExitError);
  EXPECT_TRUE(Has(as_rocksdb.err, "is a database of leveldb, not rocksdb: use --from leveldb")) << as_rocksdb.err;
  std::ofstream(old_ + "/OPTIONS-000005") << "x";
  const Outcome as_leveldb = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(as_leveldb.exit, kExitError);
  EXPECT_TRUE(Has(as_leveldb.err, "is a database of rocksdb, not leveldb: use --from rocksdb")) << as_leveldb.err;
  ExpectNothingLeft();
}

TEST_F(ImportLevelDbTest, NeitherTheRootNorAFileIsAPlaceForADatabase) {
  MakeLevelDb(10);
  EXPECT_TRUE(Has(RunSepal({"import", "/", old_, "--from", "leveldb"}).err, "/ is a mount point"));
  EXPECT_TRUE(Has(RunSepal({"import", new_, "/", "--from", "leveldb"}).err, "/ holds no LevelDB"));
  std::ofstream(new_) << "a file";
  EXPECT_TRUE(Has(RunSepal({"import", new_, old_, "--from", "leveldb"}).err, "not an empty directory"));
  EXPECT_EQ(Slurp(new_), "a file");
}

// What lies there at each call that makes something durable, or goes, is what a crash may leave.
TEST_F(ImportLevelDbTest, WhatAnImportLeavesThatIsInterruptedAnywhereIsReplacedUnlessItIsWhole) {
  MakeLevelDb(100);
  const std::string part = new_ + ".part", halves = directory_.File("halves");
  std::filesystem::create_directory(halves);
  int calls = 0;
  const CallJudge keep = [&](const seccomp_data&) -> std::optional<CallAnswer> {
    const std::string half = halves + "/" + std::to_string(calls++);
    std::error_code gone;  // not there yet, or no more, or another thread removes files
    std::filesystem::copy(part, half, std::filesystem::copy_options::recursive, gone);
    if (gone) std::filesystem::remove_all(half);
    return std::nullopt;
  };
  Outcome imported;
  const auto import = [&] { imported = RunSepal({"import", new_, old_, "--from", "leveldb"}); };
  if (!WithWatchedCalls({SYS_fsync, SYS_fdatasync, SYS_rename, SYS_unlink, SYS_unlinkat}, keep, import)) {
    GTEST_SKIP() << "no system call filters here";
  }
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  int replaced = 0, whole = 0;
  for (int i = 0; i < calls; ++i) {
    const std::string half = halves + "/" + std::to_string(i);
    if (!std::filesystem::exists(half)) continue;
    std::filesystem::remove_all(new_);
    std::filesystem::rename(half, part);
    const bool marked = std::filesystem::exists(part + "/IMPORTING");
    const bool stays = !marked && !std::filesystem::is_empty(part);
    import();
    EXPECT_EQ(imported.exit, stays ? kExitError : kExitOk) << i << " of " << calls << ": " << imported.err;
    EXPECT_EQ(RunSepal({"db", "scan", stays ? part : new_, "--count"}).out, "100\n") << i << " of " << calls;
    ++(stays ? whole : replaced);
    std::filesystem::remove_all(part);
  }
  EXPECT_GT(replaced, 3);
  EXPECT_GT(whole, 0);
}

// Once its marker is gone, an import that fails leaves the database, under the one name or the other, and says where.
TEST_F(ImportLevelDbTest, WhereverASyncFailsWhatIsLeftIsNamed) {
  MakeLevelDb(100);
  const std::string part = new_ + ".part";
  int calls = 0, left_as_part = 0, left_as_new = 0;
  Outcome imported;
  const auto import = [&] { imported = RunSepal({"import", new_, old_, "--from", "leveldb"}); };
  const CallJudge count = [&](const seccomp_data&) -> std::optional<CallAnswer> {
    ++calls;
    return std::nullopt;
  };
  if (!WithWatchedCalls({SYS_fsync}, count, import)) GTEST_SKIP() << "no system call filters here";
  for (int call = 0; call < calls; ++call) {
    std::filesystem::remove_all(new_);
    std::filesystem::remove_all(part);
    WithWatchedCalls({SYS_fsync}, OneFails(call, ENOSPC), import);
    if (imported.exit == kExitOk) continue;
    for (const std::string& left : {part, new_}) {
      if (!std::filesystem::exists(left)) continue;
      EXPECT_TRUE(Has(imported.err, "the database that was imported is " + left + "\n")) << call << imported.err;
      EXPECT_FALSE(Has(imported.err, "nothing was left")) << call << imported.err;
      EXPECT_EQ(RunSepal({"db", "scan", left, "--count"}).out, "100\n") << call;
      ++(left == part ? left_as_part : left_as_new);
    }
  }
  EXPECT_EQ(left_as_part, 1);
  EXPECT_EQ(left_as_new, 1);
}

TEST_F(ImportLevelDbTest, WhatNoImportHasLeftStays) {
  MakeLevelDb(100);
  const std::string part = new_ + ".part";
  const auto expect_refused = [&] {
    const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
    EXPECT_EQ(refused.exit, kExitError);
    EXPECT_TRUE(Has(refused.err, part + " exists, and is not what an interrupted import")) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(new_));
  };
  ASSERT_EQ(RunSepal({"db", "put", part, "somebody", "else"}).exit, kExitOk);
  expect_refused();
  EXPECT_EQ(RunSepal({"db", "get", part, "somebody"}).out, "else");

  std::filesystem::remove_all(part);
  std::filesystem::create_directory(part);
  std::ofstream(part + "/letter.txt") << "Dear Ada\n";
  expect_refused();
  EXPECT_EQ(Slurp(part + "/letter.txt"), "Dear Ada\n");

  std::filesystem::remove_all(part);
  std::ofstream(part) << "half a download";
  expect_refused();
  EXPECT_EQ(Slurp(part), "half a download");
}

TEST_F(ImportLevelDbTest, AnOpenSourceIsRefused) {
  MakeLevelDb(100);
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open({}, old_, &opened).ok());
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "LevelDB says") && Has(refused.err, "lock")) << refused.err;
  ExpectNothingLeft();
  delete opened;
}

TEST_F(ImportLevelDbTest, DamageEndsItAndLeavesNothing) {
  MakeLevelDb(20000);
  // One alone might be of a compaction that closing cut short.
  for (const auto& entry : std::filesystem::directory_iterator(old_)) {
    if (entry.path().extension() == ".ldb") FlipByte(entry.path(), 0.4);
  }
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitDamage) << refused.err;
  ExpectNothingLeft();
}

TEST_F(ImportLevelDbTest, AFullDiskEndsItAndSaysThatNothingIsLeft) {
  const std::string disk = directory_.File("disk");
  std::filesystem::create_directory(disk);
  if (std::system(("mount -t tmpfs -o size=64k none " + disk + " 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  MakeLevelDb(3000);
  const Outcome full = RunSepal({"import", disk + "/new", old_, "--from", "leveldb"});
  EXPECT_EQ(full.exit, kExitError);
  EXPECT_TRUE(Has(full.err, "No space left") && Has(full.err, "nothing was left behind: free some space")) << full.err;
  EXPECT_TRUE(std::filesystem::is_empty(disk));
  EXPECT_EQ(std::system(("umount " + disk).c_str()), 0);
}

TEST_F(ImportLevelDbTest, AnotherOrderIsRefused) {
  class Backward : public leveldb::Comparator {
   public:
    int Compare(const leveldb::Slice& a, const leveldb::Slice& b) const override { return b.compare(a); }
    const char* Name() const override { return "backward"; }
    void FindShortestSeparator(std::string*, const leveldb::Slice&) const override {}
    void FindShortSuccessor(std::string*) const override {}
  } backward;
  leveldb::Options options;
  options.create_if_missing = true;
  options.comparator = &backward;
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, old_, &opened).ok());
  delete opened;
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "comparator")) << refused.err;
  ExpectNothingLeft();
}

TEST_F(ImportLevelDbTest, TheEngineIsFoundByTheFiles) {
  MakeLevelDb(100);
  const Outcome imported = RunSepal({"import", new_, old_, "--json"});
  EXPECT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("from"), "leveldb");
  EXPECT_EQ(RunSepal({"import", new_ + "2", old_, "--wal-dir", old_}).exit, kExitUsage);
}

// Where the last step, a rename, could not succeed, nothing is copied.
TEST_F(ImportLevelDbTest, WhatCannotBeReplacedIsRefusedBeforeCopying) {
  MakeLevelDb(100);
  const auto expect_refused = [&](const std::string& target, const std::string& why) {
    const Outcome refused = RunSepal({"import", target, old_});
    EXPECT_EQ(refused.exit, kExitError);
    EXPECT_TRUE(Has(refused.err, why)) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(target + ".part"));
  };
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string empty = directory_.File("empty");
  std::filesystem::create_directory(empty);
  std::filesystem::current_path(empty);
  for (const std::string& target : {std::string("."), empty, empty + "/"}) expect_refused(target, "working directory");
  std::filesystem::current_path(before);
  std::filesystem::create_symlink(empty, new_);
  expect_refused(new_, "is a symbolic link");
  std::filesystem::remove(new_);
  std::filesystem::create_symlink(directory_.File("not mounted"), new_);
  expect_refused(new_, "is a symbolic link");
  EXPECT_TRUE(std::filesystem::is_symlink(new_));
  expect_refused(old_ + "/new", "is in the source");
  if (std::system(("mount -t tmpfs -o size=64k none " + empty + " 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  expect_refused(empty, "is a mount point");
  EXPECT_EQ(std::system(("umount " + empty).c_str()), 0);
}

// By default, LevelDB takes the damage for the log's end.
TEST_F(ImportLevelDbTest, DamageInTheLogIsTold) {
  MakeLevelDb(500);
  for (const auto& entry : std::filesystem::directory_iterator(old_)) {
    if (entry.path().extension() == ".log") FlipByte(entry.path(), 0.4);
  }
  const Outcome refused = RunSepal({"import", new_, old_});
  EXPECT_EQ(refused.exit, kExitDamage) << refused.err;
  EXPECT_TRUE(Has(refused.err, "the source " + old_ + " is damaged")) << refused.err;
  EXPECT_FALSE(Has(refused.err, "sepal db repair")) << refused.err;
  ExpectNothingLeft();
}

TEST_F(ImportLevelDbTest, AKeyThatIsTooLongIsNamed) {
  leveldb::Options options;
  options.create_if_missing = true;
  leveldb::DB* opened = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(options, old_, &opened).ok());
  EXPECT_TRUE(opened->Put({}, std::string(17000000, 'k'), "v").ok());
  delete opened;
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "a key of 17000000")) << refused.err;
  ExpectNothingLeft();
}
#endif

}  // namespace
}  // namespace sepal::tools
