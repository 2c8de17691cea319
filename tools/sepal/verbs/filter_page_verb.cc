// sepal filter page: a filter to play with, and the filters of a file or of a database, as one HTML file.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/filter_access.h"
#include "tools/sepal/pictures/filter_page.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

class FilterPageVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("SHOWN", shown_, "A filter, or the directory of a database, to be shown (default: neither)");
    app->add_option("--log-directory", place_.log_directory,
                    "Directory of the database's write-ahead logs (default: as it was last opened)");
    app->add_option("--output,-o", output_, "The HTML file to write")->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(CheckOutput(output_, shown_));
    nlohmann::json data = nlohmann::json::object(), line = JsonHead();
    line["output"] = output_;
    std::string told;
    std::error_code error;
    if (std::filesystem::is_directory(shown_, error)) {
      place_.directory = shown_;
      ASSIGN_OR_RETURN(data["database"], ReadTables(io));
      uint64_t tables = 0;
      for (const nlohmann::json& family : data["database"]["families"]) tables += family.at("tables").size();
      line["tables"] = tables;
      told = " with the filters of " + Counted(tables, "table");
    } else if (!shown_.empty()) {
      ASSIGN_OR_RETURN(const filters::AnyFilter filter, ReadFilter(shown_));
      data["filter"] = FilterPageData(shown_, filter);
      line["kind"] = data["filter"]["info"]["kind"];
      told = absl::StrFormat(" with the %s filter %s", line["kind"].get<std::string>(), shown_);
    }
    RETURN_IF_ERROR(WriteWhole(output_, FilterPage(data)));
    if (json) {
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: a filter to play with%s%s; open it in a browser\n", output_,
                                told.empty() ? "" : ",", told);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<nlohmann::json> ReadTables(const Streams& io) const {
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_));
    uint64_t bytes = 0;
    for (const AddedTable& added : tree.Tables()) bytes += added.table.size_bytes;
    Progress progress("read bytes", bytes, io.err, StandardErrorIsTerminal());
    absl::StatusOr<nlohmann::json> data = TableFiltersData(tree, [&](uint64_t read) { progress.Update(read); });
    if (!data.ok()) return WithRemedy(data.status(), tree.place);
    return data;
  }

  Place place_;
  std::string shown_, output_ = "filter.html";
};

}  // namespace

std::vector<VerbEntry> FilterPageVerbs() {
  return {{"filter page", "a filter to play with, and those of a file or a database, as one HTML file",
           "filter page weak.filter --output filter.html", MakeVerb<FilterPageVerb>}};
}

}  // namespace sepal::tools
