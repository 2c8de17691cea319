// sepal import, from databases that RocksDB has made here.
#include <gtest/gtest.h>

#ifdef SEPAL_WITH_ROCKSDB
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/db_ttl.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/version.h>

#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class ImportRocksDbTest : public ImportVerbTest {
 protected:
  // A database with the options, and these entries in its log.
  std::unique_ptr<rocksdb::DB> Open(rocksdb::Options options, int entries) {
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, old_, &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    std::unique_ptr<rocksdb::DB> db(opened);
    for (int i = 0; i < entries; ++i) EXPECT_TRUE(db->Put({}, Key(i), "default" + std::to_string(i)).ok());
    return db;
  }
  // All entries have come over, or what is missing is told.
  Outcome Import(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"import", new_, old_, "--compare", "--json"});
    return RunSepal(flags);
  }
  void ExpectRefused(const Outcome& refused, const std::vector<std::string>& words, int exit = kExitError) {
    EXPECT_EQ(refused.exit, exit) << refused.err;
    for (const std::string& word : words) EXPECT_TRUE(Has(refused.err, word)) << refused.err;
    EXPECT_FALSE(Has(refused.err, "sepal db repair")) << refused.err;
    ExpectNothingLeft();
  }
  void ExpectImported(const Outcome& imported, int entries) {
    ASSERT_EQ(imported.exit, kExitOk) << imported.err;
    EXPECT_EQ(LastJson(imported.out).at("entries"), entries);
    EXPECT_EQ(RunSepal({"db", "scan", new_, "--count"}).out, std::to_string(entries) + "\n");
  }
  // Two column families, tables, a deletion, and something in the log.
  std::unique_ptr<rocksdb::DB> MakeRocksDb(std::vector<rocksdb::ColumnFamilyHandle*>* handles) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, old_, &opened).ok());
    std::unique_ptr<rocksdb::DB> db(opened);
    rocksdb::ColumnFamilyHandle* people = nullptr;
    EXPECT_TRUE(db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "people", &people).ok());
    handles->push_back(people);
    for (int i = 0; i < 5000; ++i) EXPECT_TRUE(db->Put({}, Key(i), "default" + std::to_string(i)).ok());
    for (int i = 0; i < 300; ++i) EXPECT_TRUE(db->Put({}, people, Key(i), "person" + std::to_string(i)).ok());
    EXPECT_TRUE(db->Flush({}, people).ok());
    EXPECT_TRUE(db->Delete({}, people, Key(7)).ok());
    return db;
  }
  void Release(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
    for (rocksdb::ColumnFamilyHandle* handle : handles) EXPECT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
};

TEST_F(ImportRocksDbTest, ColumnFamiliesComeOverBesideAWriterAndTheSourceIsNotTouched) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const std::unique_ptr<rocksdb::DB> db = MakeRocksDb(&handles);
  const std::set<std::string> before = StateOf(old_);
  const Outcome imported = RunSepal({"import", new_, old_, "--from", "rocksdb", "--compare"});
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(StateOf(old_), before);
  EXPECT_TRUE(Has(imported.out, "5299 entries") && Has(imported.out, "2 column families")) << imported.out;
  EXPECT_EQ(RunSepal({"db", "scan", new_, "--count"}).out, "5000\n");
  EXPECT_EQ(RunSepal({"db", "scan", new_, "--family", "people", "--count"}).out, "299\n");
  EXPECT_EQ(RunSepal({"db", "get", new_, Key(299), "--family", "people"}).out, "person299");
  Release(db.get(), handles);
}

TEST_F(ImportRocksDbTest, TheWrongEngineIsNamedBeforeAnythingIsOpened) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  {
    const std::unique_ptr<rocksdb::DB> db = MakeRocksDb(&handles);
    Release(db.get(), handles);
  }
  const std::set<std::string> before = StateOf(old_);
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "leveldb"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "--from rocksdb")) << refused.err;
  EXPECT_EQ(StateOf(old_), before);
  ExpectNothingLeft();
}

