// sepal filter, where a command script cannot tell: many keys, large filters, pictures, damaged databases.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <memory>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "sepal/filter/any_filter.h"
#include "tests/tools/sepal_command_fixture.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

class FilterVerbsTest : public SepalCommandTest {
 protected:
  std::string WriteWords(const std::string& name, int from, int to) const {
    const std::string path = directory_.File(name);
    std::ofstream file(path);
    for (int i = from; i < to; ++i) file << Key(i) << "\n";
    return path;
  }

  const std::string filter_ = directory_.File("filter");
};

TEST_F(FilterVerbsTest, EveryKindKnowsAllItsKeysAndHoldsItsRate) {
  const std::string words = WriteWords("words", 0, 5000), others = WriteWords("others", 5000, 9000);
  for (const std::string kind : {"blocked", "bloom", "partitioned", "counting", "scalable", "fingerprints", "static"}) {
    const double rate = 0.04;
    const Outcome built =
        RunSepal({"filter", "build", words, "-o", filter_, "--kind", kind, "--rate", "0.04", "--json"});
    ASSERT_EQ(built.exit, kExitOk) << kind << built.err;
    EXPECT_EQ(LastJson(built.out).at("kind"), kind);
    EXPECT_EQ(LastJson(built.out).at("keys_read"), 5000) << kind;
    EXPECT_EQ(LastJson(RunSepal({"filter", "test", filter_, words, "--json"}).out).at("absent"), 0) << kind;
    const nlohmann::json asked = LastJson(RunSepal({"filter", "test", filter_, others, "--json"}).out);
    EXPECT_EQ(asked.at("maybe").get<int>() + asked.at("absent").get<int>(), 4000) << kind;
    // Five standard deviations.
    EXPECT_LE(asked.at("maybe").get<double>() / 4000, rate + 5 * std::sqrt(rate / 4000)) << kind;
    EXPECT_GT(asked.at("maybe").get<int>(), 0) << kind;
  }
}

TEST_F(FilterVerbsTest, StandardInputAndAFileGiveTheSameFilter) {
  const std::string words = WriteWords("words", 0, 3000);
  ASSERT_EQ(RunSepal({"filter", "build", words, "-o", filter_}).exit, kExitOk);
  const std::string of_file = Slurp(filter_);
  ASSERT_EQ(RunSepal({"filter", "build", "-o", filter_}, Slurp(words)).exit, kExitOk);
  EXPECT_EQ(Slurp(filter_), of_file);
}

TEST_F(FilterVerbsTest, WhatIsReadIsNotWrittenOver) {
  const std::string words = WriteWords("words", 0, 10);
  const std::string before = Slurp(words);
  const Outcome built = RunSepal({"filter", "build", words, "-o", directory_.File("./words")});
  EXPECT_EQ(built.exit, kExitError);
  EXPECT_TRUE(Has(built.err, "it is what is read; choose another file with --output")) << built.err;
  EXPECT_EQ(Slurp(words), before);
  ASSERT_EQ(RunSepal({"filter", "build", words, "-o", filter_}).exit, kExitOk);
  const std::string filter = Slurp(filter_);
  EXPECT_EQ(RunSepal({"filter", "page", filter_, "-o", filter_}).exit, kExitError);
  EXPECT_EQ(Slurp(filter_), filter);
}

TEST_F(FilterVerbsTest, NothingIsWrittenAmongTheFilesOfADatabase) {
  MakeDatabase();
  const std::string words = WriteWords("words", 0, 10);
  const std::vector<std::string> before = Files("");
  const std::string inside = db_ + "/CURRENT";
  for (const std::vector<std::string>& words_of_verb : {std::vector<std::string>{"filter", "build", words},
                                                        {"filter", "build", db_},
                                                        {"filter", "page", db_},
                                                        {"filter", "plot"},
                                                        {"lsm", "html", db_},
                                                        {"dump", db_}}) {
    std::vector<std::string> line = words_of_verb;
    line.insert(line.end(), {"--output", inside});
    const Outcome refused = RunSepal(line);
    EXPECT_EQ(refused.exit, kExitError) << line.front();
    EXPECT_TRUE(Has(refused.err, "would be among the files of the database " + db_)) << refused.err;
  }
  EXPECT_EQ(Files(""), before);
}

