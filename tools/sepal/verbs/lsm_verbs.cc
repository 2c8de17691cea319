// sepal lsm tree|html, options explain: the shape of a database, and what its options derive.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_policy.h"
#include "db/engine/core/check_options.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "db/state/version/tuning.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/database_access.h"
#include "tools/sepal/pictures/key_ranks.h"
#include "tools/sepal/pictures/lsm_picture.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/verb.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/files/retry_beside_writer.h"

namespace sepal::tools {
namespace {

constexpr size_t kSpanColumns = 48;

// Where keys lie among those with which the tables of a family begin and end.
class KeyColumns {
 public:
  explicit KeyColumns(const std::vector<AddedTable>& tables) : ranks_(KeysOf(tables)) {}

  // The column, from 0 to kSpanColumns - 1.
  size_t Column(std::string_view key) const {
    return ranks_.Of(key) * (kSpanColumns - 1) / std::max<size_t>(1, ranks_.keys().size() - 1);
  }

 private:
  static std::vector<std::string> KeysOf(const std::vector<AddedTable>& tables) {
    std::vector<std::string> keys;
    for (const AddedTable& added : tables) {
      keys.push_back(added.table.smallest.user_key);
      keys.push_back(added.table.largest.user_key);
    }
    return keys;
  }

  const KeyRanks ranks_;
};

class LsmTreeVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_flag("--tables", tables_, "Print a line for each table, too");
  }

  absl::Status Run(const Streams& io) override {
    Tree tree;
    std::map<ColumnFamilyId, Unflushed> unflushed;
    bool tree_read = false;
    // Beside a live writer logs are flushed, removed and used again.
    const absl::Status read = RetryBesideWriter([&]() -> absl::StatusOr<bool> {
                                tree_read = false;
                                unflushed.clear();
                                ASSIGN_OR_RETURN(tree, ReadTree(place_));
                                tree_read = true;
                                RETURN_IF_ERROR(CountUnflushed(tree, &unflushed));
                                return true;
                              }).status();
    if (absl::IsAborted(read)) return Overtaken(read, place_);
    if (!tree_read) return read;
    // Logs that cannot be read do not hide the tables.
    reported = json && !read.ok();
    if (json) {
      PrintJson(tree, read, &unflushed, io.out);
    } else {
      for (const auto& [id, family] : tree.families) PrintFamily(family, unflushed[id], io.paint, io.out);
    }
    return read;
  }

 private:
  // Updates in the logs that no table has: memtables hold them when the database is open.
  struct Unflushed {
    uint64_t updates = 0;
    uint64_t bytes = 0;  // of keys and values
  };

  static absl::Status CountUnflushed(const Tree& tree, std::map<ColumnFamilyId, Unflushed>* unflushed) {
    const auto count = [&](SequenceNumber first, std::string_view batch) -> absl::Status {
      RETURN_IF_ERROR(CheckBatch(batch));
      BatchReader reader(batch);
      BatchEntry entry;
      for (SequenceNumber sequence = first; reader.Next(&entry); sequence = sequence.next()) {
        const auto family = tree.families.find(entry.family);
        if (family == tree.families.end() || sequence <= family->second.flushed_through) continue;
        Unflushed& counted = (*unflushed)[entry.family];
        ++counted.updates;
        counted.bytes += entry.key.size() + entry.value.size();
      }
      return reader.status();
    };
    return ReadLogs(tree, count).status();
  }

  void PrintJson(const Tree& tree, const absl::Status& read, std::map<ColumnFamilyId, Unflushed>* unflushed,
                 std::ostream& out) const {
    nlohmann::json line = JsonHead(read);
    line["directory"] = place_.directory;
    line["last_sequence_in_manifest"] = tree.last_sequence.value();
    line["column_families"] = nlohmann::json::array();
    for (const auto& [id, family] : tree.families) {
      nlohmann::json one = {{"id", id.value()},
                            {"name", BytesJson(family.created.name)},
                            {"comparator", family.created.comparator_name},
                            {"flushed_through", family.flushed_through.value()},
                            {"unflushed_updates", (*unflushed)[id].updates},
                            {"unflushed_bytes", (*unflushed)[id].bytes},
                            {"tables", nlohmann::json::array()}};
      for (const AddedTable& added : family.tables) one["tables"].push_back(TableJson(added));
      line["column_families"].push_back(std::move(one));
    }
    out << ToLine(line) << "\n";
  }