TEST_F(ImportRocksDbTest, DamageEndsItAndLeavesNothing) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  {
    const std::unique_ptr<rocksdb::DB> db = MakeRocksDb(&handles);
    EXPECT_TRUE(db->Flush({}).ok());
    Release(db.get(), handles);
  }
  for (const auto& entry : std::filesystem::directory_iterator(old_)) {
    if (entry.path().extension() == ".sst") FlipByte(entry.path(), 0.3);
  }
  const Outcome refused = RunSepal({"import", new_, old_, "--from", "rocksdb"});
  EXPECT_EQ(refused.exit, kExitDamage) << refused.err;
  ExpectNothingLeft();
}

TEST_F(ImportRocksDbTest, LogsInAnotherDirectoryAreFollowed) {
  rocksdb::Options options;
  options.wal_dir = directory_.File("wal");
  options.avoid_flush_during_shutdown = true;
  Open(options, 300).reset();
  const Outcome imported = Import();
  ExpectImported(imported, 300);
  EXPECT_TRUE(Has(imported.err, "write-ahead logs are read from " + options.wal_dir)) << imported.err;
}

// Its OPTIONS file names the place where it was.
TEST_F(ImportRocksDbTest, LogsThatWereMovedWithTheDatabaseAreFoundOrAskedFor) {
  rocksdb::Options options;
  options.wal_dir = directory_.File("wal");
  options.avoid_flush_during_shutdown = true;
  Open(options, 300).reset();
  const std::string moved = directory_.File("moved");
  std::filesystem::rename(options.wal_dir, moved);
  ExpectRefused(Import(), {"wal_dir " + options.wal_dir, "--wal-dir"});
  std::filesystem::create_directory(options.wal_dir);  // where nothing is mounted
  ExpectRefused(Import(), {"wal_dir " + options.wal_dir, "mounted", "--wal-dir"});
  ExpectImported(Import({"--wal-dir", moved}), 300);
  std::filesystem::remove_all(new_);
  for (const auto& entry : std::filesystem::directory_iterator(moved)) {
    std::filesystem::copy(entry.path(), std::filesystem::path(old_) / entry.path().filename());
  }
  ExpectImported(Import(), 300);
  std::filesystem::remove_all(new_);
  std::filesystem::remove_all(options.wal_dir);
  std::filesystem::rename(moved, options.wal_dir);
  ExpectRefused(Import(), {"both", options.wal_dir, "--wal-dir"});
  ExpectRefused(Import({"--wal-dir", directory_.File("nothing")}), {"nothing is no directory"});
}

// By default RocksDB drops what lies behind the damage, and says nothing.
TEST_F(ImportRocksDbTest, DamageInTheLogIsTold) {
  rocksdb::Options options;
  options.avoid_flush_during_shutdown = true;
  Open(options, 5000).reset();
  for (const auto& entry : std::filesystem::directory_iterator(old_)) {
    if (entry.path().extension() == ".log") FlipByte(entry.path(), 0.4);
  }
  ExpectRefused(Import(), {"the source " + old_ + " is damaged"}, kExitDamage);
}

TEST_F(ImportRocksDbTest, TablesInOtherDirectoriesAreFoundOnceTheyAreNamed) {
  rocksdb::Options options;
  options.db_paths = {{directory_.File("fast"), 1 << 20}, {directory_.File("slow"), 1 << 30}};
  {
    const std::unique_ptr<rocksdb::DB> db = Open(options, 300);
    EXPECT_TRUE(db->Flush({}).ok());
  }
  ExpectRefused(Import(), {"No such file", "db_paths", "--db-path"});
  ExpectImported(Import({"--db-path", directory_.File("slow") + "," + directory_.File("fast")}), 300);
}

#if ROCKSDB_MAJOR > 7 || (ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR >= 8)
TEST_F(ImportRocksDbTest, AWideColumnEntityIsRefusedAndNamed) {
  const std::unique_ptr<rocksdb::DB> db = Open({}, 300);
  const rocksdb::WideColumns columns{{"", "default"}, {"colour", "green"}};
  EXPECT_TRUE(db->PutEntity({}, db->DefaultColumnFamily(), "wide", columns).ok());
  ExpectRefused(Import(), {"column family default, key 'wide'", "wide-column"});
}
#endif

class Comma : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* before, const rocksdb::Slice& value, std::string* after,
             rocksdb::Logger*) const override {
    *after = (before == nullptr ? "" : before->ToString() + ",") + value.ToString();
    return true;
  }
  const char* Name() const override { return "Comma"; }
};

