// Requests that come again and again from one address are a machine's: a filter that ages tells them from people, for
// ever, in fixed memory. The machine changes its address; who was refused by mistake is let in again, since the filter
// forgets.
#include <cstdio>
#include <deque>
#include <random>
#include <string>

#include "example.h"
#include "sepal/filter.h"

namespace {

constexpr uint64_t kCapacity = 20'000;
constexpr double kRate = 0.01;

std::string AddressOf(const char* kind, uint64_t number) { return kind + std::to_string(number); }

struct Seen {
  uint64_t people = 0, refused = 0;     // that come for the first time
  uint64_t requests = 0, admitted = 0;  // of the machine
};

}  // namespace

int main() {
  auto filter = sepal::filters::AgeingFilter::ForKeys(kCapacity, kRate, /*seed=*/5);
  if (!filter.ok()) return example::Fail(filter.status().ToString());
  std::mt19937_64 random(4);
  std::deque<std::string> refused;  // people who try again later
  Seen seen;
  uint64_t machine = 0, tried_again = 0, let_in = 0;
  constexpr uint64_t kRequests = 40 * kCapacity;
  for (uint64_t i = 0; i < kRequests; ++i) {
    if (i % 2 == 0) {
      // The machine takes another address after some thirty requests.
      if (random() % 32 == 0) ++machine;
      ++seen.requests;
      seen.admitted += !filter->AddAndTest(AddressOf("machine", machine));
      continue;
    }
    if (refused.size() > 50) {
      // Some ten thousand requests after they were refused.
      ++tried_again;
      let_in += !filter->MayContain(refused.front());
      refused.pop_front();
    }
    const std::string person = AddressOf("person", i);
    const bool before = filter->AddAndTest(person);
    // Until it is full it says "seen" less often.
    if (i < 2 * kCapacity) continue;
    ++seen.people;
    seen.refused += before;
    if (before) refused.push_back(person);
  }
  std::printf("%llu requests, %llu bytes, fill %.3f\n", static_cast<unsigned long long>(kRequests),
              static_cast<unsigned long long>(filter->MemoryBytes()), filter->Fill());
  std::printf("of the machine's requests %.1f %% are saved: one from each of its %llu addresses is let in\n",
              100 - 100.0 * static_cast<double>(seen.admitted) / static_cast<double>(seen.requests),
              static_cast<unsigned long long>(machine + 1));
  std::printf("of %llu people refused by mistake %llu are let in when they try again\n",
              static_cast<unsigned long long>(tried_again), static_cast<unsigned long long>(let_in));
  const bool holds = example::Agrees("people refused by mistake", seen.refused, seen.people, filter->CurrentRate());
  const bool tells = seen.admitted < seen.requests / 20 && let_in * 2 > tried_again;
  return holds && tells ? 0 : example::Fail("that is not what theory says");
}
