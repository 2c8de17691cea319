// Some of all mutations; `tools/reliability` tries every one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/corruption/subject.h"
#include "tests/reliability/harness.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SEPAL_KEEP_OPERATOR_NEW  // its runtime brings its own; the memory that is asked for is checked elsewhere
#endif
#endif

namespace {

std::atomic<size_t> largest_allocation{0};

#if !defined(SEPAL_KEEP_OPERATOR_NEW)

void* Allocate(size_t size) {
  size_t largest = largest_allocation.load(std::memory_order_relaxed);
  while (size > largest && !largest_allocation.compare_exchange_weak(largest, size, std::memory_order_relaxed)) {
  }
  if (void* p = std::malloc(size)) return p;
  std::abort();
}

#endif
}  // namespace

#if !defined(SEPAL_KEEP_OPERATOR_NEW)
void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
#endif

namespace sepal::corruption {
namespace {

TEST(CorruptionTest, TheSubjectsHoldEveryKindOfFile) {
  for (const SubjectKind kind : kAllSubjects) {
    const Subject subject = MakeSubject(kind);
    int tables = 0, logs = 0, manifests = 0, rings = 0, values = 0;
    for (const auto& [file, bytes] : subject.files) {
      tables += file.ends_with(".sst") ? 1 : 0;
      logs += file.ends_with(".log") ? 1 : 0;
      manifests += file.starts_with("MANIFEST") ? 1 : 0;
      rings += file.ends_with(".ring") ? 1 : 0;
      values += file.ends_with(".val") ? 1 : 0;
    }
    EXPECT_GE(tables, 8);
    EXPECT_GE(logs, 2);
    EXPECT_GE(values, 4);
    EXPECT_GE(manifests, 2);
    EXPECT_EQ(rings, kind == SubjectKind::kKilledWithRing ? 1 : 0);
    EXPECT_GE(subject.stale.size(), 5u);
    EXPECT_GE(subject.witnessed_bytes.size(), 11u);
    EXPECT_LE(subject.Bytes(), uint64_t{128} << 10);
  }
}

struct Sample {
  const char* harness;
  uint64_t seed;
};
class CorruptionSampleTest : public testing::TestWithParam<Sample> {};

TEST_P(CorruptionSampleTest, FindsNothing) {
  largest_allocation = 0;
  const std::vector<reliability::Harness> all = reliability::AllHarnesses();
  reliability::Search search({.seed = GetParam().seed, .seconds = 8, .count = 300, .max_failures = 10});
  reliability::FindHarness(all, GetParam().harness)->body(&search);
  for (const reliability::Failure& failure : search.failures()) {
    ADD_FAILURE() << "case " << failure.name << ": " << failure.what;
  }
  EXPECT_GT(search.cases(), 0u);
  // Whatever a damaged length claims, no more than the memory limit is asked for at once.
  EXPECT_LE(largest_allocation.load(), size_t{8} << 20);
}

INSTANTIATE_TEST_SUITE_P(Corruption, CorruptionSampleTest,
                         testing::Values(Sample{"corruption", 1}, Sample{"corruption", 2}, Sample{"corruption", 3}));
INSTANTIATE_TEST_SUITE_P(Repair, CorruptionSampleTest,
                         testing::Values(Sample{"repair", 1}, Sample{"repair", 2}, Sample{"repair", 3}));

}  // namespace
}  // namespace sepal::corruption
