// Whatever goes wrong is said in a clear sentence, with what to do about it, and leaves nothing half-made.
#include "tests/db/engine/test_database.h"
#include "tests/tools/sepal_command_fixture.h"
#include "tools/sepal/scrub_history.h"

namespace sepal::tools {
namespace {

using RemedyTest = SepalCommandTest;

TEST_F(RemedyTest, AMistakeIsJsonTooWhereThatIsAskedFor) {
  for (const char* const mistake : {"gett DB k --json", "db get DB k --bogus --json", "db get --json", "db --json"}) {
    const Outcome outcome = RunLine(mistake);
    EXPECT_EQ(outcome.exit, kExitUsage);
    const nlohmann::json line = LastJson(outcome.out);
    EXPECT_EQ(line.value("schema_version", 0), kJsonSchemaVersion) << outcome.out;
    EXPECT_EQ(line.value("exit_code", 0), kExitUsage);
    EXPECT_EQ(line.value("code", ""), "INVALID_ARGUMENT");
    EXPECT_FALSE(line.value("error", "").empty());
  }
}

TEST_F(RemedyTest, EveryLineOfJsonHasItsSchemaVersion) {
  MakeDatabase();
  ASSERT_EQ(RunSepal({"db", "backup", db_, directory_.File("backups")}).exit, kExitOk);
  for (const std::string look :
       {"db scan DB", "db backups DIR/backups", "manifest dump DB", "wal dump DB", "wal dump DB --batches",
        "sst scan TABLE", "sst layout TABLE", "sst filters TABLE", "sst show TABLE", "db stats DB --prometheus"}) {
    std::istringstream lines(RunLine(look + " --json").out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_EQ(nlohmann::json::parse(line).value("schema_version", 0), kJsonSchemaVersion) << look << ": " << line;
    }
    EXPECT_GT(count, 0) << look;
  }
}

TEST_F(RemedyTest, ColoursAreThereWhereTheyAreAskedForAndMeanNoOtherText) {
  MakeDatabase();
  for (const std::string look : {"db verify DB", "lsm tree DB", "db stats DB"}) {
    std::string text = RunLine(look + " --color always").out;
    EXPECT_TRUE(Has(text, "\x1b[")) << text;
    for (size_t begin = text.find('\x1b'); begin != std::string::npos; begin = text.find('\x1b')) {
      text.erase(begin, text.find('m', begin) - begin + 1);
    }
    EXPECT_EQ(text, RunLine(look).out);
  }
  EXPECT_EQ(RunSepal({"db", "stats", db_, "--color", "sometimes"}).exit, kExitUsage);
}

TEST_F(RemedyTest, OnAFullDiskNothingIsLeftOfAPageOrANewDatabase) {
  MakeDatabase();
  const std::string disk = directory_.File("disk");
  std::filesystem::create_directory(disk);
  if (std::system(("mount -t tmpfs -o size=64k none " + disk + " 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  EXPECT_NE(std::system(("head -c 100k /dev/zero > " + disk + "/filler 2>/dev/null").c_str()), 0);
  for (const char* const line :
       {"db put DIR/disk/new k v", "db open DIR/disk/new --create", "lsm html DB --output DIR/disk/lsm.html",
        "filter build --from-db DB --output DIR/disk/f", "filter page DB --output DIR/disk/p",
        "filter plot --keys 100 --lookups 1000 --output DIR/disk/p"}) {
    const Outcome full = RunLine(line);
    EXPECT_EQ(full.exit, kExitError) << line;
    EXPECT_TRUE(Has(full.err, "No space left")) << full.err;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(disk), {}), 1) << line;  // the filler
  }
  EXPECT_TRUE(Has(RunSepal({"db", "put", disk + "/new", "k", "v"}).err, "free some space and try again"));
  EXPECT_EQ(std::system(("umount " + disk).c_str()), 0);
}

TEST(ScrubHistoryTest, TheLastWholePassAndWhatWasFoundSince) {
  EXPECT_EQ(ScrubText(ScrubHistoryOf({}), Paint()),
            "scrubbing: no complete pass in LOG (Options::scrub_seconds turns scrubbing on)\n");
  const std::vector<std::string> lines = {
      "2026-03-01T00:00:00Z opened /db: last sequence 7, 0 batches replayed",
      "2026-03-01T00:00:01Z scrubbing found damage: 000001.sst: mended since",
      "2026-03-01T01:00:00Z scrubbing has read all 2 tables, 100 bytes: 1 are damaged",
      "2026-03-01T01:30:00Z scrubbing found damage: 000002.sst: bad",
      "2026-03-01T02:00:00Z scrubbing has read all 3 tables, 2048 bytes: 1 are damaged",
      "2026-03-01T02:30:00Z scrubbing found damage: 000002.sst: bad",
      "2026-03-01T02:31:00Z scrubbing found damage: 000003.sst: worse"};
  EXPECT_EQ(ScrubText(ScrubHistoryOf(lines), Paint()),
            "scrubbing: all of 3 tables, 2.0 KiB, checked by 2026-03-01T02:00:00Z: 1 damaged\n"
            "  damage: 000002.sst: bad\n"
            "  damage: 000003.sst: worse\n");
  EXPECT_EQ(ScrubJson(ScrubHistoryOf(lines)).at("last_pass").at("tables"), 3);
}

// The lines are those that the engine writes.
TEST(ScrubHistoryTest, StatTellsWhenScrubbingLastReadAllTables) {
  constexpr uint64_t kPeriodMicros = 1'000'000;
  TestDatabase database;
  database.options.info_log = true;
  database.tuning.scrub_period_micros = kPeriodMicros;
  ASSERT_TRUE(database.Open().ok());
  ASSERT_TRUE(database.db->Put("k", "v").ok());
  ASSERT_TRUE(database.db->Flush().ok());
  database.world->SleepMicros(3 * kPeriodMicros);
  ASSERT_TRUE(database.db->Close().ok());
  const auto directory = database.memory.OpenDirectory(database.path, /*create=*/false);
  ASSERT_TRUE(directory.ok());
  const auto file = (*directory)->OpenForRead("LOG");
  ASSERT_TRUE(file.ok());
  std::string text((*file)->Size().value(), '\0');
  ASSERT_EQ((*file)->Read(0, text.size(), text.data()).value(), text.size());
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  const ScrubHistory history = ScrubHistoryOf(lines);
  ASSERT_TRUE(history.last_pass.has_value()) << text;
  EXPECT_EQ(history.last_pass->tables, 1u);
  EXPECT_EQ(history.last_pass->damaged, 0u);
  EXPECT_TRUE(Has(ScrubText(history, Paint()), "none damaged"));
}

}  // namespace
}  // namespace sepal::tools
