#include "tests/scripts/runner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "db/doctor/repair.h"
#include "tests/scripts/reads.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// Words between blanks; one in quotes is taken as it is, and may be empty or hold blanks.
std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    const bool quoted = text[i] == '"';
    const size_t begin = quoted ? i + 1 : i;
    const size_t end = std::min(text.find(quoted ? '"' : ' ', begin), text.size());
    words.push_back(quoted ? std::string(text.substr(begin, end - begin)) : Meant(text.substr(begin, end - begin)));
    i = end + (quoted ? 1 : 0);
  }
  return words;
}

// Nothing is written to a level by itself: only commands and the place of the entries do that.
Tuning CalmTuning() {
  Tuning tuning = SmallTuning();
  tuning.memtable_bytes = size_t{1} << 20;
  tuning.memtable_limit_bytes = size_t{4} << 20;
  tuning.log_limit_bytes = uint64_t{4} << 20;
  tuning.runs_per_level = 100;
  tuning.manifest_limit_bytes = uint64_t{1} << 20;
  return tuning;
}

// A family that a script has dropped has its handle, and no place for its entries.
void ExpectOkOrDropped(const absl::Status& status) {
  EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
}

}  // namespace

ScriptLine ScriptLine::Parse(const std::string& text) {
  ScriptLine line{.text = text, .words = WordsOf(text)};
  if (!line.words.empty() && line.words[0].ends_with(':')) {
    line.family = line.words[0].substr(0, line.words[0].size() - 1);
    line.words.erase(line.words.begin());
  }
  if (line.words.empty()) return line;
  line.name = line.words[0];
  line.words.erase(line.words.begin());
  return line;
}

std::string_view Name(EntryPlace place) {
  switch (place) {
    case EntryPlace::kMemory:
      return "memory";
    case EntryPlace::kLevel0:
      return "level 0";
    case EntryPlace::kLastLevel:
      return "last level";
    case EntryPlace::kSpread:
      return "spread";
    case EntryPlace::kSnapshot:
      return "snapshot";
    case EntryPlace::kReopened:
      return "reopened";
    case EntryPlace::kRepaired:
      return "repaired";
  }
  return "unknown";
}

ScriptRunner::ScriptRunner(EntryPlace place, const std::vector<std::string>& settings) : place_(place) {
  database.tuning = CalmTuning();
  bool opens = true;
  for (const std::string& setting : settings) {
    if (setting == "unopened") {
      opens = false;
    } else {
      EXPECT_EQ(RunLine("set " + setting), "");
    }
  }
  if (!opens) return;
  const absl::Status opened = OpenDatabase();
  EXPECT_TRUE(opened.ok()) << opened;
}

std::string ScriptRunner::Run(const std::vector<std::string>& lines) {
  std::string answer;
  for (const std::string& text : lines) answer += RunLine(text);
  MoveToPlace();
  return answer;
}

std::string ScriptRunner::RunLine(const std::string& text) {
  ScriptLine line = ScriptLine::Parse(text);
  const std::span<const EngineCommand> commands = EngineCommands();
  const auto command =
      std::find_if(commands.begin(), commands.end(), [&](const EngineCommand& c) { return c.name == line.name; });
  if (command == commands.end()) return "no such command: " + line.name + "\n";
  if (db() == nullptr && command->kind != CommandKind::kOfFiles) return "not open\n";
  if (!line.family.empty() && FamilyOf(line) == nullptr)
    return ShownStatus(db()->FindColumnFamily(line.family).status()) + "\n";
  if (command->kind == CommandKind::kWrite) dirty_ = true;
  if (command->kind == CommandKind::kRead) MoveToPlace();
  const bool of_a_view = std::find(line.words.begin(), line.words.end(), "at") != line.words.end();
  std::string answer = command->run(this, &line);
  if (place_ == EntryPlace::kSnapshot && command->kind == CommandKind::kRead && !of_a_view && as_of == nullptr) {
    past_reads_.push_back({.line = text, .snapshot = db()->GetSnapshot(), .answer = answer});
  }
  return answer;
}

