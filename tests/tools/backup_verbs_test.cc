// sepal db backup, backups and restore: what is shared, what goes, and what is left alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "tests/tools/sepal_command_fixture.h"
#include "util/posix_status.h"

namespace sepal::tools {
namespace {

using BackupVerbsTest = SepalCommandTest;

TEST_F(BackupVerbsTest, BackupsAreIncrementalListedKeptAndRestored) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  const Outcome first = RunSepal({"db", "backup", db_, backups, "--json"});
  EXPECT_EQ(first.exit, kExitOk) << first.err;
  EXPECT_EQ(LastJson(first.out).at("linked"), 0);
  ASSERT_EQ(RunSepal({"db", "put", db_, "later", "1"}).exit, kExitOk);
  const Outcome second = RunSepal({"db", "backup", db_, backups, "--json"});
  EXPECT_EQ(second.exit, kExitOk) << second.err;
  EXPECT_GE(LastJson(second.out).at("linked"), 2);
  EXPECT_EQ(LastJson(RunSepal({"db", "backups", backups, "--json"}).out).at("backups"), 2);
  EXPECT_EQ(RunSepal({"db", "verify", backups + "/000001"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", backups + "/000001", "later"}).exit, kExitError);

  const std::string restored = directory_.File("restored");
  EXPECT_EQ(RunSepal({"db", "restore", backups + "/000002", restored}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", restored, "later"}).out, "1\n");
  EXPECT_EQ(RunSepal({"db", "restore", backups + "/000001", restored}).exit, kExitError);

  // An unfinished one is no base, and is told apart.
  std::filesystem::create_directory(backups + "/000003");
  std::filesystem::copy_file(Files(".sst").front(), backups + "/000003/000099.sst");
  EXPECT_TRUE(Has(RunSepal({"db", "backups", backups}).out, "000003  unfinished"));
  const Outcome kept = RunSepal({"db", "backup", db_, backups, "--keep", "1"});
  EXPECT_EQ(kept.exit, kExitOk) << kept.err;
  EXPECT_EQ(LastJson(RunSepal({"db", "backups", backups, "--json"}).out).at("backups"), 1);
  EXPECT_EQ(RunSepal({"db", "verify", backups + "/000004"}).exit, kExitOk);
}

TEST_F(BackupVerbsTest, BackupsThatWereInterruptedGoAndAreNotCountedAmongThoseThatAreKept) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(RunSepal({"db", "backup", db_, backups}).exit, kExitOk);
  for (const std::string number : {"/000004", "/000005"}) {
    std::filesystem::create_directory(backups + number);
    std::filesystem::copy_file(Files(".sst").front(), backups + number + "/000099.sst");
  }
  ASSERT_EQ(RunSepal({"db", "backup", db_, backups}).exit, kExitOk);
  EXPECT_TRUE(std::filesystem::exists(backups + "/000005")) << "where nothing says how many are kept, all are";
  ASSERT_EQ(RunSepal({"db", "backup", db_, backups, "--keep", "3"}).exit, kExitOk);
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(backups)) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"000003", "000006", "000007"}));
}

TEST_F(BackupVerbsTest, ABackupThatIsBeingMadeIsNotTakenForOneThatWasInterrupted) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  std::filesystem::create_directories(backups + "/000001");
  const UniqueFd other(open(backups.c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(flock(other.get(), LOCK_EX), 0);
  const Outcome refused = RunSepal({"db", "backup", db_, backups, "--keep", "1"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "another backup is being made in " + backups)) << refused.err;
  EXPECT_TRUE(std::filesystem::exists(backups + "/000001"));
}

TEST_F(BackupVerbsTest, ADamagedBackupIsNotRestored) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  ASSERT_EQ(RunSepal({"db", "backup", db_, backups}).exit, kExitOk);
  for (const auto& entry : std::filesystem::directory_iterator(backups + "/000001")) {
    if (entry.path().extension() == ".sst") FlipByte(entry.path(), 0.3);
  }
  const Outcome outcome = RunSepal({"db", "restore", backups + "/000001", directory_.File("restored")});
  EXPECT_EQ(outcome.exit, kExitDamage);
  EXPECT_FALSE(std::filesystem::exists(directory_.File("restored")));
}

}  // namespace
}  // namespace sepal::tools
