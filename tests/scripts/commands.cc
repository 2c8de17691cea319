// The commands of engine scripts (tests/scripts/README.md).
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_join.h"
#include "db/doctor/repair.h"
#include "tests/db/doctor/repair_failures.h"
#include "tests/scripts/reads.h"
#include "tests/scripts/runner.h"
#include "tests/scripts/settings.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

WriteOptions TakeWriteOptions(ScriptLine* line) {
  WriteOptions options;
  options.sync = line->TakeWord("sync");
  options.disable_wal = line->TakeWord("unlogged");
  return options;
}

// The value that `fill` gives a key: its number, and letters up to `bytes`.
std::string FilledValue(uint64_t number, size_t bytes, std::string_view letter) {
  std::string value = std::to_string(number) + ":";
  value.resize(std::max(bytes, value.size()), letter.empty() ? 'v' : letter.front());
  return value;
}

// What the words "at", "from" and "to" of a line say.
struct ReadPoint {
  DB* db = nullptr;
  const ColumnFamily* family = nullptr;
  std::shared_ptr<ColumnFamily> family_of_reader;
  ReadOptions options;
  Iterator* iterator = nullptr;
  std::unique_ptr<Iterator> own_iterator;

  // The one that is named, or one of its own.
  Iterator* OpenIterator() {
    if (iterator != nullptr) return iterator;
    own_iterator = db->NewIterator(Family(), options);
    return own_iterator.get();
  }
  const ColumnFamily& Family() const { return FamilyOrDefault(db, family); }
};

// Of all files but the lock.
std::map<std::string, std::string> Contents(TestDatabase* database) {
  std::map<std::string, std::string> contents;
  for (const std::string& name : FilesIn(&database->memory, database->path)) {
    if (name != "LOCK") contents[name] = database->memory.ReadFileContents(database->path + "/" + name).value_or("");
  }
  return contents;
}

// What a command says that answers with a status alone: nothing if that is ok.

std::string Told(const ScriptLine& line, const absl::Status& status) {
  return status.ok() ? "" : line.name + ": " + ShownStatus(status) + "\n";
}

// Takes those words from the line.
void TakeReadPoint(ScriptRunner* runner, ScriptLine* line, ReadPoint* point) {
  point->db = runner->db();
  point->family = runner->FamilyOf(*line);
  point->options.snapshot = runner->as_of;
  point->options.lower_bound = line->TakePair("from");
  point->options.upper_bound = line->TakePair("to");
  if (const auto name = line->TakePair("at")) {
    const auto found = runner->views.find(*name);
    EXPECT_NE(found, runner->views.end()) << "there is nothing to read at: " << line->text;
    if (found == runner->views.end()) return;
    point->iterator = found->second.iterator.get();
    point->options.snapshot = found->second.snapshot.get();
    if (DB* const reader = found->second.reader.get()) {
      point->db = reader;
      point->family_of_reader =
          line->family.empty() ? nullptr : reader->FindColumnFamily(line->family).value_or(nullptr);
      point->family = point->family_of_reader.get();
    }
  }
}

// --- writes ---

std::string Put(ScriptRunner* runner, ScriptLine* line) {
  WriteOptions options = TakeWriteOptions(line);
  runner->written.emplace(line->family, line->Word(0));
  if (const auto ttl = line->TakePair("ttl")) options.ttl = std::chrono::milliseconds(std::stoll(*ttl));
  return Told(*line, runner->db()->Put(runner->Named(*line), line->Word(0), line->Word(1), options));
}

std::string Delete(ScriptRunner* runner, ScriptLine* line) {
  const WriteOptions options = TakeWriteOptions(line);
  return Told(*line, runner->db()->Delete(runner->Named(*line), line->Word(0), options));
}

std::string SingleDelete(ScriptRunner* runner, ScriptLine* line) {
  const WriteOptions options = TakeWriteOptions(line);
  return Told(*line, runner->db()->SingleDelete(runner->Named(*line), line->Word(0), options));
}

std::string DeleteRange(ScriptRunner* runner, ScriptLine* line) {
  const WriteOptions options = TakeWriteOptions(line);
  std::optional<std::string> end;
  if (line->words.size() > 1) end = line->Word(1);
  return Told(*line, runner->db()->DeleteRange(runner->Named(*line), line->Word(0), end, options));
}

