// sepal filter test|info|merge|plot: asking filters, describing, joining and measuring them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tools/sepal/filter_access.h"
#include "tools/sepal/filter_rates.h"
#include "tools/sepal/pictures/filter_picture.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal::tools {
namespace {

using filters::AnyFilter;
using filters::BloomLayout;
using filters::FilterInfo;
using filters::FilterKind;

class FilterTestVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("FILTER", filter_, "The filter")->required();
    app->add_option("FILE", file_, "Keys, one a line (default: standard input, as for -)");
    CLI::Option* const maybe =
        app->add_flag("--only-maybe", only_maybe_, "Print the lines that may be in the filter, and nothing else");
    app->add_flag("--only-absent", only_absent_, "Print the lines that are certainly absent, and nothing else")
        ->excludes(maybe);
    app->add_flag("--hex", hex_, "Lines are keys in hexadecimal");
  }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const AnyFilter filter, ReadFilter(filter_));
    // That it has no answers is told before the first line.
    if (const absl::Status can = filters::MayContain(filter, "").status(); !can.ok()) {
      return absl::Status(
          can.code(), absl::StrFormat("%s: %s; sepal filter info tells what it knows", filter_, ToStd(can.message())));
    }
    ASSIGN_OR_RETURN(const KeyLines lines, KeyLines::Open(file_, hex_, io.in));
    uint64_t maybes = 0, absents = 0;
    bool noted = hex_;
    RETURN_IF_ERROR(lines.ForEachLine([&](std::string_view line, std::string_view key) -> absl::Status {
      ASSIGN_OR_RETURN(const bool maybe, filters::MayContain(filter, key));
      ++(maybe ? maybes : absents);
      if (!noted && key.ends_with('\r')) {
        noted = true;
        io.err << "note: lines end with a carriage return, which is a part of the key (tr -d '\\r' removes them)\n";
      }
      if (!(maybe ? only_absent_ : only_maybe_)) Print(line, key, maybe, io.out);
      return io.out ? absl::OkStatus() : absl::InternalError("the output cannot be written");
    }));
    if (!json) return absl::OkStatus();
    nlohmann::json summary = JsonHead();
    summary["filter"] = filter_;
    summary["maybe"] = maybes;
    summary["absent"] = absents;
    io.out << ToLine(summary) << "\n";
    return absl::OkStatus();
  }

 private:
  void Print(std::string_view line, std::string_view key, bool maybe, std::ostream& out) const {
    const std::string_view answer = maybe ? "maybe" : "absent";
    if (json) {
      nlohmann::json row = JsonRow();
      row["key"] = BytesJson(key);
      row["answer"] = answer;
      out << ToLine(row) << "\n";
      return;
    }
    if (!only_maybe_ && !only_absent_) out << answer << '\t';
    out << line << '\n';
  }

  std::string filter_, file_;
  bool only_maybe_ = false, only_absent_ = false, hex_ = false;
};

class FilterInfoVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override { app->add_option("FILTER", filter_, "The filter")->required(); }

  absl::Status Run(const Streams& io) override {
    ASSIGN_OR_RETURN(const AnyFilter filter, ReadFilter(filter_));
    const FilterInfo info = filters::Describe(filter);
    if (json) {
      nlohmann::json line = JsonHead();
      line["filter"] = filter_;
      line.update(InfoJson(info));
      io.out << ToLine(line) << "\n";
    } else {
      PrintText(info, io.out);
    }
    return absl::OkStatus();
  }

 private:
  static void PrintText(const FilterInfo& info, std::ostream& out) {
    const auto row = [&out](std::string_view name_of_row, const std::string& value) {
      out << absl::StrFormat("%-16s%s\n", name_of_row, value);
    };
    const auto number = [](uint64_t value) { return absl::StrFormat("%u", value); };
    row("kind", std::string(filters::NameOf(info.kind)));
    if (info.kind != FilterKind::kHyperLogLog) row("keys added", number(info.keys));
    if (info.kind != FilterKind::kCountMin) {
      row("different keys", std::isfinite(info.estimated_keys) ? absl::StrFormat("about %.0f", info.estimated_keys)
                                                               : "not known: every bit is set");
    }
    row(UnitOf(info.kind), number(info.size));
    if (info.probes > 0) row("hashes", number(static_cast<uint64_t>(info.probes)));
    if (info.width > 0) {
      row(info.kind == FilterKind::kHyperLogLog ? "precision" : "bits of each",
          number(static_cast<uint64_t>(info.width)));
    }
    row("memory", HumanBytes(info.memory_bytes));
    row("seed", number(info.seed));
    if (!AnswersQuestions(info.kind)) return;
    if (info.fill > 0) row("fill", absl::StrFormat("%.4f", info.fill));
    row("rate", absl::StrFormat("%.4g", info.false_positive_rate));
  }

  std::string filter_;
};

class FilterMergeVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("FILE", files_, "Filters of one kind, with the same parameters and seed")
        ->required()
        ->expected(2, 4096);
    app->add_option("--output,-o", output_, "The filter to write; it appears once it is whole")->required();
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(CheckOutput(output_));
    ASSIGN_OR_RETURN(AnyFilter merged, ReadFilter(files_.front()));
    for (size_t i = 1; i < files_.size(); ++i) {
      ASSIGN_OR_RETURN(const AnyFilter other, ReadFilter(files_[i]));
      const absl::Status status = filters::Merge(&merged, other);
      if (status.ok()) continue;
      const std::string_view remedy = absl::IsFailedPrecondition(status)
                                          ? "; build all with the same --kind, --keys, --rate and --seed"
                                          : "; build one filter of all keys";
      return absl::Status(status.code(), absl::StrFormat("%s and %s: %s%s", files_.front(), files_[i],
                                                         ToStd(status.message()), remedy));
    }
    RETURN_IF_ERROR(WriteWhole(output_, filters::Serialize(merged)));
    const FilterInfo info = filters::Describe(merged);
    if (json) {
      nlohmann::json line = JsonHead();
      line["output"] = output_;
      line["merged"] = files_.size();
      line.update(InfoJson(info));
      io.out << ToLine(line) << "\n";
      return absl::OkStatus();
    }
    io.out << absl::StrFormat("%s: %s filter, merged of %u, %s", output_, filters::NameOf(info.kind), files_.size(),
                              HumanBytes(info.memory_bytes));
    if (AnswersQuestions(info.kind)) {
      io.out << absl::StrFormat("; rate of false positives %.4g", info.false_positive_rate);
    }
    io.out << "\n";
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> files_;
  std::string output_;
};

class FilterPlotVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    app->add_option("--output,-o", output_, "The SVG file to write")->capture_default_str();
    AddCount(app, "--keys", &keys_, "How many keys the filters are made for", {.least = 1, .most = 100'000'000})
        ->capture_default_str();
    AddRate(app, "--rate", &rate_, "Their rate of false positives at so many keys")->capture_default_str();
    app->add_option("--kind", kind_, "Only this kind: blocked, bloom or partitioned (default: all three)")
        ->check(CLI::IsMember({"blocked", "bloom", "partitioned"}));
    AddCount(app, "--lookups", &lookups_, "How many absent keys each filter is asked for", {.least = 1000})
        ->capture_default_str();
    AddCount(app, "--seed", &seed_, "Seed of the keys and of the hash")->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    RETURN_IF_ERROR(CheckOutput(output_));
    RateExperiment experiment{.keys = keys_, .rate = rate_, .lookups = lookups_, .seed = seed_};
    for (const BloomLayout layout : {BloomLayout::kBlocked, BloomLayout::kClassic, BloomLayout::kPartitioned}) {
      if (!kind_.empty() && KindNamed(kind_) != static_cast<FilterKind>(layout)) continue;
      const absl::Status possible = filters::BloomShape::For(keys_, rate_, layout).status();
      if (possible.ok()) experiment.layouts.push_back(layout);
      if (possible.ok()) continue;
      // Of the three, only this one has a least rate.
      const absl::Status why = AsUsage(possible);
      if (!kind_.empty() || layout != BloomLayout::kBlocked) return why;
      io.err << "note: " << why.message() << ": it is left out\n";
    }
    ASSIGN_OR_RETURN(const std::vector<RatePoint> theory, TheoryOfRates(experiment));
    ASSIGN_OR_RETURN(const std::vector<RatePoint> measured, Measure(experiment, io));
    RETURN_IF_ERROR(WriteWhole(output_, RatesPicture(experiment, theory, measured)));
    Tell(measured, io);
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<std::vector<RatePoint>> Measure(const RateExperiment& experiment, const Streams& io) {
    Progress progress("measured points", /*total=*/0, io.err, StandardErrorIsTerminal());
    return MeasureRates(experiment, [&](uint64_t done) { progress.Update(done); });
  }

  void Tell(const std::vector<RatePoint>& measured, const Streams& io) const {
    // Where chance alone makes 3 % of difference rarely.
    constexpr uint64_t kMany = 10'000;
    double largest = 0;
    uint64_t compared = 0;
    nlohmann::json points = nlohmann::json::array();
    for (const RatePoint& point : measured) {
      points.push_back({{"kind", filters::NameOf(static_cast<FilterKind>(point.layout))},
                        {"axis", AxisName(point.axis)},
                        {"x", point.x},
                        {"theory", point.theory},
                        {"observed", point.Observed()},
                        {"false_positives", point.false_positives}});
      if (point.false_positives < kMany) continue;
      ++compared;
      largest = std::max(largest, std::abs(point.Observed() / point.theory - 1));
    }
    if (json) {
      nlohmann::json line = JsonHead();
      line["output"] = output_;
      line["lookups"] = lookups_;
      line["points"] = std::move(points);
      line["largest_difference"] = compared > 0 ? nlohmann::json(largest) : nlohmann::json();
      io.out << ToLine(line) << "\n";
      return;
    }
    io.out << absl::StrFormat("%s: %s", output_, Counted(measured.size(), "point"));
    if (compared > 0) {
      io.out << absl::StrFormat("; those of %u false positives or more are within %.1f %% of theory", kMany,
                                largest * 100);
    }
    io.out << "\n";
  }

  static std::string_view AxisName(RateAxis axis) {
    switch (axis) {
      case RateAxis::kKeys:
        return "keys";
      case RateAxis::kHashes:
        return "hashes";
      case RateAxis::kBitsPerKey:
        return "bits_per_key";
    }
    return "";
  }

  std::string output_ = "filters.svg", kind_;
  uint64_t keys_ = 10'000, lookups_ = 1'000'000, seed_ = 0;
  double rate_ = 0.01;
};

}  // namespace

std::vector<VerbEntry> FilterVerbs() {
  return {{"filter test", "whether lines are certainly absent from a filter, or may be in it",
           "filter test weak.filter tries.txt --only-maybe", MakeVerb<FilterTestVerb>},
          {"filter info", "what a filter is, what it holds, and its rate of false positives", "filter info weak.filter",
           MakeVerb<FilterInfoVerb>},
          {"filter merge", "join filters of the same parameters into the filter of all their keys",
           "filter merge monday.filter tuesday.filter --output week.filter", MakeVerb<FilterMergeVerb>},
          {"filter plot", "draw rates of false positives, measured beside theory, as one SVG file",
           "filter plot --keys 10k --rate 0.01 --output filters.svg", MakeVerb<FilterPlotVerb>}};
}

}  // namespace sepal::tools
