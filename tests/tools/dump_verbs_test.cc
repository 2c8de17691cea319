// sepal dump and load: whatever is in a database comes back, and what is damaged is refused.
#include <gmock/gmock.h>

#include <random>

#include "tests/tools/sepal_command_fixture.h"
#include "tools/sepal/dump_format.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

using ::testing::HasSubstr;

const std::string kOdd("\0\t\n\r\\ \x7f\xff\xc3\xa9", 10);

class DumpVerbsTest : public SepalCommandTest {
 protected:
  // Of all families: "family/key=value;".
  static std::string ContentsOf(const std::string& path) {
    const std::unique_ptr<DB> db = DB::Open({.read_only = true}, path).value();
    std::string contents;
    for (const std::string& name : db->ColumnFamilyNames()) {
      const std::shared_ptr<ColumnFamily> family = db->FindColumnFamily(name).value();
      const std::unique_ptr<Iterator> it = db->NewIterator(*family);
      contents += name + "/";
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        (contents += it->key()).append("=").append(it->value()).append(";");
      }
    }
    return contents;
  }
  void MakeOddDatabase() const {
    const std::unique_ptr<DB> db = DB::Open({.create_if_missing = true}, db_).value();
    const std::shared_ptr<ColumnFamily> odd = db->CreateColumnFamily("odd " + kOdd.substr(1)).value();
    ASSERT_TRUE(db->CreateColumnFamily("empty").ok());
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; ++i) {
      std::string bytes(random() % 40, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      ASSERT_TRUE(db->Put(i % 2 == 0 ? db->DefaultColumnFamily() : *odd, bytes, kOdd + bytes).ok());
    }
    ASSERT_TRUE(db->Put("", "").ok());
    ASSERT_TRUE(db->Put(kOdd, std::string(300'000, 'x')).ok());
    ASSERT_TRUE(db->Put("# no comment", " ").ok());
  }
  // The lines of a text, and the text of lines.
  static std::vector<std::string> Lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  static std::string Joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  std::string new_ = directory_.File("new");
};

TEST_F(DumpVerbsTest, BytesAreAsDocumented) {
  std::ostringstream text, binary;
  for (const DumpFormat format : {DumpFormat::kText, DumpFormat::kBinary}) {
    DumpWriter writer(format, format == DumpFormat::kText ? text : binary);
    writer.Family("default");
    writer.Entry(std::string("\0\xff", 2), "tab\there");
    writer.Entry("user:1", "Ada");
    writer.Family("caf\xc3\xa9\n");
    writer.Entry("large", std::string(size_t{256} << 10, 'x'));
    writer.End();
  }
  const std::string large(size_t{256} << 10, 'x');
  EXPECT_EQ(text.str(),
            "sepal-dump 1 text\n"
            "family default\n"
            " \\x00\\xff\ttab\\x09here\n"
            " user:1\tAda\n"
            "family caf\xc3\xa9\\x0a\n"
            " large\t" +
                large +
                "\n"
                "check c1e8a39fc0025e47\n"
                "end 3 c1e8a39fc0025e47\n");
  const std::string sum = "\x47\x5e\x02\xc0\x9f\xa3\xe8\xc1";
  EXPECT_EQ(binary.str(), std::string("sepal-dump 1 binary\n"
                                      "F\x07"
                                      "default"
                                      "E\x02\0\xff\x08tab\there"
                                      "E\x06user:1\x03"
                                      "Ada"
                                      "F\x06"
                                      "caf\xc3\xa9\n"
                                      "E\x05large\x80\x80\x10",
                                      20 + 9 + 13 + 12 + 8 + 10) +
                              large + "C" + sum + "Z\x03" + sum);
}

TEST_F(DumpVerbsTest, BytesOfEntriesThatExpireAreAsDocumented) {
  std::ostringstream text, binary;
  for (const DumpFormat format : {DumpFormat::kText, DumpFormat::kBinary}) {
    DumpWriter writer(format, format == DumpFormat::kText ? text : binary);
    writer.Family("f");
    writer.Entry("k", "v", 0x0102);
    writer.End();
  }
  const std::string sum = text.str().substr(text.str().size() - 17, 16);
  std::string fixed;
  PutFixed64(&fixed, std::stoull(sum, nullptr, 16));
  EXPECT_EQ(text.str(), "sepal-dump 1 text\nfamily f\nexpires 258 k\tv\nend 1 " + sum + "\n");
  EXPECT_EQ(ToHex(binary.str().substr(20)), "460166580201000000000000016b01765a01" + ToHex(fixed));
}

TEST_F(DumpVerbsTest, TimesAtWhichKeysExpireComeBack) {
  using std::chrono::hours;
  const auto soon = std::chrono::system_clock::now() + hours(1);
  {
    Options options;
    options.create_if_missing = true;
    const std::unique_ptr<DB> db = DB::Open(options, db_).value();
    ASSERT_TRUE(db->Put("stays", "1").ok());
    ASSERT_TRUE(db->Put("goes", "2", {.expires_at = soon}).ok());
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Put("late", "3", {.expires_at = std::chrono::system_clock::time_point::max()}).ok());
  }
  for (const std::string format : {"text", "binary"}) {
    const std::string dump = RunSepal({"dump", db_, "--format", format}).out;
    const std::string target = directory_.File("new " + format);
    ASSERT_EQ(RunSepal({"load", target}, dump).exit, kExitOk);
    EXPECT_EQ(RunSepal({"dump", target, "--format", format}).out, dump);
    const std::unique_ptr<DB> db = DB::Open({}, target).value();
    const GetExplanation goes = db->ExplainGet("goes").value();
    EXPECT_EQ(goes.expires_at, std::chrono::floor<std::chrono::milliseconds>(soon));
    EXPECT_FALSE(db->ExplainGet("stays")->expires_at.has_value());
    EXPECT_TRUE(db->ExplainGet("late")->expires_at.has_value());
  }
  // What has expired until then is left out, and counted.
  const std::string old = "sepal-dump 1 text\nfamily default\nexpires 1000 k\tv\n l\tw\nend - -\n";
  const Outcome loaded = RunSepal({"load", new_}, old);
  EXPECT_THAT(loaded.out, HasSubstr("loaded 1 entry, 2 B, of 1 column family; 1 had expired"));
  EXPECT_EQ(ContentsOf(new_), "default/l=w;");
  for (const std::string line : {"expires 0 k\tv", "expires k\tv", "expires 5", "expires 281474976710656 k\tv"}) {
    const Outcome refused =
        RunSepal({"load", new_ + "2"}, "sepal-dump 1 text\nfamily default\n" + line + "\nend - -\n");
    EXPECT_EQ(refused.exit, kExitDamage) << line << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("line 3")) << line;
  }
}

