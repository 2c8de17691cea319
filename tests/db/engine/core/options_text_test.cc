// Options as text: whatever a text can say comes back, and what it cannot is refused with its line.
#include "sepal/options_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "db/format/kept_options.h"
#include "tests/db/engine/engine_fixture.h"
#include "tests/tools/temporary_directory.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

std::string RefusalOf(std::string_view text) {
  const absl::StatusOr<Options> options = OptionsFromText(text);
  EXPECT_TRUE(absl::IsInvalidArgument(options.status())) << text << ": " << options.status();
  return std::string(ToStd(options.status().message()));
}

TEST(OptionsTextTest, EveryOptionComesBackFromItsText) {
  const std::vector<std::pair<std::string, std::function<void(Options*)>>> changes = {
      {"memory_limit = 8388608", [](Options* o) { o->memory_limit = size_t{8} << 20; }},
      {"memtable_bytes = 65536", [](Options* o) { o->memtable_bytes = 65536; }},
      {"large_batches = true", [](Options* o) { o->large_batches = true; }},
      {"direct_reads = true", [](Options* o) { o->direct_reads = true; }},
      {"background_threads = 3", [](Options* o) { o->background_threads = 3; }},
      {"background_bytes_per_second = 18446744073709551615",
       [](Options* o) { o->background_bytes_per_second = UINT64_MAX; }},
      {"scrub_seconds = 604800", [](Options* o) { o->scrub_seconds = 604800; }},
      {"log_directory = \"/a b/\\x22\\x5c#\\x0a\xc3\xa9\"",
       [](Options* o) { o->log_directory = "/a b/\"\\#\n\xc3\xa9"; }},
      {"info_log = false", [](Options* o) { o->info_log = false; }},
      {"latency_histograms = true", [](Options* o) { o->latency_histograms = true; }},
      {"slow_call_micros = 7", [](Options* o) { o->slow_call_micros = 7; }},
      {"compression = zstd", [](Options* o) { o->family.compression = CompressionKind::kZstd; }},
      {"compression = none", [](Options* o) { o->family.compression = CompressionKind::kNone; }},
      {"compression = lz4", [](Options* o) { o->family.compression = CompressionKind::kLz4; }},
      {"compression_per_level = none, lz4, zstd",
       [](Options* o) {
         o->family.compression_per_level = {CompressionKind::kNone, CompressionKind::kLz4, CompressionKind::kZstd};
       }},
      {"block_bytes = 256", [](Options* o) { o->family.block_bytes = 256; }},
      {"filter_lane_bits_per_key = 0.1", [](Options* o) { o->family.filter_policy.lane_bits_per_key = 0.1; }},
      {"filter_guard_bits_per_key = 64", [](Options* o) { o->family.filter_policy.guard_bits_per_key = 64; }},
      {"compaction_style = leveled", [](Options* o) { o->family.compaction_style = CompactionStyle::kLeveled; }},
      {"compaction_style = universal", [](Options* o) { o->family.compaction_style = CompactionStyle::kUniversal; }},
      {"max_space_amplification = 1.0000000000000002",
       [](Options* o) { o->family.max_space_amplification = 1.0000000000000002; }},
  };
  const std::string defaults = OptionsToText({});
  for (const auto& [line, change] : changes) {
    Options options;
    change(&options);
    const std::string text = OptionsToText(options);
    EXPECT_NE(text, defaults) << line;
    EXPECT_THAT(text, HasSubstr(line + "\n"));
    const absl::StatusOr<Options> back = OptionsFromText(text);
    ASSERT_OK(back.status());
    EXPECT_EQ(OptionsToText(*back), text) << line;
    EXPECT_EQ(EncodeKeptOptions(back->family), EncodeKeptOptions(options.family)) << line;
    EXPECT_EQ(back->log_directory, options.log_directory);
    EXPECT_EQ(back->background_bytes_per_second, options.background_bytes_per_second);
  }
}

