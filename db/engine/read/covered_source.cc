#include "db/engine/read/covered_source.h"

#include <utility>

namespace sepal {

namespace {

// It lends no cursor, because each step must check whether the next entry is covered.
class CoveredSource final : public InternalIterator {
 public:
  CoveredSource(const RangeCover* cover, KeyOrder order, SequenceNumber highest,
                std::unique_ptr<InternalIterator> source)
      : cover_(cover), order_(order), highest_(highest), source_(std::move(source)) {}

  void SeekToFirst() override {
    source_->SeekToFirst();
    PassForward();
  }
  void SeekToLast() override {
    source_->SeekToLast();
    PassBackward();
  }
  void Seek(InternalKeyView target) override {
    source_->Seek(target);
    PassForward();
  }
  void SeekBefore(InternalKeyView target) override {
    source_->SeekBefore(target);
    PassBackward();
  }
  void PrepareSeek(InternalKeyView target, int step) override { source_->PrepareSeek(target, step); }
  void Rest() override { source_->Rest(); }
  void Next() override {
    source_->Advance();
    PassForward();
  }
  void Prev() override {
    source_->Retreat();
    PassBackward();
  }
  absl::Status status() const override { return source_->status(); }

 private:
  // The stretch is searched again only when the entry has left the last one.
  bool IsCovered() {
    const std::string_view key = source_->key().user_key;
    const bool inside = known_ && (!stretch_.begin.has_value() || !order_.Less(key, *stretch_.begin)) &&
                        (!stretch_.end.has_value() || order_.Less(key, *stretch_.end));
    if (!inside) stretch_ = cover_->StretchAt(key);
    known_ = true;
    return source_->key().sequence() < stretch_.newest;
  }
  void PassForward() {
    while (source_->Valid() && IsCovered()) {
      if (highest_ >= stretch_.newest) {
        source_->Advance();
      } else if (stretch_.end.has_value()) {
        source_->Seek({*stretch_.end, kFirstTrailer});
      } else {
        return End();
      }
    }
    Show();
  }
  void PassBackward() {
    while (source_->Valid() && IsCovered()) {
      if (highest_ >= stretch_.newest) {
        source_->Retreat();
      } else if (stretch_.begin.has_value()) {
        source_->SeekBefore({*stretch_.begin, kFirstTrailer});
      } else {
        return End();
      }
    }
    Show();
  }
  void Show() {
    ShowChild(*source_);
    lent_ = nullptr;
  }
  // Ends the iteration, because everything that is left is covered.
  void End() {
    valid_ = false;
    lent_ = nullptr;
  }

  const RangeCover* const cover_;
  const KeyOrder order_;
  const SequenceNumber highest_;
  const std::unique_ptr<InternalIterator> source_;
  RangeStretch stretch_;
  bool known_ = false;
};

}  // namespace

std::unique_ptr<InternalIterator> WithoutCovered(const RangeCover* cover, KeyOrder order, SequenceNumber highest,
                                                 std::unique_ptr<InternalIterator> source) {
  return std::make_unique<CoveredSource>(cover, order, highest, std::move(source));
}

}  // namespace sepal
