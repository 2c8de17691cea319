#include "table/iterate/iterator.h"

#include <utility>

#include "util/base/check.h"

namespace sepal {
namespace {

class EmptyIterator final : public InternalIterator {
 public:
  explicit EmptyIterator(absl::Status status) : status_(std::move(status)) {}

  void SeekToFirst() override {}
  void SeekToLast() override {}
  void Seek(InternalKeyView) override {}
  void SeekBefore(InternalKeyView) override {}
  void Next() override { SEPAL_CHECK(Valid()); }
  void Prev() override { SEPAL_CHECK(Valid()); }
  absl::Status status() const override { return status_; }

 private:
  const absl::Status status_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewEmptyIterator(absl::Status status) {
  return std::make_unique<EmptyIterator>(std::move(status));
}

}  // namespace sepal