const ColumnFamily* ScriptRunner::FamilyOf(const ScriptLine& line) const {
  const auto family = families.find(line.family);
  return family == families.end() ? nullptr : family->second.get();
}

std::vector<std::string> ScriptRunner::FilesWith(std::string_view part) {
  std::vector<std::string> names = FilesIn(&database.memory, database.path);
  std::erase_if(names, [&](const std::string& name) { return name.find(part) == std::string::npos; });
  return names;
}

void ScriptRunner::RemoveFile(const std::string& name) {
  const auto directory = database.memory.OpenDirectory(database.path, /*create=*/false);
  EXPECT_TRUE(directory.ok() && (*directory)->Remove(name).ok()) << name;
}

void ScriptRunner::MoveToPlace() {
  if (!dirty_ || as_of != nullptr || db() == nullptr) return;
  dirty_ = false;
  const bool to_last_level = place_ == EntryPlace::kLastLevel || (place_ == EntryPlace::kSpread && moves_ % 3 == 0);
  const bool to_level_0 = place_ == EntryPlace::kLevel0 || (place_ == EntryPlace::kSpread && moves_ % 3 == 1);
  ++moves_;
  for (const auto& [name, family] : families) {
    if (to_level_0) ExpectOkOrDropped(db()->Flush(*family));
    if (to_last_level) ExpectOkOrDropped(db()->CompactRange(*family));
  }
  if (place_ == EntryPlace::kReopened || place_ == EntryPlace::kRepaired) {
    EXPECT_TRUE(views.empty()) << "no snapshot outlives this: the scenario is to say where it runs";
    if (place_ == EntryPlace::kReopened) {
      EXPECT_TRUE(db()->Close().ok());
    }
    if (place_ == EntryPlace::kRepaired) RepairWithoutManifest();
    const absl::Status opened = OpenDatabase();
    EXPECT_TRUE(opened.ok()) << opened;
  }
}

// Logs do not know the names of families: what another than the default one has goes to tables, which do.
void ScriptRunner::RepairWithoutManifest() {
  for (const auto& [name, family] : families) {
    if (name != kDefaultColumnFamilyName) ExpectOkOrDropped(db()->Flush(*family));
  }
  database.memory.Crash(CrashMode::kKillProcess);
  database.db.reset();
  for (const std::string& manifest : FilesWith("MANIFEST")) RemoveFile(manifest);
  RepairReport report;
  const absl::Status repaired = Repairing(database.options, database.tuning, database.path, &report).Run();
  EXPECT_TRUE(repaired.ok()) << repaired;
}

absl::Status ScriptRunner::OpenDatabase() {
  families.clear();
  const absl::Status opened = database.Open();
  if (!opened.ok()) return opened;
  for (const std::string& name : db()->ColumnFamilyNames()) families[name] = *db()->FindColumnFamily(name);
  return opened;
}

std::string ScriptRunner::ReadAgain() {
  std::string wrong;
  for (const PastRead& read : std::exchange(past_reads_, {})) {
    as_of = read.snapshot.get();
    const std::string answer = RunLine(read.line);
    if (answer != read.answer) wrong += read.line + "\nwas: " + read.answer + "is:  " + answer;
    as_of = nullptr;
  }
  return wrong;
}

std::string ScriptRunner::End() {
  if (past_reads_.empty()) return "";
  for (int round = 0; round < 3; ++round) {
    for (const auto& [name, key] : written) {
      if (key.size() >= kMaxKeyBytes) continue;
      const ColumnFamily& family = FamilyOrDefault(db(), name.empty() ? nullptr : families[name].get());
      ExpectOkOrDropped(round == 1 ? db()->Delete(family, key) : db()->Put(family, key, "newer"));
      ExpectOkOrDropped(db()->Put(family, key + "+", "beside it"));
    }
    for (const auto& [name, family] : families) {
      ExpectOkOrDropped(round == 2 ? db()->CompactRange(*family) : db()->Flush(*family));
    }
  }
  return ReadAgain();
}

}  // namespace sepal