  void PrintFamily(const FamilyTree& family, const Unflushed& unflushed, const Paint& paint, std::ostream& out) const {
    uint64_t bytes = 0, entries = 0;
    for (const AddedTable& added : family.tables) {
      bytes += added.table.size_bytes;
      entries += added.table.entries;
    }
    out << absl::StrFormat("%s: %s, %s, %s\n", paint.Bold("column family " + Escaped(family.created.name)),
                           Counted(family.tables.size(), "table"), HumanBytes(bytes), Counted(entries, "entry"));
    if (unflushed.updates > 0) {
      out << absl::StrFormat("  memory: %s, %s of keys and values, in the log and not yet in a table\n",
                             Counted(unflushed.updates, "update"), HumanBytes(unflushed.bytes));
    }
    if (family.version == nullptr) {
      out << "  ordered by " << Escaped(family.created.comparator_name) << ", which this tool does not know\n";
      return;
    }
    const KeyColumns columns(family.tables);
    int shown_level = -1;
    for (const LevelRun& level_run : family.version->runs()) {
      if (level_run.level != shown_level) {
        shown_level = level_run.level;
        out << absl::StrFormat("  level %d: %s, %s\n", shown_level,
                               Counted(static_cast<uint64_t>(family.version->NumRuns(shown_level)), "run"),
                               HumanBytes(family.version->Bytes(shown_level)));
      }
      PrintRun(*level_run.run, columns, paint, out);
    }
  }

  void PrintRun(const sepal::Run& run, const KeyColumns& columns, const Paint& paint, std::ostream& out) const {
    std::string span(kSpanColumns, '.');
    for (const TableRef& table : run.tables()) {
      const size_t first = columns.Column(table->metadata().smallest.user_key);
      const size_t last = columns.Column(table->metadata().largest.user_key);
      for (size_t i = first; i <= last; ++i) span[i] = '#';
    }
    out << absl::StrFormat("    run %-6d |%s| %12s %10s %16s %s\n", run.number().value(), paint.Picture(span),
                           Counted(run.tables().size(), "table"), HumanBytes(run.bytes()),
                           Counted(run.entries(), "entry"), Counted(run.tombstones(), "tombstone"));
    if (!tables_) return;
    for (const TableRef& table : run.tables()) {
      const TableMetadata& m = table->metadata();
      out << absl::StrFormat("      %s %9s %8d entries, seq %d..%d, %s .. %s\n", TableFileName(m.number),
                             HumanBytes(m.size_bytes), m.entries, m.lowest_sequence.value(), m.highest_sequence.value(),
                             ShownKey(m.smallest.user_key), ShownKey(m.largest.user_key));
    }
  }

  Place place_;
  bool tables_ = false;
};

class LsmHtmlVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    place_.AddFlags(app);
    app->add_option("--output,-o", output_, "The HTML file to write")->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    std::vector<VersionEdit> edits;
    ASSIGN_OR_RETURN(const Tree tree, ReadTree(place_, [&](const VersionEdit& edit) {
                       edits.push_back(edit);
                       return absl::OkStatus();
                     }));
    ASSIGN_OR_RETURN(const nlohmann::json fills, Fills(tree));
    const std::string page = PicturePage(PictureData(tree, edits, fills));
    RETURN_IF_ERROR(WriteWhole(output_, page));
    if (json) {
      nlohmann::json line = JsonHead();
      line["output"] = output_;
      line["edits"] = edits.size();
      io.out << ToLine(line) << "\n";
    } else {
      io.out << absl::StrFormat("%s: %s, %s now; open it in a browser\n", output_, Counted(edits.size(), "edit"),
                                Counted(tree.Tables().size(), "table"));
    }
    return absl::OkStatus();
  }

 private:
  // Of the tables that are there now; one that a live writer has removed meanwhile is left out.
  static absl::StatusOr<nlohmann::json> Fills(const Tree& tree) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                     ToolFiles()->OpenDirectory(tree.place.directory, /*create=*/false));
    nlohmann::json fills = nlohmann::json::object();
    for (const auto& [id, family] : tree.families) {
      if (family.version == nullptr) continue;
      for (const AddedTable& added : family.tables) {
        const absl::StatusOr<std::shared_ptr<TableReader>> reader = OpenTableOf(directory.get(), added.table);
        if (absl::IsNotFound(reader.status())) continue;
        RETURN_IF_ERROR(reader.status());
        ASSIGN_OR_RETURN(const std::optional<TableReader::GuardInfo> guard, (*reader)->ReadGuardInfo());
        const TableProperties& properties = (*reader)->properties();
        fills[std::to_string(added.table.number.value())] = {{"guard_bytes", properties.guard_bytes},
                                                             {"guard_fill", guard.has_value() ? guard->fill : 0},
                                                             {"lane_bytes", properties.lane_bytes},
                                                             {"expected_rate", properties.expected_filter_rate}};
      }
    }
    return fills;
  }

  Place place_;
  std::string output_ = "lsm.html";
};

