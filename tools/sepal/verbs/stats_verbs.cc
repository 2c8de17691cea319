// sepal stats: figures of a database, once, again and again, or for Prometheus.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>

#include "absl/strings/str_format.h"
#include "tools/sepal/database_access.h"
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
        app->add_flag("--prometheus", prometheus_, "The levels in Prometheus' text format, for a textfile collector");
    CLI::Option* const watch =
        app->add_flag("--watch", watch_, "A line for each interval, with what was flushed and merged in it");
    watch->excludes(prometheus);
    AddSeconds(app, "--interval", &interval_seconds_, "Between two lines")->capture_default_str()->needs(watch);
    app->add_option("--count", count_, "End after so many lines; 0: go on until interrupted")
        ->capture_default_str()
        ->needs(watch);
  }

  absl::Status Run(const Streams& io) override {
    if (watch_) return Watch(io);
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToRead(place_));
    nlohmann::json line = JsonHead();
    if (prometheus_) {
      std::string page = db->GetProperty("sepal.prometheus").value_or("");
      page.resize(std::min(page.size(), page.find(absl::StrFormat("# %s\n", kPrometheusOfThisProcess))));
      line["text"] = page;
      io.out << (json ? ToLine(line) + "\n" : page);
      return absl::OkStatus();
    }
    line["directory"] = place_.directory;
    for (const std::string& family_name : db->ColumnFamilyNames()) {
      ASSIGN_OR_RETURN(const std::shared_ptr<ColumnFamily> family, db->FindColumnFamily(family_name));
      nlohmann::json one = {{"name", family_name}};
      if (!json) io.out << io.paint.Bold("family " + Printable(family_name)) << "\n";
      for (const char* property : {"num-entries", "num-runs", "total-table-bytes", "memtable-bytes",
                                   "compaction-debt-bytes", "last-sequence"}) {
        const std::string value = db->GetProperty(family.get(), std::string("sepal.") + property).value_or("0");
        const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
        one[property] = number;
        const bool bytes = std::string_view(property).ends_with("-bytes");
        if (!json) io.out << absl::StrFormat("  %-22s %12s\n", property, bytes ? HumanBytes(number) : value);
      }
      line["column_families"].push_back(std::move(one));
    }
    if (json) {
      io.out << ToLine(line) << "\n";
    } else {
      io.out << io.paint.Bold("memory") << " of this look, not of the program that has the database open\n"
             << db->GetProperty("sepal.memory").value_or("");
    }
    return absl::OkStatus();
  }

 private:
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

  static constexpr char kHead[] =
      "time      tables      size       flushed        merged       removed        logs  runs of each level";

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
  return {{"stats", "figures of a database, once or at every interval", "stats /var/lib/app --watch --interval 5s",
           MakeVerb<StatsVerb>}};
}

}  // namespace sepal::tools
