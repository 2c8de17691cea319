// Seeks backward to merged keys that stand beside separated values, with reads that fail: an iterator shows the right
// entry or has a status that is not ok.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "sepal/merge_operator.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

TEST(FailedBackwardTest, AReadThatFailsSkipsNoKey) {
  TestDatabase database;
  database.options.family.separate_from = 64;
  database.options.family.merge_operator = MergeOperators::Append("");
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Open());
  std::map<std::string, std::string> model;
  for (uint64_t i = 0; i < 150; ++i) {
    const std::string key = NumberedKey(i);
    const bool merged = i % 3 == 0;
    model[key] = std::string(merged ? 20 + i * 37 % 300 : 100, static_cast<char>('a' + i % 26));
    ASSERT_OK(merged ? database.db->Merge(key, model[key]) : database.db->Put(key, model[key]));
  }
  ASSERT_OK(database.db->Flush());
  ASSERT_OK(database.Reopen());
  int failed = 0;
  for (const auto& [key, value] : model) {
    for (const int in_a_row : {2, 3, 1000}) {
      bool hit = true;
      for (int first = 1; hit && first < 20; ++first) {
        const std::unique_ptr<Iterator> it = database.db->NewIterator({.fill_cache = false});
        int reads = 0;
        hit = false;
        database.files.SetDecider([&](const FileCall& call) {
          if (call.op != FileOp::kRead || ++reads < first || reads >= first + in_a_row) return Fault::kNone;
          hit = true;
          return Fault::kIoError;
        });
        it->SeekForPrev(key);
        database.files.Clear();
        failed += it->Valid() ? 0 : 1;
        if (it->Valid()) {
          EXPECT_EQ(it->key(), key) << first << ", " << in_a_row;
          EXPECT_EQ(it->value(), value) << first << ", " << in_a_row;
        } else {
          EXPECT_FALSE(it->status().ok()) << key << ", " << first << ", " << in_a_row;
        }
      }
    }
  }
  EXPECT_GT(failed, 100);
}

}  // namespace
}  // namespace sepal
