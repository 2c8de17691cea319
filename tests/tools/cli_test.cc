#include "tools/terminal/cli.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/terminal/progress.h"
#include "tools/terminal/terminal_color.h"

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
  for (const auto& [text, bytes] : std::vector<std::pair<std::string, uint64_t>>{{"1k", 1 << 10},
                                                                                 {"2 KB", 2 << 10},
                                                                                 {"3Mi", 3 << 20},
                                                                                 {"1G", 1 << 30},
                                                                                 {"7b", 7},
                                                                                 {"0", 0},
                                                                                 {"1.5G", uint64_t{3} << 29}}) {
    EXPECT_EQ(Parse({"--cache_size=" + text}).bytes, bytes) << text;
  }
  EXPECT_EQ(Parse({"--duration=250ms"}).seconds, 0.25);
  EXPECT_EQ(Parse({"--duration=1.5h"}).seconds, 5400);
}

TEST(CliTest, WhatIsNoSizeOrTimeIsToldWithAnExample) {
  for (const char* size :
       {"--cache_size=abc", "--cache_size=12Q", "--cache_size=12Bx", "--cache_size=12Mx", "--cache_size=12Mibs",
        "--cache_size=-1", "--cache_size=99999999999G", "--cache_size=1.5B"}) {
    const Parsed parsed = Parse({size});
    EXPECT_EQ(parsed.exit, kExitUsage) << size;
    EXPECT_NE(parsed.err.find("64MiB, 1.5G"), std::string::npos) << size << ": " << parsed.err;
  }
  for (const char* time : {"--duration=3x", "--duration=s", "--duration=1.2.3s"}) {
    EXPECT_NE(Parse({time}).err.find("30s, 250ms"), std::string::npos) << time;
  }
}

TEST(CliTest, SizesAreShownAsTheyCanBeGiven) {
  EXPECT_EQ(SizeText(0), "0");
  EXPECT_EQ(SizeText(1000), "1000");
  EXPECT_EQ(SizeText(4096), "4KiB");
  EXPECT_EQ(SizeText(uint64_t{3} << 60), "3EiB");
}

TEST(CliTest, OneOfAThingIsNotMany) {
  EXPECT_EQ(Counted(1, "table"), "1 table");
  EXPECT_EQ(Counted(0, "table"), "0 tables");
  EXPECT_EQ(Counted(2, "column family"), "2 column families");
  EXPECT_EQ(Counted(3, "batch"), "3 batches");
  EXPECT_EQ(Counted(2, "loss"), "2 losses");
}

TEST(CliTest, AnUnknownFlagIsAUsageErrorThatNamesTheNearestOne) {
  const Parsed parsed = Parse({"--cache_sise=1"});
  EXPECT_EQ(parsed.exit, kExitUsage);
  EXPECT_NE(parsed.err.find("did you mean --cache_size?"), std::string::npos) << parsed.err;
  EXPECT_EQ(Parse({"--duration=often"}).exit, kExitUsage);
  const Parsed begun = Parse({"--hist"});
  EXPECT_NE(begun.err.find("there is no flag --hist\ndid you mean --histogram?"), std::string::npos) << begun.err;
  // A number is no flag, and of few letters nothing is guessed.
  EXPECT_EQ(Parse({"-12"}).exit, kExitUsage);
  EXPECT_EQ(Parse({"--qq"}).err.find("did you mean"), std::string::npos);
  EXPECT_NE(Parse({"more"}).err.find("\"more\" is an unexpected argument"), std::string::npos);
}

TEST(CliTest, HelpGoesToStandardOutputAndIsNoError) {
  const Parsed parsed = Parse({"--help"});
  EXPECT_EQ(parsed.exit, kExitOk);
  EXPECT_NE(parsed.out.find("--cache_size SIZE"), std::string::npos) << parsed.out;
  EXPECT_NE(parsed.out.find("--duration TIME"), std::string::npos) << parsed.out;
}

TEST(CliTest, FlagsOfOtherEnginesAreTakenWithANote) {
  const Parsed parsed = Parse({"--open_files=100", "--mmap_read"});
  EXPECT_FALSE(parsed.exit.has_value()) << parsed.err;
  EXPECT_NE(parsed.err.find("--open_files has no equivalent in Sepal"), std::string::npos);
  EXPECT_NE(parsed.err.find("--mmap_read has no equivalent in Sepal"), std::string::npos);
}