std::string SetEpoch(ScriptRunner* runner, ScriptLine* line) {
  return Told(*line, runner->db()->SetFilterEpoch(runner->Named(*line), line->Word(0)));
}

std::string Merge(ScriptRunner* runner, ScriptLine* line) {
  const WriteOptions options = TakeWriteOptions(line);
  runner->written.emplace(line->family, line->Word(0));
  return Told(*line, runner->db()->Merge(runner->Named(*line), line->Word(0), line->Word(1), options));
}

std::chrono::milliseconds MillisOf(const std::string& word) { return std::chrono::milliseconds(std::stoll(word)); }

void AddToBatch(ScriptRunner* runner, const ScriptLine& line, WriteBatch* batch) {
  const ColumnFamily& family = runner->Named(line);
  if (line.name == "put") {
    runner->written.emplace(line.family, line.Word(0));
    batch->Put(family, line.Word(0), line.Word(1));
  } else if (line.name == "put-until") {
    runner->written.emplace(line.family, line.Word(0));
    batch->Put(family, line.Word(0), line.Word(1), std::chrono::system_clock::time_point(MillisOf(line.Word(2))));
  } else if (line.name == "delete") {
    batch->Delete(family, line.Word(0));
  } else if (line.name == "single-delete") {
    batch->SingleDelete(family, line.Word(0));
  } else if (line.name == "merge") {
    runner->written.emplace(line.family, line.Word(0));
    batch->Merge(family, line.Word(0), line.Word(1));
  } else {
    ADD_FAILURE() << "a batch does not take: " << line.text;
  }
}

std::string Batch(ScriptRunner* runner, ScriptLine* line) {
  const WriteOptions options = TakeWriteOptions(line);
  WriteBatch batch;
  std::string update;
  for (const std::string& word : line->words) {
    if (word != ";") {
      update += word + " ";
      continue;
    }
    AddToBatch(runner, ScriptLine::Parse(std::exchange(update, {})), &batch);
  }
  if (!update.empty()) AddToBatch(runner, ScriptLine::Parse(update), &batch);
  return Told(*line, runner->db()->Write(batch, options));
}

std::string Fill(ScriptRunner* runner, ScriptLine* line) {
  const WriteOptions options = TakeWriteOptions(line);
  const uint64_t step = std::stoull(line->TakePair("step").value_or("1"));
  const uint64_t bytes = std::stoull(line->TakePair("bytes").value_or("40"));
  absl::Status status;
  for (uint64_t i = line->Number(0); status.ok() && i < line->Number(1); i += step) {
    runner->written.emplace(line->family, NumberedKey(i));
    status = runner->db()->Put(runner->Named(*line), NumberedKey(i), FilledValue(i, bytes, line->Word(2)), options);
  }
  return Told(*line, status);
}

std::string Erase(ScriptRunner* runner, ScriptLine* line) {
  const uint64_t step = std::stoull(line->TakePair("step").value_or("1"));
  absl::Status status;
  for (uint64_t i = line->Number(0); status.ok() && i < line->Number(1); i += step) {
    status = runner->db()->Delete(runner->Named(*line), NumberedKey(i));
  }
  return Told(*line, status);
}

std::string JumpClock(ScriptRunner* runner, ScriptLine* line) {
  runner->MoveToPlace();
  runner->EndSnapshots();  // what has expired is absent there too
  runner->database.clock->Jump(std::stoll(line->Word(0)));
  return "";
}

// --- reads ---

std::string Get(ScriptRunner* runner, ScriptLine* line) {
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  return GetText(point.db, point.Family(), line->words, point.options);
}

std::string MultiGet(ScriptRunner* runner, ScriptLine* line) {
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  return MultiGetText(point.db, point.Family(), line->words, point.options);
}

std::string Scan(ScriptRunner* runner, ScriptLine* line) {
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  return ScanText(point.OpenIterator());
}

std::string Walk(ScriptRunner* runner, ScriptLine* line) {
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  return WalkText(point.OpenIterator(), line->words);
}

std::string MayExist(ScriptRunner* runner, ScriptLine* line) {
  return runner->db()->KeyMayExist(runner->Named(*line), line->Word(0)) ? "maybe\n" : "no\n";
}

std::string Explain(ScriptRunner* runner, ScriptLine* line) {
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  const absl::StatusOr<GetExplanation> explained = point.db->ExplainGet(point.Family(), line->Word(0), point.options);
  if (!explained.ok()) return Told(*line, explained.status());
  const std::string text = explained->ToString();
  return text.substr(0, text.rfind("  ", text.size() - 3));  // without bytes and time
}

