#include "tools/name_lookup/name_lookup.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "tools/db_bench/filter_savings.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

struct NameLookupOptions {
  std::string db = {};
  std::string load = {};
  std::vector<std::string> names = {};
  bool summary_only = false;
  bool json = false;
};

struct Answers {
  uint64_t names = 0, found = 0, ruled_out = 0;
};

absl::Status Load(DB* db, const std::string& path, std::ostream& err) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  constexpr size_t kFeedBytes = size_t{256} << 10;
  WriteBatch batch;
  uint64_t lines = 0;
  Progress progress("loading", 0, err, StandardErrorIsTerminal());
  for (std::string line; std::getline(file, line);) {
    const size_t tab = line.find('\t');
    const std::string_view whole = line;
    const std::string_view value = tab == std::string::npos ? std::string_view() : whole.substr(tab + 1);
    batch.Put(whole.substr(0, tab), value);
    ++lines;
    if (batch.ByteSize() >= kFeedBytes) {
      RETURN_IF_ERROR(db->Write(batch));
      batch.Clear();
      progress.Update(lines);
    }
  }
  // As of a directory.
  if (file.bad()) return absl::InternalError(absl::StrCat(path, " cannot be read"));
  RETURN_IF_ERROR(db->Write(batch));
  // Into table files, where the filters are.
  RETURN_IF_ERROR(db->Flush());
  RETURN_IF_ERROR(db->WaitForBackgroundWork());
  progress.Tell(absl::StrCat("loaded ", lines, " lines from ", path, "\n"));
  return absl::OkStatus();
}

// The answer to a lookup, for people.
std::string How(bool found, const FilterSavings& work) {
  if (found) return work.blocks_searched > 0 ? "read from a block" : "read from memory";
  if (work.blocks_searched > 0) return "a block was searched: the filters let the name through";
  if (work.files_asked == 0) return "no file covers the name; no block touched";
  return absl::StrFormat("ruled out by %s; no block touched", work.lane_rejections == 0    ? "a file's guard"
                                                              : work.guard_rejections == 0 ? "a block's lane"
                                                                                           : "guards and lanes");
}

absl::Status Answer(DB* db, const std::string& name, const NameLookupOptions& options, Answers* answers,
                    std::ostream& out) {
  const FilterSavings before = MeasureFilters(db->statistics());
  PinnedValue value;
  const absl::Status status = db->Get(name, value);
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  const FilterSavings work = MeasureFilters(db->statistics()) - before;
  const bool ruled_out = !status.ok() && work.blocks_searched == 0;
  ++answers->names;
  answers->found += status.ok() ? 1 : 0;
  answers->ruled_out += ruled_out ? 1 : 0;
  if (options.summary_only) return absl::OkStatus();
  if (options.json) {
    nlohmann::json line = {{"schema_version", kJsonSchemaVersion},
                           {"name", BytesJson(name)},
                           {"found", status.ok()},
                           {"ruled_out_by_filters", ruled_out},
                           {"blocks_searched", work.blocks_searched}};
    if (status.ok()) line["value"] = BytesJson(value.value());
    out << line.dump() << "\n";
  } else {
    out << absl::StrFormat("%-24s %-7s %s\n", name, status.ok() ? "taken" : "free", How(status.ok(), work));
  }
  return absl::OkStatus();
}

void PrintSummary(const Answers& answers, const FilterSavings& savings, bool json, std::ostream& out) {
  if (!json) {
    out << absl::StrFormat("%d names: %d taken, %d free; %d of the free ones were ruled out without touching a block\n",
                           answers.names, answers.found, answers.names - answers.found, answers.ruled_out)
        << savings.ToString() << "\n";
    return;
  }
  nlohmann::json line = JsonRow();
  line["names"] = answers.names;
  line["taken"] = answers.found;
  line["free"] = answers.names - answers.found;
  line["ruled_out_by_filters"] = answers.ruled_out;
  line["blocks_searched"] = savings.blocks_searched;
  line["block_reads_saved"] = savings.BlockReadsSaved();
  line["false_positives"] = savings.false_positives;
  out << line.dump() << "\n";
}

absl::Status Run(const NameLookupOptions& options, std::istream& in, std::ostream& out, std::ostream& err) {
  Options engine_options;
  engine_options.create_if_missing = !options.load.empty();
  absl::StatusOr<std::unique_ptr<DB>> opened = DB::Open(engine_options, options.db);
  if (absl::IsNotFound(opened.status())) {
    return absl::NotFoundError(
        absl::StrCat("there is no database in ", options.db, "; --load=FILE makes one of the names in FILE"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, std::move(opened));
  if (!options.load.empty()) RETURN_IF_ERROR(Load(db.get(), options.load, err));

  Answers answers;
  for (const std::string& name : options.names) {
    if (name != "-") {
      RETURN_IF_ERROR(Answer(db.get(), name, options, &answers, out));
      continue;
    }
    for (std::string line; std::getline(in, line);) {
      RETURN_IF_ERROR(Answer(db.get(), line, options, &answers, out));
    }
  }
  if (options.summary_only) PrintSummary(answers, MeasureFilters(db->statistics()), options.json, out);
  return db->Close();
}

int ParseAndRun(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err) {
  NameLookupOptions options;
  CLI::App app{
      "Is this name taken? Loads lines of `name<TAB>value` and looks names up, telling for each whether the filters\n"
      "ruled it out without a block being touched.\n\n"
      "Example: name_lookup --db=/tmp/names --load=names.tsv bash no-such-name",
      "name_lookup"};
  app.add_option("--db", options.db, "Directory of the database")->required();
  app.add_option("--load", options.load, "File of `name<TAB>value` lines to load first");
  app.add_flag("--summary", options.summary_only, "Print sums rather than a line for each name");
  app.add_flag("--json", options.json, "One JSON object a line");
  app.add_option("names", options.names, "Names to look up; - reads them from standard input, one a line");
  // A lone dash is a name here, not a flag.
  if (std::optional<int> exit = ParseFlags(&app, NormalizeArguments(argc, argv), out, err)) return *exit;
  const absl::Status status = Run(options, in, out, err);
  if (status.ok()) return kExitOk;
  err << "name_lookup: " << status.ToString() << "\n";
  return absl::IsDataLoss(status) ? kExitDamage : kExitError;
}

}  // namespace

int NameLookupMain(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err) {
  return ExitOfOutput(ParseAndRun(argc, argv, in, out, err), "name_lookup", out, err);
}

}  // namespace sepal::tools
