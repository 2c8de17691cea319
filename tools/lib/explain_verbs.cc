// sepal explain get: how a lookup found its answer.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tools/lib/cli.h"
#include "tools/lib/database_access.h"
#include "tools/lib/verb.h"
#include "util/status.h"

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
  if (source.answer == ExplainedSource::Answer::kFound || source.answer == ExplainedSource::Answer::kDeleted) {
    json["sequence"] = source.sequence;
  }
  if (source.kind != ExplainedSource::Kind::kTable) return json;
  json["level"] = source.level;
  json["run"] = source.run;
  json["file_number"] = source.file_number;
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
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToRead(place_));
    ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_));
    ASSIGN_OR_RETURN(const GetExplanation explanation, db->ExplainGet(family.get(), key));
    if (!json) {
      io.out << explanation.ToString();
      return absl::OkStatus();
    }
    nlohmann::json line = JsonHead();
    line["key"] = BytesJson(key);
    line["column_family"] = explanation.column_family;
    line["found"] = explanation.found;
    if (explanation.found) line["value_bytes"] = explanation.value_bytes;
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

}  // namespace

std::vector<VerbEntry> ExplainVerbs() {
  return {{"explain get", "which memtables, files, filters and blocks a lookup asks, and what each says",
           "explain get /var/lib/app user:1", MakeVerb<ExplainGetVerb>}};
}

}  // namespace sepal::tools