TEST_F(DumpVerbsTest, EveryByteComesBackInBothForms) {
  MakeOddDatabase();
  const std::string contents = ContentsOf(db_);
  for (const std::string format : {"text", "binary"}) {
    const std::string file = directory_.File(format), target = directory_.File("new " + format);
    const Outcome dumped = RunSepal({"dump", db_, "--output", file, "--format", format});
    ASSERT_EQ(dumped.exit, kExitOk) << dumped.err;
    EXPECT_TRUE(Has(dumped.out, file + ": 2003 entries, ") || Has(dumped.out, " entries, ")) << dumped.out;
    EXPECT_EQ(RunSepal({"dump", db_, "--format", format}).out, Slurp(file));
    const Outcome loaded = RunSepal({"load", target, file});
    ASSERT_EQ(loaded.exit, kExitOk) << loaded.err;
    EXPECT_TRUE(Has(loaded.err, "created a new database")) << loaded.err;
    EXPECT_EQ(ContentsOf(target), contents);
    // By standard input, with the least memory.
    const Outcome piped = RunSepal({"load", target + "2", "--memory-limit", "8MiB", "--json"}, Slurp(file));
    ASSERT_EQ(piped.exit, kExitOk) << piped.err;
    EXPECT_EQ(LastJson(piped.out).at("column_families"), 3);
    EXPECT_EQ(ContentsOf(target + "2"), contents);
    EXPECT_EQ(RunSepal({"dump", target, "--format", format}).out, Slurp(file));
  }
}

