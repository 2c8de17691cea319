#include <algorithm>

#include "db/state/version.h"
#include "table/equal_bytes.h"
#include "util/check.h"
#include "util/strings.h"

namespace sepal {

namespace {

// The first index whose value is not below `target`. The number of steps depends on the size alone; each step is a
// mask, not a branch (GCC 12 makes a branch of the conditional, which costs a misprediction at every other step).
size_t LowerBound(const std::vector<uint64_t>& values, uint64_t target) {
  const uint64_t* base = values.data();
  size_t n = values.size();
  while (n > 1) {
    const size_t half = n / 2;
    base += half & (size_t{0} - static_cast<size_t>(base[half - 1] < target));
    n -= half;
  }
  return static_cast<size_t>(base - values.data()) + (n == 1 && *base < target ? 1 : 0);
}

// BigEndianPrefix of what follows the first `skip` bytes. A short rest is taken from the last eight bytes of the key,
// without a loop over bytes.
uint64_t PrefixAfter(std::string_view key, size_t skip) {
  const size_t rest = key.size() - skip;
  if (rest >= 8 || rest == 0 || key.size() < 8) return BigEndianPrefix(key.substr(skip));
  return BigEndianPrefix(key.data() + key.size() - 8, 8) << (8 * (8 - rest));
}

}  // namespace

Run::Run(RunNumber number, std::vector<TableRef> tables, KeyOrder order)
    : number_(number), order_(order), tables_(std::move(tables)) {
  SEPAL_CHECK(!tables_.empty());
  const std::string& first = tables_.front()->metadata().smallest.user_key;
  const std::string& last = tables_.back()->metadata().largest.user_key;
  if (order_.bytewise()) {
    common_prefix_ = first;
    ShortenToCommonPrefix(&common_prefix_, last);
  }
  largest_.reserve(tables_.size());
  smallest_.reserve(tables_.size());
  for (const TableRef& table : tables_) {
    const TableMetadata& m = table->metadata();
    bytes_ += m.size_bytes;
    entries_ += m.entries;
    tombstones_ += m.tombstones;
    if (!order_.bytewise()) continue;
    // Keys out of order may lack the common prefix; Check, not this, reports them.
    const auto prefix = [&](std::string_view key) {
      return PrefixAfter(key, std::min(key.size(), common_prefix_.size()));
    };
    largest_.push_back(prefix(m.largest.user_key));
    smallest_.push_back(prefix(m.smallest.user_key));
  }
}

int Run::CompareToCommonPrefix(std::string_view user_key) const {
  return user_key.substr(0, common_prefix_.size()).compare(common_prefix_);
}

size_t Run::FirstAtOrAfter(std::string_view user_key) const {
  if (!order_.bytewise()) return SearchKeys(user_key, 0, tables_.size());
  const int c = CompareToCommonPrefix(user_key);
  if (c != 0) return c < 0 ? 0 : tables_.size();
  return SearchPrefixes(user_key, PrefixAfter(user_key, common_prefix_.size()));
}

size_t Run::FindIndex(std::string_view user_key) const {
  size_t i = 0;
  if (order_.bytewise()) {
    const size_t shared = common_prefix_.size();
    if (user_key.size() < shared || !EqualBytes(user_key.data(), common_prefix_.data(), shared)) return tables_.size();
    const uint64_t prefix = PrefixAfter(user_key, shared);
    i = SearchPrefixes(user_key, prefix);
    if (i == tables_.size() || prefix > smallest_[i]) return i;
    if (prefix < smallest_[i]) return tables_.size();
  } else {
    i = SearchKeys(user_key, 0, tables_.size());
    if (i == tables_.size()) return i;
  }
  return order_.Less(user_key, tables_[i]->metadata().smallest.user_key) ? tables_.size() : i;
}

size_t Run::SearchPrefixes(std::string_view user_key, uint64_t prefix) const {
  const size_t first = LowerBound(largest_, prefix);
  // Where the prefixes differ, they decide.
  if (first == tables_.size() || largest_[first] != prefix) return first;
  size_t end = first + 1;
  while (end < largest_.size() && largest_[end] == prefix) ++end;
  return SearchKeys(user_key, first, end);
}

size_t Run::SearchKeys(std::string_view user_key, size_t low, size_t high) const {
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (order_.Less(tables_[middle]->metadata().largest.user_key, user_key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::span<const TableRef> Run::Overlapping(const KeyRange& range) const {
  const size_t begin = range.begin.has_value() ? FirstAtOrAfter(*range.begin) : 0;
  size_t end = tables_.size();
  if (range.end.has_value()) {
    end = FirstAtOrAfter(*range.end);
    if (end < tables_.size() && !order_.Less(*range.end, tables_[end]->metadata().smallest.user_key)) ++end;
  }
  if (begin >= end) return {};
  return std::span<const TableRef>(tables_).subspan(begin, end - begin);
}

TableMetadata Run::MetadataOf(const TableFile& table) const {
  TableMetadata metadata = table.metadata();
  metadata.run = number_;
  return metadata;
}

void NarrowToCommonPrefix(std::span<const TableRef> tables, std::optional<std::string>* prefix) {
  const std::string& first = tables.front()->metadata().smallest.user_key;
  if (!prefix->has_value()) *prefix = first;
  ShortenToCommonPrefix(&**prefix, first);
  ShortenToCommonPrefix(&**prefix, tables.back()->metadata().largest.user_key);
}

}  // namespace sepal
