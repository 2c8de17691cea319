// sepal db stats: levels, sizes and counts of a database, once, again and again, or for Prometheus.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/scrub_history.h"
#include "tools/sepal/tree_watch.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/stats/prometheus.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

class StatsVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    CLI::Option* const prometheus =
        app->add_flag("--prometheus", prometheus_,
                      "Print the metrics of the levels in the Prometheus text format, for a textfile collector");
    CLI::Option* const watch = app->add_flag(
        "--watch", watch_, "Print a line at each interval: bytes flushed, compacted and removed since the last");
    watch->excludes(prometheus);
    AddSeconds(app, "--interval", &interval_seconds_, "Time between two lines, at least 1ms")
        ->capture_default_str()
        ->needs(watch);
    AddCount(app, "--count", &count_, "End after this many lines; 0: go on until interrupted")
        ->capture_default_str()
        ->needs(watch);
  }

  absl::Status Run(const Streams& io) override {
    // Without a pause it would do nothing but look.
    if (interval_seconds_ < kLeastIntervalSeconds) return absl::CancelledError("--interval is too short: at least 1ms");
    if (watch_) return Watch(io);
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToRead(place_));
    if (prometheus_) return Prometheus(db.get(), io.out);
    ASSIGN_OR_RETURN(const Properties all, db->GetProperties());
    const uint64_t last_sequence = all.last_sequence;
    const ScrubHistory scrubbed = ReadScrubHistory(place_);
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line["last_sequence"] = last_sequence;
    line["scrub"] = ScrubJson(scrubbed);
    line["column_families"] = nlohmann::json::array();
    if (!json) {
      io.out << absl::StrFormat("%s: last sequence number %d\n", place_.directory, last_sequence)
             << ScrubText(scrubbed, io.paint);
    }
    for (const std::string& family_name : db->ColumnFamilyNames()) {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, db->FindColumnFamily(family_name));
      ASSIGN_OR_RETURN(const Properties properties, db->GetProperties(*family));
      const nlohmann::json figures = FamilyJson(properties, family_name);
      if (!json) PrintFamily(family_name, figures, db->GetProperty(*family, "sepal.levels").value_or(""), io);
      line["column_families"].push_back(figures);
    }
    if (json) io.out << ToLine(line) << "\n";
    return absl::OkStatus();
  }

 private:
  absl::Status Prometheus(DB* db, std::ostream& out) const {
    std::string page = db->GetProperty("sepal.prometheus").value_or("");
    page.resize(std::min(page.size(), page.find(absl::StrFormat("# %s\n", kPrometheusOfThisProcess))));
    nlohmann::json line = JsonHead();
    line["text"] = page;
    out << (json ? ToLine(line) + "\n" : page);
    return absl::OkStatus();
  }

  static nlohmann::json FamilyJson(const Properties& properties, const std::string& family_name) {
    nlohmann::json figures = {{"name", BytesJson(family_name)},
                              {"entries_estimate", properties.entries},
                              {"table_bytes", properties.table_bytes},
                              {"memtable_bytes", properties.memtable_bytes},
                              {"compaction_debt_bytes", properties.compaction_debt_bytes},
                              {"runs", properties.runs},
                              {"tables_at_level", nlohmann::json::array()}};
    for (const LevelProperties& level : properties.levels) figures["tables_at_level"].push_back(level.tables);
    return figures;
  }

  static void PrintFamily(const std::string& family_name, const nlohmann::json& figures, const std::string& levels,
                          const Streams& io) {
    const auto bytes = [&](const char* name) { return HumanBytes(figures.at(name).get<uint64_t>()); };
    io.out << absl::StrFormat("\n%s: about %s in %s; tables %s, memtables %s, pending compaction %s\n%s",
                              io.paint.Bold("column family " + Escaped(family_name)),
                              Counted(figures.at("entries_estimate").get<uint64_t>(), "entry"),
                              Counted(figures.at("runs").get<uint64_t>(), "run"), bytes("table_bytes"),
                              bytes("memtable_bytes"), bytes("compaction_debt_bytes"), levels);
  }

  absl::Status Watch(const Streams& io) const {
    TreeWatch watch(place_);
    Mutex mutex;
    CondVar never;
    const uint64_t interval_nanos = static_cast<uint64_t>(interval_seconds_ * 1e9);
    uint64_t next_nanos = NowNanos();
    for (uint64_t line = 0; io.out; ++line) {
      ASSIGN_OR_RETURN(const TreeChange change, watch.Look());
      if (json) {
        io.out << ToLine(Line(change)) << std::endl;
      } else {
        if (line % 20 == 0) io.out << io.paint.Bold(kHead) << "\n";
        io.out << Text(change) << std::endl;
      }
      if (line + 1 == count_) break;
      next_nanos += interval_nanos;
      MutexLock lock(&mutex);
      for (uint64_t now = NowNanos(); now < next_nanos; now = NowNanos()) {
        never.WaitFor(&mutex, (next_nanos - now) / 1000 + 1);
      }
    }
    return absl::OkStatus();
  }

  static constexpr double kLeastIntervalSeconds = 0.001;
  static constexpr char kHead[] =
      "time      tables      size       flushed     compacted       removed        logs  runs of each level";

  static std::string Text(const TreeChange& change) {
    const time_t now = time(nullptr);
    tm local = {};
    localtime_r(&now, &local);
    std::string levels;
    for (const LevelState& level : change.levels) levels += absl::StrFormat(" %d", level.runs);
    return absl::StrFormat("%02d:%02d:%02d  %6d %9s %13s %13s %13s %11s %s", local.tm_hour, local.tm_min, local.tm_sec,
                           change.tables, HumanBytes(change.bytes), HumanBytes(change.flushed_bytes),
                           HumanBytes(change.compacted_bytes), HumanBytes(change.removed_bytes),
                           HumanBytes(change.log_bytes), levels);
  }

  nlohmann::json Line(const TreeChange& change) const {
    nlohmann::json line = JsonHead();
    line["directory"] = place_.directory;
    line["unix_micros"] = Clock::System()->UnixMicros();
    line["tables"] = change.tables;
    line["bytes"] = change.bytes;
    line["logs"] = change.logs;
    line["log_bytes"] = change.log_bytes;
    line["flushed_sequence"] = change.flushed_sequence;
    line["flushed_tables"] = change.flushed_tables;
    line["flushed_bytes"] = change.flushed_bytes;
    line["compacted_tables"] = change.compacted_tables;
    line["compacted_bytes"] = change.compacted_bytes;
    line["moved_tables"] = change.moved_tables;
    line["removed_tables"] = change.removed_tables;
    line["removed_bytes"] = change.removed_bytes;
    line["levels"] = nlohmann::json::array();
    for (const LevelState& level : change.levels) {
      line["levels"].push_back({{"runs", level.runs}, {"tables", level.tables}, {"bytes", level.bytes}});
    }
    return line;
  }

  Place place_;
  bool prometheus_ = false, watch_ = false;
  double interval_seconds_ = 1;
  uint64_t count_ = 0;
};

}  // namespace

std::vector<VerbEntry> StatsVerbs() {
  return {{"db stats", "levels, sizes and counts of a database, once or at every interval",
           "db stats /var/lib/app --watch --interval 5s", MakeVerb<StatsVerb>}};
}

}  // namespace sepal::tools