TEST(OptionsTextTest, TheTextIsAsDocumented) {
  Options options;
  options.column_families.push_back({.name = "a \"b\"\n"});
  EXPECT_EQ(OptionsToText(options),
            "memory_limit = 268435456\n"
            "memtable_bytes = 0\n"
            "large_batches = false\n"
            "direct_reads = false\n"
            "background_threads = 0\n"
            "background_bytes_per_second = 0\n"
            "scrub_seconds = 0\n"
            "log_directory = \"\"\n"
            "info_log = true\n"
            "latency_histograms = false\n"
            "slow_call_micros = 0\n"
            "\n"
            "[family]\n"
            "compression = snappy\n"
            "compression_per_level =\n"
            "block_bytes = 4096\n"
            "filter_lane_bits_per_key = 5\n"
            "filter_guard_bits_per_key = 8\n"
            "compaction_style = lazy_leveling\n"
            "max_space_amplification = 2\n"
            "separate_from = 0\n"
            "last_level_inline_below = 0\n"
            "\n"
            "[family \"a \\x22b\\x22\\x0a\"]\n"
            "compression = snappy\n"
            "compression_per_level =\n"
            "block_bytes = 4096\n"
            "filter_lane_bits_per_key = 5\n"
            "filter_guard_bits_per_key = 8\n"
            "compaction_style = lazy_leveling\n"
            "max_space_amplification = 2\n"
            "separate_from = 0\n"
            "last_level_inline_below = 0\n");
  EXPECT_EQ(OptionsToText(OptionsFromText(OptionsToText(options)).value()), OptionsToText(options));
}

TEST(OptionsTextTest, WhatIsNotSaidStaysAndFamiliesBeginWithWhatStandsAbove) {
  Options base;
  base.create_if_missing = true;
  base.slow_call_micros = 9;
  base.column_families.push_back({.name = "old", .options = {.block_bytes = 512}});
  const absl::StatusOr<Options> options = OptionsFromText(
      "# a comment\r\n"
      "\n"
      "  memory_limit=1GiB   # another\n"
      "memtable_bytes = 64KiB\n"
      "log_directory = /fast/logs\n"
      "[family]\n"
      "compression = lz4\n"
      "[family \"old\"]\n"
      "compression = zstd\n"
      "[ family \"new\" ]\n",
      base);
  EXPECT_FALSE(options.ok());  // "[ family"
  const absl::StatusOr<Options> read = OptionsFromText(
      "# a comment\r\n"
      "\n"
      "  memory_limit=1GiB   # another\n"
      "memtable_bytes = 64KiB\n"
      "log_directory = /fast/logs\n"
      "[family]\n"
      "compression = lz4\n"
      "[family \"old\"]\n"
      "compression = zstd\n"
      "[family \"new\"]\n"
      "block_bytes = 1MiB",
      base);
  ASSERT_OK(read.status());
  EXPECT_TRUE(read->create_if_missing);
  EXPECT_EQ(read->slow_call_micros, 9u);
  EXPECT_EQ(read->memory_limit, size_t{1} << 30);
  EXPECT_EQ(read->memtable_bytes, size_t{64} << 10);
  EXPECT_EQ(read->log_directory, "/fast/logs");
  EXPECT_EQ(read->family.compression, CompressionKind::kLz4);
  ASSERT_EQ(read->column_families.size(), 2u);
  EXPECT_EQ(read->column_families[0].options.block_bytes, 512u);
  EXPECT_EQ(read->column_families[0].options.compression, CompressionKind::kZstd);
  EXPECT_EQ(read->column_families[1].name, "new");
  EXPECT_EQ(read->column_families[1].options.block_bytes, size_t{1} << 20);
  EXPECT_EQ(read->column_families[1].options.compression, CompressionKind::kLz4);
}

