#include "tools/lib/cli.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

namespace sepal::tools {
namespace {

struct Parsed {
  std::optional<int> exit;
  std::string out, err;
  uint64_t bytes = 0;
  double seconds = 0;
  bool flag = false;
};

Parsed Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "program");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Parsed parsed;
  std::ostringstream out, err;
  CLI::App app("A test.", "program");
  AddBytes(&app, "--cache_size", &parsed.bytes, "bytes");
  AddSeconds(&app, "--duration", &parsed.seconds, "seconds");
  app.add_flag("--histogram", parsed.flag, "flag");
  AddIgnored(&app, "open_files mmap_read", err);
  parsed.exit = ParseFlags(&app, NormalizeArguments(static_cast<int>(argv.size()), argv.data()), out, err);
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

TEST(CliTest, FlagsTakeOneDashOrTwoAndUnits) {
  const Parsed parsed = Parse({"-cache_size=64MiB", "--duration=2m", "--histogram=1"});
  EXPECT_FALSE(parsed.exit.has_value()) << parsed.err;
  EXPECT_EQ(parsed.bytes, uint64_t{64} << 20);
  EXPECT_EQ(parsed.seconds, 120);
  EXPECT_TRUE(parsed.flag);
  EXPECT_EQ(Parse({"--cache_size", "1000"}).bytes, 1000u);
  EXPECT_EQ(Parse({"--duration=30"}).seconds, 30);
  EXPECT_FALSE(Parse({"--histogram=false"}).flag);
}

TEST(CliTest, AnUnknownFlagIsAUsageErrorThatNamesTheNearestOne) {
  const Parsed parsed = Parse({"--cache_sise=1"});
  EXPECT_EQ(parsed.exit, kExitUsage);
  EXPECT_NE(parsed.err.find("did you mean --cache_size?"), std::string::npos) << parsed.err;
  EXPECT_EQ(Parse({"--duration=often"}).exit, kExitUsage);
}

TEST(CliTest, HelpGoesToStandardOutputAndIsNoError) {
  const Parsed parsed = Parse({"--help"});
  EXPECT_EQ(parsed.exit, kExitOk);
  EXPECT_NE(parsed.out.find("--cache_size"), std::string::npos);
}

TEST(CliTest, FlagsOfOtherEnginesAreTakenWithANote) {
  const Parsed parsed = Parse({"--open_files=100", "--mmap_read"});
  EXPECT_FALSE(parsed.exit.has_value()) << parsed.err;
  EXPECT_NE(parsed.err.find("--open_files has no counterpart"), std::string::npos);
  EXPECT_NE(parsed.err.find("--mmap_read has no counterpart"), std::string::npos);
}

TEST(CliTest, BytesAreUtf8WhereTheyCanBeAndHexElsewhere) {
  EXPECT_EQ(BytesJson("gr\xc3\xbc\xc3\x9f").dump(), "{\"utf8\":\"gr\xc3\xbc\xc3\x9f\"}");
  EXPECT_EQ(BytesJson(std::string_view("\x00\xff", 2)).dump(), "{\"hex\":\"00ff\"}");
  EXPECT_TRUE(IsUtf8("\xf0\x9f\x8c\xb8"));
  for (const char* wrong : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(wrong)) << testing::PrintToString(wrong);
  }
}

TEST(CliTest, HexIsDecodedWithAndWithoutItsMark) {
  EXPECT_EQ(FromHex("0x00fF"), std::string("\x00\xff", 2));
  EXPECT_EQ(FromHex("6162"), "ab");
  EXPECT_EQ(FromHex(""), "");
  EXPECT_EQ(FromHex("abc"), std::nullopt);
  EXPECT_EQ(FromHex("zz"), std::nullopt);
}

TEST(ProgressTest, TheLineSaysShareRateAndRemainingTime) {
  EXPECT_EQ(Progress::Format("readseq", 250, 1000, 50), "readseq: 250 of 1000 (25 %), 50 a second, 15 s left");
  EXPECT_EQ(Progress::Format("imported bytes", 1 << 20, 4 << 20, 1024),
            "imported bytes: 1.0 MiB of 4.0 MiB (25 %), 1.0 KiB a second, 3072 s left");
  EXPECT_EQ(Progress::Format("loading", 250, 0, 50), "loading: 250, 50 a second");
}

TEST(ProgressTest, AShortJobPrintsNothing) {
  std::ostringstream err;
  {
    Progress progress("job", 10, err, /*terminal=*/true);
    progress.Update(1);
    progress.Update(10);
  }
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace sepal::tools