std::string Tree(ScriptRunner* runner, ScriptLine* line) { return TreeText(runner->db(), runner->Named(*line)); }

std::string Entries(ScriptRunner* runner, ScriptLine* line) {
  return std::to_string(NumberProperty(runner->db(), "sepal.num-entries", runner->FamilyOf(*line))) + "\n";
}

std::string Count(ScriptRunner* runner, ScriptLine* line) {
  for (int i = 0; i < static_cast<int>(Ticker::kCount); ++i) {
    const auto ticker = static_cast<Ticker>(i);
    if (Name(ticker) == line->Word(0)) return std::to_string(runner->db()->statistics().Get(ticker)) + "\n";
  }
  return "no such counter\n";
}

std::string State(ScriptRunner* runner, ScriptLine*) {
  return runner->db()->GetProperty("sepal.background-error").value_or("closed") + "\n";
}

// Of a closed database as its files tell them.
std::string Families(ScriptRunner* runner, ScriptLine* line) {
  const std::vector<std::string> open = runner->db()->ColumnFamilyNames();
  if (!open.empty()) return absl::StrJoin(open, ", ") + "\n";
  const auto listed = DB::ListColumnFamilies(runner->database.options, runner->database.path);
  return listed.ok() ? absl::StrJoin(*listed, ", ") + "\n" : Told(*line, listed.status());
}

std::string Files(ScriptRunner* runner, ScriptLine* line) {
  const bool counted = line->TakeWord("counted");
  const std::vector<std::string> files = runner->FilesWith(line->Word(0));
  if (counted) return std::to_string(files.size()) + "\n";
  return (files.empty() ? "none" : absl::StrJoin(files, ", ")) + "\n";
}

// --- moments ---

std::string TakeSnapshot(ScriptRunner* runner, ScriptLine* line) {
  runner->MoveToPlace();
  runner->views[line->Word(0)].snapshot = runner->db()->GetSnapshot();
  return "";
}

std::string MakeIterator(ScriptRunner* runner, ScriptLine* line) {
  runner->MoveToPlace();
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  point.OpenIterator();
  runner->views[line->Word(0)].iterator = std::move(point.own_iterator);
  return "";
}

std::string OpenReader(ScriptRunner* runner, ScriptLine* line) {
  const std::string directory = line->TakePair("of").value_or(runner->database.path);
  absl::StatusOr<std::unique_ptr<DB>> reader = runner->database.OpenReadOnly(directory);
  if (!reader.ok()) return Told(*line, reader.status());
  runner->views[line->Word(0)].reader = *std::move(reader);
  return "";
}

std::string Release(ScriptRunner* runner, ScriptLine* line) {
  runner->views.erase(line->Word(0));
  return "";
}

// --- families ---

std::string Create(ScriptRunner* runner, ScriptLine* line) {
  ColumnFamilyOptions options = runner->database.options.family;
  for (size_t i = 1; i < line->words.size(); ++i) {
    const absl::Status set = SetFamilyOption(line->words[i], &options);
    if (!set.ok()) return Told(*line, set);
  }
  const auto family = runner->db()->CreateColumnFamily(line->Word(0), options);
  if (!family.ok()) return Told(*line, family.status());
  runner->families[line->Word(0)] = *family;
  return "";
}

std::string Drop(ScriptRunner* runner, ScriptLine* line) {
  runner->EndSnapshots();
  runner->MoveToPlace();
  line->family = line->Word(0);
  const ColumnFamily* const family = runner->FamilyOf(*line);
  return family == nullptr ? "no family\n" : Told(*line, runner->db()->DropColumnFamily(*family));
}

// --- the database and its files ---

std::string Flush(ScriptRunner* runner, ScriptLine* line) {
  return Told(*line, runner->db()->Flush(runner->Named(*line)));
}

std::string Compact(ScriptRunner* runner, ScriptLine* line) {
  const std::optional<std::string> begin = line->TakePair("from"), end = line->TakePair("to");
  CompactRangeOptions options;
  if (begin.has_value()) options.begin = *begin;
  if (end.has_value()) options.end = *end;
  return Told(*line, runner->db()->CompactRange(runner->Named(*line), options));
}

template <absl::Status (DB::*call)()>
std::string Call(ScriptRunner* runner, ScriptLine* line) {
  return Told(*line, (runner->db()->*call)());
}

