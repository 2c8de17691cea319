#include "table/iterate/merging_iterator.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "table/key/compare_bytes.h"
#include "util/base/check.h"
#include "util/base/coding.h"

namespace sepal {
namespace {

// The tree has one leaf for each child, leaf i at place n + i, and match j (1 <= j < n) between the winners of places
// 2j and 2j + 1. losers_[j] is the child that lost match j, and losers_[0] the one that won all matches.
class MergingIterator final : public InternalIterator {
 public:
  MergingIterator(KeyOrder order, std::vector<std::unique_ptr<InternalIterator>> children,
                  std::string_view common_prefix)
      : order_(order), common_prefix_(common_prefix), losers_(children.size()) {
    runners_.reserve(children.size());
    for (auto& child : children) runners_.push_back({0, std::move(child)});
  }

  void SeekToFirst() override {
    AskForEnd(/*last=*/false);
    Restart(Direction::kForward, [](InternalIterator* child) { child->SeekToFirst(); });
  }
  void SeekToLast() override {
    AskForEnd(/*last=*/true);
    Restart(Direction::kBackward, [](InternalIterator* child) { child->SeekToLast(); });
  }
  void Seek(InternalKeyView target) override {
    for (int step = 0; step < kSeekSteps; ++step) {
      for (Runner& runner : runners_) runner.child->PrepareSeek(target, step);
    }
    Restart(Direction::kForward, [&](InternalIterator* child) { child->Seek(target); });
  }
  void AskForEnd(bool last) override {
    for (Runner& runner : runners_) runner.child->AskForEnd(last);
  }
  void SeekBefore(InternalKeyView target) override {
    Restart(Direction::kBackward, [&](InternalIterator* child) { child->SeekBefore(target); });
  }
  void Next() override {
    SEPAL_DCHECK(valid_);
    if (direction_ != Direction::kForward) [[unlikely]]
      return Turn(Direction::kForward);
    runners_[losers_[0]].child->Advance();
    Replay();
  }
  void Prev() override {
    SEPAL_DCHECK(valid_);
    if (direction_ != Direction::kBackward) [[unlikely]]
      return Turn(Direction::kBackward);
    runners_[losers_[0]].child->Retreat();
    Replay();
  }
  absl::Status status() const override { return status_; }

 private:
  enum class Direction : uint8_t { kForward, kBackward };
  static constexpr uint32_t kUnknown = UINT32_MAX;
  // Searching in the block is worth its time only for a child that keeps winning.
  static constexpr int kWinsBeforeLending = 8;

  struct Runner {
    // Ascends in the direction of travel: the key's prefix, or its complement when going backward; the largest number
    // at the end.
    uint64_t rank;
    std::unique_ptr<InternalIterator> child;
  };

  // Whether child `a` comes before child `b` in the direction of travel.
  bool Beats(uint32_t a, uint32_t b) const {
    const Runner& x = runners_[a];
    const Runner& y = runners_[b];
    if (x.rank != y.rank) return x.rank < y.rank;
    return BeatsByKey(*x.child, *y.child);
  }
  bool BeatsByKey(const InternalIterator& a, const InternalIterator& b) const {
    if (!a.Valid() || !b.Valid()) return a.Valid();
    return direction_ == Direction::kForward ? order_.Less(a.key(), b.key()) : order_.Less(b.key(), a.key());
  }

  // A number that never contradicts the order, and distinguishes most keys with the common prefix.
  uint64_t PrefixOf(std::string_view user_key) const {
    const size_t n = common_prefix_.size();
    if (n == 0) return order_.Prefix(user_key);
    if (user_key.size() >= n && EqualBytes(user_key.data(), common_prefix_.data(), n)) [[likely]] {
      return BigEndianPrefix(user_key.data() + n, user_key.size() - n);
    }
    return user_key < common_prefix_ ? 0 : UINT64_MAX;
  }

  // Reads the child's position. Returns false if the child has failed; the merging iterator has then failed too.
  bool Read(Runner* runner) {
    if (runner->child->Valid()) [[likely]] {
      const uint64_t prefix = PrefixOf(runner->child->key().user_key);
      runner->rank = direction_ == Direction::kForward ? prefix : ~prefix;
      return true;
    }
    runner->rank = UINT64_MAX;
    status_ = runner->child->status();
    if (status_.ok()) return true;
    valid_ = false;
    lent_ = nullptr;
    return false;
  }

  template <class Move>
  void Restart(Direction direction, Move move) {
    status_ = absl::OkStatus();
    direction_ = direction;
    for (Runner& runner : runners_) {
      move(runner.child.get());
      if (!Read(&runner)) return;
    }
    PlayAll();
    ShowWinner();
  }

