// Damages a database in every way (mutation.h) and repairs it: afterwards it opens and verifies, and every key has its
// value, unless the report says that it may not; then it has one that it once had, or none. A second repair finds
// nothing to do.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/format/file_names.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/corruption/mutation.h"
#include "tests/corruption/subject.h"
#include "tests/db/engine/test_database.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"

namespace sepal::corruption {

namespace {

using reliability::Search;

bool Covers(const RepairReport& report, const std::string& family, const std::string& key) {
  return std::any_of(report.dropped.begin(), report.dropped.end(), [&](const DroppedData& dropped) {
    return (dropped.column_family.empty() || dropped.column_family == family) &&
           (!dropped.first_key.has_value() || *dropped.first_key <= key) &&
           (!dropped.last_key.has_value() || key <= *dropped.last_key);
  });
}

class RepairTrial {
 public:
  // `loose`: what the newest log holds may be gone without a trace.
  RepairTrial(const Subject& subject, const Changes& changed, bool loose)
      : subject_(subject), loose_(loose), guard_changed_(changed.contains(std::string(kGuardFileName))) {
    subject_.Install(&memory_, changed);
  }

  // What is wrong; empty: nothing.
  std::string Run() {
    const Options options = subject_.MakeOptions(&memory_);
    RepairReport report;
    absl::Status status = RepairTo(&report, options, kDirectory);
    // Where no log is left, the logs might lie elsewhere.
    if (absl::IsFailedPrecondition(status)) status = RepairTo(&report, options, kDirectory, {.logs_lost = true});
    // By what its guard says now, it is another engine's, which a repair leaves alone.
    if (absl::IsFailedPrecondition(status) && guard_changed_) return "";
    if (!status.ok()) return "Repair: " + status.ToString();
    changed_ = report.changed;
    const bool tells = !report.dropped.empty() || report.tables_rewritten + report.updates_from_logs > 0;
    if (report.changed && !tells) return "the report is empty";
    if (!report.changed && !report.dropped.empty()) return "the report tells of what was not changed";
    std::string wrong = Check(report);
    if (!wrong.empty()) return absl::StrFormat("%s\n%s", wrong, report.ToString());
    RepairReport again;
    status = RepairTo(&again, options, kDirectory);
    if (!status.ok()) return "Repair again: " + status.ToString();
    if (again.changed) return "a second repair finds more:\n" + again.ToString();
    return "";
  }
  bool changed() const { return changed_; }

 private:
  std::string Check(const RepairReport& report) {
    Options options = subject_.MakeOptions(&memory_);
    // A family that the report may have dropped is made anew.
    options.create_if_missing = report.changed || loose_;
    const absl::StatusOr<std::unique_ptr<DB>> db = Engine::Open(options, subject_.tuning, kDirectory);
    if (!db.ok()) return "opening: " + db.status().ToString();
    if (const absl::Status verified = (*db)->VerifyChecksums(); !verified.ok()) return verified.ToString();
    if (const absl::Status consistent = (*db)->CheckConsistency(); !consistent.ok()) return consistent.ToString();
    for (const auto& [name, contents] : subject_.families) {
      std::string wrong = CheckFamily(db->get(), name, contents, report);
      if (!wrong.empty()) return wrong;
    }
    const absl::Status closed = (*db)->Close();
    return closed.ok() ? "" : "closing: " + closed.ToString();
  }

  std::string CheckFamily(DB* db, const std::string& name, const Contents& contents, const RepairReport& report) {
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db->FindColumnFamily(name);
    if (!family.ok()) return family.status().ToString();
    const auto history = subject_.history.find(name);
    Contents found;
    const std::unique_ptr<Iterator> it = db->NewIterator(**family);
    for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace(it->key(), it->value());
    if (!it->status().ok()) return it->status().ToString();
    for (const auto& [key, value] : found) {
      const auto values = history->second.find(key);
      if (values == history->second.end() || !values->second.contains(value)) return "an invented value: " + key;
      const auto expected = contents.find(key);
      const bool right = expected != contents.end() && expected->second == value;
      if (!right && !key.starts_with("tail") && !loose_ && !Covers(report, name, key)) {
        return absl::StrFormat("%s: an older value that the report does not tell of: %s", name, key);
      }
    }
    for (const auto& [key, value] : contents) {
      if (found.contains(key) || Covers(report, name, key)) continue;
      const auto earlier = subject_.earlier.at(name).find(key);
      if (loose_ && earlier == subject_.earlier.at(name).end()) continue;
      return absl::StrFormat("%s: a key is missing and the report does not tell of it: %s", name, key);
    }
    return "";
  }

  const Subject& subject_;
  const bool loose_;
  const bool guard_changed_;
  MemoryFileSystem memory_;
  bool changed_ = false;
};

void TryRepair(const Subject& subject, const Mutation& mutation, const Changes& changed, Search* search) {
  RepairTrial trial(subject, changed, MayLoseWitness(subject, mutation) || MayLoseBothEnds(subject, mutation));
  const std::string wrong = trial.Run();
  if (!wrong.empty()) search->Fail(ToString(mutation) + ": " + wrong);
  search->Add(trial.changed() ? "repaired" : "nothing to repair", 1);
}

void SearchRepair(Search* search) { ForEachMutation(search, TryRepair); }

}  // namespace
}  // namespace sepal::corruption

namespace sepal::reliability {

void AddRepairHarness(std::vector<Harness>* all) {
  all->push_back(
      {"repair", "the same damage repaired: what the report does not call dropped is there", corruption::SearchRepair});
}

}  // namespace sepal::reliability
