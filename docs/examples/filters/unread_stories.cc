// Stories that a reader has not read yet: each reader has a small filter of what was read, in place of a list. A story
// of which it says "absent" is shown; a false positive costs a story that is never shown, and no query.
#include <cstdio>
#include <random>
#include <string>
#include <unordered_set>

#include "example.h"
#include "sepal/filter.h"

int main() {
  constexpr int kReaders = 500, kRead = 1'000, kFeed = 2'000, kStories = 100'000;
  constexpr double kRate = 0.01;
  std::mt19937_64 random(12);
  uint64_t asked = 0, unread = 0, withheld = 0, bytes = 0;
  double expected = 0;
  for (int reader = 0; reader < kReaders; ++reader) {
    auto filter = sepal::filters::BloomFilter::ForKeys(kRead, kRate, sepal::filters::BloomLayout::kBlocked,
                                                       /*seed=*/static_cast<uint64_t>(reader));
    if (!filter.ok()) return example::Fail(filter.status().ToString());
    std::unordered_set<uint64_t> read;  // in the database of a real service
    // Popular stories are read by many: the square of a random share prefers small numbers.
    const auto story = [&] {
      const double share = static_cast<double>(random() % 1'000'000) / 1e6;
      return static_cast<uint64_t>(share * share * kStories);
    };
    while (read.size() < kRead) {
      const uint64_t next = story();
      if (read.insert(next).second) filter->Add("story/" + std::to_string(next));
    }
    bytes += filter->MemoryBytes();
    // Different stories, since one that is asked for again is withheld again.
    std::unordered_set<uint64_t> feed;
    while (feed.size() < kFeed) feed.insert(story());
    for (const uint64_t number : feed) {
      const bool maybe = filter->MayContain("story/" + std::to_string(number)), was_read = read.contains(number);
      if (was_read && !maybe) return example::Fail("a story that was read is shown again");
      ++asked;
      unread += !was_read;
      withheld += maybe && !was_read;
    }
    expected += filter->shape().RateAt(kRead);
  }
  std::printf("%d readers of %d stories each: %.0f bytes a reader, where a list of numbers has %zu\n", kReaders, kRead,
              static_cast<double>(bytes) / kReaders, kRead * sizeof(uint64_t));
  std::printf("%llu stories in their feeds, and no query for what was read\n", static_cast<unsigned long long>(asked));
  return example::Agrees("unread, and not shown", withheld, unread, expected / kReaders)
             ? 0
             : example::Fail("that is not what theory says");
}
