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
std::string Mebibytes(std::optional<uint64_t> bytes) { return bytes.has_value() ? Mebibytes(*bytes) : "-"; }
std::string Count(std::optional<uint64_t> number) { return number.has_value() ? absl::StrFormat("%d", *number) : "-"; }
std::string Ratio(std::optional<uint64_t> part, std::optional<uint64_t> whole) {
  if (!part.has_value() || whole.value_or(0) == 0) return "-";
  return absl::StrFormat("%.2f", static_cast<double>(*part) / static_cast<double>(*whole));
}

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
                              "written MiB", "space MiB", "log MiB", "resident MiB", "peak MiB", "peak / limit"}};
    ForEachCell(threads, [&](const Measurement& m) {
      rows.push_back({m.workload, m.engine, absl::StrFormat("%.3f", m.cpu_micros_per_op),
                      absl::StrFormat("%.2f", m.p50_micros), absl::StrFormat("%.2f", m.p99_micros),
                      absl::StrFormat("%.2f", m.p999_micros), absl::StrFormat("%.0f", m.max_micros),
                      Mebibytes(m.read_bytes), Mebibytes(m.written_bytes), Mebibytes(m.space_bytes),
                      Mebibytes(m.log_bytes), Mebibytes(m.resident_bytes), Mebibytes(m.peak_resident_bytes),
                      Ratio(m.peak_resident_bytes, m.memory_limit_bytes)});
    });
    return FormatRows(rows, options_.markdown);
  }

  // The following are empty where there is nothing to show.

  std::string Writes(int threads) const {
    std::vector<Row> rows = {{"what was written", "engine", "user MiB", "tables MiB", "tables / user", "to log MiB",
                              "log / user", "runs left", "debt s"}};
    ForEachCell(threads, [&](const Measurement& m) {
      if (!m.user_bytes.has_value()) return;
      rows.push_back({m.workload, m.engine, Mebibytes(m.user_bytes), Mebibytes(m.table_bytes_written),
                      Ratio(m.table_bytes_written, m.user_bytes), Mebibytes(m.log_bytes_written),
                      Ratio(m.log_bytes_written, m.user_bytes), Count(m.runs),
                      absl::StrFormat("%.2f", m.debt_seconds)});
    });
    return FormatOptionalRows(rows);
  }

  std::string Seconds(int threads) const {
    std::vector<Row> rows = {{"seconds of --duration", "engine", "ops/s with debt", "mean ops/s", "least ops/s",
                              "variation", "longest put ms", "debt s", "most space MiB"}};
    ForEachCell(threads, [&](const Measurement& m) {
      if (!m.least_of_seconds.has_value()) return;
      rows.push_back({m.workload, m.engine, Thousands(m.OperationsPerSecond()),
                      Thousands(static_cast<double>(m.operations) / (m.seconds - m.debt_seconds)),
                      Thousands(static_cast<double>(*m.least_of_seconds)),
                      absl::StrFormat("%.3f", m.variation_of_seconds), absl::StrFormat("%.2f", m.max_micros / 1e3),
                      absl::StrFormat("%.2f", m.debt_seconds), Mebibytes(m.peak_space_bytes)});
    });
    return FormatOptionalRows(rows);
  }

  std::string Logs(int threads) const {
    std::vector<Row> rows = {{"log replayed", "engine", "log MiB", "seconds", "MiB/s"}};
    ForEachCell(threads, [&](const Measurement& m) {
      if (!m.replayed_log_bytes.has_value()) return;
      const double mebibytes = static_cast<double>(*m.replayed_log_bytes) / (1 << 20);
      rows.push_back({m.workload, m.engine, Mebibytes(m.replayed_log_bytes), absl::StrFormat("%.2f", m.seconds),
                      absl::StrFormat("%.0f", mebibytes / m.seconds)});
    });
    return FormatOptionalRows(rows);
  }

 private:
  std::string FormatOptionalRows(const std::vector<Row>& rows) const {
    return rows.size() == 1 ? "" : "\n" + FormatRows(rows, options_.markdown);
  }
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

  template <class Visit>
  void ForEachCell(int threads, Visit visit) const {
    ForEachWorkload(threads, [&](const std::string& workload) {
      for (const EngineEntry& engine : options_.engines) {
        const Measurement* m = Find(threads, workload, engine.name);
        if (m != nullptr) visit(*m);
      }
    });
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
    median.operations = MedianOf(group->second, &Measurement::operations);
    median.seconds = MedianOf(group->second, &Measurement::seconds);
    median.debt_seconds = MedianOf(group->second, &Measurement::debt_seconds);
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
    median.peak_resident_bytes = MedianOf(group->second, &Measurement::peak_resident_bytes);
    median.user_bytes = MedianOf(group->second, &Measurement::user_bytes);
    median.table_bytes_written = MedianOf(group->second, &Measurement::table_bytes_written);
    median.log_bytes_written = MedianOf(group->second, &Measurement::log_bytes_written);
    median.runs = MedianOf(group->second, &Measurement::runs);
    median.replayed_log_bytes = MedianOf(group->second, &Measurement::replayed_log_bytes);
    median.peak_space_bytes = MedianOf(group->second, &Measurement::peak_space_bytes);
    median.operations_of_seconds.clear();
    median.least_of_seconds = MedianOf(group->second, &Measurement::least_of_seconds);
    median.variation_of_seconds = MedianOf(group->second, &Measurement::variation_of_seconds);
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
    text += tables.Writes(threads);
    text += tables.Seconds(threads);
    text += tables.Logs(threads);
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
