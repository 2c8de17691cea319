// What the block cache is compared with, as plain models over block numbers: they hold keys, no bytes. For one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "util/base/hash.h"

namespace sepal {

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;
  // Whether the block is there; if not, it is read, and put in if the policy wants it.
  virtual bool Access(uint64_t block) = 0;
};

// The least recently used block goes.
class LruPolicy final : public CachePolicy {
 public:
  explicit LruPolicy(size_t blocks) : capacity_(blocks) {}
  bool Access(uint64_t block) override {
    if (const auto it = where_.find(block); it != where_.end()) {
      order_.splice(order_.begin(), order_, it->second);
      return true;
    }
    if (where_.size() == capacity_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(block);
    where_[block] = order_.begin();
    return false;
  }

 private:
  const size_t capacity_;
  std::list<uint64_t> order_;
  std::unordered_map<uint64_t, std::list<uint64_t>::iterator> where_;
};

// A ring with one bit a block: a block that was found since the hand last came goes the next time.
class ClockPolicy final : public CachePolicy {
 public:
  explicit ClockPolicy(size_t blocks) : capacity_(blocks) {}
  bool Access(uint64_t block) override {
    if (const auto it = where_.find(block); it != where_.end()) return ring_[it->second].found = true;
    if (ring_.size() < capacity_) {
      where_[block] = ring_.size();
      ring_.push_back({block, false});
      return false;
    }
    for (; ring_[hand_].found; hand_ = (hand_ + 1) % capacity_) ring_[hand_].found = false;
    where_.erase(ring_[hand_].block);
    where_[block] = hand_;
    ring_[hand_] = {block, false};
    hand_ = (hand_ + 1) % capacity_;
    return false;
  }

 private:
  struct Place {
    uint64_t block;
    bool found;
  };
  const size_t capacity_;
  std::vector<Place> ring_;
  std::unordered_map<uint64_t, size_t> where_;
  size_t hand_ = 0;
};

// How often blocks were asked for lately: a counting Bloom filter whose counters are halved after every ten accesses a
// cached block, behind a Bloom filter that takes the first access of each (Einziger, Friedman, Manes, "TinyLFU: a
// highly efficient cache admission policy", 2017).
class ModelSketch {
 public:
  explicit ModelSketch(size_t blocks) : counters_(8 * blocks + 64), door_(16 * blocks + 64), period_(10 * blocks) {}
  void Add(uint64_t block) {
    if (++added_ == period_) Age();
    if (!AtDoor(block)) {
      for (int i = 0; i < kHashes; ++i) door_[PlaceOf(block, kHashes + i, door_.size())] = true;
      return;
    }
    const int least = LeastCounter(block);
    if (least == kMostCount) return;
    for (int i = 0; i < kHashes; ++i) {
      uint8_t& counter = counters_[PlaceOf(block, i, counters_.size())];
      if (counter == least) ++counter;
    }
  }
  int Estimate(uint64_t block) const { return LeastCounter(block) + (AtDoor(block) ? 1 : 0); }

 private:
  static constexpr int kHashes = 4;
  static constexpr int kMostCount = 15;
  static size_t PlaceOf(uint64_t block, int i, size_t size) {
    return ReduceRange(Mix64(block * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(i)), size);
  }
  int LeastCounter(uint64_t block) const {
    int least = kMostCount;
    for (int i = 0; i < kHashes; ++i) {
      least = std::min(least, int{counters_[PlaceOf(block, i, counters_.size())]});
    }
    return least;
  }
  bool AtDoor(uint64_t block) const {
    for (int i = 0; i < kHashes; ++i) {
      if (!door_[PlaceOf(block, kHashes + i, door_.size())]) return false;
    }
    return true;
  }
  void Age() {
    for (uint8_t& counter : counters_) counter /= 2;
    door_.assign(door_.size(), false);
    added_ = period_ / 2;
  }

