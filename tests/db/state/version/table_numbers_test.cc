// The numbers of a version's tables: edits of them against a plain map.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/db/version_text.h"
#include "util/base/random.h"

namespace sepal {
namespace {

TEST(TableNumbersTest, RandomEditsMatchAPlainMap) {
  Random random(5);
  std::vector<TableRef> files;
  TableNumbers numbers;
  std::map<uint64_t, const TableFile*> model;
  for (int edit = 0; edit < 200; ++edit) {
    std::vector<TableNumbers::Entry> removed, added;
    const uint64_t count = random.OneIn(10) ? 1000 : random.Uniform(12);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t number = random.Uniform(3000);
      if (const auto it = model.find(number); it != model.end()) {
        // What this edit added is not yet there to be removed.
        if (numbers.Find(FileNumber(number)) == nullptr) continue;
        removed.push_back({FileNumber(number), it->second});
        model.erase(it);
      } else if (numbers.Find(FileNumber(number)) == nullptr) {
        files.push_back(MakeTable(TableOf(number, 1, "a", "b")));
        added.push_back({FileNumber(number), files.back().get()});
        model[number] = files.back().get();
      }
    }
    numbers = numbers.Edited(removed, added);
    ASSERT_EQ(numbers.Twice(), std::nullopt);
    ASSERT_EQ(numbers.size(), model.size());
    for (uint64_t number = 0; number < 3001; ++number) {
      const auto it = model.find(number);
      ASSERT_EQ(numbers.Find(FileNumber(number)), it == model.end() ? nullptr : it->second) << number;
    }
  }
}

TEST(TableNumbersTest, ANumberThatIsAddedTwiceIsNamedWhereverItLies) {
  const TableRef file = MakeTable(TableOf(1, 1, "a", "b"));
  const auto entry = [&](uint64_t number) { return TableNumbers::Entry{FileNumber(number), file.get()}; };
  std::vector<TableNumbers::Entry> entries;
  for (uint64_t number = 0; number < 3 * kMostInChunk; ++number) entries.push_back(entry(number));
  const TableNumbers numbers = TableNumbers().Edited({}, entries);
  EXPECT_EQ(numbers.Twice(), std::nullopt);
  for (uint64_t number = 0; number < 3 * kMostInChunk; ++number) {
    ASSERT_EQ(numbers.Edited({}, {entry(number)}).Twice(), FileNumber(number));
    // The same while it is made, with the borders of chunks in other places.
    std::vector<TableNumbers::Entry> more = entries;
    more.push_back(entry(number));
    ASSERT_EQ(TableNumbers().Edited({}, more).Twice(), FileNumber(number));
  }
}

}  // namespace
}  // namespace sepal