TEST_F(FilterVerbsTest, ACarriageReturnAtTheEndOfALineIsRefusedOrTold) {
  const std::string list = "alpha\r\nbeta\r\n";
  const Outcome refused = RunSepal({"filter", "build", "-o", filter_}, list);
  EXPECT_EQ(refused.exit, kExitError);
  EXPECT_TRUE(Has(refused.err, "line 1 ends with a carriage return") && Has(refused.err, "tr -d")) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(filter_));
  ASSERT_EQ(RunSepal({"filter", "build", "-o", filter_, "--odd-lines", "take"}, list).exit, kExitOk);
  const Outcome tested = RunSepal({"filter", "test", filter_}, list + "alpha\n");
  EXPECT_EQ(tested.out, "maybe\talpha\r\nmaybe\tbeta\r\nabsent\talpha\n");
  EXPECT_EQ(tested.err,
            "note: lines end with a carriage return, which is a part of the key (tr -d '\\r' removes them)\n");
  // As digits they are meant.
  EXPECT_EQ(RunSepal({"filter", "build", "-o", filter_, "--hex"}, "610d\n").exit, kExitOk);
}

TEST_F(FilterVerbsTest, AFilterIsReadFromAPipe) {
  ASSERT_EQ(RunSepal({"filter", "build", WriteWords("words", 0, 5000), "-o", filter_}).exit, kExitOk);
  const std::string pipe = directory_.File("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Thread writer([&] { std::ofstream(pipe, std::ios::binary) << Slurp(filter_); });
  const Outcome piped = RunSepal({"filter", "info", pipe});
  writer.Join();
  EXPECT_EQ(piped.exit, kExitOk) << piped.err;
  EXPECT_EQ(piped.out, RunSepal({"filter", "info", filter_}).out);
}

TEST_F(FilterVerbsTest, AFilterOfBytesTakesNoMore) {
  for (const std::string bytes : {"64", "100", "127", "1000"}) {
    const nlohmann::json sized =
        LastJson(RunSepal({"filter", "size", "--bytes", bytes, "--rate", "0.01", "--json"}).out);
    for (const nlohmann::json& filter : sized.at("filters")) {
      EXPECT_LE(filter.at("bytes").get<uint64_t>(), std::stoull(bytes)) << filter;
      EXPECT_EQ(filter.at("kind") == "blocked" ? filter.at("bits").get<uint64_t>() % 512 : 0, 0u) << filter;
    }
  }
  const Outcome small = RunSepal({"filter", "size", "--bytes", "8", "--keys", "1", "--kind", "blocked"});
  EXPECT_EQ(small.exit, kExitUsage);
  EXPECT_TRUE(Has(small.err, "with that layout it has at least 64")) << small.err;
}

TEST_F(FilterVerbsTest, ALineWithoutAnEndIsRefused) {
  const std::string file = directory_.File("lines");
  const auto build = [&](const std::string& lines) {
    std::ofstream(file) << lines;
    return RunSepal({"filter", "build", file, "-o", filter_, "--odd-lines", "take"});
  };
  const Outcome endless = build("short\n" + std::string((16 << 20) + 100'000, 'x'));
  EXPECT_EQ(endless.exit, kExitError);
  EXPECT_TRUE(Has(endless.err, "line 2 is longer than 16.0 MiB")) << endless.err;
  EXPECT_FALSE(std::filesystem::exists(filter_));
  // Lines of every length around a buffer's.
  std::string lines;
  for (const size_t length : {65'534, 65'535, 65'536, 131'070, 131'071}) lines += std::string(length, 'x') + "\n";
  ASSERT_EQ(build(lines + "last").exit, kExitOk);
  const Outcome tested = RunSepal({"filter", "test", filter_, file});
  EXPECT_EQ(std::count(tested.out.begin(), tested.out.end(), '\n'), 6);
  EXPECT_FALSE(Has(tested.out, "absent"));
}

TEST_F(FilterVerbsTest, AnEmptyLineAndOneOf64KiBAreRefusedSkippedOrTaken) {
  const std::string file = directory_.File("lines");
  for (const std::string& odd : {std::string(), std::string(65'536, 'x'), std::string(70'000, 'x')}) {
    const std::string what = odd.empty() ? "is empty" : "has a key of ";
    std::ofstream(file) << "first\nsecond\n" << odd << "\nlast\n" << odd << "\n";
    for (const std::string kind : {"blocked", "static", "scalable"}) {
      const Outcome refused = RunSepal({"filter", "build", file, "-o", filter_, "--kind", kind});
      EXPECT_EQ(refused.exit, kExitError);
      EXPECT_TRUE(Has(refused.err, file + ", line 3 " + what) && Has(refused.err, "--odd-lines skip")) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(filter_));
    }
    const Outcome of_input = RunSepal({"filter", "build", "-o", filter_}, Slurp(file));
    EXPECT_TRUE(Has(of_input.err, "standard input, line 3 " + what)) << of_input.err;
    EXPECT_FALSE(std::filesystem::exists(filter_));
    for (const auto& [how, keys] : {std::pair("skip", 3), std::pair("take", 5)}) {
      const Outcome built = RunSepal({"filter", "build", file, "-o", filter_, "--odd-lines", how, "--json"});
      ASSERT_EQ(built.exit, kExitOk) << built.err;
      EXPECT_EQ(LastJson(built.out).at("keys_read"), keys);
    }
    // Each line is a question, and has an answer.
    EXPECT_EQ(LastJson(RunSepal({"filter", "test", filter_, file, "--json"}).out).at("maybe"), 5);
    std::filesystem::remove(filter_);
  }
  std::ofstream(file) << "6b31\n\n";
  EXPECT_TRUE(Has(RunSepal({"filter", "build", file, "-o", filter_, "--hex"}).err, "line 2 is empty"));
  // One byte less, and the keys of a database, which may be empty, are as good as any.
  std::ofstream(file) << std::string(65'535, 'x') << "\n";
  EXPECT_EQ(RunSepal({"filter", "build", file, "-o", filter_}).exit, kExitOk);
}

TEST_F(FilterVerbsTest, TheKeysOfADatabaseMayBeEmptyAndOf64KiB) {
  {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open({.create_if_missing = true}, db_);
    ASSERT_TRUE(db.ok()) << db.status();
    for (const std::string& key : {std::string(), std::string(65'536, 'k'), std::string("k")}) {
      ASSERT_TRUE((*db)->Put(key, "v").ok());
    }
    ASSERT_TRUE((*db)->Close().ok());
  }
  const Outcome built = RunSepal({"filter", "build", db_, "-o", filter_, "--json"});
  ASSERT_EQ(built.exit, kExitOk) << built.err;
  EXPECT_EQ(LastJson(built.out).at("keys_read"), 3);
}

// Two lines, and then an error.
class FailingInput final : public std::streambuf {
 protected:
  int_type underflow() override {
    if (eback() != nullptr) throw std::ios_base::failure("read");
    setg(lines_, lines_, lines_ + sizeof lines_ - 1);
    return traits_type::to_int_type(lines_[0]);
  }

 private:
  char lines_[12] = "one\ntwo\nth";
};

TEST_F(FilterVerbsTest, AnErrorInTheMiddleOfStandardInputLeavesNoFilter) {
  for (const char* kind : {"blocked", "scalable", "static"}) {
    FailingInput failing;
    std::istream in(&failing);
    std::ostringstream out, err;
    const char* argv[] = {"sepal", "filter", "build", "-o", filter_.c_str(), "--kind", kind};
    EXPECT_EQ(SepalMain(static_cast<int>(std::size(argv)), argv, in, out, err), kExitError);
    EXPECT_TRUE(Has(err.str(), "standard input could not be read to its end")) << err.str();
    EXPECT_FALSE(std::filesystem::exists(filter_)) << kind;
  }
}

TEST_F(FilterVerbsTest, AMergedFilterIsThatOfAllKeys) {
  const std::string one = directory_.File("one"), two = directory_.File("two"), all = directory_.File("all");
  const auto build = [&](const std::string& words, const std::string& output) {
    ASSERT_EQ(RunSepal({"filter", "build", words, "-o", output, "--keys", "4000"}).exit, kExitOk);
  };
  build(WriteWords("words1", 0, 1000), one);
  build(WriteWords("words2", 1000, 4000), two);
  build(WriteWords("words", 0, 4000), all);
  ASSERT_EQ(RunSepal({"filter", "merge", one, two, "-o", filter_}).exit, kExitOk);
  EXPECT_EQ(Slurp(filter_), Slurp(all));
  // The output may be one of what is merged.
  ASSERT_EQ(RunSepal({"filter", "merge", one, two, "-o", one}).exit, kExitOk);
  EXPECT_EQ(Slurp(one), Slurp(all));
}

TEST_F(FilterVerbsTest, AFilterThatIsOverfilledIsToldOf) {
  const Outcome overfull = RunSepal({"filter", "build", WriteWords("words", 0, 3000), "-o", filter_, "--keys", "1000"});
  EXPECT_EQ(overfull.exit, kExitOk);
  EXPECT_TRUE(Has(overfull.err, "note: 3000 keys came, and --keys is 1000: the rate of false positives is 0."))
      << overfull.err;
  EXPECT_TRUE(Has(overfull.err, "and not 0.01")) << overfull.err;
  EXPECT_EQ(RunSepal({"filter", "build", WriteWords("few", 0, 900), "-o", filter_, "--keys", "1000"}).err, "");
}

TEST_F(FilterVerbsTest, AFilterThatTheMachineCannotHoldIsRefusedBeforeItIsMade) {
  const auto memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (memory > uint64_t{400} << 30) GTEST_SKIP() << "this machine can";
  for (const char* kind : {"blocked", "counting", "fingerprints", "scalable"}) {
    const Outcome refused =
        RunSepal({"filter", "build", "-o", filter_, "--kind", kind, "--keys", "180G", "--rate", "0.01"}, "a\n");
    EXPECT_NE(refused.exit, kExitOk) << kind;
    EXPECT_TRUE(Has(refused.err, "is too large") || Has(refused.err, "but the machine has")) << kind << refused.err;
    EXPECT_FALSE(std::filesystem::exists(filter_)) << kind;
  }
}

TEST_F(FilterVerbsTest, ASketchIsDescribedAndNotAsked) {
  filters::AnyFilter sketch = filters::HyperLogLog::Create().value();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(filters::Add(&sketch, Key(i)).ok());
  std::ofstream(filter_, std::ios::binary) << filters::Serialize(sketch);
  const nlohmann::json info = LastJson(RunSepal({"filter", "info", filter_, "--json"}).out);
  EXPECT_NEAR(info.at("estimated_keys").get<double>(), 1000, 50);
  EXPECT_FALSE(info.contains("rate"));
  EXPECT_TRUE(Has(RunSepal({"filter", "info", filter_}).out, "precision       14\n"));
  const Outcome asked = RunSepal({"filter", "test", filter_}, "key0001\n");
  EXPECT_EQ(asked.exit, kExitError);
  EXPECT_EQ(asked.out, "");
  EXPECT_TRUE(Has(asked.err, "cannot say which keys it has seen; sepal filter info")) << asked.err;
  EXPECT_EQ(RunSepal({"filter", "merge", filter_, filter_, "-o", filter_}).exit, kExitOk);
}

TEST_F(FilterVerbsTest, ADatabaseIsKnownWhereFileIsGiven) {
  MakeDatabase();
  const std::string other = directory_.File("other.filter"), empty = directory_.File("empty");
  ASSERT_EQ(RunSepal({"filter", "build", "--from-db", db_, "-o", filter_}).exit, kExitOk);
  const Outcome built = RunSepal({"filter", "build", db_, "-o", other, "--family", "default"});
  ASSERT_EQ(built.exit, kExitOk) << built.err;
  EXPECT_EQ(Slurp(other), Slurp(filter_));
  // Another directory holds no keys.
  std::filesystem::create_directory(empty);
  EXPECT_EQ(RunSepal({"filter", "build", empty, "-o", other}).exit, kExitError);
  EXPECT_EQ(RunSepal({"filter", "build", WriteWords("words", 0, 3), "-o", other, "--prefix", "k"}).exit, kExitUsage);
}

TEST_F(FilterVerbsTest, ADamagedDatabaseGivesNoFilterAndSaysWhatToDo) {
  MakeDatabase();
  FlipByte(Files(".sst").front(), 0.3);
  for (const std::vector<std::string>& from : {std::vector<std::string>{"--from-db", db_}, {db_}}) {
    std::vector<std::string> arguments = {"filter", "build", "-o", filter_};
    arguments.insert(arguments.end(), from.begin(), from.end());
    const Outcome damaged = RunSepal(arguments);
    EXPECT_EQ(damaged.exit, kExitDamage);
    EXPECT_TRUE(Has(damaged.err, "sepal db repair " + db_ + " --dry-run")) << damaged.err;
    EXPECT_FALSE(std::filesystem::exists(filter_));
  }
}

TEST_F(FilterVerbsTest, ThePlotHasWhatWasMeasuredBesideTheory) {
  const std::string picture = directory_.File("plot.svg");
  const Outcome plotted = RunSepal({"filter", "plot", "-o", picture, "--keys", "2000", "--lookups", "50000", "--json"});
  ASSERT_EQ(plotted.exit, kExitOk) << plotted.err;
  const nlohmann::json result = LastJson(plotted.out);
  size_t compared = 0;
  for (const nlohmann::json& point : result.at("points")) {
    const double expected = point.at("theory").get<double>() * 50000;
    // Chance, that of which keys are in the filter, too, and what the formula leaves out.
    EXPECT_NEAR(point.at("false_positives").get<double>(), expected, 6 * std::sqrt(expected) + 0.1 * expected + 3)
        << point;
    compared += expected > 1000;
  }
  EXPECT_GT(compared, 20u);
  const std::string svg = Slurp(picture);
  for (const char* part : {"<svg xmlns=", "class=\"theory blocked\"", "class=\"theory bloom\"",
                           "class=\"theory partitioned\"", "hashes: 0.", "</svg>"}) {
    EXPECT_TRUE(Has(svg, part)) << part;
  }
  EXPECT_FALSE(Has(svg, "nan") || Has(svg, "inf")) << svg;
  const Outcome one =
      RunSepal({"filter", "plot", "-o", picture, "--kind", "bloom", "--lookups", "1000", "--keys", "1"});
  EXPECT_EQ(one.exit, kExitOk) << one.err;
  EXPECT_FALSE(Has(Slurp(picture), "theory blocked"));
}

}  // namespace
}  // namespace sepal::tools
