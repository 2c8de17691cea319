#include "bench/compare/recovery.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tools/lib/process_metrics.h"
#include "tools/lib/workload.h"
#include "util/random.h"

namespace sepal::compare {
namespace {

// No engine takes more of memtables for an entry beside its bytes.
constexpr size_t kMostOverheadOfEntry = 200;

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
  _exit(0);
}

}  // namespace

Measurement MeasureRecovery(const EngineEntry& engine, const CompareOptions& options, EngineSettings settings) {
  settings.memtable_bytes = options.entries * (settings.entry_bytes + kMostOverheadOfEntry);
  settings.memory_bytes = settings.memtable_bytes * 3;
  const pid_t child = fork();
  if (child < 0) Fail("fork", "no new process");
  if (child == 0) FillAndDie(engine, options, settings);
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    Fail("recovery", "the writer did not end as it should");
  }
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
  return m;
}

}  // namespace sepal::compare