class OptionsExplainVerb final : public Verb {
 public:
  void AddFlags(CLI::App* app) override {
    AddBytes(app, "--memory-limit", &memory_limit_, "Options::memory_limit")->capture_default_str();
    AddBytes(app, "--memtable-bytes", &memtable_bytes_, "Options::memtable_bytes; 0: derived")->capture_default_str();
    AddCount(app, "--background-threads", &threads_, "Options::background_threads; 0: derived")->capture_default_str();
    AddBytes(app, "--background-bytes-per-second", &background_bytes_,
             "Options::background_bytes_per_second; 0: no limit")
        ->capture_default_str();
    AddSeconds(app, "--scrub-seconds", &scrub_seconds_, "Options::scrub_seconds; 0: never")->capture_default_str();
    app->add_option("--compaction-style", style_, "lazy, leveled or universal")
        ->check(CLI::IsMember({"lazy", "leveled", "universal"}))
        ->capture_default_str();
    app->add_option("--max-space-amplification", family_.max_space_amplification, "Of the column family")
        ->check(CLI::Range(1.0, 1e6))
        ->capture_default_str();
    app->add_option("--bits-per-key", bits_per_key_, "Filter bits per key, lane and guard together")
        ->capture_default_str();
  }

  absl::Status Run(const Streams& io) override {
    if (scrub_seconds_ != std::floor(scrub_seconds_)) {
      return absl::CancelledError("--scrub-seconds: whole seconds, as in Options::scrub_seconds");
    }
    Options options;
    options.memory_limit = memory_limit_;
    options.memtable_bytes = memtable_bytes_;
    options.background_threads = threads_;
    options.scrub_seconds = static_cast<uint64_t>(scrub_seconds_);
    options.family = family_;
    // What no database is opened with is not explained.
    if (const absl::Status fit = CheckOptions(options); !fit.ok()) return absl::CancelledError(fit.message());
    const Tuning tuning = Tuning::From(options);
    Explanation e{io.out, json, JsonHead()};
    TellMemory(tuning, &e);
    TellTree(tuning, &e);
    TellShape(tuning, &e);
    TellLog(tuning, &e);
    TellFilters(FilterPolicy::FromBitsPerKey(bits_per_key_), &e);
    if (json) io.out << ToLine(e.line) << "\n";
    return absl::OkStatus();
  }

 private:
  // What has been said so far.
  struct Explanation {
    std::ostream& out;
    const bool json;
    nlohmann::json line;

    void Say(std::string_view what, const nlohmann::json& value, const std::string& shown, std::string_view why) {
      line[std::string(what)] = value;
      if (!json) out << absl::StrFormat("%-27s %10s   %s\n", what, shown, why);
    }
    void Number(std::string_view what, int64_t value, std::string_view why) {
      Say(what, value, std::to_string(value), why);
    }
    void Bytes(std::string_view what, uint64_t value, std::string_view why) {
      Say(what, value, HumanBytes(value), why);
    }
    void Micros(std::string_view what, uint64_t value, std::string_view why) {
      Say(what, value, absl::StrFormat("%g s", static_cast<double>(value) / 1e6), why);
    }
    void Period(std::string_view what, uint64_t value, std::string_view why) {
      value == 0 ? Say(what, value, "never", why) : Micros(what, value, why);
    }
  };

  void TellMemory(const Tuning& tuning, Explanation* e) const {
    e->Bytes("memory_limit", memory_limit_, "given: memory for everything");
    e->Bytes(
        "memtable_bytes", tuning.memtable_bytes,
        memtable_bytes_ == 0 ? "a quarter of the limit, at most 64 MiB: more writes are merged in memory" : "given");
    e->Bytes("memtable_limit_bytes", tuning.memtable_limit_bytes,
             "twice that: writers stop when active and flushing memtables hold so much");
    e->Say("early_flushes", tuning.early_flushes, tuning.early_flushes ? "yes" : "no",
           "what is written in the order of its keys, faster than flushes, does not wait until memtables are full");
    e->Bytes("cache_bytes", memory_limit_ - std::min<uint64_t>(memory_limit_, tuning.memtable_limit_bytes),
             "what is left for blocks, leaf pages and guards while memtables are full");
    e->Bytes("copy_value_bytes", tuning.copy_value_bytes,
             "values up to this size are copied to the reader, larger ones are pinned where they lie");
  }

  void TellTree(const Tuning& tuning, Explanation* e) const {
    e->Bytes("table_bytes", tuning.table_bytes,
             "a memtable, at least 1 MiB: the size at which a compaction begins a new table");
    e->Number("blocks_per_leaf_page", tuning.blocks_per_leaf_page, "blocks whose index and lanes are read together");
    e->Bytes("write_buffer_bytes", tuning.write_buffer_bytes, "that are collected before a table's file is written");
    e->Number("range_keys", tuning.range_keys,
              "keys written in ascending order after which a flush may end a table where the order breaks");
    e->Number("compaction_threads", tuning.compaction_threads, threads_ == 0 ? "one for each core, 1 to 8" : "given");
    e->Bytes("part_bytes", tuning.part_bytes, "flushes and merges are cut into parts, side by side, of at least this");
    e->Bytes("manifest_limit_bytes", tuning.manifest_limit_bytes,
             "a manifest larger than this and four times its live content is begun anew");
  }

