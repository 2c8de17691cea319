// Point lookups that find everything in the cache allocate nothing.
#include "tests/count_allocations.h"
#include "tests/table/block/block_fixture.h"
#include "tests/table/file/table_fixture.h"

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

TEST(TableAllocationTest, ValidatingAnIndexPageCopiesNoSeparator) {
  IndexPageBuilder builder(0, KeyOrder(), {});
  const std::string prefix(1000, 'p');
  for (uint64_t i = 0; i < 500; ++i) {
    const std::string number = std::to_string(100000 + i);
    builder.Add({prefix + number + "and a tail", i % 3 == 0, PackTrailer(SequenceNumber(i), ValueKind::kPut)},
                {100 * i, 100 - kUnitTrailerBytes}, 10, 0, "");
  }
  const PaddedBytes page(builder.Finish(0));
  std::string why;
  const size_t before = allocations;
  EXPECT_TRUE(IndexPageView::Validate(page.view(), 1 << 20, KeyOrder(), &why)) << why;
  EXPECT_EQ(allocations - before, 0u);
}

}  // namespace
}  // namespace sepal