TEST_F(ImportRocksDbTest, OperandsOfAMergeOperatorThatIsNotKnownAreRefusedAndPlaced) {
  rocksdb::Options options;
  options.merge_operator = std::make_shared<Comma>();
  const std::unique_ptr<rocksdb::DB> db = Open(options, 300);
  EXPECT_TRUE(db->Merge({}, "merged", "1").ok());  // the last key
  ExpectRefused(Import(), {"its log holds merge operands", "merge operator Comma"});
  EXPECT_TRUE(db->Flush({}).ok());
  ExpectRefused(Import(), {"the first key after 'key0299'", "merge operator Comma"});
}

TEST_F(ImportRocksDbTest, OperandsOfAMergeOperatorOfRocksDbsOwnAreMerged) {
  rocksdb::Options options;
  EXPECT_TRUE(rocksdb::MergeOperator::CreateFromString({}, "stringappend", &options.merge_operator).ok());
  const std::unique_ptr<rocksdb::DB> db = Open(options, 300);
  EXPECT_TRUE(db->Merge({}, "merged", "1").ok());
  EXPECT_TRUE(db->Merge({}, "merged", "2").ok());
  ExpectImported(Import(), 301);
  EXPECT_EQ(RunSepal({"db", "get", new_, "merged"}).out, "1,2");
}

TEST_F(ImportRocksDbTest, APreparedTransactionIsToldAndNotImported) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::TransactionDB* opened = nullptr;
  ASSERT_TRUE(rocksdb::TransactionDB::Open(options, {}, old_, &opened).ok());
  const std::unique_ptr<rocksdb::TransactionDB> db(opened);
  EXPECT_TRUE(db->Put({}, "committed", "yes").ok());
  const std::unique_ptr<rocksdb::Transaction> transaction(db->BeginTransaction({}, {}));
  EXPECT_TRUE(transaction->SetName("transfer 7").ok());
  EXPECT_TRUE(transaction->Put("prepared", "yes").ok());
  EXPECT_TRUE(transaction->Prepare().ok());
  const Outcome imported = Import();
  ExpectImported(imported, 1);
  EXPECT_TRUE(Has(imported.err, "transaction 'transfer 7' is prepared")) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("prepared_transactions").at(0).at("utf8"), "transfer 7");
}

TEST_F(ImportRocksDbTest, PlainTablesComeOver) {
  rocksdb::Options options;
  options.allow_mmap_reads = true;
  options.compression = rocksdb::kNoCompression;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(3));
  options.table_factory.reset(rocksdb::NewPlainTableFactory());
  {
    const std::unique_ptr<rocksdb::DB> db = Open(options, 300);
    EXPECT_TRUE(db->Flush({}).ok());
  }
  ExpectImported(Import(), 300);
}

TEST_F(ImportRocksDbTest, AnotherOrderIsRefusedByName) {
  rocksdb::Options options;
  options.comparator = rocksdb::ReverseBytewiseComparator();
  Open(options, 300).reset();
  ExpectRefused(Import(), {"column family default", "rocksdb.ReverseBytewiseComparator"});
}

// A database of DBWithTTL with `ttl`, of two entries: one of now, and one that was written long ago.
void MakeWithTtl(const std::string& directory, int32_t ttl) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DBWithTTL* opened = nullptr;
  ASSERT_TRUE(rocksdb::DBWithTTL::Open(options, directory, &opened, ttl).ok());
  const std::unique_ptr<rocksdb::DBWithTTL> db(opened);
  EXPECT_TRUE(db->Put({}, "key", "value").ok());
  const uint32_t written = 1'500'000'000;  // in 2017
  EXPECT_TRUE(db->GetBaseDB()->Put({}, "old", "value" + std::string(reinterpret_cast<const char*>(&written), 4)).ok());
}

TEST_F(ImportRocksDbTest, ValuesOfDBWithTTLExpireAsTheyWouldHave) {
  ASSERT_NO_FATAL_FAILURE(MakeWithTtl(old_, 3600));
  const Outcome imported = Import();
  ExpectImported(imported, 1);
  EXPECT_TRUE(Has(imported.err, "expire 3600 s after") && Has(imported.err, "--ttl 0")) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("column_families").at(0).at("expired"), 1);
  EXPECT_EQ(RunSepal({"db", "get", new_, "key"}).out, "value");
  EXPECT_EQ(RunSepal({"db", "get", new_, "old"}).exit, kExitError);
  EXPECT_TRUE(Has(RunSepal({"manifest", "dump", new_}).out, "expir"));
}

