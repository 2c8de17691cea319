// sepal db backup, backups and restore: what is shared, what goes, and what is left alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "tests/tools/sepal_command_fixture.h"
#include "tests/util/files/watched_calls.h"
#include "util/files/posix_status.h"

namespace sepal::tools {
namespace {

class BackupVerbsTest : public SepalCommandTest {
 protected:
  static std::string ManifestOf(const std::string& backup) {
    for (const auto& entry : std::filesystem::directory_iterator(backup)) {
      if (entry.path().filename().string().starts_with("MANIFEST-")) return entry.path();
    }
    ADD_FAILURE() << backup << " has no manifest";
    return "";
  }
};

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
  EXPECT_EQ(RunSepal({"db", "get", restored, "later"}).out, "1");
  EXPECT_EQ(RunSepal({"db", "restore", backups + "/000001", restored}).exit, kExitError);

  // An unfinished one is no base, and is told apart.
  std::filesystem::create_directory(backups + "/000003");
  std::filesystem::copy_file(Files(".sst").front(), backups + "/000003/000099.sst");
  EXPECT_TRUE(Has(RunSepal({"db", "backups", backups}).out, "000003  interrupted"));
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

TEST_F(BackupVerbsTest, ABackupWhoseManifestIsDamagedIsNotTakenForOneThatWasInterrupted) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(RunSepal({"db", "backup", db_, backups}).exit, kExitOk);
  FlipByte(ManifestOf(backups + "/000001"), 0.5);
  const std::set<std::string> before = StateOf(backups + "/000001");
  EXPECT_TRUE(Has(RunSepal({"db", "backups", backups, "--json"}).out, "\"state\":\"unreadable\""));
  const std::string listed = RunSepal({"db", "backups", backups}).out;
  EXPECT_TRUE(Has(listed, "000001  cannot be read: damage: ") && !Has(listed, "unfinished")) << listed;

  const Outcome text = RunSepal({"db", "backup", db_, backups, "--keep", "5"});
  EXPECT_EQ(text.exit, kExitOk) << text.err;
  EXPECT_TRUE(Has(text.err, backups + "/000001 cannot be read; it is neither counted nor removed")) << text.err;
  const Outcome json = RunSepal({"db", "backup", db_, backups, "--keep", "4", "--json"});
  EXPECT_EQ(LastJson(json.out).at("unreadable").at(0).at("backup"), backups + "/000001");
  EXPECT_EQ(StateOf(backups + "/000001"), before);
  const Outcome refused = RunSepal({"db", "repair", backups + "/000001", "--yes"});
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "--logs-lost")) << refused.err;
  EXPECT_EQ(RunSepal({"db", "repair", backups + "/000001", "--yes", "--logs-lost"}).exit, kExitDamage)
      << "it says what it dropped";
  EXPECT_EQ(RunSepal({"db", "get", backups + "/000001", Key(5)}).out, "second");
}

TEST_F(BackupVerbsTest, ADamagedBackupGoesOnceAsManyWholeBackupsAreNewer) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(RunSepal({"db", "backup", db_, backups}).exit, kExitOk);
  FlipByte(ManifestOf(backups + "/000001"), 0.5);
  const Outcome kept = RunSepal({"db", "backup", db_, backups, "--keep", "2"});
  EXPECT_EQ(kept.exit, kExitOk) << kept.err;
  EXPECT_EQ(kept.err, "");
  EXPECT_FALSE(std::filesystem::exists(backups + "/000001"));
  EXPECT_TRUE(std::filesystem::exists(backups + "/000002"));
}

TEST_F(BackupVerbsTest, ABackupThatWasInterruptedWhileItsManifestWasWrittenGoes) {
  MakeDatabase();
  const std::string backups = directory_.File("backups");
  ASSERT_EQ(RunSepal({"db", "backup", db_, backups}).exit, kExitOk);
  for (const uintmax_t bytes : {0, 20, 40, 100}) {
    const std::string cut_off = backups + "/" + absl::StrFormat("%06d", 10 + bytes);
    std::filesystem::copy(backups + "/000001", cut_off);
    std::filesystem::resize_file(ManifestOf(cut_off), bytes);
  }
  EXPECT_TRUE(Has(RunSepal({"db", "backups", backups}).out, "000050  interrupted"));
  const Outcome kept = RunSepal({"db", "backup", db_, backups, "--keep", "9"});
  EXPECT_EQ(kept.err, "");
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(backups)) left.insert(entry.path().filename());
  EXPECT_EQ(left, (std::set<std::string>{"000001", "000111"}));
}

// What lies there at each call that writes, or makes something durable, is what a crash may leave.
TEST_F(BackupVerbsTest, WhereverABackupIsInterruptedWhatIsLeftIsWholeOrGoesWithoutAWord) {
  MakeDatabase();
  const std::string backups = directory_.File("backups"), left = directory_.File("left");
  std::filesystem::create_directory(left);
  int calls = 0;
  const CallJudge keep = [&](const seccomp_data&) -> std::optional<CallAnswer> {
    std::error_code gone;  // not there yet
    std::filesystem::copy(backups + "/000001", left + "/" + std::to_string(calls++), gone);
    return std::nullopt;
  };
  Outcome made;
  const auto backup = [&] { made = RunSepal({"db", "backup", db_, backups, "--keep", "9"}); };
  if (!WithWatchedCalls({SYS_write, SYS_writev, SYS_pwrite64, SYS_pwritev, SYS_fsync, SYS_fdatasync, SYS_fallocate},
                        keep, backup)) {
    GTEST_SKIP() << "no system call filters here";
  }
  ASSERT_EQ(made.exit, kExitOk) << made.err;
  int whole = 0, gone = 0;
  for (int i = 0; i < calls; ++i) {
    const std::string half = left + "/" + std::to_string(i);
    if (!std::filesystem::exists(half)) continue;
    std::filesystem::remove_all(backups);
    std::filesystem::create_directory(backups);
    std::filesystem::rename(half, backups + "/000001");
    const bool stays = RunSepal({"db", "verify", backups + "/000001"}).exit == kExitOk;
    backup();
    EXPECT_EQ(made.exit, kExitOk) << i << made.err;
    EXPECT_EQ(made.err, "") << i;
    EXPECT_EQ(std::filesystem::exists(backups + "/000001"), stays) << i;
    ++(stays ? whole : gone);
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(gone, 3);
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
