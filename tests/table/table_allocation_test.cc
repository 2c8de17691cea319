// Point lookups that find everything in the cache allocate nothing.
#include <cstdlib>
#include <new>

#include "tests/table/table_fixture.h"

namespace {
thread_local size_t allocations = 0;

void* Allocate(size_t size) {
  ++allocations;
  if (void* p = std::malloc(size)) return p;
  std::abort();
}
}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }

namespace sepal {
namespace {

TEST(TableAllocationTest, CachedLookupsAllocateNothing) {
  const std::vector<TestEntry> entries = EvenEntries(3000);
  TestCache cache(size_t{8} << 20);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(TestWriterOptions(), entries), &cache);
  LevelFilterStatistics filters;
  for (const bool warm : {false, true}) {
    const size_t before = allocations;
    for (size_t i = 0; i < entries.size(); i += 10) {
      TableHit hit;
      ASSERT_TRUE(reader->Lookup(TestLookupKey(entries[i].user_key), {}, &filters, &hit).ok());
      ASSERT_EQ(hit.kind, TableHit::Kind::kFound);
      char absent[10] = "key000001";
      absent[7] = static_cast<char>('0' + i % 10);
      ASSERT_TRUE(reader->Lookup(TestLookupKey(absent), {}, &filters, &hit).ok());
      ASSERT_EQ(hit.kind, TableHit::Kind::kAbsent);
    }
    const size_t made = allocations - before;
    EXPECT_TRUE(!warm || made == 0) << made;
  }
}

TEST(TableAllocationTest, AddingAnEntryAllocatesNothingOfItsOwn) {
  const std::vector<TestEntry> entries = EvenEntries(20000, 100);
  StringWritableFile file;
  file.contents.reserve(size_t{8} << 20);
  TableWriterOptions options = TestWriterOptions();
  TableWriter writer(options, &file);
  const size_t before = allocations;
  for (const TestEntry& entry : entries) ASSERT_TRUE(writer.Add(entry.key(), entry.value).ok());
  const size_t made = allocations - before;
  EXPECT_GT(made, 0u);  // blocks and pages make some
  EXPECT_LT(made, entries.size() / 5);
}

}  // namespace
}  // namespace sepal
