// sepal db property|clock|size|destroy: what a database says of itself, its clock, how much a range of keys takes, and
// its end.
#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/write_batch.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/key_range.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kPropertyPrefix = "sepal.";

struct KnownProperty {
  std::string_view name;  // without the prefix
  std::string_view meaning;
};
constexpr KnownProperty kProperties[] = {
    {"stats", "levels, statistics and filters"},
    {"levels", "runs, tables and bytes of each level"},
    {"sstables", "every table"},
    {"filters", "bits, and rates expected and seen"},
    {"memory", "bytes of the memory limit, by holder"},
    {"options", "options and what is derived from them"},
    {"snapshots", "snapshots that are held"},
    {"scrub", "how far scrubbing is; empty in a read-only opening"},
    {"log", "how records get into the log; empty in a read-only opening"},
    {"num-files-at-level<N>", "tables at level N, from 0"},
    {"num-runs", "sorted runs"},
    {"num-entries", "entries, estimated"},
    {"total-table-bytes", "bytes of tables"},
    {"estimated-live-bytes", "bytes of tables that are live data, estimated"},
    {"memtable-bytes", "bytes of memtables"},
    {"block-cache-bytes", "bytes of cached blocks"},
    {"compaction-debt-bytes", "bytes that compactions have to rewrite"},
    {"last-sequence", "the last sequence number"},
    {"background-error", "the error that background work has stopped on"},
    {"compactions-put-off", "compactions that met damage"},
    {"values", "value files, and how much of them is live"},
    {"merge-chains", "the most merge operands that a read combined, and those in memtables"},
    {"prepared-transactions", "prepared transactions: name, since when, updates, locks"},
    {"transactions", "open transactions; empty in a read-only opening"},
    {"expires", "1 if keys expire, or did"},
    {"clock", "the time by which keys expire, and what waits for it"},
    {"filter-epoch", "the epoch of the filter of compactions"},
    {"prometheus", "statistics, levels and memory for Prometheus"},
};

class PropertyVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    std::vector<std::string> words;
    for (const KnownProperty& known : kProperties) words.push_back(WithPrefix(known.name));
    AddChoices(app->add_option("NAME", property_, "The property, with or without \"sepal.\" (default: list them all)"),
               words);
    app->add_option("--family", family_, "Column family (default: default)");
  }

  absl::Status Run(const Streams& io) override {
    if (property_.empty()) return List(io);
    property_ = WithPrefix(property_);
    std::optional<std::string> value;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_));
      value = db->GetProperty(*family, property_);
      return absl::OkStatus();
    }));
    if (!value.has_value()) return Unknown();
    if (json) {
      nlohmann::json line = JsonHead();
      line["name"] = property_;
      line["value"] = *value;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << *value << (value->empty() || value->back() == '\n' ? "" : "\n");
    }
    return absl::OkStatus();
  }

 private:
  static std::string WithPrefix(std::string_view property) {
    std::string whole(property.starts_with(kPropertyPrefix) ? "" : kPropertyPrefix);
    return whole.append(property);
  }

  absl::Status List(const Streams& io) const {
    nlohmann::json line = JsonHead();
    line["properties"] = nlohmann::json::array();
    for (const KnownProperty& known : kProperties) {
      const std::string whole = WithPrefix(known.name);
      line["properties"].push_back({{"name", whole}, {"meaning", known.meaning}});
      if (!json) io.out << absl::StrFormat("%-30s  %s\n", whole, known.meaning);
    }
    if (json) io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

  absl::Status Unknown() const {
    std::vector<std::string> words;
    for (const KnownProperty& known : kProperties) words.push_back(WithPrefix(known.name));
    const std::string nearest = Nearest(words, property_);
    return absl::CancelledError(
        absl::StrFormat("there is no property %s; %s", property_,
                        nearest.empty() ? absl::StrFormat("sepal db property %s lists them", place_.Arguments())
                                        : "did you mean " + nearest + "?"));
  }

  Place place_;
  std::string property_, family_;
};

class ClockVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlagsToWrite(app);
    app->add_flag("--accept", accept_, "Take the wall clock as it stands for right");
  }

  absl::Status Run(const Streams& io) override {
    if (accept_) {
      ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToWrite(place_, /*create=*/false));
      RETURN_IF_ERROR(db->AcceptClock());
      RETURN_IF_ERROR(db->WaitForBackgroundWork());
      RETURN_IF_ERROR(db->Close());
    }
    std::optional<std::string> text;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      text = db->GetProperty(db->DefaultColumnFamily(), "sepal.clock");
      return absl::OkStatus();
    }));
    if (!json) {
      io.out << text.value_or("");
      return absl::OkStatus();
    }
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line["clock"] = text.value_or("");
    io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  Place place_;
  bool accept_ = false;
};

class SizeVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("--family", family_, "Column family (default: all)");
    range_.AddFlags(app);
    app->add_flag("--hex", hex_, "The keys are given in hexadecimal");
    app->add_flag("--distinct", distinct_, "Also about how many different keys there are, from the tables' sketches");
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(range_.Resolve(hex_));
    double keys = 0;
    nlohmann::json families;
    uint64_t total = 0;
    RETURN_IF_ERROR(LookAt(place_, [&](DB* db) -> absl::Status {
      families = nlohmann::json::array();
      total = 0;
      keys = 0;
      std::vector<std::string> names = db->ColumnFamilyNames();
      if (!family_.empty()) names = {family_};
      for (const std::string& family_name : names) {
        ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, FamilyNamed(db, family_name));
        ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(db, *family));
        families.push_back({{"name", BytesJson(family_name)}, {"bytes", bytes}});
        total += bytes;
        if (!distinct_) continue;
        ASSIGN_OR_RETURN(const double in_family, DistinctOf(db, *family));
        families.back()["distinct_keys"] = std::llround(in_family);
        keys += in_family;
      }
      return absl::OkStatus();
    }));
    if (json) {
      nlohmann::json line = JsonHead();
      line["bytes"] = total;
      if (distinct_) line["distinct_keys"] = std::llround(keys);
      line["column_families"] = families;
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%d (about %s)\n", total, HumanBytes(total));
      if (distinct_) io.out << absl::StrFormat("about %d different keys, give or take 3 %%\n", std::llround(keys));
    }
    return absl::OkStatus();
  }

 private:
  // No key lies beyond the largest that there can be.
  std::string End() const { return range_.beyond().value_or(std::string(kMaxKeyBytes, '\xff')); }
  absl::StatusOr<uint64_t> BytesOf(DB* db, const ColumnFamily& family) const {
    const std::string end = End();
    const Range range{.begin = range_.first(), .end = end};
    ASSIGN_OR_RETURN(const std::vector<uint64_t> bytes, db->GetApproximateSizes(family, {&range, 1}));
    return bytes[0];
  }
  absl::StatusOr<double> DistinctOf(DB* db, const ColumnFamily& family) const {
    if (!range_.beyond().has_value() && range_.first().empty()) return db->ApproximateDistinct(family);
    const std::string end = End();
    return db->ApproximateDistinct(family, Range{.begin = range_.first(), .end = end});
  }

  Place place_;
  std::string family_;
  KeyRange range_;
  bool hex_ = false;
  bool distinct_ = false;
};

class DestroyVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_flag("--yes", yes_, "Do not ask for confirmation");
  }

  absl::Status Run(const Streams& io) override {
    // What is no database is told before anything is asked; a damaged one can be destroyed.
    const absl::StatusOr<Tree> tree = ReadTree(place_);
    if (absl::IsNotFound(tree.status()) || !HoldsDatabase(place_.directory)) return tree.status();
    RETURN_IF_ERROR(CheckNotOpen(place_));
    RETURN_IF_ERROR(
        Confirm(io, yes_,
                absl::StrFormat("this deletes the database in %s, its logs and what repairs have put aside, for good",
                                place_.directory)));
    RETURN_IF_ERROR(WithRemedy(DB::Destroy(OptionsAt(place_), place_.directory), place_));
    if (json) {
      nlohmann::json line = JsonHead();
      line["directory"] = place_.directory;
      io.out << ToLine(line) << "\n";
    }
    return absl::OkStatus();
  }

 private:
  Place place_;
  bool yes_ = false;
};

}  // namespace

std::vector<VerbEntry> PropertyVerbs() {
  return {
      {"db property", "print a property of the database, or list the properties",
       "db property /var/lib/app sepal.levels", MakeVerb<PropertyVerb>},
      {"db clock", "the time by which keys expire; --accept: the wall clock is right", "db clock /var/lib/app --accept",
       MakeVerb<ClockVerb>},
      {"db size", "estimate the bytes that a range of keys takes",
       "db size /var/lib/app --prefix user:", MakeVerb<SizeVerb>},
      {"db destroy", "delete a database and its logs", "db destroy /var/lib/app --yes", MakeVerb<DestroyVerb>},
  };
}

}  // namespace sepal::tools
