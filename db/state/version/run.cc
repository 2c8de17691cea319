#include "db/state/version/run.h"

#include <algorithm>

#include "db/state/version/key_prefix.h"
#include "table/key/compare_bytes.h"
#include "util/base/check.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

struct ChunkMaker {
  const KeyOrder* order;
  TableChunkRef operator()(std::vector<TableRef> tables) const {
    return std::make_shared<const TableChunk>(std::move(tables), *order);
  }
};

}  // namespace

Run::Run(RunNumber number, std::vector<TableRef> tables, KeyOrder order)
    : Run(number, PackTables(std::move(tables), order).chunks, order) {}

Run::Run(RunNumber number, std::vector<TableChunkRef> chunks, KeyOrder order)
    : number_(number), order_(order), chunks_(std::move(chunks)) {
  SEPAL_CHECK(!chunks_.empty());
  if (chunks_.size() == 1) only_ = chunks_.front()->fences();
  const bool searched = order_.bytewise() && chunks_.size() > 1;
  if (searched) {
    common_prefix_ = chunks_.front()->smallest_user_key();
    ShortenToCommonPrefix(&common_prefix_, chunks_.back()->largest_user_key());
    largest_.reserve(chunks_.size());
  }
  starts_.reserve(chunks_.size());
  totals_before_.reserve(chunks_.size());
  bool settled = true;
  for (const TableChunkRef& chunk : chunks_) {
    starts_.push_back(size_);
    totals_before_.push_back(sums_.totals);
    size_ += chunk->items().size();
    sums_.Add(chunk->sums());
    settled = settled && chunk->kept_keys() != nullptr;
    if (!searched) continue;
    // Keys out of order may lack the common prefix; Check reports them, not this function.
    const std::string& largest = chunk->largest_user_key();
    largest_.push_back(PrefixAfter(largest, std::min(largest.size(), common_prefix_.size())));
  }
  // Computed here, rather than later under a lock that the caller may hold.
  if (settled && chunks_.size() > 1) {
    KeySums ignored;
    AddKeys(&ignored);
  }
}

size_t Run::ChunkAtOrAfter(std::string_view user_key) const {
  if (!order_.bytewise()) return SearchChunks(user_key, 0, chunks_.size());
  const int c = CompareToPrefix(user_key, common_prefix_);
  if (c != 0) return c < 0 ? 0 : chunks_.size();
  return SearchPrefixes(user_key, PrefixAfter(user_key, common_prefix_.size()));
}

const TableFences* Run::FencesAt(std::string_view user_key) const {
  size_t i = 0;
  if (order_.bytewise()) {
    const size_t shared = common_prefix_.size();
    if (user_key.size() < shared || !EqualBytes(user_key.data(), common_prefix_.data(), shared)) return nullptr;
    i = SearchPrefixes(user_key, PrefixAfter(user_key, shared));
  } else {
    i = SearchChunks(user_key, 0, chunks_.size());
  }
  return i < chunks_.size() ? &chunks_[i]->fences() : nullptr;
}

size_t Run::SearchPrefixes(std::string_view user_key, uint64_t prefix) const {
  const size_t first = PrefixLowerBound(largest_.data(), largest_.size(), prefix);
  // If the prefixes differ, they decide.
  if (first == largest_.size() || largest_[first] != prefix) return first;
  const auto end = std::upper_bound(largest_.begin(), largest_.end(), prefix);
  return SearchChunks(user_key, first, static_cast<size_t>(end - largest_.begin()));
}

size_t Run::SearchChunks(std::string_view user_key, size_t low, size_t high) const {
  const auto ends_before = [&](const TableChunkRef& chunk) { return order_.Less(chunk->largest_user_key(), user_key); };
  const auto begin = chunks_.begin();
  const auto found =
      std::partition_point(begin + static_cast<ptrdiff_t>(low), begin + static_cast<ptrdiff_t>(high), ends_before);
  return static_cast<size_t>(found - begin);
}

size_t Run::ChunkOf(size_t table) const {
  return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), table) - starts_.begin()) - 1;
}

TableTotals Run::TotalsOfFirst(size_t count) const {
  if (count == size_) return sums_.totals;
  const size_t chunk = ChunkOf(count);
  return totals_before_[chunk] + chunks_[chunk]->TotalsOfFirst(count - starts_[chunk]);
}

const TableRef& Run::table(size_t i) const {
  if (!only_.tables.empty()) return only_.tables[i];
  const size_t chunk = ChunkOf(i);
  return chunks_[chunk]->items()[i - starts_[chunk]];
}

size_t Run::FirstAtOrAfter(std::string_view user_key) const {
  if (!only_.tables.empty()) return only_.FirstAtOrAfter(order_, user_key);
  const size_t chunk = ChunkAtOrAfter(user_key);
  if (chunk == chunks_.size()) return size_;
  return starts_[chunk] + chunks_[chunk]->fences().FirstAtOrAfter(order_, user_key);
}

TableRange Run::Overlapping(const KeyRange& range) const {
  const size_t begin = range.begin.has_value() ? FirstAtOrAfter(*range.begin) : 0;
  size_t end = size_;
  if (range.end.has_value()) {
    end = FirstAtOrAfter(*range.end);
    if (end < size_ && !order_.Less(*range.end, table(end)->metadata().smallest.user_key)) ++end;
  }
  if (begin >= end) return {this, begin, 0};
  return {this, begin, end - begin};
}

TableRef Run::Share(const TableFile& wanted) const {
  const size_t i = FirstAtOrAfter(wanted.metadata().smallest.user_key);
  return i < size_ && table(i).get() == &wanted ? table(i) : nullptr;
}

TableMetadata Run::MetadataOf(const TableFile& table) const {
  TableMetadata metadata = table.metadata();
  metadata.run = number_;
  return metadata;
}

TableRange::Iterator TableRange::begin() const {
  Iterator it;
  if (size_ == 0) return it;
  const size_t chunk = run_->ChunkOf(first_);
  it.EnterChunk(&run_->chunks_[chunk]);
  it.at_ += first_ - run_->starts_[chunk];
  it.left_ = size_;
  return it;
}

TableTotals TableRange::Totals() const { return run_->TotalsOfFirst(first_ + size_) - run_->TotalsOfFirst(first_); }

const TableRef& TableRange::operator[](size_t i) const { return run_->table(first_ + i); }

ChunkList<TableChunk> PackTables(std::vector<TableRef> tables, const KeyOrder& order) {
  return PackChunks<TableChunk>(std::move(tables), ChunkMaker{&order});
}

ChunkList<TableChunk> EditTables(std::span<const TableChunkRef> base, std::span<const TableRef> removed,
                                 std::span<const TableRef> added, const KeyOrder& order) {
  const auto less = [&order](const TableRef& a, const TableRef& b) {
    return order.Less(a->metadata().smallest.view(), b->metadata().smallest.view());
  };
  return EditChunks<TableChunk>(base, removed, added, less, ChunkMaker{&order});
}

void NarrowToCommonPrefix(const TableFile& first, const TableFile& last, std::optional<std::string>* prefix) {
  const std::string& smallest = first.metadata().smallest.user_key;
  if (!prefix->has_value()) *prefix = smallest;
  ShortenToCommonPrefix(&**prefix, smallest);
  ShortenToCommonPrefix(&**prefix, last.metadata().largest.user_key);
}

}  // namespace sepal
