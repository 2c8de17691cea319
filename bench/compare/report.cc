#include "bench/compare/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_format.h"
#include "bench/compare/scenario.h"

namespace sepal::compare {
namespace {

template <class Member>
auto MedianOf(const std::vector<const Measurement*>& group, Member member) {
  std::vector<std::decay_t<decltype(group.front()->*member)>> values;
  for (const Measurement* m : group) values.push_back(m->*member);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string Thousands(double number) {
  const std::string digits = absl::StrFormat("%.0f", number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Mebibytes(uint64_t bytes) { return absl::StrFormat("%.0f", static_cast<double>(bytes) / (1 << 20)); }

using Row = std::vector<std::string>;

std::string FormatRows(const std::vector<Row>& rows, bool markdown) {
  std::vector<size_t> widths(rows.front().size(), 3);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const std::string edge = markdown ? "| " : "";
  const std::string between = markdown ? " | " : "  ";
  std::string text;
  const auto append = [&](const Row& row) {
    text += edge;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      text += i == 0 ? row[i] + padding : padding + row[i];
      if (i + 1 < row.size()) text += between;
    }
    text += markdown ? " |\n" : "\n";
  };
  append(rows.front());
  Row rule;
  for (size_t i = 0; i < widths.size(); ++i) {
    std::string dashes(widths[i], '-');
    if (markdown && i > 0) dashes.back() = ':';
    rule.push_back(dashes);
  }
  append(rule);
  for (size_t i = 1; i < rows.size(); ++i) append(rows[i]);
  return text;
}

class Tables {
 public:
  Tables(const std::vector<Measurement>& medians, const CompareOptions& options) : options_(options) {
    for (const Measurement& m : medians) cells_[{m.threads, m.workload, m.engine}] = &m;
  }

  std::string Throughput(int threads) const {
    std::vector<Row> rows = {{"operations a second"}};
    for (const EngineEntry& engine : options_.engines) rows[0].emplace_back(engine.name);
    rows[0].emplace_back("sepal / best peer");
    const bool beside_lmdb = std::any_of(options_.engines.begin(), options_.engines.end(),
                                         [](const EngineEntry& engine) { return engine.name == std::string("lmdb"); });
    if (beside_lmdb) rows[0].emplace_back("sepal / lmdb");
    ForEachWorkload(threads, [&](const std::string& workload) {
      Row row = {workload};
      double best_peer = 0;
      for (const EngineEntry& engine : options_.engines) {
        const Measurement* m = Find(threads, workload, engine.name);
        row.push_back(m == nullptr ? "-" : Thousands(m->OperationsPerSecond()));
        if (m != nullptr && engine.is_peer) best_peer = std::max(best_peer, m->OperationsPerSecond());
      }
      const Measurement* sepal = Find(threads, workload, "sepal");
      const auto ratio = [sepal](double other) {
        return sepal == nullptr || other == 0 ? "-" : absl::StrFormat("%.2f", sepal->OperationsPerSecond() / other);
      };
      row.push_back(ratio(best_peer));
      const Measurement* lmdb = Find(threads, workload, "lmdb");
      if (beside_lmdb) row.push_back(ratio(lmdb == nullptr ? 0 : lmdb->OperationsPerSecond()));
      rows.push_back(row);
    });
    return FormatRows(rows, options_.markdown);
  }

  std::string Details(int threads) const {
    std::vector<Row> rows = {{"workload", "engine", "CPU us/op", "p50 us", "p99 us", "p99.9 us", "max us", "read MiB",
                              "written MiB", "space MiB", "log MiB", "resident MiB"}};
    ForEachWorkload(threads, [&](const std::string& workload) {
      for (const EngineEntry& engine : options_.engines) {
        const Measurement* m = Find(threads, workload, engine.name);
        if (m == nullptr) continue;
        rows.push_back({workload, engine.name, absl::StrFormat("%.3f", m->cpu_micros_per_op),
                        absl::StrFormat("%.2f", m->p50_micros), absl::StrFormat("%.2f", m->p99_micros),
                        absl::StrFormat("%.2f", m->p999_micros), absl::StrFormat("%.0f", m->max_micros),
                        Mebibytes(m->read_bytes), Mebibytes(m->written_bytes), Mebibytes(m->space_bytes),
                        Mebibytes(m->log_bytes), Mebibytes(m->resident_bytes)});
      }
    });
    return FormatRows(rows, options_.markdown);
  }

 private:
  const Measurement* Find(int threads, const std::string& workload, const std::string& engine) const {
    const auto it = cells_.find({threads, workload, engine});
    return it == cells_.end() ? nullptr : it->second;
  }
  template <class Visit>
  void ForEachWorkload(int threads, Visit visit) const {
    for (const WorkloadEntry& entry : AllWorkloads()) {
      for (const EngineEntry& engine : options_.engines) {
        if (Find(threads, entry.name, engine.name) != nullptr) {
          visit(entry.name);
          break;
        }
      }
    }
  }

  const CompareOptions& options_;
  std::map<std::tuple<int, std::string, std::string>, const Measurement*> cells_;
};

}  // namespace

std::vector<Measurement> Medians(const std::vector<Measurement>& all) {
  std::map<std::tuple<int, std::string, std::string>, std::vector<const Measurement*>> groups;
  for (const Measurement& m : all) groups[{m.threads, m.workload, m.engine}].push_back(&m);
  std::vector<Measurement> medians;
  for (const Measurement& m : all) {
    auto group = groups.find({m.threads, m.workload, m.engine});
    if (group == groups.end()) continue;
    Measurement median = m;
    median.round = 0;
    median.seconds = MedianOf(group->second, &Measurement::seconds);
    median.cpu_micros_per_op = MedianOf(group->second, &Measurement::cpu_micros_per_op);
    median.p50_micros = MedianOf(group->second, &Measurement::p50_micros);
    median.p99_micros = MedianOf(group->second, &Measurement::p99_micros);
    median.p999_micros = MedianOf(group->second, &Measurement::p999_micros);
    median.max_micros = MedianOf(group->second, &Measurement::max_micros);
    median.read_bytes = MedianOf(group->second, &Measurement::read_bytes);
    median.written_bytes = MedianOf(group->second, &Measurement::written_bytes);
    median.space_bytes = MedianOf(group->second, &Measurement::space_bytes);
    median.log_bytes = MedianOf(group->second, &Measurement::log_bytes);
    median.resident_bytes = MedianOf(group->second, &Measurement::resident_bytes);
    medians.push_back(median);
    groups.erase(group);
  }
  return medians;
}

std::string FormatTables(const std::vector<Measurement>& medians, const CompareOptions& options) {
  const Tables tables(medians, options);
  std::string text;
  for (int threads : options.threads) {
    absl::StrAppendFormat(&text, "\n%s%d thread%s\n\n", options.markdown ? "### " : "", threads,
                          threads == 1 ? "" : "s");
    text += tables.Throughput(threads);
    text += "\n";
    text += tables.Details(threads);
  }
  return text;
}

std::string FormatJson(const std::vector<Measurement>& all, const std::vector<std::string>& settings,
                       const std::string& command, const std::string& machine) {
  const nlohmann::json json = {{"schema_version", 1},  {"machine", machine},      {"command", command},
                               {"settings", settings}, {"medians", Medians(all)}, {"measurements", all}};
  return json.dump(2) + "\n";
}

}  // namespace sepal::compare
