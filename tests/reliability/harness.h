// Harnesses: programs that search for a way to lose or falsify data, one distinct case after another.
//
// A harness is a name, a description and a function that runs cases against a `Search` until `Search::GoOn` says no.
// Each case has a name from which, with the seed, it can be repeated alone:
//
//   void SearchFlips(Search* search) {
//     for (uint64_t bit = 0; search->GoOn() && bit < kBits; ++bit) {
//       if (!search->Begin(absl::StrFormat("bit=%u", bit))) continue;     // another case was asked for
//       if (!StillRight(bit)) search->Fail("a wrong value");
//       search->Count(bit);
//     }
//   }
//   void AddFlipHarnesses(std::vector<Harness>* all) { all->push_back({"flips", "every bit once", SearchFlips}); }
//
// and a line in registry.cc. Harnesses use neither GoogleTest nor the environment; a harness that throws away a case
// that it has begun does not count it. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sepal::reliability {

struct SearchOptions {
  uint64_t seed = 1;
  // Limits on the run; 0: none. A harness whose cases are finite ends by itself.
  double seconds = 0;
  uint64_t count = 0;
  // Only the case of this name.
  std::string only_case = {};
  uint64_t max_failures = 1;
  // A case that takes more of the processor's time, or twenty times as long by the clock, counts as a hang and ends the
  // process; 0: no watch is kept. Time for which the process is stopped does not count.
  unsigned case_seconds = 0;
  std::function<void(uint64_t cases)> progress = {};
};

struct Failure {
  std::string name;  // of the case
  std::string what;
};

class Search {
 public:
  explicit Search(SearchOptions options);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  uint64_t seed() const { return options_.seed; }
  const std::string& only_case() const { return options_.only_case; }
  // Whether there is time, and need, for another case.
  bool GoOn() const;
  // Names the next case. False if it is not to be run.
  bool Begin(std::string name);
  // The current case went to its end; `identity` tells it from all others. True if it was not met before in this run.
  bool Count(uint64_t identity);
  // The current case found a mistake.
  void Fail(std::string what);
  // Further figures of the run: virtual seconds, schedules, operations.
  void Add(const std::string& figure, uint64_t amount) { figures_[figure] += amount; }

  uint64_t cases() const { return seen_.size(); }
  uint64_t failed() const { return failed_; }
  const std::vector<Failure>& failures() const { return failures_; }  // the first few
  const std::map<std::string, uint64_t>& figures() const { return figures_; }
  double Seconds() const;

 private:
  const SearchOptions options_;
  const std::chrono::steady_clock::time_point began_;
  std::string current_;
  bool current_failed_ = false;
  uint64_t failed_ = 0;
  std::vector<Failure> failures_;
  std::unordered_set<uint64_t> seen_;
  std::map<std::string, uint64_t> figures_;
};

struct Harness {
  std::string name;
  std::string description;
  std::function<void(Search*)> body;
};

// One case for each seed from the run's on, named "seed=N"; a name that is asked for may say more.
void ForEachSeed(Search* search, const std::function<void(uint64_t seed)>& body);
// The N of "key=N" in the name of a case.
std::optional<uint64_t> NumberIn(std::string_view name, std::string_view key);

// Every harness, in the order of the scoreboard (registry.cc).
std::vector<Harness> AllHarnesses();
// By name; null if there is none.
const Harness* FindHarness(const std::vector<Harness>& all, std::string_view name);

// From now on a crash of this process (a check that fails, a fault) prints the command that repeats the case under way,
// then ends the process as it would have ended; a case that hangs does, too.
void ReportCrashes(std::string_view harness, uint64_t seed);

}  // namespace sepal::reliability
