// sepal options show, --options, sepal family, sepal db property|clock|size|destroy.
#include <gmock/gmock.h>

#include "sepal/options_text.h"
#include "tests/tools/sepal_command_fixture.h"

namespace sepal::tools {
namespace {

class OptionsVerbsTest : public SepalCommandTest {
 protected:
  std::string WriteText(const std::string& text) const {
    const std::string path = directory_.File("options");
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(OptionsVerbsTest, WhatIsShownIsTakenBackAndKept) {
  const std::string logs = directory_.File("logs");
  {
    Options options{.create_if_missing = true};
    options.log_directory = logs;
    options.family.block_bytes = 512;
    options.column_families.push_back(
        {.name = "own \"é\"",
         .options = {.compression = CompressionKind::kZstd,
                     .compression_per_level = {CompressionKind::kNone, CompressionKind::kLz4},
                     .block_bytes = 8192,
                     .filter_policy = {.lane_bits_per_key = 3.25, .guard_bits_per_key = 0},
                     .compaction_style = CompactionStyle::kUniversal,
                     .max_space_amplification = 1.1}});
    ASSERT_TRUE(DB::Open(options, db_).ok());
  }
  const Outcome shown = RunSepal({"options", "show", db_});
  ASSERT_EQ(shown.exit, kExitOk) << shown.err;
  EXPECT_EQ(shown.out, "log_directory = \"" + logs +
                           "\"\n"
                           "\n"
                           "[family \"default\"]\n"
                           "compression = snappy\n"
                           "compression_per_level =\n"
                           "block_bytes = 512\n"
                           "filter_lane_bits_per_key = 5\n"
                           "filter_guard_bits_per_key = 8\n"
                           "compaction_style = lazy_leveling\n"
                           "max_space_amplification = 2\n"
                           "separate_from = 0\n"
                           "last_level_inline_below = 0\n"
                           "\n"
                           "[family \"own \\x22é\\x22\"]\n"
                           "compression = zstd\n"
                           "compression_per_level = none, lz4\n"
                           "block_bytes = 8192\n"
                           "filter_lane_bits_per_key = 3.25\n"
                           "filter_guard_bits_per_key = 0\n"
                           "compaction_style = universal\n"
                           "max_space_amplification = 1.1\n"
                           "separate_from = 0\n"
                           "last_level_inline_below = 0\n");
  // Nothing changes by an opening with them, and a new database gets them.
  const std::string file = WriteText(shown.out);
  EXPECT_EQ(RunSepal({"db", "open", db_, "--options", file}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"options", "show", db_}).out, shown.out);
  EXPECT_EQ(RunSepal({"db", "destroy", db_, "--yes"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "open", db_, "--create", "--options", file}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"options", "show", db_}).out, shown.out);

