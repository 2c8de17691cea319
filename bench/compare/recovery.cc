#include "bench/compare/recovery.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_format.h"
#include "bench/compare/child_process.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/db_bench/workload.h"
#include "util/base/random.h"

namespace sepal::compare {
namespace {

// An upper bound, for all engines, of the memtable's overhead for an entry.
constexpr size_t kMostOverheadOfEntry = 200;

// LevelDB's memtables are bounded: a third of one is for unused ends of its arena's blocks.
bool FitsMemtables(const EngineEntry& engine, const CompareOptions& options, const EngineSettings& settings) {
  constexpr size_t kNodeBytes = 64;
  const uint64_t each = settings.entry_bytes + settings.entry_bytes / 3 + kNodeBytes;
  return options.entries <= engine.most_memtable_bytes / each;
}

// Does not come back, and closes nothing.
[[noreturn]] void FillAndDie(const EngineEntry& engine, const CompareOptions& options, const EngineSettings& settings) {
  std::unique_ptr<Engine> opened = engine.open(settings);
  std::unique_ptr<Session> session = opened->NewSession();
  tools::KeyBuffer key(options.key_bytes);
  tools::ValueGenerator values(options.compression_ratio, options.seed, static_cast<size_t>(options.value_bytes));
  Random draws(options.seed);
  for (uint64_t i = 0; i < options.entries; ++i) {
    session->Put(key.Format(draws.Uniform(options.entries)), values.Next(static_cast<size_t>(options.value_bytes)),
                 false);
  }
  if (opened->Counters().runs.value_or(0) > 0) Fail("recovery", "not everything is in the log");
  _exit(0);
}

void Write(const EngineEntry& engine, const CompareOptions& options, EngineSettings settings) {
  settings.keep_in_log = true;
  const pid_t child = ForkBoundChild();
  if (child == 0) FillAndDie(engine, options, settings);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    Fail("recovery", "the writer did not end as it should");
  }
}

// Up to the last byte that is not zero: files may be preallocated.
uint64_t BytesInUse(const std::filesystem::path& path) {
  constexpr uint64_t kChunk = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  std::string chunk;
  for (uint64_t end = std::filesystem::file_size(path); end > 0;) {
    const uint64_t begin = end > kChunk ? end - kChunk : 0;
    chunk.resize(end - begin);
    file.seekg(static_cast<std::streamoff>(begin));
    if (!file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()))) Fail(path.string(), "cannot be read");
    const size_t last = chunk.find_last_not_of('\0');
    if (last != std::string::npos) return begin + last + 1;
    end = begin;
  }
  return 0;
}

uint64_t LogBytes(const std::string& path) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".log") bytes += BytesInUse(entry.path());
  }
  return bytes;
}

Measurement Reopen(const EngineEntry& engine, const CompareOptions& options, const EngineSettings& settings) {
  const uint64_t resident_before = tools::ResidentBytes();
  tools::ResetPeakResidentBytes();
  const uint64_t cpu = tools::ProcessCpuNanos();
  const uint64_t begin = tools::NowNanos();
  const std::unique_ptr<Engine> opened = engine.open(settings);
  Measurement m;
  m.workload = "recovery";
  m.operations = options.entries;
  m.seconds = static_cast<double>(tools::NowNanos() - begin) / 1e9;
  m.cpu_micros_per_op =
      static_cast<double>(tools::ProcessCpuNanos() - cpu) / 1e3 / static_cast<double>(options.entries);
  const tools::DirectorySize size = tools::MeasureDirectory(settings.path);
  m.space_bytes = size.data_bytes;
  m.log_bytes = size.log_bytes;
  MeasureMemory(settings, resident_before, &m);
  return m;
}

}  // namespace

void MeasureRecovery(const EngineEntry& engine, const CompareOptions& options, EngineSettings settings,
                     const std::function<void(const Measurement&)>& report) {
  if (!engine.has_log) return;
  if (!FitsMemtables(engine, options, settings)) {
    std::cerr << absl::StrFormat("note: recovery without %s, whose memtables cannot hold %d entries\n", engine.name,
                                 options.entries);
    return;
  }
  settings.memtable_bytes = options.entries * (settings.entry_bytes + kMostOverheadOfEntry);
  settings.memory_bytes = settings.memtable_bytes * 3;
  Write(engine, options, settings);
  const uint64_t log_bytes = LogBytes(settings.path);
  Measurement m = Reopen(engine, options, settings);
  m.replayed_log_bytes = log_bytes;
  report(m);
}

}  // namespace sepal::compare
