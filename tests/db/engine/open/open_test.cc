// What opening and listing a database accept and refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <regex>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "db/format/log_format.h"
#include "db/format/manifest_format.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/coding.h"
#include "util/base/hash.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class OpenTest : public ::testing::Test {
 protected:
  DB* db() { return database.db.get(); }
  // The only file whose name begins or ends so.
  std::string FileNamed(std::string_view part) {
    for (const std::string& name : FilesIn(&database.memory, database.path)) {
      if (name.find(part) != std::string::npos) return database.path + "/" + name;
    }
    ADD_FAILURE() << "no file with " << part;
    return {};
  }
  size_t CountFiles(std::string_view suffix) {
    const std::vector<std::string> names = FilesIn(&database.memory, database.path);
    return static_cast<size_t>(std::count_if(names.begin(), names.end(),
                                             [suffix](const std::string& name) { return name.ends_with(suffix); }));
  }
  TestDatabase database;
};

#define EXPECT_ERROR(expression, expected_code, part)                      \
  do {                                                                     \
    const absl::Status status_ = (expression);                             \
    EXPECT_EQ(status_.code(), absl::StatusCode::expected_code) << status_; \
    EXPECT_THAT(status_.ToString(), HasSubstr(part));                      \
  } while (false)

TEST_F(OpenTest, ASecondWriterIsRefusedUntilTheFirstCloses) {
  ASSERT_OK(database.Open());
  EXPECT_ERROR(Engine::Open(database.options, database.tuning, database.path).status(), kUnavailable, "/db");
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->Close());
  absl::StatusOr<std::unique_ptr<DB>> second = Engine::Open(database.options, database.tuning, database.path);
  ASSERT_OK(second.status());
  EXPECT_EQ(Value(second->get(), "k"), "v");
}

class ReverseComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.reverse"; }
  bool EqualMeansIdentical() const override { return identical; }
  bool identical = true;
};

TEST_F(OpenTest, AnotherComparatorIsRefusedByName) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Close());
  ReverseComparator reverse;
  database.options.family.comparator = &reverse;
  EXPECT_ERROR(database.Open(), kInvalidArgument, "test.reverse");
}

TEST_F(OpenTest, AComparatorThatChangedItsAnswerIsRefused) {
  ReverseComparator reverse;
  database.options.family.comparator = &reverse;
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("a", "1"));
  ASSERT_OK(db()->Put("b", "2"));
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(std::pair("b", "2"), std::pair("a", "1")));
  ASSERT_OK(db()->Close());
  reverse.identical = false;
  EXPECT_ERROR(database.Open(), kInvalidArgument, "EqualMeansIdentical");
  reverse.identical = true;
  ASSERT_OK(database.Open());
  database.db.reset();
}

// Rewrites a little-endian version field and the checksum that covers it.
void SetVersion(MemoryFileSystem* files, const std::string& path, size_t checksum_offset) {
  std::string bytes = files->ReadFileContents(path).value();
  EncodeFixed32(bytes.data() + 8, 99);
  EncodeFixed64(bytes.data() + checksum_offset, Checksum64(std::string_view(bytes).substr(0, checksum_offset), 0));
  ASSERT_OK(files->WriteFileContents(path, bytes));
}

TEST_F(OpenTest, ANewerManifestFormatIsRefused) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Close());
  SetVersion(&database.memory, FileNamed("MANIFEST"), 32);
  EXPECT_ERROR(database.Open(), kFailedPrecondition, "99");
  RepairReport report;
  EXPECT_ERROR(RepairTo(&report, database.options, "/db"), kFailedPrecondition, "99");
  EXPECT_ERROR(database.Open(), kFailedPrecondition, "99");
}

TEST_F(OpenTest, ANewerLogFormatIsRefused) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->Close());
  SetVersion(&database.memory, FileNamed(".log"), 504);
  EXPECT_ERROR(database.Open(), kFailedPrecondition, "99");
  RepairReport report;
  EXPECT_ERROR(RepairTo(&report, database.options, "/db"), kFailedPrecondition, "99");
}

// Runs `body` in a process that has no privileges; true if it returned true there.
bool HoldsWithoutPrivileges(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    const bool unprivileged = ::geteuid() != 0 || ::setuid(kNobody) == 0;
    ::_exit(unprivileged && body() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(OpenTest, DirectoriesWithoutPermissionAreRefusedByPath) {
  char path[] = "/tmp/sepal_open_test.XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_TRUE(HoldsWithoutPrivileges([&] {
    const absl::Status status = DB::Open({.create_if_missing = true}, path).status();
    return absl::IsPermissionDenied(status) && ToStd(status.message()).find(path) != std::string_view::npos;
  }));
  EXPECT_TRUE(std::filesystem::is_empty(path));
  std::filesystem::remove_all(path);
}

TEST_F(OpenTest, OpeningsThatFailLeaveNoRingsBehind) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "v"));
  database.memory.Crash(CrashMode::kKillProcess, 0);
  database.db.reset();
  for (int i = 0; i < 5; ++i) {
    database.files.Inject({.fault = Fault::kIoError,
                           .op = FileOp::kSync,
                           .name_contains = "MANIFEST",
                           .skip = static_cast<uint64_t>(i % 2)});
    EXPECT_FALSE(database.Open().ok());
    database.files.Clear();
    EXPECT_LE(CountFiles(".ring"), CountFiles(".log")) << "each belongs to a log that may be needed";
  }
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "k"), "v");
}