  const nlohmann::json json = LastJson(RunSepal({"options", "show", db_, "--json"}).out);
  EXPECT_EQ(json.at("log_directory"), logs);
  EXPECT_EQ(json.at("column_families").at(1).at("options").at("block_bytes"), 8192);
  EXPECT_EQ(json.at("column_families").at(1).at("options").at("compression"), "zstd");
  EXPECT_TRUE(RunSepal({"options", "show", db_, "--family", "default"}).out.starts_with("[family \"default\"]\n"));
  EXPECT_EQ(RunSepal({"options", "show", db_, "--family", "none"}).exit, kExitError);
}

TEST_F(OptionsVerbsTest, AFileChangesWhatItSaysAndNothingElse) {
  {
    Options options{.create_if_missing = true};
    options.column_families.push_back({.name = "own", .options = {.block_bytes = 8192}});
    ASSERT_TRUE(DB::Open(options, db_).ok());
  }
  const std::string file = WriteText("memory_limit = 32MiB\n[family \"default\"]\ncompression = zstd\n");
  ASSERT_EQ(RunSepal({"db", "put", db_, "k", "v", "--options", file}).exit, kExitOk);
  const std::string shown = RunSepal({"options", "show", db_}).out;
  EXPECT_TRUE(Has(shown, "compression = zstd") && Has(shown, "block_bytes = 8192")) << shown;

  const Outcome wrong = RunSepal({"db", "put", db_, "k", "v", "--options", WriteText("a = 1\n")});
  EXPECT_EQ(wrong.exit, kExitError);
  EXPECT_TRUE(Has(wrong.err, "options: line 1: there is no option \"a\"")) << wrong.err;
  const Outcome missing = RunSepal({"db", "delete", db_, "k", "--options", WriteText("[family \"none\"]\n")});
  EXPECT_EQ(missing.exit, kExitError);
  EXPECT_TRUE(Has(missing.err, "there is no column family \"none\"") && Has(missing.err, "family create"))
      << missing.err;
  EXPECT_EQ(RunSepal({"db", "put", db_, "k", "v", "--options", directory_.File("nowhere")}).exit, kExitUsage);
}

TEST_F(OptionsVerbsTest, FamiliesAreMadeAndDropped) {
  MakeDatabase();
  const std::string file = WriteText("[family]\nblock_bytes = 512\n[family \"b\"]\nblock_bytes = 1024\n");
  EXPECT_EQ(RunSepal({"family", "create", db_, "a", "--options", file}).exit, kExitOk);
  const Outcome made = RunSepal({"family", "create", db_, "b", "--options", file, "--json"});
  EXPECT_EQ(LastJson(made.out).at("created").at("utf8"), "b");
  EXPECT_EQ(RunSepal({"db", "families", db_}).out, "default\na\nb\n");
  EXPECT_TRUE(Has(RunSepal({"options", "show", db_, "--family", "a"}).out, "block_bytes = 512"));
  EXPECT_TRUE(Has(RunSepal({"options", "show", db_, "--family", "b"}).out, "block_bytes = 1024"));
  const Outcome again = RunSepal({"family", "create", db_, "b"});
  EXPECT_EQ(again.exit, kExitError);
  EXPECT_TRUE(Has(again.err, "b")) << again.err;
  ASSERT_EQ(RunSepal({"db", "put", db_, "k", "v", "--family", "b"}).exit, kExitOk);
  // Nobody can be asked.
  EXPECT_EQ(RunSepal({"family", "drop", db_, "b"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"family", "drop", db_, "default", "--yes"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"family", "drop", db_, "c", "--yes"}).exit, kExitError);
  EXPECT_EQ(RunSepal({"family", "drop", db_, "b", "--yes"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "families", db_}).out, "default\na\n");
  EXPECT_EQ(RunSepal({"family", "create", directory_.File("none"), "a"}).exit, kExitError);
  EXPECT_FALSE(std::filesystem::exists(directory_.File("none")));
}

TEST_F(OptionsVerbsTest, PropertiesArePrintedAndListed) {
  MakeDatabase();
  const Outcome list = RunSepal({"db", "property", db_});
  EXPECT_EQ(list.exit, kExitOk);
  const nlohmann::json listed = LastJson(RunSepal({"db", "property", db_, "--json"}).out);
  for (const nlohmann::json& property : listed.at("properties")) {
    std::string name = property.at("name");
    EXPECT_TRUE(Has(list.out, name)) << name;
    if (name.ends_with("<N>")) name.replace(name.size() - 3, 3, "0");
    EXPECT_EQ(RunSepal({"db", "property", db_, name}).exit, kExitOk) << name;
  }
  EXPECT_EQ(RunSepal({"db", "property", db_, "num-files-at-level0"}).out, "2\n");
  EXPECT_EQ(LastJson(RunSepal({"db", "property", db_, "sepal.last-sequence", "--json"}).out).at("value"), "1101");
  const Outcome unknown = RunSepal({"db", "property", db_, "sepal.level"});
  EXPECT_EQ(unknown.exit, kExitUsage);
  EXPECT_TRUE(Has(unknown.err, "did you mean sepal.levels?")) << unknown.err;
  EXPECT_EQ(RunSepal({"db", "property", db_, "sepal.levels", "--family", "none"}).exit, kExitError);
}

TEST_F(OptionsVerbsTest, SizesAreOfRanges) {
  MakeDatabase();
  const auto size = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"db", "size", db_, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return LastJson(RunSepal(words).out).at("bytes").get<uint64_t>();
  };
  const uint64_t all = size({});
  EXPECT_GT(all, 0u);
  EXPECT_EQ(size({"--prefix", "nothing"}), 0u);
  EXPECT_EQ(size({"--from", "key0500", "--to", "key0500"}), 0u);
  const Outcome reversed = RunSepal({"db", "size", db_, "--from", "key0500", "--to", "key0400"});
  EXPECT_EQ(reversed.exit, kExitUsage);
  EXPECT_TRUE(Has(reversed.err, "--from key0500 comes after --to key0400: no key lies between")) << reversed.err;
  EXPECT_GT(size({"--from", "key0100"}), 0u);
  EXPECT_LE(size({"--from", "key0100", "--to", "key0200"}), all);
  EXPECT_EQ(size({"--hex", "--prefix", "6b6579"}), size({"--prefix", "key"}));
  EXPECT_TRUE(Has(RunSepal({"db", "size", db_}).out, std::to_string(all) + " (about "));
  EXPECT_EQ(RunSepal({"db", "size", db_, "--family", "none"}).exit, kExitError);
  EXPECT_TRUE(Has(RunSepal({"db", "size", db_, "--distinct"}).out, " different keys, give or take 3 %"));
  const auto distinct = LastJson(RunSepal({"db", "size", db_, "--distinct", "--json"}).out);
  uint64_t keys = 0;
  for (const auto& family : distinct.at("column_families")) keys += family.at("distinct_keys").get<uint64_t>();
  EXPECT_GT(keys, 0u);
  EXPECT_EQ(distinct.at("distinct_keys").get<uint64_t>(), keys);
}

TEST_F(OptionsVerbsTest, ADatabaseIsDestroyedWithItsLogsAndNothingElse) {
  const std::string logs = directory_.File("logs");
  ASSERT_EQ(RunSepal({"db", "put", db_, "k", "v", "--log-directory", logs}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "destroy", db_}).exit, kExitUsage);
  {
    const auto held = DB::Open({}, db_);
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(RunSepal({"db", "destroy", db_, "--yes"}).exit, kExitError);
  }
  std::ofstream(db_ + "/notes.txt") << "mine";
  const Outcome destroyed = RunSepal({"db", "destroy", db_, "--yes", "--json"});
  EXPECT_EQ(destroyed.exit, kExitOk) << destroyed.err;
  EXPECT_EQ(LastJson(destroyed.out).at("ok"), true);
  EXPECT_TRUE(std::filesystem::is_empty(logs));
  EXPECT_EQ(Slurp(db_ + "/notes.txt"), "mine");
  const Outcome none = RunSepal({"db", "destroy", db_, "--yes"});
  EXPECT_EQ(none.exit, kExitError);
  EXPECT_TRUE(Has(none.err, "is not a database")) << none.err;
  EXPECT_EQ(RunSepal({"db", "destroy", directory_.File("never"), "--yes"}).exit, kExitError);
}

