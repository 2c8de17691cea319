// Compares Sepal with other engines. Each scenario of each engine and round runs in a process of its own, so that
// memory and CPU time are its own too; the engines take turns within a round, and each round begins with another one.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "absl/strings/str_format.h"
#include "bench/compare/child_process.h"
#include "bench/compare/options.h"
#include "bench/compare/report.h"
#include "bench/compare/scenario.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/terminal/cli.h"
#include "util/base/strings.h"

namespace sepal::compare {
namespace {

// Like Fail, but removes the databases.
[[noreturn]] void GiveUp(std::string_view what, std::string_view message) {
  std::cerr << "compare: " << what << ": " << message << std::endl;
  std::exit(1);
}

// A new directory below `parent`, which is removed with its contents: a static one at std::exit too, but not when a
// child process ends by _exit.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& parent) : path_(parent + "/sepal-compare-XXXXXX") {
    std::error_code unused;
    std::filesystem::create_directories(parent, unused);
    if (mkdtemp(path_.data()) == nullptr) Fail(parent, std::strerror(errno));
  }
  ~WorkDirectory() {
    std::error_code unused;
    std::filesystem::remove_all(path_, unused);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs `body` in a child process; `line` receives what it wrote to its pipe, line by line. Ends this process if the
// child fails.
void InChild(const std::function<void(FILE*)>& body, const std::function<void(const std::string&)>& line) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) GiveUp("pipe", "cannot be made");
  const pid_t child = ForkBoundChild();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    close(pipe_ends[0]);
    FILE* out = fdopen(pipe_ends[1], "w");
    body(out);
    std::fclose(out);
    _exit(0);
  }
  close(pipe_ends[1]);
  FILE* in = fdopen(pipe_ends[0], "r");
  char* buffer = nullptr;
  size_t capacity = 0;
  for (ssize_t length; (length = getline(&buffer, &capacity, in)) > 0;) {
    line(std::string(buffer, static_cast<size_t>(length - 1)));
  }
  std::free(buffer);
  std::fclose(in);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    GiveUp("a run failed", WIFSIGNALED(status) ? absl::StrFormat("signal %d", WTERMSIG(status)) : "see above");
  }
}

std::vector<std::string> DescribeSettings(const CompareOptions& options) {
  std::vector<std::string> settings;
  settings.push_back(absl::StrFormat(
      "all: %d entries of %d + %d bytes%s, value compression ratio %.2f, memory %s (block cache + memtables), "
      "memtables "
      "of "
      "%s, log written before a write returns, synced only in fillsync; medians of %d round%s; latencies of every 8th "
      "operation (scans: 64th; batches, multi-gets, synced writes: each)%s; peak memory is resident memory with mapped "
      "files",
      options.entries, options.key_bytes, options.value_bytes, options.clustered ? " in clusters of 1,000" : "",
      options.compression_ratio, HumanBytes(options.memory_bytes), HumanBytes(options.memtable_bytes), options.rounds,
      options.rounds == 1 ? "" : "s",
      options.duration_seconds == 0
          ? ""
          : absl::StrFormat("; overwrite for %d s, each put timed", options.duration_seconds)));
  for (const EngineEntry& engine : options.engines) {
    const std::string path = options.directory + "/settings-" + engine.name;
    const EngineSettings engine_settings{.path = path,
                                         .memory_bytes = options.memory_bytes,
                                         .memtable_bytes = options.memtable_bytes,
                                         .filter_bits_per_key = options.filter_bits_per_key,
                                         .entries = options.entries,
                                         .entry_bytes = static_cast<size_t>(options.key_bytes + options.value_bytes),
                                         .separate_from = options.separate_from,
                                         .compress = options.compress,
                                         .direct_reads = options.direct_reads};
    InChild([&](FILE* out) { absl::FPrintF(out, "%s\n", engine.open(engine_settings)->DescribeSettings()); },
            [&](const std::string& line) { settings.push_back(line); });
    std::filesystem::remove_all(path);
  }
  return settings;
}

std::vector<Measurement> MeasureAll(const CompareOptions& options) {
  std::vector<Measurement> all;
  const std::vector<std::string> scenarios = ScenariosFor(options);
  const size_t engines = options.engines.size();
  for (int round = 0; round < options.rounds; ++round) {
    for (int threads : options.threads) {
      for (const std::string& scenario : scenarios) {
        for (size_t turn = 0; turn < engines; ++turn) {
          const EngineEntry& engine = options.engines[(turn + static_cast<size_t>(round)) % engines];
          InChild(
              [&](FILE* out) {
                RunScenario(scenario, engine, threads, round, options, [&](const Measurement& m) {
                  absl::FPrintF(out, "%s\n", nlohmann::json(m).dump());
                  std::fflush(out);
                });
              },
              [&](const std::string& line) {
                all.push_back(nlohmann::json::parse(line).get<Measurement>());
                const Measurement& m = all.back();
                absl::FPrintF(stderr, "round %d/%d  %d thread%s  %-17s %-8s %12.0f ops/s  %8.3f CPU us/op\n", round + 1,
                              options.rounds, threads, threads == 1 ? " " : "s", m.workload, m.engine,
                              m.OperationsPerSecond(), m.cpu_micros_per_op);
              });
        }
      }
    }
  }
  return all;
}

int Main(int argc, char** argv) {
  CompareOptions options = ParseOptions(argc, argv);
  std::string command;
  for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
  // An interrupt from the terminal ends the child; this process then clears up.
  signal(SIGINT, SIG_IGN);
  static const WorkDirectory directory(options.directory);
  options.directory = directory.path();
  const std::string machine = tools::DescribeMachine(options.directory);
  const std::vector<std::string> settings = DescribeSettings(options);
  std::cout << command << "\n" << machine << "\n\n";
  for (const std::string& line : settings) std::cout << (options.markdown ? "- " : "") << line << "\n";
  std::cout.flush();

  const std::vector<Measurement> all = MeasureAll(options);
  std::cout << FormatTables(Medians(all), options);
  if (!options.json_path.empty()) {
    std::ofstream file(options.json_path);
    file << FormatJson(all, settings, command, machine);
    if (!file.flush()) GiveUp(options.json_path, "cannot be written");
  }
  return tools::ExitOfOutput(tools::kExitOk, "compare", std::cout, std::cerr);
}

}  // namespace
}  // namespace sepal::compare

int main(int argc, char** argv) { return sepal::compare::Main(argc, argv); }
