// Runs one scenario of an engine script on a whole small database, with what it writes in one place.
//
// A scenario is written once and holds wherever its entries lie: the runner moves what a paragraph wrote to its place
// before the next read, and at the paragraph's end. The lines of a paragraph are commands; the answer of a paragraph is
// what its commands say, in order. Writes that succeed say nothing. tests/scripts/README.md lists the commands.
//
// To add a kind of entry: a line in `kCommands` (commands.cc), the function that writes it, and its text in
// `AddToBatch`; what reads answer needs no new code.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/db/engine/test_database.h"

namespace sepal {

// Where the entries lie when they are read.
enum class EntryPlace : uint8_t {
  kMemory,     // in memtables
  kLevel0,     // in level 0, what each paragraph writes in a run of its own
  kLastLevel,  // in the last level
  kSpread,     // the first paragraph's in the last level, the second's in level 0, the third's in memory, and so on
  kSnapshot,  // in memory; at the end, once all has been overwritten and compacted, the reads are made again as of then
  kReopened,  // where closing and opening leaves them
  kRepaired,  // where a repair puts them that finds no manifest after the process was killed
};
inline constexpr EntryPlace kAllPlaces[] = {EntryPlace::kMemory,  EntryPlace::kLevel0,   EntryPlace::kLastLevel,
                                            EntryPlace::kSpread,  EntryPlace::kSnapshot, EntryPlace::kReopened,
                                            EntryPlace::kRepaired};
// As scripts name it.
std::string_view Name(EntryPlace place);

// One command: its words, and the family that stands before it ("one: put a 1").
struct ScriptLine {
  static ScriptLine Parse(const std::string& text);

  std::string text = {};
  std::string family = {};
  std::string name = {};
  std::vector<std::string> words = {};

  // Takes the word away; false if it is not there.
  bool TakeWord(std::string_view word) {
    const auto it = std::find(words.begin(), words.end(), word);
    if (it == words.end()) return false;
    words.erase(it);
    return true;
  }
  // Takes the word and the one behind it away.
  std::optional<std::string> TakePair(std::string_view word) {
    const auto it = std::find(words.begin(), words.end(), word);
    if (it == words.end() || it + 1 == words.end()) return std::nullopt;
    std::string value = *(it + 1);
    words.erase(it, it + 2);
    return value;
  }
  std::string Word(size_t i) const { return i < words.size() ? words[i] : ""; }
  uint64_t Number(size_t i) const { return i < words.size() ? std::stoull(words[i]) : 0; }
};

class ScriptRunner {
 public:
  // `settings` as those of the command "set", or "unopened".
  ScriptRunner(EntryPlace place, const std::vector<std::string>& settings);

  // The answer of a paragraph.
  std::string Run(const std::vector<std::string>& lines);
  // Overwrites or deletes all that was written and writes more beside it, and makes the reads again whose snapshots are
  // still held, which must answer as they did; empty if they do.
  std::string End();

  // The rest is for the commands.

  // What reads can be made as of: a snapshot, an iterator or a read-only view of the same files.
  struct View {
    std::shared_ptr<const Snapshot> snapshot;
    std::unique_ptr<Iterator> iterator;
    std::unique_ptr<DB> reader;
  };

  DB* db() { return database.db.get(); }
  // Null for a name that is unknown.
  const ColumnFamily* FamilyOf(const ScriptLine& line) const;
  // The same; the default one if there is none.
  const ColumnFamily& Named(const ScriptLine& line) const { return FamilyOrDefault(database.db.get(), FamilyOf(line)); }
  std::vector<std::string> FilesWith(std::string_view part);
  void RemoveFile(const std::string& name);
  // Opens, and finds the families.
  absl::Status OpenDatabase();
  // Moves what was written since the last time to its place.
  void MoveToPlace();
  // Expects that the reads whose snapshots are still held answer as they did: what comes next ends the snapshots.
  void EndSnapshots() { EXPECT_EQ(ReadAgain(), "") << "as of snapshots"; }

  TestDatabase database;
  std::map<std::string, std::shared_ptr<ColumnFamily>> families;  // handles of dropped ones too, while it is open
  std::map<std::string, View> views;
  std::set<std::pair<std::string, std::string>> written;  // family and key
  const Snapshot* as_of = nullptr;                        // set while reads are made again

 private:
  struct PastRead {
    std::string line;
    std::shared_ptr<const Snapshot> snapshot;
    std::string answer;
  };

  std::string RunLine(const std::string& text);
  void RepairWithoutManifest();
  // Makes the past reads again and forgets them. Those that answer otherwise.
  std::string ReadAgain();

  const EntryPlace place_;
  std::vector<PastRead> past_reads_;
  bool dirty_ = false;  // written since it was moved
  int moves_ = 0;
};

enum class CommandKind : uint8_t {
  kWrite,
  kRead,    // what it reads is moved to its place first, and it is made again as of a snapshot
  kOther,   // of an open database
  kOfFiles  // also of one that is not open
};

struct EngineCommand {
  std::string_view name;
  CommandKind kind;
  // Answers in whole lines.
  std::string (*run)(ScriptRunner* runner, ScriptLine* line);
};

std::span<const EngineCommand> EngineCommands();

}  // namespace sepal
