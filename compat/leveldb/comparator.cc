#include "compat/leveldb/comparator.h"

#include <algorithm>

namespace leveldb {

namespace {

class Bytewise final : public Comparator {
 public:
  const char* Name() const override { return sepal::compat::kBytewiseName.data(); }
  int Compare(const Slice& a, const Slice& b) const override { return a.compare(b); }

  // The first byte in which the two differ is raised, if that stays below `limit`'s, and the rest is cut off.
  void FindShortestSeparator(std::string* start, const Slice& limit) const override {
    const auto differ = std::mismatch(start->begin(), start->end(), limit.data(), limit.data() + limit.size());
    if (differ.first == start->end() || differ.second == limit.data() + limit.size()) return;
    const auto raised = static_cast<unsigned>(static_cast<unsigned char>(*differ.first)) + 1;
    if (raised >= static_cast<unsigned char>(*differ.second)) return;
    *differ.first = static_cast<char>(raised);
    start->erase(differ.first + 1, start->end());
  }

  // The first byte that can be raised is raised, and the rest is cut off.
  void FindShortSuccessor(std::string* key) const override {
    const auto last = std::find_if(key->begin(), key->end(), [](char byte) { return byte != '\xff'; });
    if (last == key->end()) return;
    *last = static_cast<char>(static_cast<unsigned char>(*last) + 1);
    key->erase(last + 1, key->end());
  }
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const Bytewise* const bytewise = new Bytewise;
  return bytewise;
}

}  // namespace leveldb
