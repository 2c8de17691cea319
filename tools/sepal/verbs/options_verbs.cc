// sepal options show: the options that a database keeps, as text that --options takes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "db/engine/core/check_options.h"
#include "db/format/system_row.h"
#include "sepal/options_text.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

// The lines NAME = VALUE of a text, with numbers and truth values as such.
nlohmann::json LinesJson(const std::string& text) {
  nlohmann::json options = nlohmann::json::object();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find(" =");
    if (equals == std::string::npos) continue;
    const std::string value = line.substr(std::min(equals + 3, line.size()));
    nlohmann::json parsed = nlohmann::json::parse(value, /*cb=*/nullptr, /*allow_exceptions=*/false);
    options[line.substr(0, equals)] = parsed.is_number() || parsed.is_boolean() ? parsed : nlohmann::json(value);
  }
  return options;
}

class ShowOptionsVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("--family", family_, "Only this column family (default: all)");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_));
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line["column_families"] = nlohmann::json::array();
    std::ostringstream text;
    if (family_.empty()) ShowLogDirectory(tree, &line, text);
    for (const auto& [id, family] : tree.families) {
      if (id == kSystemFamilyId || (!family_.empty() && family.created.name != family_)) continue;
      const std::string section =
          FamilyOptionsToText({.name = family.created.name, .options = OptionsGivenOrKept({}, family.kept_options)});
      if (text.tellp() > 0) text << "\n";
      if (family.version == nullptr) text << "# comparator: " << Escaped(family.created.comparator_name) << "\n";
      text << section;
      line["column_families"].push_back({{"name", BytesJson(family.created.name)},
                                         {"comparator", family.created.comparator_name},
                                         {"options", LinesJson(section)}});
    }
    if (line["column_families"].empty()) {
      return absl::NotFoundError(absl::StrFormat("there is no column family \"%s\"; sepal db families %s lists them",
                                                 family_, place_.directory));
    }
    io.out << (json ? ToLine(line) + "\n" : text.str());
    return absl::OkStatus();
  }

 private:
  static void ShowLogDirectory(const Tree& tree, nlohmann::json* line, std::ostream& text) {
    if (!tree.kept_logs.place.has_value()) return;
    const std::string& directory = tree.kept_logs.place->logs;
    (*line)["log_directory"] = directory;
    const std::string all = OptionsToText(Options{.log_directory = directory});
    const size_t begin = all.find("log_directory");
    text << all.substr(begin, all.find('\n', begin) + 1 - begin);
  }

  Place place_;
  std::string family_;
};

}  // namespace

std::vector<VerbEntry> OptionsVerbs() {
  return {{"options show", "print the options that the database keeps, as a file for --options",
           "options show /var/lib/app > app.options", MakeVerb<ShowOptionsVerb>}};
}

}  // namespace sepal::tools