TEST(OptionsTextTest, WhatIsNoOptionIsRefusedWithItsLineAndTheNearestName) {
  EXPECT_EQ(RefusalOf("\nmemory_limt = 1GiB"),
            "line 2: there is no option \"memory_limt\"; did you mean memory_limit?");
  EXPECT_EQ(RefusalOf("[family]\nblok_bytes = 1"),
            "line 2: there is no option \"blok_bytes\"; did you mean block_bytes?");
  EXPECT_THAT(RefusalOf("block_bytes = 512"), HasSubstr("line 1: block_bytes is an option of a column family"));
  EXPECT_THAT(RefusalOf("[family]\n\nscrub_seconds = 1"),
              HasSubstr("line 3: scrub_seconds is an option of the database"));
  EXPECT_THAT(RefusalOf("create_if_missing = true"), HasSubstr("line 1: a text cannot say create_if_missing"));
  EXPECT_THAT(RefusalOf("[family]\ncomparator = x"), HasSubstr("line 2: a text cannot say comparator"));
  EXPECT_THAT(RefusalOf("info_log = true\ninfo_log = true"), HasSubstr("line 2: info_log was said already"));
  EXPECT_THAT(RefusalOf("[family]\n[family]"), HasSubstr("line 2: this section is there already"));
  EXPECT_THAT(RefusalOf("[family \"a\"]\n[family \"a\"]"), HasSubstr("line 2"));
  for (const char* const section :
       {"[families]", "[family", "[family \"a]", "[family \"\"]", "[family a]", "[family \"\\y\"]"}) {
    EXPECT_THAT(RefusalOf(section), HasSubstr("line 1: a section is [family]")) << section;
  }
  EXPECT_THAT(RefusalOf("info_log"), HasSubstr("line 1: this is no NAME = VALUE"));
}

TEST(OptionsTextTest, ValuesThatAreNoneOrOutOfRangeAreRefusedWithTheirLine) {
  for (const char* const line :
       {"info_log = yes", "info_log =", "memory_limit = much", "memory_limit = -1", "memory_limit = 1.5GiB",
        "memory_limit = 1 GiB", "memory_limit = 99999999TiB", "background_threads = 3000000000", "log_directory = \"/a",
        "log_directory = \"/a\" b", "log_directory = \"\\xg0\"", "log_directory = a\"b"}) {
    EXPECT_THAT(RefusalOf(line), HasSubstr("line 1: ")) << line;
  }
  for (const char* const line : {"compression = brotli", "compression_per_level = none,,zstd", "compaction_style = 3",
                                 "max_space_amplification = x", "max_space_amplification = nan",
                                 "max_space_amplification = 0.5", "block_bytes = 1", "filter_lane_bits_per_key = 65"}) {
    EXPECT_THAT(RefusalOf(std::string("[family]\n") + line), HasSubstr("line 2: ")) << line;
  }
  EXPECT_EQ(RefusalOf("info_log = true\nmemory_limit = 1MiB\n\n[family]"),
            "line 2: memory_limit of 1048576 bytes is too small: it must be at least 8388608");
  EXPECT_THAT(RefusalOf("memtable_bytes = 1GiB"), HasSubstr("line 1: memtable_bytes"));
  // Together they are in range, in either order.
  EXPECT_OK(OptionsFromText("memtable_bytes = 1GiB\nmemory_limit = 4GiB").status());
}

TEST(OptionsTextTest, FilesAreReadThroughTheFileSystemOfTheEnvironment) {
  MemoryFileSystem memory;
  ASSERT_OK(memory.OpenDirectory("/etc", /*create=*/true).status());
  ASSERT_OK(memory.WriteFileContents("/etc/options", "scrub_seconds = 5\n"));
  ASSERT_OK(memory.WriteFileContents("/etc/bad", "scrub_seconds = x\n"));
  ASSERT_OK(memory.WriteFileContents("/etc/large", std::string((size_t{1} << 20) + 1, '\n')));
  Options base;
  base.env.file_system = &memory;
  EXPECT_EQ(OptionsFromFile("/etc/options", base).value().scrub_seconds, 5u);
  EXPECT_THAT(OptionsFromFile("/etc/bad", base).status().ToString(), HasSubstr("/etc/bad: line 1: "));
  EXPECT_TRUE(absl::IsInvalidArgument(OptionsFromFile("/etc/large", base).status()));
  EXPECT_TRUE(absl::IsNotFound(OptionsFromFile("/etc/none", base).status()));

  const tools::TemporaryDirectory directory;
  std::ofstream(directory.path() + "/options") << "scrub_seconds = 6\n";
  std::filesystem::create_symlink("options", directory.path() + "/link");
  EXPECT_EQ(OptionsFromFile(directory.path() + "/link").value().scrub_seconds, 6u);
}

}  // namespace
}  // namespace sepal
