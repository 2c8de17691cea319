// sepal db open|families|verify|repair|compact: a database as a whole.
#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/value_store.h"
#include "db/act/jobs/verify_values.h"
#include "db/format/file_names.h"
#include "db/format/system_row.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

class OpenVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_flag("--create", create_, "Make an empty database if there is none");
  }

  absl::Status Run(const Streams& io) override {
    const uint64_t began = NowNanos();
    absl::StatusOr<std::unique_ptr<DB>> opened = OpenToWrite(place_, create_);
    if (absl::IsNotFound(opened.status()) && !create_) {
      return absl::NotFoundError(
          absl::StrFormat("%s; --create makes an empty database there", MessageOf(opened.status())));
    }
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, std::move(opened));
    const double seconds = static_cast<double>(NowNanos() - began) / 1e9;
    const std::vector<std::string> families = db->ColumnFamilyNames();
    ASSIGN_OR_RETURN(const Properties properties, db->GetProperties());
    const uint64_t sequence = properties.last_sequence;
    RETURN_IF_ERROR(db->Close());
    if (json) {
      nlohmann::json line = JsonHead();
      line["directory"] = place_.directory;
      line["seconds"] = seconds;
      line["last_sequence"] = sequence;
      line["column_families"] = nlohmann::json::array();
      for (const std::string& family : families) line["column_families"].push_back({{"name", BytesJson(family)}});
      io.out << ToLine(line) << "\n";
      return absl::OkStatus();
    }
    io.out << absl::StrFormat("%s opened in %.3f s: %s, last sequence number %d\n", place_.directory, seconds,
                              Counted(families.size(), "column family"), sequence);
    return absl::OkStatus();
  }

 private:
  Place place_;
  bool create_ = false;
};

class FamiliesVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { place_.AddFlags(app); }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_));
    nlohmann::json line = JsonHead();
    line["column_families"] = nlohmann::json::array();
    for (const auto& [id, family] : tree.families) {
      if (id == kSystemFamilyId) continue;
      line["column_families"].push_back({{"id", id.value()},
                                         {"name", BytesJson(family.created.name)},
                                         {"comparator", family.created.comparator_name}});
      if (!json) io.out << Escaped(family.created.name) << "\n";
    }
    if (json) io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  Place place_;
};

class VerifyVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { place_.AddFlags(app); }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_));
    ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                     ToolFiles()->OpenDirectory(place_.directory, /*create=*/false));
    ValueStore values(directory.get(), /*beside_a_writer=*/false, /*cache=*/nullptr);
    values.Identify(tree.manifest.database_id);
    uint64_t total = 0, done = 0, files = 0, damaged = 0, separated = 0;
    absl::Status unread;  // why one could not be read that may be whole
    const std::vector<AddedTable> tables = tree.Tables();
    for (const AddedTable& added : tables) total += BytesOf(added.table, &separated);
    {
      Progress progress("verified bytes", total, io.err, StandardErrorIsTerminal());
      for (const AddedTable& added : tables) {
        std::optional<bool> vanished;
        bool counted = false;
        const auto tell = [&](const absl::Status& status) {
          if (!absl::IsDataLoss(status)) return KeepFirst(&unread, WithRemedy(status, place_));
          if (!vanished.has_value()) vanished = Vanished(added.table.number);
          if (*vanished) return;
          if (!std::exchange(counted, true)) ++damaged;
          Report(io, TableFileName(added.table.number), status, &progress);
        };
        VerifyTable(directory.get(), added.table, &values, tell);
        ++files;
        done += BytesOf(added.table, nullptr);
        progress.Update(done);
      }
    }
    // Manifest and logs are read whole by opening.
    if (damaged == 0 && unread.ok()) unread = LookAt(place_, [](DB* db) { return db->CheckConsistency(); });
    if (damaged == 0) RETURN_IF_ERROR(unread);
    const absl::Status status = damaged == 0 ? absl::OkStatus() : Damage(damaged, files, unread);
    if (json) {
      nlohmann::json line = JsonHead(status);
      line["tables"] = files;
      line["bytes"] = done;
      line["damaged_tables"] = damaged;
      io.out << ToLine(line) << "\n";
    }
    if (status.ok() && !json) {
      io.out << absl::StrFormat("%s: %s: every checksum of the manifest, the logs and %s%s of %s\n", place_.directory,
                                io.paint.Good("ok"), Counted(files, "table"),
                                separated == 0 ? "" : " with " + Counted(separated, "value") + " in value files",
                                HumanBytes(done));
    }
    reported = json;
    return status;
  }

 private:
  static absl::Status Damage(uint64_t damaged, uint64_t files, const absl::Status& unread) {
    return absl::DataLossError(absl::StrFormat("%d of %s damaged; restore a backup if there is one%s", damaged,
                                               Counted(files, "table") + (damaged == 1 ? " is" : " are"),
                                               unread.ok() ? "" : "; not all could be read: " + MessageOf(unread)));
  }

  // To be read for it, with the values that it refers to, which are counted too.
  static uint64_t BytesOf(const TableMetadata& table, uint64_t* separated) {
    uint64_t bytes = table.size_bytes;
    for (const ValueLinks& links : table.value_links) {
      bytes += links.bytes;
      if (separated != nullptr) *separated += links.values;
    }
    return bytes;
  }

  static void VerifyTable(Directory* directory, const TableMetadata& metadata, ValueStore* values,
                          const std::function<void(const absl::Status&)>& tell) {
    const absl::StatusOr<std::shared_ptr<TableReader>> reader = OpenTableOf(directory, metadata);
    if (absl::IsNotFound(reader.status())) {
      return tell(absl::DataLossError(
          absl::StrFormat("%s/%s: the table is missing", directory->path(), TableFileName(metadata.number))));
    }
    const absl::Status status = reader.ok() ? (*reader)->Verify() : reader.status();
    if (!status.ok()) return tell(status);
    VerifyValues(*reader, metadata.value_links, values, tell).IgnoreError();
  }

  // Whether a live writer has removed the table since the manifest was read.
  bool Vanished(FileNumber number) const {
    const absl::StatusOr<Tree> now = ReadTree(place_);
    if (!now.ok()) return false;
    for (const AddedTable& added : now->Tables()) {
      if (added.table.number == number) return false;
    }
    return true;
  }

  void Report(const Streams& io, const std::string& file, const absl::Status& status, Progress* progress) const {
    progress->Tell(absl::StrFormat("%s %s\n", io.err_paint.Bad("sepal " + name + ":"), MessageOf(status)));
    if (!json) return;
    nlohmann::json line = JsonHead(status);
    line["file"] = file;
    io.out << ToLine(line) << "\n";
  }

  Place place_;
};

class RepairVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_flag("--yes", yes_, "Do not ask for confirmation");
    app->add_flag("--dry-run", dry_run_,
                  "Only report what would be kept, rewritten and dropped; no program may have the database open");
    app->add_flag("--logs-lost", logs_lost_, "Continue although the write-ahead logs that are needed are lost");
  }

  absl::Status Run(const Streams& io) override {
    // What is no database is told before anything is asked.
    const absl::StatusOr<Tree> tree = ReadTree(place_);
    if (absl::IsNotFound(tree.status())) return tree.status();
    if (!dry_run_) {
      RETURN_IF_ERROR(Confirm(
          io, yes_,
          absl::StrFormat("this reads every byte of %s and, if something is damaged, writes what can be read into new "
                          "tables and a new manifest; what cannot be read is dropped, and damaged files are moved to "
                          "%s/lost (--dry-run reports what would be dropped, and changes nothing)",
                          place_.directory, place_.directory)));
    }
    // What comes and goes beside a writer would be taken for damage.
    if (dry_run_) RETURN_IF_ERROR(CheckNotOpen(place_));
    std::optional<Progress> shown;
    const auto progress = [&](uint64_t done, uint64_t total) {
      if (!shown.has_value()) shown.emplace("examined bytes", total, io.err, StandardErrorIsTerminal());
      shown->Update(done);
    };
    const absl::StatusOr<RepairReport> report = DB::Repair(
        OptionsAt(place_), place_.directory, {.dry_run = dry_run_, .logs_lost = logs_lost_, .progress = progress});
    const absl::Status repaired = WithRemedy(report.status(), place_);
    shown.reset();
    // Exit status 3 is for what was lost by a repair that succeeded.
    if (absl::IsDataLoss(repaired)) return absl::InternalError(repaired.message());
    RETURN_IF_ERROR(repaired);
    if (report->changed && !dry_run_) RETURN_IF_ERROR(CheckOpens());
    const absl::Status lost = Lost(*report);
    json ? PrintJson(*report, lost, io.out) : Print(*report, io.out);
    reported = json;
    return lost;
  }

 private:
  absl::Status Lost(const RepairReport& report) const {
    if (report.dropped.empty()) return absl::OkStatus();
    if (dry_run_)
      return absl::DataLossError(absl::StrFormat(
          "a repair would lose %s; restore a backup if it has them, else run sepal db repair %s%s --yes "
          "(docs/guide/operations.md)",
          Counted(report.dropped.size(), "part"), place_.Arguments(), logs_lost_ ? " --logs-lost" : ""));
    return absl::DataLossError(
        absl::StrFormat("%s, listed above, %s lost; compare with a backup (docs/guide/operations.md)",
                        Counted(report.dropped.size(), "part"), report.dropped.size() == 1 ? "was" : "were"));
  }

  absl::Status CheckOpens() const {
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToRead(place_));
    return db->CheckConsistency();
  }

  void Print(const RepairReport& report, std::ostream& out) const {
    if (report.changed && !report.dry_run) {
      out << absl::StrFormat("%s opens again; damaged files are in %s/lost\n", place_.directory, place_.directory);
    }
    out << report.ToString();
  }

  void PrintJson(const RepairReport& report, const absl::Status& lost, std::ostream& out) const {
    nlohmann::json line = JsonHead(lost);
    line["directory"] = place_.directory;
    line["changed"] = report.changed;
    line["dry_run"] = report.dry_run;
    line["tables_kept"] = report.tables_kept;
    line["tables_rewritten"] = report.tables_rewritten;
    line["updates_from_logs"] = report.updates_from_logs;
    line["put_aside"] = report.put_aside;
    line["dropped"] = nlohmann::json::array();
    for (const DroppedData& data : report.dropped) {
      nlohmann::json one = {{"file", data.file},
                            {"begin_offset", data.begin_offset},
                            {"end_offset", data.end_offset},
                            {"reason", data.reason}};
      if (!data.column_family.empty()) one["column_family"] = BytesJson(data.column_family);
      if (data.first_key.has_value()) one["first_key"] = BytesJson(*data.first_key);
      if (data.last_key.has_value()) one["last_key"] = BytesJson(*data.last_key);
      line["dropped"].push_back(std::move(one));
    }
    out << ToLine(line) << "\n";
  }

  Place place_;
  bool yes_ = false;
  bool dry_run_ = false;
  bool logs_lost_ = false;
};

class CompactVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_option("--family", family_, "Column family (default: all)");
    app->add_option("--from", from_, "First key of the range");
    app->add_option("--to", to_, "Last key of the range");
    app->add_flag("--hex", hex_, "The keys are given in hexadecimal");
    app->add_flag("--covered-only", covered_only_, "Only tables in which deleted ranges cover something");
    app->add_flag("--yes", yes_, "Do not ask for confirmation");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string begin, BytesFrom(from_, hex_));
    ASSIGN_OR_RETURN(const std::string end, BytesFrom(to_, hex_));
    // What is no database is told before anything is asked.
    RETURN_IF_ERROR(ReadTree(place_).status());
    RETURN_IF_ERROR(
        Confirm(io, yes_,
                absl::StrFormat("this rewrites %s of %s%s, which takes time and up to as much free space "
                                "as they use now",
                                covered_only_ ? "the tables in which deleted ranges cover something" : "all tables",
                                place_.directory, covered_only_ ? "" : " into the last level")));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    std::vector<std::string> names = db->ColumnFamilyNames();
    if (!family_.empty()) names = {family_};
    uint64_t before = 0, after = 0;
    for (const std::string& family_name : names) {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_name));
      ASSIGN_OR_RETURN(const Properties of_before, db->GetProperties(*family));
      before += of_before.table_bytes;
      CompactRangeOptions options;
      if (!from_.empty()) options.begin = begin;
      if (!to_.empty()) options.end = end;
      options.covered_only = covered_only_;
      std::optional<Progress> shown;
      options.progress = [&](const CompactionProgress& progress) {
        if (!shown.has_value()) {
          shown.emplace(Escaped(family_name) + ": compacted bytes", progress.bytes_total, io.err,
                        StandardErrorIsTerminal());
        }
        shown->Update(progress.bytes_done);
        return true;
      };
      RETURN_IF_ERROR(db->CompactRange(*family, options));
      ASSIGN_OR_RETURN(const Properties of_after, db->GetProperties(*family));
      after += of_after.table_bytes;
    }
    RETURN_IF_ERROR(db->Close());
    if (json) {
      nlohmann::json line = JsonHead();
      line["bytes_before"] = before;
      line["bytes_after"] = after;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: tables of %s before, %s now\n", place_.directory, HumanBytes(before),
                                HumanBytes(after));
    }
    return absl::OkStatus();
  }

 private:
  Place place_;
  std::string family_, from_, to_;
  bool hex_ = false, covered_only_ = false;
  bool yes_ = false;
};

}  // namespace

std::vector<VerbEntry> CareVerbs() {
  return {
      {"db open", "open as a program would, recovering the logs, and close again", "db open /var/lib/app",
       MakeVerb<OpenVerb>},
      {"db families", "list the column families", "db families /var/lib/app", MakeVerb<FamiliesVerb>},
      {"db verify", "check every checksum of the manifest, logs and tables", "db verify /var/lib/app",
       MakeVerb<VerifyVerb>},
      {"db repair", "salvage what can be read of a damaged database, and report what was lost",
       "db repair /var/lib/app --yes", MakeVerb<RepairVerb>},
      {"db compact", "rewrite all tables into the last level, dropping overwritten and deleted entries",
       "db compact /var/lib/app --yes", MakeVerb<CompactVerb>},
  };
}

}  // namespace sepal::tools