// A number that a ring knows is never used again: a log that is made with it, and whose header is not durable, would be
// taken for the one that went through the ring.
TEST_F(OpenTest, NumbersThatARingNamesAreNotUsedAgain) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "v"));
  database.memory.Crash(CrashMode::kKillProcess, 0);
  database.db.reset();
  std::string ring = *database.memory.ReadFileContents("/db/000002.ring");
  ring.replace(0, 40, RingHeader{8 << 10, FileNumber(70)}.Encode());
  ASSERT_OK(database.memory.WriteFileContents("/db/000002.ring", ring));
  ASSERT_OK(database.Open());
  EXPECT_EQ(Value(db(), "k"), "v");
  for (const std::string& name : FilesIn(&database.memory, "/db")) {
    const std::optional<ParsedFileName> parsed = ParseFileName(name);
    if (parsed.has_value() && parsed->kind == FileKind::kLog) {
      EXPECT_GT(parsed->number, FileNumber(70));
    }
  }
}

TEST_F(OpenTest, ATornManifestIsToldToTheInfoLog) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Close());
  const std::string manifest = FileNamed("MANIFEST-");
  const std::string contents = database.memory.ReadFileContents(manifest).value();
  ASSERT_OK(database.memory.WriteFileContents(manifest, contents + "torn"));
  ASSERT_OK(database.Open());
  EXPECT_THAT(database.memory.ReadFileContents("/db/LOG").value(), HasSubstr("the manifest has a torn end"));
}

TEST_F(OpenTest, TheInfoLogRotatesAndCanBeSilenced) {
  ASSERT_OK(database.Open());
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(db()->Put("k", std::to_string(i)));
    ASSERT_OK(db()->Flush());
  }
  EXPECT_THAT(FilesIn(&database.memory, "/db"), Contains("LOG.old"));
  EXPECT_LE(database.memory.ReadFileContents("/db/LOG").value().size(), 2 * database.tuning.info_log_bytes);
  ASSERT_OK(db()->Close());
  database.db.reset();
  ASSERT_OK(DB::Destroy(database.options, "/db"));
  database.options.info_log = false;
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(FilesIn(&database.memory, "/db"), Not(Contains(HasSubstr("LOG"))));
}

// A loss of power in between must not keep a log whose predecessor is gone.
TEST(OpenAfterCrashTest, LogsWithoutRecordsAreRemovedTheNewestFirstEachForGoodBeforeTheNext) {
  TestDatabase database(Threads::kSimulated, 1, /*switch_one_in=*/1'000'000);
  database.tuning.memtable_bytes = 1 << 6;  // a log for each write
  database.options.info_log = false;
  ASSERT_OK(database.Open());
  for (int i = 0; i < 4; ++i) ASSERT_OK(database.db->Put(NumberedKey(i), "v"));
  database.files.SetTracing(true);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  std::string trace = database.files.TakeTrace();
  trace.resize(trace.find("open-write MANIFEST"));  // then the line goes on
  const std::regex removal("remove (0+[0-9]+)\\.log");
  std::vector<std::string> removed;
  size_t before = std::string::npos;
  for (std::sregex_iterator it(trace.begin(), trace.end(), removal), end; it != end; ++it) {
    const auto at = static_cast<size_t>(it->position());
    if (before != std::string::npos) {
      EXPECT_LT(trace.find("sync-directory", before), at) << trace;
    }
    before = at;
    removed.push_back((*it)[1]);
  }
  EXPECT_GE(removed.size(), 2u) << trace;
  EXPECT_TRUE(std::is_sorted(removed.rbegin(), removed.rend())) << trace;
}

// After a failed sync the page cache holds an edit that the disk may lack: what the edit calls obsolete must stay until
// another manifest is durable.
TEST(OpenAfterCrashTest, LogsThatAnEditMadeObsoleteStayUntilThatIsDurable) {
  TestDatabase database(Threads::kSimulated, 1, /*switch_one_in=*/1'000'000);
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v", {.sync = true}));
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = "MANIFEST"});
  ASSERT_FALSE(database.db->Flush().ok());
  database.db.reset();
  std::vector<MemoryFileSystem> disks;
  database.files.SetDecider([&](const FileCall&) {
    disks.push_back(database.memory.Clone());
    return Fault::kNone;
  });
  ASSERT_OK(database.Open());
  database.files.Clear();
  ASSERT_GT(disks.size(), 10u);
  for (size_t i = 0; i < disks.size(); ++i) {
    disks[i].Crash(CrashMode::kLoseUnsynced);
    TestDatabase after(Threads::kSimulated, {.seed = 1}, std::move(disks[i]));
    SCOPED_TRACE(absl::StrFormat("power was lost before call %d", i + 1));
    ASSERT_OK(after.Open());
    EXPECT_EQ(after.db->Get("k").value_or("?"), "v");
  }
}

}  // namespace
}  // namespace sepal