TEST_F(DumpVerbsTest, AFamilyOrARangeIsDumpedByItself) {
  MakeDatabase();
  ASSERT_EQ(RunSepal({"family", "create", db_, "a"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", db_, "k", "v", "--family", "a"}).exit, kExitOk);
  EXPECT_THAT(RunSepal({"dump", db_, "--family", "a"}).out, HasSubstr("family a\n k\tv\nend 1 "));
  const std::string some = RunSepal({"dump", db_, "--from", "key0998", "--prefix", "key"}).out;
  EXPECT_THAT(some, HasSubstr("family default\n key0998\tfirst\n key0999\tfirst\nfamily a\nend 2 "));
  EXPECT_EQ(RunSepal({"dump", db_, "--hex", "--from", ToHex("key0998"), "--prefix", ToHex("key")}).out, some);
  EXPECT_EQ(RunSepal({"dump", db_, "--family", "none"}).exit, kExitError);
}

TEST_F(DumpVerbsTest, ADumpThatIsCutShortOrDamagedAnywhereIsRefusedAndNothingIsLeft) {
  ASSERT_EQ(RunSepal({"db", "put", db_, "key", "value"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"family", "create", db_, "b"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", db_, "a\xff", "\\", "--family", "b"}).exit, kExitOk);
  const std::string file = directory_.File("damaged");
  for (const std::string format : {"text", "binary"}) {
    const std::string whole = RunSepal({"dump", db_, "--format", format}).out;
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const bool cut : {true, false}) {
        std::string damaged = whole;
        if (cut) {
          damaged.resize(at);
        } else {
          damaged[at] = static_cast<char>(damaged[at] ^ 1);
        }
        std::istringstream in(damaged);
        DumpReader reader(in);
        absl::Status status = reader.Open();
        for (bool end = false; status.ok() && !end;) {
          const absl::StatusOr<DumpPart> part = reader.Next();
          status = part.status();
          end = part.ok() && *part == DumpPart::kEnd;
        }
        EXPECT_FALSE(status.ok()) << format << at;
        // The command is slower.
        if (at % 17 != 0) continue;
        std::ofstream(file, std::ios::binary) << damaged;
        const Outcome refused = at % 2 == 0 ? RunSepal({"load", new_, file}) : RunSepal({"load", new_}, damaged);
        EXPECT_NE(refused.exit, kExitOk) << format << at;
        EXPECT_TRUE(Has(refused.err, "dump")) << refused.err;
        EXPECT_FALSE(std::filesystem::exists(new_)) << format << at;
      }
    }
  }
}

TEST_F(DumpVerbsTest, DamageIsNamedWithItsLineAndWhatToDo) {
  MakeDatabase();
  std::vector<std::string> lines = Lines(RunSepal({"dump", db_}).out);
  const auto refusal = [&](const std::vector<std::string>& changed) {
    const Outcome outcome = RunSepal({"load", new_}, Joined(changed));
    EXPECT_EQ(outcome.exit, kExitDamage) << outcome.err;
    EXPECT_FALSE(Has(outcome.err, "db repair")) << outcome.err;
    return outcome.err;
  };
  std::vector<std::string> changed = lines;
  changed.resize(500);
  EXPECT_THAT(refusal(changed), HasSubstr("damaged at line 501: it ends here, before its last line (\"end\")"));
  EXPECT_THAT(refusal(changed), HasSubstr("dump again"));
  changed = lines;
  changed[7] = " no tab";
  EXPECT_THAT(refusal(changed), HasSubstr("at line 8: an entry without a tab"));
  changed[7] = " a\\q\tb";
  EXPECT_THAT(refusal(changed), HasSubstr("at line 8: the entry has a \\ that begins no escape"));
  changed[7] = "what";
  EXPECT_THAT(refusal(changed), HasSubstr("at line 8: this is no entry"));
  changed[7] = lines[7] + "x";
  EXPECT_THAT(refusal(changed), HasSubstr("the checksum here is"));
  changed = lines;
  changed.erase(changed.begin() + 7);
  EXPECT_THAT(refusal(changed), HasSubstr("it says that there are 1001 entries, and there are 1000"));
  changed = lines;
  changed.insert(changed.begin() + 1, " k\tv");
  EXPECT_THAT(refusal(changed), HasSubstr("at line 2: an entry before the first column family"));
  changed = lines;
  changed.emplace_back("more");
  EXPECT_THAT(refusal(changed), HasSubstr("something follows its end"));

  EXPECT_THAT(RunSepal({"load", new_}, "key\tvalue\n").err, HasSubstr("this is no dump"));
  EXPECT_THAT(RunSepal({"load", new_}, "").err, HasSubstr("this is no dump"));
  EXPECT_THAT(RunSepal({"load", new_}, "sepal-dump 2 text\n").err, HasSubstr("a newer version"));
}

TEST_F(DumpVerbsTest, ATextThatWasChangedOnPurposeSaysSo) {
  const Outcome loaded = RunSepal({"load", new_},
                                  "sepal-dump 1 text\r\n"
                                  "# by hand\r\n"
                                  "\r\n"
                                  "family default\r\n"
                                  " a\t1\r\n"
                                  "family b\r\n"
                                  "family default\r\n"
                                  " b\t\\x32\r\n"
                                  "end - -\r\n");
  EXPECT_EQ(loaded.exit, kExitOk) << loaded.err;
  EXPECT_EQ(ContentsOf(new_), "default/a=1;b=2;b/");
}

TEST_F(DumpVerbsTest, FamiliesWithEntriesAreLeftAloneUnlessThatIsSaid) {
  MakeDatabase();
  const std::string file = directory_.File("dump");
  ASSERT_EQ(RunSepal({"dump", db_, "--output", file}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", db_, "key0000", "changed"}).exit, kExitOk);
  ASSERT_EQ(RunSepal({"db", "put", db_, "key9999", "more"}).exit, kExitOk);
  const std::string before = ContentsOf(db_);
  for (const Outcome& refused : {RunSepal({"load", db_, file}), RunSepal({"load", db_, "-"}, Slurp(file))}) {
    EXPECT_EQ(refused.exit, kExitError);
    EXPECT_THAT(refused.err, HasSubstr("\"default\" has entries already; --into-existing"));
  }
  EXPECT_EQ(ContentsOf(db_), before);
  EXPECT_EQ(RunSepal({"load", db_, file, "--into-existing"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"db", "get", db_, "key0000"}).out, "second");
  EXPECT_EQ(RunSepal({"db", "get", db_, "key9999"}).out, "more");
}

TEST_F(DumpVerbsTest, OfADamagedDumpOnStandardInputAnExistingDatabaseTellsWhatWasLoaded) {
  ASSERT_EQ(RunSepal({"db", "open", db_, "--create"}).exit, kExitOk);
  std::string dump = "sepal-dump 1 text\nfamily default\n a\t" + std::string(300'000, 'x') + "\n";
  std::ostringstream sum;
  DumpWriter writer(DumpFormat::kText, sum);
  writer.Family("default");
  writer.Entry("a", std::string(300'000, 'x'));
  dump = sum.str() + " b\t1\n";
  const Outcome cut = RunSepal({"load", db_}, dump);
  EXPECT_EQ(cut.exit, kExitDamage);
  EXPECT_THAT(cut.err, HasSubstr("; 1 entry before that was loaded"));
  // As a file nothing is.
  const std::string file = directory_.File("dump");
  std::ofstream(file, std::ios::binary) << dump;
  ASSERT_EQ(RunSepal({"db", "delete", db_, "a"}).exit, kExitOk);
  EXPECT_EQ(RunSepal({"load", db_, file}).exit, kExitDamage);
  EXPECT_EQ(ContentsOf(db_), "default/");
}

TEST_F(DumpVerbsTest, WhatIsAskedForWronglyIsRefused) {
  MakeDatabase();
  EXPECT_EQ(RunSepal({"dump", db_, "--json"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"dump", db_, "--format", "xml"}).exit, kExitUsage);
  EXPECT_EQ(RunSepal({"dump", directory_.File("none")}).exit, kExitError);
  EXPECT_EQ(RunSepal({"load", new_, directory_.File("none")}).exit, kExitError);
  EXPECT_EQ(RunSepal({"load", new_, directory_.path()}).exit, kExitError);
  EXPECT_FALSE(std::filesystem::exists(new_));
  const Outcome nowhere = RunSepal({"dump", db_, "--output", directory_.File("none/dump")});
  EXPECT_EQ(nowhere.exit, kExitError);
  EXPECT_THAT(nowhere.err, HasSubstr("--output"));
  const Outcome json = RunSepal({"dump", db_, "--output", directory_.File("dump"), "--json"});
  EXPECT_EQ(LastJson(json.out).at("entries"), 1001);
}

}  // namespace
}  // namespace sepal::tools
