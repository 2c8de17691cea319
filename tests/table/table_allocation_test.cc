// Point lookups that find everything in the cache allocate nothing.
#include "tests/count_allocations.h"
#include "tests/table/table_fixture.h"

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
