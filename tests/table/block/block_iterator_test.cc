#include "tests/table/block/block_iterator.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "table/block/block.h"
#include "tests/table/block/block_fixture.h"
#include "tests/table/iterate/iterator_conformance.h"

namespace sepal {
namespace {

template <bool kTags>
class ShownBlock {
 public:
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    order_ = order;
    if (entries.empty()) return;  // there are no empty blocks
    BlockBuilder builder(kTags);
    for (const TestEntry& entry : entries) builder.Add(entry.key(), entry.value, TestHash(entry.user_key));
    block_.emplace(builder.Finish(false));
    std::string why;
    ASSERT_TRUE(BlockView::Validate(block_->view(), order, &why)) << why;
  }
  std::unique_ptr<InternalIterator> NewIterator() {
    return block_.has_value() ? NewBlockIterator(block_->view(), order_) : NewEmptyIterator();
  }

 private:
  KeyOrder order_;
  std::optional<PaddedBytes> block_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(BlockWithTags, IteratorConformance, ShownBlock<true>);
INSTANTIATE_TYPED_TEST_SUITE_P(BlockWithoutTags, IteratorConformance, ShownBlock<false>);

}  // namespace
}  // namespace sepal
