// sepal family create|drop: column families come and go. `sepal db families` lists them.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "sepal/options_text.h"
#include "tools/sepal/database_access.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

class FamilyVerb : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("NAME", family_, "Name of the column family")->required();
  }

 protected:
  void Tell(const Streams& io, const char* what) const {
    if (!json) return;
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line[what] = BytesJson(family_);
    io.out << ToLine(line) << "\n";
  }

  Place place_;
  std::string family_;
};

class CreateFamilyVerb final : public FamilyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    FamilyVerb::AddFlags(app);
    app->add_option("--options", options_file_,
                    "File of options, as sepal options show prints it: those of the section of that name, or else of "
                    "[family]")
        ->check(CLI::ExistingFile);
    app->add_option("--merge-operator", merge_operator_, "For db merge: add64, append:SEPARATOR, max, min or json");
    AddSeconds(app, "--ttl", &ttl_seconds_, "How long keys are there that are put without a ttl; 0: for ever");
    AddSeconds(app, "--history", &history_seconds_,
               "For how long what was overwritten or deleted is kept, for --as-of and db history; 0: not at all");
  }

  absl::Status Run(const Streams& io) override {
    if (family_.empty()) return absl::CancelledError("a column family needs a name");
    Options options;
    if (!options_file_.empty()) {
      ASSIGN_OR_RETURN(options, OptionsFromFile(options_file_));
    }
    ColumnFamilyOptions own = options.family;
    for (const ColumnFamilyDescriptor& descriptor : options.column_families) {
      if (descriptor.name == family_) own = descriptor.options;
    }
    if (!merge_operator_.empty()) {
      own.merge_operator = OperatorOf(merge_operator_);
      if (own.merge_operator == nullptr) {
        return absl::CancelledError(absl::StrFormat(
            "--merge-operator %s: there are add64, append:SEPARATOR, max, min and json", Printable(merge_operator_)));
      }
    }
    own.ttl = std::chrono::milliseconds(std::llround(ttl_seconds_ * 1000));
    own.history = std::chrono::milliseconds(std::llround(history_seconds_ * 1000));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    RETURN_IF_ERROR(db->CreateColumnFamily(family_, own).status());
    RETURN_IF_ERROR(db->Close());
    Tell(io, "created");
    return absl::OkStatus();
  }

 private:
  static std::shared_ptr<const MergeOperator> OperatorOf(std::string_view name) {
    constexpr std::string_view kAppend = "append:";
    if (name == "add64") return MergeOperators::Add64();
    if (name == "max") return MergeOperators::Max();
    if (name == "min") return MergeOperators::Min();
    if (name == "json") return MergeOperators::JsonMergePatch();
    if (name.starts_with(kAppend)) return MergeOperators::Append(name.substr(kAppend.size()));
    return nullptr;
  }

  std::string options_file_, merge_operator_;
  double ttl_seconds_ = 0, history_seconds_ = 0;
};

class DropFamilyVerb final : public FamilyVerb {
 public:
  void AddFlags(CLI::App* app) override {
    FamilyVerb::AddFlags(app);
    app->add_flag("--yes", yes_, "Do not ask for confirmation");
  }

  absl::Status Run(const Streams& io) override {
    // What cannot be dropped is told before anything is asked.
    if (family_ == kDefaultColumnFamilyName) {
      return absl::CancelledError("the default column family cannot be dropped");
    }
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) { return FamilyNamed(db, family_).status(); }));
    RETURN_IF_ERROR(Confirm(io, yes_,
                            absl::StrFormat("this deletes the column family \"%s\" of %s with all its entries",
                                            Escaped(family_), place_.directory)));
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
    {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db.get(), family_));
      RETURN_IF_ERROR(db->DropColumnFamily(*family));
    }
    RETURN_IF_ERROR(db->Close());
    Tell(io, "dropped");
    return absl::OkStatus();
  }

 private:
  bool yes_ = false;
};

}  // namespace

std::vector<VerbEntry> FamilyVerbs() {
  return {
      {"family create", "make a column family", "family create /var/lib/app events", MakeVerb<CreateFamilyVerb>},
      {"family drop", "delete a column family and all its entries", "family drop /var/lib/app events --yes",
       MakeVerb<DropFamilyVerb>},
  };
}

}  // namespace sepal::tools