std::string Settle(ScriptRunner* runner, ScriptLine* line) {
  const absl::Status waited = runner->db()->WaitForBackgroundWork();
  runner->database.world->RunUntilIdle();
  return Told(*line, waited);
}

std::string Close(ScriptRunner* runner, ScriptLine* line) {
  runner->EndSnapshots();
  return Told(*line, runner->db()->Close());
}

std::string Open(ScriptRunner* runner, ScriptLine* line) { return Told(*line, runner->OpenDatabase()); }

std::string Reopen(ScriptRunner* runner, ScriptLine* line) {
  const std::string closed = Close(runner, line);
  return closed + Open(runner, line);
}

std::string Checkpoint(ScriptRunner* runner, ScriptLine* line) {
  ReadPoint point;
  TakeReadPoint(runner, line, &point);
  return Told(*line, point.db->Checkpoint(line->Word(0)));
}

std::string Kill(ScriptRunner* runner, ScriptLine*) {
  runner->EndSnapshots();
  runner->database.memory.Crash(CrashMode::kKillProcess);
  runner->database.db.reset();
  return "";
}

std::string Crash(ScriptRunner* runner, ScriptLine* line) {
  runner->EndSnapshots();
  const std::optional<std::string> seed = line->TakePair("keeps-some");
  runner->database.memory.Crash(seed.has_value() ? CrashMode::kAnySubset : CrashMode::kLoseUnsynced,
                                std::stoull(seed.value_or("0")));
  runner->database.db.reset();
  return "";
}

// With "failing" or "dying" each of its file calls fails in turn first, on copies of the disk.
//
// A dry run, and a repair that finds nothing wrong, change nothing; what is put aside can be read.
std::string Repair(ScriptRunner* runner, ScriptLine* line) {
  TestDatabase& database = runner->database;
  if (line->TakeWord("failing")) ExpectRepairSurvives(database, Failing::kOnce);
  if (line->TakeWord("dying")) ExpectRepairSurvives(database, Failing::kForGood);
  const RepairOptions options{.dry_run = line->TakeWord("dry")};
  RepairReport report{.dry_run = options.dry_run};
  const std::map<std::string, std::string> before = Contents(&database);
  const absl::Status repaired = Repairing(database.options, database.tuning, database.path, &report, options).Run();
  if (!repaired.ok() || !report.changed || options.dry_run) {
    EXPECT_EQ(Contents(&database), before);
  } else {
    for (const std::string& name : report.put_aside) {
      EXPECT_TRUE(database.memory.ReadFileContents(database.path + "/lost/" + name).ok()) << name;
    }
  }
  if (!repaired.ok() || line->TakeWord("quietly")) return Told(*line, repaired);
  return Masked(report.ToString());
}

std::string Fail(ScriptRunner* runner, ScriptLine* line) {
  const bool no_space = line->TakeWord("no-space");
  FaultRule rule{.fault = no_space ? Fault::kNoSpace : Fault::kIoError,
                 .skip = std::stoull(line->TakePair("skip").value_or("0")),
                 .sticky = line->TakeWord("always")};
  rule.name_contains = line->Word(1);
  for (int i = 0; i <= static_cast<int>(FileOp::kFreeBytes); ++i) {
    if (ToString(static_cast<FileOp>(i)) == line->Word(0)) rule.op = static_cast<FileOp>(i);
  }
  if (!rule.op.has_value()) return "no such file call\n";
  runner->database.files.Inject(rule);
  return "";
}

std::string Heal(ScriptRunner* runner, ScriptLine*) {
  runner->database.files.Clear();
  return "";
}

std::string Destroy(ScriptRunner* runner, ScriptLine* line) {
  return Told(*line, DB::Destroy(runner->database.options, runner->database.path));
}

std::string Flip(ScriptRunner* runner, ScriptLine* line) {
  const std::vector<std::string> files = runner->FilesWith(line->Word(0));
  if (files.empty()) return "no such file\n";
  const std::string path = runner->database.path + "/" + files.back();
  // A negative number is that of bytes from the end.
  const int64_t offset = std::stoll(line->Word(1));
  const uint64_t end = offset < 0 ? runner->database.memory.ReadFileContents(path).value().size() : 0;
  return Told(*line, runner->database.memory.FlipBit(path, end + static_cast<uint64_t>(offset), 3));
}

