#include "db/state/ranges/range_tombstones.h"

#include <algorithm>
#include <utility>

#include "table/key/compare_bytes.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// The rest of a fragment, while two lists are merged.
struct Rest {
  std::string_view begin;
  std::optional<std::string_view> end;
  std::span<const SequenceNumber> sequences;
};

}  // namespace

SequenceNumber NewestThrough(std::span<const SequenceNumber> descending, SequenceNumber visible) {
  const auto it = std::find_if(descending.begin(), descending.end(), [&](SequenceNumber s) { return s <= visible; });
  return it == descending.end() ? SequenceNumber(0) : *it;
}

size_t StripeOf(Stripes stripes, SequenceNumber sequence) {
  return static_cast<size_t>(std::lower_bound(stripes.begin(), stripes.end(), sequence) - stripes.begin());
}

// Takes fragments in order.
class RangeTombstones::Builder {
 public:
  Builder(const KeyOrder& order, Stripes stripes) : order_(order), stripes_(stripes), made_(new RangeTombstones()) {}

  // Numbers descend, without duplicates. Those that no reader can distinguish from newer ones are omitted.
  void Add(std::string_view begin, std::optional<std::string_view> end, std::span<const SequenceNumber> sequences) {
    RangeTombstones& made = *made_;
    const size_t first = made.sequences_.size();
    size_t last_stripe = stripes_.size();
    for (const SequenceNumber sequence : sequences) {
      const size_t stripe = StripeOf(stripes_, sequence);
      const bool hidden = made.sequences_.size() > first && stripe == last_stripe && stripe < stripes_.size();
      last_stripe = stripe;
      if (!hidden) made.sequences_.push_back(sequence);
    }
    if (made.sequences_.size() == first) return;
    if (JoinsLast(begin, first)) {
      made.sequences_.resize(first);
    } else {
      made.begins_.push_back(begin);
      made.ends_.emplace_back();
      made.first_.push_back(static_cast<uint32_t>(first));
    }
    made.ends_.back() = end.value_or(std::string_view());
    made.unbounded_ = !end.has_value();
  }
  void Keep(const std::vector<Owner>& owners) {
    for (const Owner& owner : owners) Keep(owner);
  }
  void Keep(const Owner& owner) {
    std::vector<Owner>& all = made_->owners_;
    if (owner != nullptr && std::find(all.begin(), all.end(), owner) == all.end()) all.push_back(owner);
  }
  std::shared_ptr<const RangeTombstones> Finish() {
    if (made_->begins_.empty()) return nullptr;
    made_->Finish(order_);
    return std::move(made_);
  }

 private:
  // Returns whether the last fragment continues with the same deletes, which are those from `first` on.
  bool JoinsLast(std::string_view begin, size_t first) const {
    const RangeTombstones& made = *made_;
    if (made.begins_.empty() || made.unbounded_ || !order_.Equal(made.ends_.back(), begin)) return false;
    return std::equal(made.sequences_.begin() + made.first_.back(),
                      made.sequences_.begin() + static_cast<ptrdiff_t>(first),
                      made.sequences_.begin() + static_cast<ptrdiff_t>(first), made.sequences_.end());
  }

  const KeyOrder order_;
  const Stripes stripes_;
  std::shared_ptr<RangeTombstones> made_;
};

void RangeTombstones::Finish(const KeyOrder& order) {
  first_.push_back(static_cast<uint32_t>(sequences_.size()));
  const auto [lowest, highest] = std::minmax_element(sequences_.begin(), sequences_.end());
  lowest_ = *lowest;
  highest_ = *highest;
  if (!order.bytewise()) return;
  prefix_ = begins_.front().substr(0, CommonPrefixSize(begins_.front(), begins_.back()));
  std::vector<uint64_t> fences(borders());
  for (size_t i = 0; i < fences.size(); ++i) {
    const std::string_view key = border(i);
    fences[i] = key.starts_with(prefix_) ? BigEndianPrefix(key.substr(prefix_.size())) : UINT64_MAX;
  }
  fences_ = FenceTree(std::move(fences));
}

RangeTombstones::Fragment RangeTombstones::operator[](size_t i) const {
  const bool last = i + 1 == begins_.size();
  Fragment fragment{.begin = begins_[i],
                    .end = std::nullopt,
                    .sequences = std::span(sequences_).subspan(first_[i], first_[i + 1] - first_[i])};
  if (!last || !unbounded_) fragment.end = ends_[i];
  return fragment;
}