// A year ahead of the system's.
class FastClock final : public Clock {
 public:
  static constexpr uint64_t kYearMicros = uint64_t{365} * 24 * 60 * 60 * 1'000'000;
  uint64_t MonotonicMicros() override { return System()->MonotonicMicros(); }
  uint64_t UnixMicros() override { return System()->UnixMicros() + kYearMicros; }
  void SleepMicros(uint64_t micros) override { System()->SleepMicros(micros); }
};

TEST_F(OptionsVerbsTest, TheClockIsShownAndAcceptedAfterAWrongOneWasSetRight) {
  {
    const std::unique_ptr<DB> db = DB::Open({.create_if_missing = true}, db_).value();
    ASSERT_TRUE(db->Put("session", "Ada", {.ttl = std::chrono::hours(1)}).ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const Outcome right = RunSepal({"db", "clock", db_});
  EXPECT_EQ(right.exit, kExitOk) << right.err;
  EXPECT_TRUE(Has(right.out, "keys expire by  20")) << right.out;
  EXPECT_FALSE(Has(right.out, "set back")) << right.out;
  {
    FastClock fast;
    const std::unique_ptr<DB> db = DB::Open({.env = {.clock = &fast}}, db_).value();
    ASSERT_TRUE(absl::IsNotFound(db->Get("session").status()));
    ASSERT_TRUE(db->Close().ok());
  }
  EXPECT_EQ(RunSepal({"db", "get", db_, "session"}).exit, kExitError);
  EXPECT_TRUE(Has(RunSepal({"db", "clock", db_}).out, "the wall clock was set back"));
  const Outcome accepted = RunSepal({"db", "clock", db_, "--accept", "--json"});
  EXPECT_EQ(accepted.exit, kExitOk) << accepted.err;
  EXPECT_FALSE(Has(LastJson(accepted.out).at("clock").get<std::string>(), "set back")) << accepted.out;
  EXPECT_EQ(RunSepal({"db", "get", db_, "session"}).out, "Ada");
}

}  // namespace
}  // namespace sepal::tools
