// The fixture of tests of the sepal command: running it, a database, its files.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "tests/tools/temporary_directory.h"
#include "tools/sepal/sepal_command.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"

namespace sepal::tools {

inline Outcome RunSepal(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), "sepal");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  std::istringstream in(input);
  std::ostringstream out, err;
  Outcome outcome;
  outcome.exit = SepalMain(static_cast<int>(argv.size()), argv.data(), in, out, err);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// The last line of an output: the verb's own object.
inline nlohmann::json LastJson(const std::string& out) {
  nlohmann::json last;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) last = nlohmann::json::parse(line);
  return last;
}

inline bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::vector<std::string> WordsOf(const VerbEntry& verb) {
  std::vector<std::string> words;
  std::istringstream name{std::string(verb.name)};
  for (std::string word; name >> word;) words.push_back(word);
  return words;
}

inline std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

inline bool HaveProgram(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

inline std::string Key(int i) { return absl::StrFormat("key%04d", i); }

class SepalCommandTest : public testing::Test {
 protected:
  SepalCommandTest() : db_(directory_.File("db")) {}

  // Tables in two runs, and something in the log.
  void MakeDatabase() {
    Options options{.create_if_missing = true, .memory_limit = size_t{8} << 20};
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, db_);
    ASSERT_TRUE(db.ok()) << db.status();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE((*db)->Put(Key(i), "first").ok());
    ASSERT_TRUE((*db)->Flush().ok());
    for (int i = 0; i < 100; ++i) ASSERT_TRUE((*db)->Put(Key(i), "second").ok());
    ASSERT_TRUE((*db)->Flush().ok());
    ASSERT_TRUE((*db)->Put("in the log", "third").ok());
    ASSERT_TRUE((*db)->Close().ok());
  }

  // Families "default" and "f", one that was dropped, tables that were merged, keys that are no text, and every kind of
  // update in the log.
  void MakeRichDatabase() {
    const std::unique_ptr<DB> db = DB::Open({.create_if_missing = true, .memory_limit = size_t{8} << 20}, db_).value();
    const std::shared_ptr<ColumnFamily> f = db->CreateColumnFamily("f").value();
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(db->Put(Key(i), "v" + std::to_string(round)).ok());
        ASSERT_TRUE(db->Put(*f, Key(i), "of f").ok());
      }
      ASSERT_TRUE(db->Flush().ok());
      ASSERT_TRUE(db->Flush(*f).ok());
    }
    ASSERT_TRUE(db->CompactRange().ok());
    const std::shared_ptr<ColumnFamily> dropped = db->CreateColumnFamily("dropped").value();
    ASSERT_TRUE(db->Put(*dropped, "k", "v").ok());
    ASSERT_TRUE(db->Flush(*dropped).ok());
    ASSERT_TRUE(db->DropColumnFamily(*dropped).ok());
    ASSERT_TRUE(db->Delete(Key(7)).ok());
    ASSERT_TRUE(db->Put("\x01\xff", "\x02\xfe").ok());
    ASSERT_TRUE(db->Put("\xff\xff", "last").ok());
    ASSERT_TRUE(db->Put("", "empty key").ok());
    ASSERT_TRUE(db->Close().ok());
  }

  std::vector<std::string> Files(const std::string& extension) const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(db_)) {
      if (entry.path().extension() == extension) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  // The words of a command line, in which DB means the database, TABLE its first table and DIR the directory of the
  // test.
  std::vector<std::string> Words(const std::string& line) const {
    std::vector<std::string> words;
    std::istringstream text(line);
    for (std::string word; text >> word;) {
      if (word == "TABLE") word = Files(".sst").front();
      if (word == "DB") word = db_;
      if (word.starts_with("DIR/")) word = directory_.path() + word.substr(3);
      words.push_back(word);
    }
    return words;
  }
  Outcome RunLine(const std::string& line) const { return RunSepal(Words(line)); }
  // Each of the command lines ends with `exit` and an error that holds `part`, and prints nothing.
  void ExpectRefused(std::initializer_list<const char*> lines, int exit, const std::string& part) const {
    for (const char* const line : lines) {
      const Outcome outcome = RunLine(line);
      EXPECT_EQ(outcome.exit, exit) << line << ": " << outcome.out;
      EXPECT_TRUE(Has(outcome.err, part)) << line << ": " << outcome.err;
      EXPECT_EQ(outcome.out, "") << line;
    }
  }

  // Every file with a hash of its contents and its time of change.
  std::set<std::string> State() const { return StateOf(db_); }
  static std::set<std::string> StateOf(const std::string& directory, const std::string& except = "") {
    std::set<std::string> state;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const std::string name = entry.path().filename();
      if (name == except) continue;
      state.insert(absl::StrFormat("%s %x %d", name, std::hash<std::string>()(Slurp(entry.path())),
                                   entry.last_write_time().time_since_epoch().count()));
    }
    return state;
  }

  static void FlipByte(const std::string& path, double where) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto offset = static_cast<std::streamoff>(where * static_cast<double>(std::filesystem::file_size(path)));
    file.seekg(offset);
    const char byte = static_cast<char>(file.get());
    file.seekp(offset);
    file.put(static_cast<char>(byte ^ 0x10));
  }

  TemporaryDirectory directory_;
  const std::string db_;
};

class ImportVerbTest : public SepalCommandTest {
 protected:
  const std::string old_ = directory_.File("old");
  const std::string new_ = directory_.File("new");

  // Checks that nothing of an import is left.
  void ExpectNothingLeft() const {
    EXPECT_FALSE(std::filesystem::exists(new_));
    EXPECT_FALSE(std::filesystem::exists(new_ + ".part"));
  }
};

}  // namespace sepal::tools
