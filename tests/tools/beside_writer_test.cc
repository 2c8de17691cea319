// Looking at a database whose tables and logs come and go meanwhile.
#include <atomic>

#include "tests/tools/sepal_command_fixture.h"
#include "tools/sepal/database_access.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

class BesideWriterTest : public SepalCommandTest {
 protected:
  // Flushes and merges as often as it can.
  void StartWriter() {
    Options options{.create_if_missing = true, .memory_limit = size_t{8} << 20, .info_log = false};
    options.memtable_bytes = size_t{256} << 10;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, db_);
    ASSERT_TRUE(db.ok()) << db.status();
    writer_ = *std::move(db);
    for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(writer_->Put(Key(i % 10'000), std::string(100, 'v')).ok());
    ASSERT_TRUE(writer_->Flush().ok());
    thread_ = std::make_unique<Thread>([this] {
      for (int i = 0; !stop_.load(std::memory_order_relaxed); ++i) {
        ASSERT_TRUE(writer_->Put(Key(i * 7919 % 10'000), std::string(100, static_cast<char>('a' + i % 26))).ok());
        if (i % 5'000 != 0) continue;
        ASSERT_TRUE(writer_->CompactRange().ok());
      }
    });
  }
  void TearDown() override {
    stop_.store(true, std::memory_order_relaxed);
    if (thread_ != nullptr) thread_->Join();
    if (writer_ == nullptr) return;
    EXPECT_TRUE(writer_->Close().ok());
  }

  std::unique_ptr<DB> writer_;
  std::unique_ptr<Thread> thread_;
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0};  // of what the thread does
};

TEST_F(BesideWriterTest, NothingIsCalledDamageThatTheWriterHasRemoved) {
  StartWriter();
  const std::string page = directory_.File("lsm.html");
  for (int round = 0; round < 3; ++round) {
    for (const std::vector<std::string>& look :
         std::vector<std::vector<std::string>>{{"db", "verify", db_},
                                               {"manifest", "check", db_},
                                               {"wal", "dump", db_, "--batches"},
                                               {"explain", "filters", db_, "--probes", "100"},
                                               {"explain", "get", db_, "key0001"},
                                               {"db", "get", db_, "key0001"},
                                               {"db", "stats", db_},
                                               {"lsm", "tree", db_},
                                               {"lsm", "html", db_, "--output", page},
                                               {"db", "checkpoint", db_, directory_.File("copy")}}) {
      const Outcome outcome = RunSepal(look);
      // On a slow machine the writer may be faster at every try.
      const bool overtaken = outcome.exit == kExitError && Has(outcome.err, "try again");
      EXPECT_TRUE(outcome.exit == kExitOk || overtaken) << look[0] << " " << look[1] << ": " << outcome.err;
    }
    std::filesystem::remove_all(directory_.File("copy"));
  }
}

TEST_F(BesideWriterTest, AnOvertakenLookIsBegunAnewAndInTheEndSaysWhatToDo) {
  MakeDatabase();
  int looks = 0;
  EXPECT_TRUE(LookAt({.directory = db_}, [&](DB*) {
                return ++looks < 3 ? absl::AbortedError("overtaken") : absl::OkStatus();
              }).ok());
  EXPECT_EQ(looks, 3);
  const absl::Status never =
      LookAt({.directory = db_}, [](DB*) { return absl::AbortedError("x.sst: removed; open it again"); });
  EXPECT_EQ(MessageOf(never),
            "x.sst: removed; try again, or read a copy instead (sepal db checkpoint " + db_ + " COPY)");
}

TEST_F(BesideWriterTest, ALogThatIsGoneWhenItIsOpenedIsNoDamage) {
  MakeDatabase();
  thread_ = std::make_unique<Thread>([this] {
    std::vector<std::string> logs;
    for (int i = 900; i < 950; ++i) logs.push_back(db_ + "/000" + std::to_string(i) + ".log");
    for (; !stop_.load(std::memory_order_relaxed); ++rounds_) {
      for (const std::string& log : logs) std::ofstream(log).put('x');
      for (const std::string& log : logs) std::filesystem::remove(log);
    }
  });
  for (int looks = 0; looks < 200 || rounds_ < 20; ++looks) {
    const absl::Status status = ReadTree({.directory = db_}).status();
    // On a slow machine the other thread may be faster at every try.
    const bool overtaken = absl::IsAborted(status) && Has(MessageOf(status), "try again");
    ASSERT_TRUE(status.ok() || overtaken) << status;
  }
}

TEST_F(BesideWriterTest, ADryRunOfARepairIsRefusedWhileTheDatabaseIsOpen) {
  MakeDatabase();
  {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({}, db_);
    ASSERT_TRUE(db.ok()) << db.status();
    const Outcome open = RunSepal({"db", "repair", db_, "--dry-run"});
    EXPECT_EQ(open.exit, kExitError) << open.out;
    EXPECT_TRUE(Has(open.err, "is open in another process; close it there first")) << open.err;
    // One advice, once.
    const Outcome put = RunSepal({"db", "put", db_, "k", "v"});
    EXPECT_TRUE(Has(put.err, "close it there first (read-only commands such as db get")) << put.err;
    EXPECT_FALSE(Has(put.err, "open it read-only")) << put.err;
    ASSERT_TRUE((*db)->Close().ok());
  }
  EXPECT_EQ(RunSepal({"db", "repair", db_, "--dry-run"}).exit, kExitOk);
}

}  // namespace
}  // namespace sepal::tools