size_t RangeTombstones::MemoryBytes() const {
  return sizeof(*this) + begins_.capacity() * sizeof(begins_[0]) + ends_.capacity() * sizeof(ends_[0]) +
         first_.capacity() * sizeof(first_[0]) + sequences_.capacity() * sizeof(sequences_[0]) + fences_.MemoryBytes() +
         owners_.capacity() * sizeof(Owner);
}

RangeTombstonesRef RangeTombstones::Of(const KeyOrder& order, const RangeTombstone& tombstone, Owner owner) {
  Builder builder(order, {});
  builder.Add(tombstone.begin, tombstone.end, {&tombstone.sequence, 1});
  builder.Keep(owner);
  return builder.Finish();
}

RangeTombstonesRef RangeTombstones::Merge(const KeyOrder& order, const RangeTombstones& a, const RangeTombstones& b,
                                          Stripes stripes) {
  Builder builder(order, stripes);
  builder.Keep(a.owners_);
  builder.Keep(b.owners_);
  const auto rest_of = [](const RangeTombstones& list, size_t i) -> std::optional<Rest> {
    if (i == list.size()) return std::nullopt;
    const Fragment fragment = list[i];
    return Rest{fragment.begin, fragment.end, fragment.sequences};
  };
  const auto ends_before = [&](const Rest& x, const Rest& y) {
    return x.end.has_value() && order.Compare(*x.end, y.begin) <= 0;
  };
  const auto is_less = [&](const std::optional<std::string_view>& x, const std::optional<std::string_view>& y) {
    return x.has_value() && (!y.has_value() || order.Less(*x, *y));
  };
  size_t next_a = 0;
  size_t next_b = 0;
  std::optional<Rest> x = rest_of(a, next_a++);
  std::optional<Rest> y = rest_of(b, next_b++);
  std::vector<SequenceNumber> both;
  while (x.has_value() || y.has_value()) {
    if (!y.has_value() || (x.has_value() && ends_before(*x, *y))) {
      builder.Add(x->begin, x->end, x->sequences);
      x = rest_of(a, next_a++);
      continue;
    }
    if (!x.has_value() || ends_before(*y, *x)) {
      builder.Add(y->begin, y->end, y->sequences);
      y = rest_of(b, next_b++);
      continue;
    }
    if (const int c = order.Compare(x->begin, y->begin); c != 0) {
      Rest* const first = c < 0 ? &*x : &*y;
      const std::string_view end = c < 0 ? y->begin : x->begin;
      builder.Add(first->begin, end, first->sequences);
      first->begin = end;
      continue;
    }
    both.clear();
    std::set_union(x->sequences.begin(), x->sequences.end(), y->sequences.begin(), y->sequences.end(),
                   std::back_inserter(both), std::greater<>());
    const std::optional<std::string_view> end = is_less(x->end, y->end) ? x->end : y->end;
    builder.Add(x->begin, end, both);
    const bool ends_x = !is_less(end, x->end);
    const bool ends_y = !is_less(end, y->end);
    if (ends_x) {
      x = rest_of(a, next_a++);
    } else {
      x->begin = *end;
    }
    if (ends_y) {
      y = rest_of(b, next_b++);
    } else {
      y->begin = *end;
    }
  }
  return builder.Finish();
}

RangeTombstonesRef RangeTombstones::Filter(const KeyOrder& order, const RangeTombstones& all, const Keep& keep) {
  Builder builder(order, {});
  builder.Keep(all.owners_);
  std::vector<SequenceNumber> kept;
  for (size_t i = 0; i < all.size(); ++i) {
    const Fragment fragment = all[i];
    kept.clear();
    std::copy_if(fragment.sequences.begin(), fragment.sequences.end(), std::back_inserter(kept),
                 [&](SequenceNumber sequence) { return keep(fragment, sequence); });
    if (!kept.empty()) builder.Add(fragment.begin, fragment.end, kept);
  }
  return builder.Finish();
}