std::string Remove(ScriptRunner* runner, ScriptLine* line) {
  for (const std::string& name : runner->FilesWith(line->Word(0))) runner->RemoveFile(name);
  return "";
}

std::string Write(ScriptRunner* runner, ScriptLine* line) {
  const std::optional<std::string> zeros = line->TakePair("zeros");
  const std::string bytes = zeros.has_value() ? std::string(std::stoul(*zeros), '\0') : line->Word(1);
  return Told(*line, runner->database.memory.WriteFileContents(runner->database.path + "/" + line->Word(0), bytes));
}

std::string Copy(ScriptRunner* runner, ScriptLine* line) {
  const std::vector<std::string> files = runner->FilesWith(line->Word(0));
  if (files.empty()) return "no such file\n";
  const std::string directory = runner->database.path + "/";
  const std::string bytes = runner->database.memory.ReadFileContents(directory + files.back()).value();
  return Told(*line, runner->database.memory.WriteFileContents(directory + line->Word(1), bytes));
}

std::string Set(ScriptRunner* runner, ScriptLine* line) {
  return Told(*line, SetOption(line->Word(0), &runner->database));
}

std::string Check(ScriptRunner* runner, ScriptLine* line) {
  const absl::Status consistent = runner->db()->CheckConsistency();
  return Told(*line, consistent.ok() ? runner->db()->VerifyChecksums() : consistent);
}

constexpr EngineCommand kCommands[] = {
    {"put", CommandKind::kWrite, Put},
    {"delete", CommandKind::kWrite, Delete},
    {"single-delete", CommandKind::kWrite, SingleDelete},
    {"merge", CommandKind::kWrite, Merge},
    {"delete-range", CommandKind::kWrite, DeleteRange},
    {"epoch", CommandKind::kWrite, SetEpoch},
    {"clock", CommandKind::kOther, JumpClock},
    {"batch", CommandKind::kWrite, Batch},
    {"fill", CommandKind::kWrite, Fill},
    {"erase", CommandKind::kWrite, Erase},
    {"get", CommandKind::kRead, Get},
    {"multiget", CommandKind::kRead, MultiGet},
    {"scan", CommandKind::kRead, Scan},
    {"walk", CommandKind::kRead, Walk},
    {"may-exist", CommandKind::kOther, MayExist},
    {"explain", CommandKind::kOther, Explain},
    {"tree", CommandKind::kOther, Tree},
    {"entries", CommandKind::kOther, Entries},
    {"count", CommandKind::kOther, Count},
    {"state", CommandKind::kOther, State},
    {"families", CommandKind::kOther, Families},
    {"files", CommandKind::kOfFiles, Files},
    {"snapshot", CommandKind::kOther, TakeSnapshot},
    {"iterator", CommandKind::kOther, MakeIterator},
    {"reader", CommandKind::kOfFiles, OpenReader},
    {"release", CommandKind::kOther, Release},
    {"create", CommandKind::kOther, Create},
    {"drop", CommandKind::kOther, Drop},
    {"flush", CommandKind::kOther, Flush},
    {"compact", CommandKind::kOther, Compact},
    {"sync", CommandKind::kOther, Call<&DB::Sync>},
    {"pause", CommandKind::kOther, Call<&DB::PauseBackgroundWork>},
    {"continue", CommandKind::kOther, Call<&DB::ContinueBackgroundWork>},
    {"settle", CommandKind::kOther, Settle},
    {"close", CommandKind::kOther, Close},
    {"open", CommandKind::kOfFiles, Open},
    {"reopen", CommandKind::kOther, Reopen},
    {"checkpoint", CommandKind::kOther, Checkpoint},
    {"kill", CommandKind::kOther, Kill},
    {"crash", CommandKind::kOther, Crash},
    {"repair", CommandKind::kOfFiles, Repair},
    {"fail", CommandKind::kOfFiles, Fail},
    {"heal", CommandKind::kOfFiles, Heal},
    {"destroy", CommandKind::kOfFiles, Destroy},
    {"flip", CommandKind::kOfFiles, Flip},
    {"remove", CommandKind::kOfFiles, Remove},
    {"write", CommandKind::kOfFiles, Write},
    {"copy", CommandKind::kOfFiles, Copy},
    {"set", CommandKind::kOfFiles, Set},
    {"check", CommandKind::kOther, Check},
};

}  // namespace

std::span<const EngineCommand> EngineCommands() { return kCommands; }

}  // namespace sepal
