// The property sepal.prometheus: statistics, the shape of each family, memory.
#include "db/engine/face/engine.h"
#include "db/engine/face/values_text.h"
#include "util/stats/prometheus.h"

namespace sepal {
namespace {

struct LevelFigures {
  std::string family;
  int level = 0;
  double runs = 0, tables = 0, bytes = 0, entries = 0, tombstones = 0;
};

struct FamilyFigures {
  std::string family;
  double memtable_bytes = 0, immutable_memtables = 0, debt_bytes = 0, filter_rate = 0;
};

void AddLevels(const Family& family, std::vector<LevelFigures>* out) REQUIRES_STATE_LOCK {
  const Version& version = *family.version();
  for (int level = 0; level < kMaxLevels; ++level) {
    LevelFigures figures{.family = family.name,
                         .level = level,
                         .runs = static_cast<double>(version.NumRuns(level)),
                         .tables = static_cast<double>(version.NumTables(level)),
                         .bytes = static_cast<double>(version.Bytes(level))};
    for (const RunRef& run : version.level(level)) {
      figures.entries += static_cast<double>(run->entries());
      figures.tombstones += static_cast<double>(run->tombstones());
    }
    out->push_back(std::move(figures));
  }
}

// The format requires the samples of a metric to be together, so they are written one column at a time.
template <class Figures, class Labels>
void AddColumn(PrometheusText* text, std::string_view name, std::string_view help, const std::vector<Figures>& rows,
               double Figures::*value, const Labels& sample) {
  text->Family(name, "gauge", help);
  for (const Figures& row : rows) sample(row, row.*value);
}

}  // namespace

std::string Engine::PrometheusPage() const {
  std::vector<LevelFigures> levels;
  std::vector<FamilyFigures> families;
  double writable = 1;
  ValueFileTotals values;
  {
    StateLock lock(state_.get());
    values = TotalsOfValueFiles(*state_);
    writable = state_->error.ok() && !read_only_ ? 1 : 0;
    for (const FamilyRef& family : state_->Families()) {
      if (family->id == kSystemFamilyId) continue;
      AddLevels(*family, &levels);
      families.push_back(
          {.family = family->name,
           .memtable_bytes = static_cast<double>(family->ImmutableBytes() + family->active()->MemoryBytes()),
           .immutable_memtables = static_cast<double>(family->immutables().size()),
           .debt_bytes = static_cast<double>(
               CompactionDebtBytes(*family->version(), PolicyNow(family->Facts()), family->sketches_sought())),
           .filter_rate = family->options.filter_policy.ExpectedRate()});
    }
  }
  PrometheusText text;
  const auto by_level = [&](const LevelFigures& row, double value) {
    text.Sample({{"family", row.family}, {"level", std::to_string(row.level)}}, value);
  };
  AddColumn(&text, "sepal_level_runs", "Sorted runs of a level.", levels, &LevelFigures::runs, by_level);
  AddColumn(&text, "sepal_level_tables", "Table files of a level.", levels, &LevelFigures::tables, by_level);
  AddColumn(&text, "sepal_level_bytes", "Bytes of the table files of a level.", levels, &LevelFigures::bytes, by_level);
  AddColumn(&text, "sepal_level_entries", "Entries in a level.", levels, &LevelFigures::entries, by_level);
  AddColumn(&text, "sepal_level_tombstones", "Deletions in a level.", levels, &LevelFigures::tombstones, by_level);
  const auto by_family = [&](const FamilyFigures& row, double value) { text.Sample({{"family", row.family}}, value); };
  AddColumn(&text, "sepal_memtable_bytes", "Bytes of memtables.", families, &FamilyFigures::memtable_bytes, by_family);
  AddColumn(&text, "sepal_immutable_memtables", "Memtables that wait for their flush.", families,
            &FamilyFigures::immutable_memtables, by_family);
  AddColumn(&text, "sepal_compaction_debt_bytes", "Bytes that are due for compaction.", families,
            &FamilyFigures::debt_bytes, by_family);
  AddColumn(&text, "sepal_filter_expected_false_positive_ratio",
            "Share of absent keys that a file's filters are expected to let through.", families,
            &FamilyFigures::filter_rate, by_family);
  text.Family("sepal_last_sequence", "gauge", "Sequence number of the newest visible write.");
  text.Sample({}, static_cast<double>(state_->VisibleSequence().value()));
  text.Family("sepal_value_files", "gauge", "Value files.");
  text.Sample({}, static_cast<double>(values.files));
  text.Family("sepal_value_file_bytes", "gauge", "Bytes of value files that are not written to.");
  text.Sample({}, static_cast<double>(values.bytes));
  text.Family("sepal_value_live_bytes", "gauge", "Bytes of values in value files that tables refer to.");
  text.Sample({}, static_cast<double>(values.live_bytes));
  text.Comment(kPrometheusOfThisProcess);
  text.Family("sepal_memory_bytes", "gauge", "Memory by its holder.");
  for (size_t i = 0; i < static_cast<size_t>(MemoryPart::kCount); ++i) {
    const auto part = static_cast<MemoryPart>(i);
    text.Sample({{"part", Name(part)}}, static_cast<double>(core_->budget.used(part)));
  }
  text.Family("sepal_memory_limit_bytes", "gauge", "The memory limit.");
  text.Sample({}, static_cast<double>(core_->budget.limit_bytes()));
  text.Family("sepal_writable", "gauge",
              "1 while writes are accepted, 0 after a lasting failure and in a read-only database.");
  text.Sample({}, writable);
  return text.Take() + core_->statistics.ToPrometheus();
}

}  // namespace sepal