TEST(CliTest, BytesAreUtf8WhereTheyCanBeAndHexElsewhere) {
  EXPECT_EQ(BytesJson("gr\xc3\xbc\xc3\x9f").dump(), "{\"utf8\":\"gr\xc3\xbc\xc3\x9f\"}");
  EXPECT_EQ(BytesJson(std::string_view("\x00\xff", 2)).dump(), "{\"hex\":\"00ff\"}");
  EXPECT_TRUE(IsUtf8("\xf0\x9f\x8c\xb8"));
  // The first and the last of each length, beside the ones that are no characters.
  for (const char* right : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80",
                            "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(right)) << testing::PrintToString(right);
  }
  for (const char* wrong : {"\xc2\x20", "\xf0\x8f\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82\x20", "\x80", "\xc0\x80",
                            "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(wrong)) << testing::PrintToString(wrong);
  }
}

TEST(CliTest, HexIsDecodedWithAndWithoutItsMark) {
  EXPECT_EQ(FromHex("0x00fF"), std::string("\x00\xff", 2));
  EXPECT_EQ(FromHex("6162"), "ab");
  EXPECT_EQ(FromHex(""), "");
  EXPECT_EQ(FromHex("abc"), std::nullopt);
  EXPECT_EQ(FromHex("zz"), std::nullopt);
  EXPECT_EQ(FromHex("0X4a"), "J");
  for (const char* wrong : {"0g", "g0", "0/", "0:", "0`", "0@", "0G"}) EXPECT_EQ(FromHex(wrong), std::nullopt) << wrong;
}

TEST(ProgressTest, TheLineSaysShareRateAndRemainingTime) {
  EXPECT_EQ(Progress::Format("readseq", 250, 1000, {.rate = 50}),
            "readseq: 250 of 1000 (25 %), 50 a second, 15 s left");
  EXPECT_EQ(Progress::Format("imported bytes", 1 << 20, 4 << 20, {.rate = 1024}),
            "imported bytes: 1.0 MiB of 4.0 MiB (25 %), 1.0 KiB a second, 51 min 12 s left");
  EXPECT_EQ(Progress::Format("job", 0, 36'600, {.rate = 1}), "job: 0 of 36600 (0 %), 1 a second, 10 h 10 min left");
  EXPECT_EQ(Progress::Format("loading", 250, 0, {.rate = 50}), "loading: 250, 50 a second");
}

TEST(ProgressTest, AStallIsSaidInPlaceOfARate) {
  EXPECT_EQ(Progress::Format("job", 5, 10, {.rate = 3, .still_seconds = 12}),
            "job: 5 of 10 (50 %), no progress for 12 s");
}

TEST(ProgressTest, TheBarIsAsFullAsTheJob) {
  EXPECT_EQ(Progress::Bar(0, 8), "[--------------------] ");
  EXPECT_EQ(Progress::Bar(2, 8), "[#####---------------] ");
  EXPECT_EQ(Progress::Bar(9, 8), "[####################] ");
  EXPECT_EQ(Progress::Bar(9, 0), "");
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

TEST(ProgressTest, WhatIsToldMeanwhileHasLinesOfItsOwn) {
  std::ostringstream err;
  {
    Progress progress("job", 10, err, /*terminal=*/false);
    progress.Tell("something happened\n");
  }
  EXPECT_EQ(err.str(), "something happened\n");
}

TEST(PaintTest, ColoursAreForTerminalsThatWantThem) {
  const auto automatic = [](bool terminal, const char* no_color, const char* term) {
    return WantsColor(ColorChoice::kAuto, terminal, no_color, term);
  };
  EXPECT_TRUE(automatic(true, nullptr, "xterm"));
  EXPECT_TRUE(automatic(true, "", "xterm"));
  EXPECT_FALSE(automatic(false, nullptr, "xterm"));
  EXPECT_FALSE(automatic(true, "1", "xterm"));
  EXPECT_FALSE(automatic(true, nullptr, "dumb"));
  EXPECT_FALSE(automatic(true, nullptr, nullptr));
  EXPECT_TRUE(WantsColor(ColorChoice::kAlways, false, "1", "dumb"));
  EXPECT_FALSE(WantsColor(ColorChoice::kNever, true, nullptr, "xterm"));
  EXPECT_EQ(Paint(true).Good("ok"), "\x1b[32mok\x1b[0m");
  EXPECT_EQ(Paint(false).Good("ok"), "ok");
}

}  // namespace
}  // namespace sepal::tools
