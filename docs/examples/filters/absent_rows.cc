// Reads of rows that are not there: without filters each reads a block of every run that may hold the row; with them
// nearly none does. The database counts what its filters spare it.
//   absent_rows [DIRECTORY]      a new one, where the databases are made, and removed (default: absent_rows.db)
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "example.h"
#include "sepal/db.h"
#include "sepal/filter.h"

namespace {

constexpr int kRows = 100'000, kReads = 100'000;

// Rows have even numbers, and reads are of odd ones.
std::string Row(int number) {
  char text[24];
  std::snprintf(text, sizeof(text), "row%09d", number);
  return text;
}

struct Reads {
  uint64_t asked = 0, spared = 0, searched = 0;  // tables, and blocks of them
};

absl::StatusOr<Reads> Measure(const std::string& path, const sepal::FilterPolicy& policy) {
  sepal::Options options{.create_if_missing = true, .memory_limit = size_t{64} << 20};
  options.family.filter_policy = policy;
  auto opened = sepal::DB::Open(options, path);
  if (!opened.ok()) return opened.status();
  sepal::DB& db = **opened;
  for (int i = 0; i < kRows; ++i) {
    if (absl::Status put = db.Put(Row(2 * i), std::string(100, 'v')); !put.ok()) return put;
  }
  // One run, so that each lookup asks one table.
  if (absl::Status compacted = db.CompactRange(); !compacted.ok()) return compacted;
  std::mt19937_64 random(15);
  for (int i = 0; i < kReads; ++i) {
    const auto got = db.Get(Row(2 * static_cast<int>(random() % kRows) + 1));
    if (!absl::IsNotFound(got.status())) return absl::InternalError("a row that is not there was found");
  }
  Reads reads;
  for (int level = 0; level < sepal::kMaxLevels; ++level) {
    const sepal::LevelFilterStatistics here = db.statistics().GetFilter(level);
    reads.asked += here.lookups;
    reads.spared += here.guard_rejections + here.lane_rejections;
    reads.searched += here.blocks_searched;
  }
  if (absl::Status closed = db.Close(); !closed.ok()) return closed;
  return reads;
}

// A block is read where the guard of its table and its own lane let an absent key through. The guard has all probes of
// a key in one line of 512 bits. Tables round bits up, and small ones are given more.
double TheoryOf(const sepal::FilterPolicy& policy) {
  const sepal::filters::BloomShape guard{.layout = sepal::filters::BloomLayout::kBlocked,
                                         .bits = static_cast<uint64_t>(policy.guard_bits_per_key * kRows),
                                         .probes = sepal::FilterPolicy::ProbesFor(policy.guard_bits_per_key)};
  return guard.RateAt(kRows) * sepal::FilterPolicy::ExpectedRate(policy.lane_bits_per_key);
}

}  // namespace

int main(int argc, char** argv) {
  const example::NewPlace place(argc > 1 ? argv[1] : "absent_rows.db");
  if (!place.is_new()) return 1;
  const std::filesystem::path& directory = place.path();
  std::filesystem::create_directories(directory);
  const sepal::FilterPolicy policy;
  const auto without = Measure(directory / "without", sepal::FilterPolicy::None());
  const auto with = Measure(directory / "with", policy);
  if (!without.ok()) return example::Fail(without.status().ToString());
  if (!with.ok()) return example::Fail(with.status().ToString());
  std::printf("%d reads of absent rows, among %d rows\n", kReads, kRows);
  std::printf("without filters: %llu tables asked, %llu blocks searched\n",
              static_cast<unsigned long long>(without->asked), static_cast<unsigned long long>(without->searched));
  std::printf("with filters:    %llu tables asked, %llu blocks searched, %.2f %% of the block reads saved\n",
              static_cast<unsigned long long>(with->asked), static_cast<unsigned long long>(with->searched),
              100.0 * static_cast<double>(with->spared) / static_cast<double>(with->spared + with->searched));
  const double rate = static_cast<double>(with->searched) / static_cast<double>(with->asked), most = TheoryOf(policy);
  std::printf("blocks read in vain: %.4g; in theory at most %.4g\n", rate, most);
  const bool all = without->spared == 0 && without->searched == without->asked;
  return rate > 0 && rate <= most && all ? 0 : example::Fail("that is not what theory says");
}