TEST_F(ImportRocksDbTest, ATimeThatIsGivenTakesThePlaceOfTheOneThatIsRecorded) {
  ASSERT_NO_FATAL_FAILURE(MakeWithTtl(old_, 3600));
  const Outcome kept = Import({"--ttl", "0"});
  ExpectImported(kept, 2);
  EXPECT_TRUE(Has(kept.err, "do not expire")) << kept.err;
  EXPECT_EQ(RunSepal({"db", "get", new_, "old"}).out, "value");
}

TEST_F(ImportRocksDbTest, WhereDBWithTTLHadNoTimeValuesStay) {
  ASSERT_NO_FATAL_FAILURE(MakeWithTtl(old_, 0));
  ExpectImported(Import(), 2);
}

TEST_F(ImportRocksDbTest, WhatARangeDeleteCoversDoesNotComeOver) {
  const std::unique_ptr<rocksdb::DB> db = Open({}, 30);
  EXPECT_TRUE(db->Flush({}).ok());
  EXPECT_TRUE(db->DeleteRange({}, db->DefaultColumnFamily(), Key(5), Key(15)).ok());
  EXPECT_TRUE(db->Put({}, Key(7), "again").ok());
  ExpectImported(Import(), 21);
  EXPECT_EQ(RunSepal({"db", "get", new_, Key(7)}).out, "again");
  EXPECT_EQ(RunSepal({"db", "get", new_, Key(8)}).exit, kExitError);
}

// Of the database's own program: puts a comma between what it merges.
class OwnOperator final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "OwnOperator"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* base, const rocksdb::Slice& operand, std::string* value,
             rocksdb::Logger*) const override {
    *value = base == nullptr ? operand.ToString() : base->ToString() + "," + operand.ToString();
    return true;
  }
};

TEST_F(ImportRocksDbTest, AnOperatorThatIsGivenReadsWhatOneOfTheProgramHasWritten) {
  rocksdb::Options options;
  options.merge_operator = std::make_shared<OwnOperator>();
  const std::unique_ptr<rocksdb::DB> db = Open(options, 3);
  for (const bool flushed : {true, false}) {
    for (const char* operand : {"a", "b"}) EXPECT_TRUE(db->Merge({}, "merged", operand).ok());
    if (flushed) {
      EXPECT_TRUE(db->Flush({}).ok());
    }
  }
  ExpectRefused(Import(), {"OwnOperator", "--merge-operator"});
  ExpectRefused(Import({"--merge-operator", "sepal.Add64"}), {"sepal.Add64 cannot make its value", "has 3 bytes"});
  ExpectRefused(Import({"--merge-operator", "nofamily=sepal.Max"}), {"no column family nofamily"});
  ExpectRefused(Import({"--merge-operator", "uint64add"}), {"none of Sepal's operators", "sepal.Add64"}, kExitUsage);
  ExpectImported(Import({"--merge-operator", "sepal.Append:,"}), 4);
  EXPECT_EQ(RunSepal({"db", "get", new_, "merged"}).out, "a,b,a,b");
  Options with_default;
  const auto opened = DB::Open(with_default, new_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE((*opened)->Merge("merged", "c").ok());
  EXPECT_EQ((*opened)->Get("merged").value(), "a,b,a,b,c");
}

TEST_F(ImportRocksDbTest, FamiliesWithAnyNameComeOver) {
  const std::unique_ptr<rocksdb::DB> db = Open({}, 3);
  rocksdb::ColumnFamilyHandle* odd = nullptr;
  ASSERT_TRUE(db->CreateColumnFamily({}, "two\nlines \xff", &odd).ok());
  EXPECT_TRUE(db->Put({}, odd, "key", "value").ok());
  EXPECT_TRUE(db->DestroyColumnFamilyHandle(odd).ok());
  const Outcome imported = Import();
  ASSERT_EQ(imported.exit, kExitOk) << imported.err;
  EXPECT_EQ(LastJson(imported.out).at("entries"), 4);
}

}  // namespace
}  // namespace sepal::tools
#endif