RangeTombstonesRef RangeTombstones::OfFragments(const KeyOrder& order, std::span<const RangeTombstone> deletes,
                                                Stripes stripes, Owner owner) {
  Builder builder(order, stripes);
  builder.Keep(owner);
  std::vector<SequenceNumber> sequences;
  for (size_t i = 0; i < deletes.size();) {
    const RangeTombstone& first = deletes[i];
    const bool follows = i == 0 || (deletes[i - 1].end.has_value() && !order.Less(first.begin, *deletes[i - 1].end));
    if (!follows) return nullptr;
    sequences.clear();
    for (; i < deletes.size() && order.Equal(deletes[i].begin, first.begin); ++i) {
      if (deletes[i].end != first.end) return nullptr;
      if (!sequences.empty() && deletes[i].sequence >= sequences.back()) return nullptr;
      sequences.push_back(deletes[i].sequence);
    }
    builder.Add(first.begin, first.end, sequences);
  }
  return builder.Finish();
}

size_t RangeTombstones::BordersThrough(const KeyOrder& order, std::string_view key, size_t from, size_t to) const {
  while (from < to) {
    const size_t middle = (from + to) / 2;
    if (order.Less(key, border(middle))) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

size_t RangeTombstones::BordersThrough(const KeyOrder& order, std::string_view key) const {
  if (fences_.empty()) return BordersThrough(order, key, 0, borders());
  if (const int c = key.substr(0, prefix_.size()).compare(prefix_); c != 0) {
    // After all borders with the prefix: only the last one may have another.
    return c < 0 ? 0 : BordersThrough(order, key, borders() - 1, borders());
  }
  const uint64_t prefix = BigEndianPrefix(key.substr(prefix_.size()));
  const size_t less = fences_.CountLess(prefix);
  size_t alike = less;
  while (alike < fences_.size() && fences_[alike] == prefix) ++alike;
  return BordersThrough(order, key, less, alike);
}

SequenceNumber RangeTombstones::Covering(const KeyOrder& order, std::string_view key, SequenceNumber visible) const {
  if (lowest_ > visible) return SequenceNumber(0);
  const size_t through = BordersThrough(order, key);
  if (through % 2 == 0) return SequenceNumber(0);
  return NewestThrough((*this)[through / 2].sequences, visible);
}

size_t RangeTombstones::FindAtOrAfter(const KeyOrder& order, std::string_view key) const {
  return BordersThrough(order, key) / 2;
}

RangeStretch RangeTombstones::StretchAt(const KeyOrder& order, std::string_view key, SequenceNumber visible) const {
  RangeStretch stretch;
  const size_t at = FindAtOrAfter(order, key);
  if (at > 0) stretch.begin = *(*this)[at - 1].end;
  if (at == size()) return stretch;
  const Fragment fragment = (*this)[at];
  if (order.Less(key, fragment.begin)) {
    stretch.end = fragment.begin;
    return stretch;
  }
  return {.begin = fragment.begin, .end = fragment.end, .newest = NewestThrough(fragment.sequences, visible)};
}

RangeTombstonesRef RangeTombstoneSet::Merged(const KeyOrder& order, Stripes stripes) const {
  return MergeAll(order, lists_, stripes);
}

const std::shared_ptr<const RangeTombstoneSet>& NoRangeTombstones() {
  static const auto* const kNone = new std::shared_ptr<const RangeTombstoneSet>(
      std::make_shared<const RangeTombstoneSet>(std::vector<RangeTombstonesRef>()));
  return *kNone;
}

RangeTombstonesRef MergeAll(const KeyOrder& order, std::vector<RangeTombstonesRef> lists, Stripes stripes) {
  std::erase(lists, nullptr);
  while (lists.size() > 1) {
    std::vector<RangeTombstonesRef> merged;
    for (size_t i = 0; i + 1 < lists.size(); i += 2) {
      merged.push_back(RangeTombstones::Merge(order, *lists[i], *lists[i + 1], stripes));
    }
    if (lists.size() % 2 == 1) merged.push_back(std::move(lists.back()));
    lists = std::move(merged);
  }
  return lists.empty() ? nullptr : std::move(lists.front());
}

std::span<const SequenceNumber> RangeTombstoneCursor::Covering(std::string_view key) {
  if (list_ == nullptr) return {};
  if (!begun_) at_ = list_->FindAtOrAfter(order_, key);
  begun_ = true;
  for (; at_ < list_->size(); ++at_) {
    const RangeTombstones::Fragment fragment = (*list_)[at_];
    if (fragment.end.has_value() && !order_.Less(key, *fragment.end)) continue;
    return order_.Less(key, fragment.begin) ? std::span<const SequenceNumber>() : fragment.sequences;
  }
  return {};
}

}  // namespace sepal
