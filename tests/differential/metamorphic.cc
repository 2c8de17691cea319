// The same operations under every fixed set of options and under random ones.
#include "absl/strings/str_format.h"
#include "tests/differential/operations.h"
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"
#include "util/base/hash.h"

namespace sepal::reliability {

namespace {

constexpr int kOperations = 300;
constexpr uint64_t kRandomSets = 4;

void SearchOptionSets(Search* search) {
  ForEachSeed(search, [search](uint64_t seed) {
    const std::unique_ptr<Subject> truth = MakeMapSubject();
    const std::vector<uint64_t> expected = RunOperations(seed, kOperations, truth.get());
    for (uint64_t i = 0; i < kFixedOptionSets + kRandomSets && search->failed() == 0; ++i) {
      const uint64_t set = i < kFixedOptionSets ? i : i + seed * kRandomSets;
      const std::unique_ptr<Subject> subject = MakeSepalSubject(set, /*wander=*/seed % 2 == 0);
      const std::string wrong = Compare(expected, RunOperations(seed, kOperations, subject.get()), *subject);
      if (!wrong.empty()) search->Fail(absl::StrFormat("option set %u: %s", set, wrong));
      search->Count(Mix64(seed * 1000003 + set));
      search->Add("operations", kOperations);
    }
  });
}

}  // namespace

void AddDifferentialHarnesses(std::vector<Harness>* all) {
  all->push_back({"metamorphic", "the same operations under 36 fixed sets of options and random ones, against a map",
                  SearchOptionSets});
}

}  // namespace sepal::reliability