  // Continues from the current entry in the other direction. The current key belongs to the winner, which therefore
  // moves last. (The winner's own fields are outdated if its cursor was lent.)
  void Turn(Direction direction) {
    direction_ = direction;
    Runner& current = runners_[losers_[0]];
    for (Runner& runner : runners_) {
      if (&runner == &current) continue;
      if (direction == Direction::kForward) {
        runner.child->Seek(key_);
      } else {
        runner.child->SeekBefore(key_);
      }
      if (!Read(&runner)) return;
    }
    if (direction == Direction::kForward) {
      current.child->Next();
    } else {
      current.child->Prev();
    }
    if (!Read(&current)) return;
    PlayAll();
    ShowWinner();
  }

  // Plays every match, from the leaves up.
  void PlayAll() {
    const uint32_t n = static_cast<uint32_t>(runners_.size());
    winners_.resize(2 * n);
    for (uint32_t i = 0; i < n; ++i) winners_[n + i] = i;
    for (uint32_t match = n - 1; match > 0; --match) {
      const uint32_t a = winners_[2 * match];
      const uint32_t b = winners_[2 * match + 1];
      const bool a_wins = Beats(a, b);
      winners_[match] = a_wins ? a : b;
      losers_[match] = a_wins ? b : a;
    }
    losers_[0] = winners_[1];
    runner_up_ = kUnknown;
    wins_ = 0;
  }

  // Replays the last winner's matches up to the root after it has moved. Once a child has won twice running, the best
  // of those that it beat is remembered, and one comparison is enough for as long as it keeps winning.
  void Replay() {
    const uint32_t last = losers_[0];
    if (!Read(&runners_[last])) [[unlikely]]
      return;
    if (runner_up_ != kUnknown && Beats(last, runner_up_)) {
      ShowWinner();
      if (++wins_ >= kWinsBeforeLending) LendWinner();
      return;
    }
    wins_ = 0;

    const uint32_t n = static_cast<uint32_t>(runners_.size());
    uint32_t winner = last;
    for (uint32_t match = (n + last) / 2; match > 0; match /= 2) {
      if (Beats(losers_[match], winner)) std::swap(losers_[match], winner);
    }
    losers_[0] = winner;
    runner_up_ = winner == last ? BestLoserTo(winner) : kUnknown;
    ShowWinner();
  }

  // The runner-up has lost to the winner itself.
  uint32_t BestLoserTo(uint32_t winner) const {
    const uint32_t n = static_cast<uint32_t>(runners_.size());
    uint32_t match = (n + winner) / 2;
    uint32_t best = losers_[match];
    while ((match /= 2) > 0) {
      if (Beats(losers_[match], best)) best = losers_[match];
    }
    return best;
  }

  void ShowWinner() {
    ShowChild(*runners_[losers_[0]].child);
    lent_ = nullptr;
  }

  // Lends the winner's cursor up to the next entry of any other child. The winner does not see what is done with it
  // until it is moved again.
  void LendWinner() {
    const InternalIterator& runner_up = *runners_[runner_up_].child;
    BlockCursor* const cursor = LentBy(*runners_[losers_[0]].child);
    if (cursor == nullptr) return;
    const uint32_t at = cursor->index();
    if (direction_ == Direction::kForward) {
      cursor->Narrow(at, runner_up.Valid() ? cursor->LowerBound(runner_up.key()) : cursor->count());
    } else {
      cursor->Narrow(runner_up.Valid() ? cursor->LowerBound(runner_up.key()) : 0, at + 1);
    }
    lent_ = cursor;
  }

  const KeyOrder order_;
  const std::string common_prefix_;  // empty if the order is not bytewise
  Direction direction_ = Direction::kForward;
  absl::Status status_;
  std::vector<Runner> runners_;
  std::vector<uint32_t> losers_;
  std::vector<uint32_t> winners_;  // used by PlayAll
  uint32_t runner_up_ = kUnknown;
  int wins_ = 0;  // consecutive wins over the runner-up
};

}  // namespace

std::unique_ptr<InternalIterator> NewMergingIterator(KeyOrder order,
                                                     std::vector<std::unique_ptr<InternalIterator>> children,
                                                     std::string_view common_prefix) {
  if (children.empty()) return NewEmptyIterator();
  if (children.size() == 1) return std::move(children[0]);
  if (!order.bytewise()) common_prefix = {};
  return std::make_unique<MergingIterator>(order, std::move(children), common_prefix);
}

}  // namespace sepal