  std::vector<uint8_t> counters_;
  std::vector<bool> door_;
  const size_t period_;
  size_t added_ = 0;
};

// W-TinyLFU as in that paper: a window of 1 % in order of use, then a main part in two segments, which a block enters
// if it was asked for more often than the block that would go. Every access changes the sketch and the order.
class WindowTinyLfuPolicy final : public CachePolicy {
 public:
  explicit WindowTinyLfuPolicy(size_t blocks)
      : window_blocks_(std::max<size_t>(blocks / 100, 1)), main_blocks_(blocks - window_blocks_), sketch_(blocks) {}
  bool Access(uint64_t block) override {
    sketch_.Add(block);
    if (const auto it = where_.find(block); it != where_.end()) {
      Found(block, &it->second);
      return true;
    }
    window_.push_front(block);
    where_[block] = {&window_, window_.begin()};
    if (window_.size() > window_blocks_) Admit();
    return false;
  }

 private:
  using Order = std::list<uint64_t>;
  struct Place {
    Order* order;
    Order::iterator at;
  };
  void Found(uint64_t block, Place* place) {
    Order* const to = place->order == &probation_ ? &protected_ : place->order;
    to->splice(to->begin(), *place->order, place->at);
    *place = {to, to->begin()};
    if (protected_.size() <= main_blocks_ * 4 / 5) return;
    const uint64_t last = protected_.back();
    if (last == block) return;
    probation_.splice(probation_.begin(), protected_, std::prev(protected_.end()));
    where_[last] = {&probation_, probation_.begin()};
  }
  void Admit() {
    const uint64_t block = window_.back();
    if (probation_.size() + protected_.size() >= main_blocks_) {
      Order& order = probation_.empty() ? protected_ : probation_;
      if (sketch_.Estimate(block) <= sketch_.Estimate(order.back())) {
        where_.erase(block);
        window_.pop_back();
        return;
      }
      where_.erase(order.back());
      order.pop_back();
    }
    probation_.splice(probation_.begin(), window_, std::prev(window_.end()));
    where_[block] = {&probation_, probation_.begin()};
  }

  const size_t window_blocks_;
  const size_t main_blocks_;
  ModelSketch sketch_;
  Order window_, probation_, protected_;
  std::unordered_map<uint64_t, Place> where_;
};

// TinyLFU before a clock, where a hit does no more than set the block's count: the sketch hears of misses, and of found
// blocks when the hand comes by.
class TinyLfuClockPolicy final : public CachePolicy {
 public:
  explicit TinyLfuClockPolicy(size_t blocks) : capacity_(blocks), sketch_(blocks) {}
  bool Access(uint64_t block) override {
    if (const auto it = where_.find(block); it != where_.end()) {
      ring_[it->second].clock = kFound;
      return true;
    }
    sketch_.Add(block);
    if (ring_.size() < capacity_) {
      where_[block] = ring_.size();
      ring_.push_back({block, kNew});
      return false;
    }
    for (; ring_[hand_].clock > 0; hand_ = (hand_ + 1) % capacity_) {
      if (ring_[hand_].clock == kFound) sketch_.Add(ring_[hand_].block);
      --ring_[hand_].clock;
    }
    Place& place = ring_[hand_];
    hand_ = (hand_ + 1) % capacity_;
    if (sketch_.Estimate(block) <= sketch_.Estimate(place.block)) return false;
    where_.erase(place.block);
    where_[block] = static_cast<size_t>(&place - ring_.data());
    place = {block, kNew};
    return false;
  }

 private:
  static constexpr int kNew = 1;
  static constexpr int kFound = 2;
  struct Place {
    uint64_t block;
    int clock;
  };
  const size_t capacity_;
  ModelSketch sketch_;
  std::vector<Place> ring_;
  std::unordered_map<uint64_t, size_t> where_;
  size_t hand_ = 0;
};

}  // namespace sepal