  void TellShape(const Tuning& tuning, Explanation* e) const {
    const char* why = "one sorted run in the last level, several in those above: few rewrites, few runs to read";
    if (style_ == "leveled") why = "one sorted run in each level below the first: fewest runs to read, more rewrites";
    if (style_ == "universal") why = "several sorted runs in each level: fewest rewrites, most runs to read";
    e->Say("compaction_style", style_, style_, why);
    e->Number("runs_per_level", tuning.runs_per_level, "runs of a level that are merged into the next");
    if (style_ != "leveled") {
      e->Number("unread_runs", tuning.unread_runs, "more of them in level 0, until readers have asked for a merge");
    }
    ColumnFamilyOptions shaped = family_;
    if (style_ == "leveled") shaped.compaction_style = CompactionStyle::kLeveled;
    if (style_ != "universal") {
      e->Number("fanout", MakeCompactionPolicy(shaped, tuning.memtable_bytes).fanout,
                style_ == "leveled" ? "how much larger each level is than the one above"
                                    : "merges of full levels that the last one takes before it is moved down");
    }
    const double most = family_.max_space_amplification;
    e->Say("max_space_amplification", most, absl::StrFormat("%.2f", most),
           style_ == "leveled" ? "not needed: the levels' targets keep it near 1.1"
                               : "bytes of tables over those that should be live, above which they are merged");
    e->Say("background_bytes_per_second", background_bytes_,
           background_bytes_ == 0 ? "no limit" : HumanBytes(background_bytes_),
           "that flushes, first, and compactions write");
    e->Period("scrub_period_micros", tuning.scrub_period_micros,
              "in which every table is read from the disk and checked once");
    e->Period("follow_period_micros", tuning.follow_period_micros,
              "after which a read-only view comes to what its writer has written");
  }

  void TellLog(const Tuning& tuning, Explanation* e) const {
    e->Bytes("log_limit_bytes", tuning.log_limit_bytes,
             "six memtables, less the ring and what is reserved: live logs above which the family with the oldest is "
             "flushed");
    e->Bytes("log_allocation_bytes", tuning.log_allocation_bytes, "the steps in which space for a log is reserved");
    e->Bytes("log_fragment_bytes", tuning.log_fragment_bytes, "a larger batch is written in fragments of this size");
    e->Bytes("log_ring_bytes", tuning.log_ring_bytes,
             "through which writes go into the log, where the file system maps and locks memory");
    e->Bytes("info_log_bytes", tuning.info_log_bytes, "the size at which LOG becomes LOG.old");
    e->Micros("slow_disk_micros", tuning.slow_disk_micros, "a sync that takes longer is told in LOG and to listeners");
    e->Micros("space_retry_micros", tuning.space_retry_micros, "between looks at a full disk");
  }

  static void TellFilters(const FilterPolicy& filter, Explanation* e) {
    e->Say("lane_bits_per_key", filter.lane_bits_per_key, absl::StrFormat("%.1f", filter.lane_bits_per_key),
           "the filter of each block");
    e->Say("guard_bits_per_key", filter.guard_bits_per_key, absl::StrFormat("%.1f", filter.guard_bits_per_key),
           "the filter of each file");
    e->Say("false_positive_rate", filter.ExpectedRate(), absl::StrFormat("%.3f %%", 100 * filter.ExpectedRate()),
           "of absent keys, how many reach a block of a file");
  }

  uint64_t memory_limit_ = Options().memory_limit, memtable_bytes_ = 0;
  uint64_t background_bytes_ = 0;
  std::string style_ = "lazy";
  ColumnFamilyOptions family_;
  int threads_ = 0;
  double scrub_seconds_ = 0;
  double bits_per_key_ = FilterPolicy().lane_bits_per_key + FilterPolicy().guard_bits_per_key;
};

}  // namespace

std::vector<VerbEntry> ShapeVerbs() {
  return {
      {"lsm tree", "show levels, runs and tables, and the key range of each", "lsm tree /var/lib/app --tables",
       MakeVerb<LsmTreeVerb>},
      {"lsm html", "draw the LSM tree through time, as one HTML file", "lsm html /var/lib/app --output lsm.html",
       MakeVerb<LsmHtmlVerb>},
      {"options explain", "show what is derived from the options, and why", "options explain --memory-limit 1GiB",
       MakeVerb<OptionsExplainVerb>},
  };
}

}  // namespace sepal::tools
