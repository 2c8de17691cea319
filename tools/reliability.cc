// reliability: runs the harnesses of tests/reliability for a given time, and reports their findings.
#include <sys/personality.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/reliability/harness.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"

namespace sepal::reliability {
namespace {

struct Flags {
  std::vector<std::string> harnesses;
  SearchOptions run;
  std::string ledger;
};

// The commit of the source tree that contains the working directory.
std::string Commit() {
  std::string commit;
  if (std::FILE* pipe = ::popen("git describe --always --dirty --abbrev=10 2>/dev/null", "r")) {
    char buffer[80];
    if (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) commit = buffer;
    ::pclose(pipe);
  }
  while (!commit.empty() && commit.back() == '\n') commit.pop_back();
  return commit.empty() ? "unknown" : commit;
}

// Returns false, and prints the row, if it cannot be written.
bool AppendToLedger(const std::string& path, const Harness& harness, const Flags& flags, const Search& run,
                    const std::string& commit) {
  nlohmann::ordered_json row = {{"harness", harness.name},  {"cases", run.cases()},
                                {"failures", run.failed()}, {"seconds", static_cast<uint64_t>(run.Seconds() + 0.5)},
                                {"seed", flags.run.seed},   {"commit", commit}};
  row["command"] = absl::StrFormat("reliability run %s --seed %u%s%s", harness.name, flags.run.seed,
                                   flags.run.seconds > 0 ? absl::StrFormat(" --seconds %g", flags.run.seconds) : "",
                                   flags.run.count > 0 ? absl::StrFormat(" --count %u", flags.run.count) : "");
  for (const auto& [figure, amount] : run.figures()) row["figures"][figure] = amount;
  std::ofstream ledger(path, std::ios::app);
  ledger << row.dump() << "\n";
  if (ledger.flush()) return true;
  std::cerr << "reliability: " << path << " cannot be written; its row is\n" << row.dump() << "\n";
  return false;
}

// Returns true if nothing was found, and that was recorded.
bool RunOne(const Harness& harness, const Flags& flags, const std::string& commit) {
  ReportCrashes(harness.name, flags.run.seed);
  tools::Progress progress(harness.name, flags.run.count, std::cerr, tools::StandardErrorIsTerminal());
  SearchOptions options = flags.run;
  options.progress = [&](uint64_t cases) { progress.Update(cases); };
  Search run(options);
  harness.body(&run);

  std::string figures;
  for (const auto& [figure, amount] : run.figures()) figures += absl::StrFormat(", %u %s", amount, figure);
  std::cout << absl::StrFormat("%s: %u distinct cases, %u failures, %.0f s, commit %s%s\n", harness.name, run.cases(),
                               run.failed(), run.Seconds(), commit, figures)
            << std::flush;
  for (const Failure& failure : run.failures()) {
    std::cout << absl::StrFormat(
        "FAILED: %s, seed %u, case %s\n%s\nto repeat it: reliability run %s --seed %u "
        "--case '%s'\n",
        harness.name, flags.run.seed, failure.name, failure.what, harness.name, flags.run.seed, failure.name);
  }
  if (run.cases() == 0 && run.failed() == 0) {
    std::cout << "nothing was run: there is no such case\n";
    return false;
  }
  const bool kept = flags.ledger.empty() || AppendToLedger(flags.ledger, harness, flags, run, commit);
  return run.failed() == 0 && kept;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Searches for ways to lose or falsify data. Exit codes: 0 nothing found, 1 something found or a "
      "result not written, 2 usage.",
      "reliability");
  app.require_subcommand(1);
  CLI::App* const list = app.add_subcommand("list", "Name the harnesses");
  CLI::App* const run = app.add_subcommand("run", "Search harnesses one after another, and print the scoreboard");
  Flags flags;
  flags.run.case_seconds = 120;
  run->add_option("harness", flags.harnesses, "Their names; `all` for all of them")->required();
  run->add_option("--seed", flags.run.seed, "What random choices are drawn from")->capture_default_str();
  tools::AddSeconds(run, "--seconds", &flags.run.seconds, "Time for each (30, 5m, 2h); 0: as long as it has cases");
  run->add_option("--count", flags.run.count, "Distinct cases for each; 0: no limit");
  run->add_option("--case", flags.run.only_case, "Only the case of this name, as a failure prints it");
  run->add_option("--failures", flags.run.max_failures, "Go on until so many were found")->capture_default_str();
  run->add_option("--case-seconds", flags.run.case_seconds, "A case that takes more processor time hangs; 0: none does")
      ->capture_default_str();
  run->add_option("--ledger", flags.ledger, "Append a line of JSON with the figures to this file");
  std::vector<std::string> arguments = tools::NormalizeArguments(argc, argv);
  if (const std::optional<int> code = tools::ParseFlags(&app, std::move(arguments), std::cout, std::cerr)) return *code;

  const std::vector<Harness> all = AllHarnesses();
  if (list->parsed()) {
    for (const Harness& harness : all) std::cout << absl::StrFormat("%-14s %s\n", harness.name, harness.description);
    return tools::kExitOk;
  }
  std::vector<const Harness*> chosen;
  for (const std::string& name : flags.harnesses) {
    if (name == "all") {
      for (const Harness& harness : all) chosen.push_back(&harness);
    } else if (const Harness* harness = FindHarness(all, name)) {
      chosen.push_back(harness);
    } else {
      std::cerr << "there is no harness " << name << "; `reliability list` names them\n";
      return tools::kExitUsage;
    }
  }
  const std::string commit = Commit();
  bool good = true;
  for (const Harness* harness : chosen) good = RunOne(*harness, flags, commit) && good;
  return tools::ExitOfOutput(good ? tools::kExitOk : tools::kExitError, "reliability", std::cout, std::cerr);
}

}  // namespace
}  // namespace sepal::reliability

int main(int argc, char** argv) {
  // Fixes addresses, so that results that depend on them are the same in every run.
  if (const int persona = ::personality(0xffffffff);
      persona != -1 && (persona & ADDR_NO_RANDOMIZE) == 0 && ::personality(persona | ADDR_NO_RANDOMIZE) != -1) {
    // Starts it by its own name, under which process lists then show it.
    std::array<char, 4096> path = {};
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
    if (length > 0) ::execv(path.data(), argv);
  }
  return sepal::reliability::Main(argc, argv);
}
