// sepal explain: how a lookup found its answer; what the filters of each level cost and spare.
#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "db/format/system_row.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

std::string_view Name(ExplainedSource::Kind kind) {
  switch (kind) {
    case ExplainedSource::Kind::kActiveMemtable:
      return "active_memtable";
    case ExplainedSource::Kind::kImmutableMemtable:
      return "immutable_memtable";
    case ExplainedSource::Kind::kTable:
      return "table";
  }
  return "?";
}

std::string_view Name(ExplainedSource::Answer answer) {
  switch (answer) {
    case ExplainedSource::Answer::kFound:
      return "found";
    case ExplainedSource::Answer::kDeleted:
      return "deleted";
    case ExplainedSource::Answer::kOperand:
      return "merge_operand";
    case ExplainedSource::Answer::kExpired:
      return "expired";
    case ExplainedSource::Answer::kRefused:
      return "refused";
    case ExplainedSource::Answer::kAbsent:
      return "absent";
    case ExplainedSource::Answer::kGuardSaysNo:
      return "guard_says_no";
    case ExplainedSource::Answer::kLaneSaysNo:
      return "lane_says_no";
  }
  return "?";
}

nlohmann::json BlockJson(const ExplainedBlock& block) {
  nlohmann::json json = {{"offset", block.offset},       {"stored_bytes", block.stored_bytes},
                         {"leaf_page", block.leaf_page}, {"leaf_page_cached", block.leaf_page_cached},
                         {"fence", block.fence},         {"fences", block.fences}};
  if (block.has_lane) json["lane_admits"] = block.lane_admits;
  if (block.lane_admits) {
    json["cached"] = block.cached;
    json["key_present"] = block.key_present;
  }
  return json;
}

nlohmann::json SourceJson(const ExplainedSource& source) {
  nlohmann::json json = {{"kind", Name(source.kind)}, {"answer", Name(source.answer)}, {"micros", source.micros}};
  if (source.answer == ExplainedSource::Answer::kFound || source.answer == ExplainedSource::Answer::kDeleted ||
      source.answer == ExplainedSource::Answer::kOperand || source.answer == ExplainedSource::Answer::kExpired ||
      source.answer == ExplainedSource::Answer::kRefused) {
    json["sequence"] = source.sequence;
  }
  if (source.kind != ExplainedSource::Kind::kTable) return json;
  json["level"] = source.level;
  json["run"] = source.run;
  json["number"] = source.file_number;
  json["was_open"] = source.was_open;
  json["bytes_read"] = source.bytes_read;
  if (source.has_guard) json["guard"] = {{"cached", source.guard_cached}, {"admits", source.guard_admits}};
  json["blocks"] = nlohmann::json::array();
  for (const ExplainedBlock& block : source.blocks) json["blocks"].push_back(BlockJson(block));
  return json;
}

class ExplainGetVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("KEY", key_, "The key")->required();
    app->add_option("--family", family_, "Column family (default: default)");
    app->add_flag("--hex", hex_, "The key is given in hexadecimal");
  }

  // A key that is absent is explained like any other: no error.
  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const std::string key, BytesFrom(key_, hex_));
    GetExplanation explanation;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
      ASSIGN_OR_RETURN(explanation, db->ExplainGet(*family, key));
      return absl::OkStatus();
    }));
    if (!json) {
      io.out << explanation.ToString();
      return absl::OkStatus();
    }
    nlohmann::json line = JsonHead();
    line["key"] = BytesJson(key);
    line["column_family"] = BytesJson(explanation.column_family);
    line["found"] = explanation.found;
    if (explanation.found) line["value_bytes"] = explanation.value_bytes;
    if (explanation.expires_at.has_value()) {
      line["expires_at_millis"] =
          std::chrono::floor<std::chrono::milliseconds>(explanation.expires_at->time_since_epoch()).count();
    }
    line["visible_sequence"] = explanation.visible_sequence;
    line["runs"] = explanation.runs;
    line["runs_without_file"] = explanation.runs_without_file;
    line["bytes_read"] = explanation.bytes_read;
    line["micros"] = explanation.micros;
    line["sources"] = nlohmann::json::array();
    for (const ExplainedSource& source : explanation.sources) line["sources"].push_back(SourceJson(source));
    io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  Place place_;
  std::string key_, family_;
  bool hex_ = false;
};

// The filters of one level.
struct LevelFilters {
  uint64_t tables = 0;
  uint64_t entries = 0;
  uint64_t bytes = 0;
  double passed = 0;  // entries times the expected rate
  LevelFilterStatistics observed = {};

  double ExpectedRate() const { return entries > 0 ? passed / static_cast<double>(entries) : 1; }
  uint64_t ReadsSaved() const { return observed.guard_rejections + observed.lane_rejections; }
};

class ExplainFiltersVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("--family", family_, "Column family (default: all)");
    AddCount(app, "--probes", &probes_, "Absent keys to look up, to measure the false positive rate",
             {.most = 100'000'000})
        ->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    std::vector<std::pair<std::string, std::map<int, LevelFilters>>> families;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) { return Measure(db, &families); }));
    if (!json) {
      for (const auto& [family, levels] : families) Print(family, levels, io.out);
      return absl::OkStatus();
    }
    nlohmann::json line = JsonHead();
    line["column_families"] = nlohmann::json::array();
    for (const auto& [family, levels] : families) {
      line["column_families"].push_back({{"name", BytesJson(family)}, {"levels", LevelsJson(levels)}});
    }
    io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  absl::Status Measure(DB* db, std::vector<std::pair<std::string, std::map<int, LevelFilters>>>* families) const {
    families->clear();
    if (!family_.empty()) RETURN_IF_ERROR(FamilyNamed(db, family_).status());
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_));
    for (const auto& [id, family] : tree.families) {
      if (id == kSystemFamilyId || (!family_.empty() && family.created.name != family_)) continue;
      std::map<int, LevelFilters> levels;
      RETURN_IF_ERROR(ReadTables(family, &levels));
      RETURN_IF_ERROR(Probe(db, family, &levels));
      families->emplace_back(family.created.name, std::move(levels));
    }
    return absl::OkStatus();
  }

  absl::Status ReadTables(const FamilyTree& family, std::map<int, LevelFilters>* levels) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                     ToolFiles()->OpenDirectory(place_.directory, /*create=*/false));
    for (const AddedTable& added : family.tables) {
      const absl::StatusOr<std::shared_ptr<TableReader>> reader = OpenTableOf(directory.get(), added.table);
      // Opening the view has found all of its tables.
      if (absl::IsNotFound(reader.status())) return absl::AbortedError(reader.status().message());
      RETURN_IF_ERROR(reader.status());
      const TableProperties& properties = (*reader)->properties();
      LevelFilters& level = (*levels)[added.level];
      ++level.tables;
      level.entries += properties.entries;
      level.bytes += properties.guard_bytes + properties.lane_bytes;
      level.passed += static_cast<double>(properties.entries) * properties.expected_filter_rate;
    }
    return absl::OkStatus();
  }

  // Looks up keys beside ones that are there, spread over all tables.
  absl::Status Probe(DB* db, const FamilyTree& family, std::map<int, LevelFilters>* levels) const {
    if (family.tables.empty() || probes_ == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> handle, FamilyNamed(db, family.created.name));
    db->statistics().Reset();
    const uint64_t each = (probes_ + family.tables.size() - 1) / family.tables.size();
    const std::unique_ptr<Iterator> it = db->NewIterator(*handle, {.keys_only = true});
    for (const AddedTable& added : family.tables) {
      it->Seek(added.table.smallest.user_key);
      for (uint64_t i = 0; i < each && it->Valid(); ++i, it->Next()) {
        PinnedValue value;
        const absl::Status status = db->Get(*handle, std::string(it->key()) + '\0', value);
        if (!absl::IsNotFound(status)) RETURN_IF_ERROR(status);
      }
      RETURN_IF_ERROR(it->status());
    }
    for (auto& [number, level] : *levels) level.observed = db->statistics().GetFilter(number);
    return absl::OkStatus();
  }

  static nlohmann::json LevelsJson(const std::map<int, LevelFilters>& levels) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& [number, level] : levels) {
      list.push_back({{"level", number},
                      {"tables", level.tables},
                      {"entries", level.entries},
                      {"filter_bytes", level.bytes},
                      {"expected_rate", level.ExpectedRate()},
                      {"observed_rate", level.observed.ObservedRate()},
                      {"lookups", level.observed.lookups},
                      {"guard_rejections", level.observed.guard_rejections},
                      {"lane_rejections", level.observed.lane_rejections},
                      {"reads_saved", level.ReadsSaved()},
                      {"false_positives", level.observed.false_positives}});
    }
    return list;
  }

  static void Print(const std::string& family, const std::map<int, LevelFilters>& levels, std::ostream& out) {
    out << absl::StrFormat("column family %s\n", Escaped(family));
    out << "level  tables       entries  filter memory  expected rate  observed rate     lookups  reads saved  "
           "false positives\n";
    for (const auto& [number, level] : levels) {
      out << absl::StrFormat("%5d %7d %13d %14s %14.5f %14.5f %11d %12d %16d\n", number, level.tables, level.entries,
                             HumanBytes(level.bytes), level.ExpectedRate(), level.observed.ObservedRate(),
                             level.observed.lookups, level.ReadsSaved(), level.observed.false_positives);
    }
  }

  Place place_;
  std::string family_;
  uint64_t probes_ = 10'000;
};

}  // namespace

std::vector<VerbEntry> ExplainVerbs() {
  return {
      {"explain filters", "show each level's filters: memory, expected and observed false positive rate, reads saved",
       "explain filters /var/lib/app --probes 100000", MakeVerb<ExplainFiltersVerb>},
      {"explain get", "trace a lookup through memtables, tables, filters and blocks", "explain get /var/lib/app user:1",
       MakeVerb<ExplainGetVerb>}};
}

}  // namespace sepal::tools
