// Checks and describes the whole of one table.
#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "table/block/block.h"
#include "table/block/block_cursor.h"
#include "table/file/table_reader.h"
#include "table/file/table_reader_impl.h"
#include "table/file/windowed_reads.h"
#include "table/filter/filter.h"
#include "util/base/hyperloglog.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// Reads the file from front to back and compares its contents with the index, the filters and the properties.
class Verifier {
 public:
  explicit Verifier(const TableReader::Impl& table)
      : table_(table), reads_(table), order_(table.options.order), stated_(table.properties) {}

  absl::Status Run() {
    if (table_.has_guard()) {
      ASSIGN_OR_RETURN(guard_bytes_, table_.source->Read(table_.footer.guard, UnitKind::kGuard));
      guard_.emplace(guard_bytes_.view());
    }
    uint64_t end = 0;
    for (uint32_t page = 0; page < table_.root->count(); ++page) {
      const BlockHandle handle = table_.root->handle(page);
      ASSIGN_OR_RETURN(const BlockBuffer bytes, reads_.Read(handle, UnitKind::kLeafPage));
      const IndexPageView leaf(bytes.view());
      RETURN_IF_ERROR(Equal(handle.offset, "leaf page's first block", end, leaf.begin_offset()));
      RETURN_IF_ERROR(Equal(handle.offset, "leaf page's count of entries before it", entries_, leaf.entries_before()));
      end = leaf.end_offset();
      RETURN_IF_ERROR(VerifyLeaf(handle, leaf));
      RETURN_IF_ERROR(
          Equal(handle.offset, "leaf page's count of entries", entries_ - leaf.entries_before(), leaf.entries()));
      if (!SameSeparator(table_.root->separator(page), leaf.separator(leaf.count() - 1))) {
        return At(handle.offset, "leaf page: its last separator is not the one that the root has");
      }
      leaf_page_bytes_ += handle.size + kUnitTrailerBytes;
      lane_bytes_ += leaf.LaneBytes();
    }
    RETURN_IF_ERROR(Equal(table_.footer.root.offset, "end of the data blocks", table_.data_bytes(), end));
    return VerifyProperties();
  }

 private:
  static bool SameSeparator(const Separator& a, const Separator& b) {
    return a.user_key == b.user_key && a.has_trailer == b.has_trailer && (!a.has_trailer || a.trailer == b.trailer);
  }

  absl::Status At(uint64_t offset, std::string_view what) const { return Damaged(table_.options.name, offset, what); }
  absl::Status Equal(uint64_t offset, std::string_view what, uint64_t expected, uint64_t got) const {
    if (expected == got) return absl::OkStatus();
    return Damaged(table_.options.name, offset, what, std::to_string(expected), std::to_string(got));
  }

  absl::Status VerifyLeaf(BlockHandle page, const IndexPageView& leaf) {
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      const BlockHandle handle = leaf.handle(i);
      ASSIGN_OR_RETURN(const BlockBuffer bytes, reads_.Read(handle, UnitKind::kDataBlock));
      const uint64_t tombstones_before = tombstones_;
      const uint64_t entries_before = entries_;
      RETURN_IF_ERROR(VerifyBlock(handle, BlockView(bytes.view()), bytes.view(), leaf, i));
      const uint64_t dead = tombstones_ - tombstones_before;
      const uint64_t share = (dead * 255 + (entries_ - entries_before) - 1) / (entries_ - entries_before);
      RETURN_IF_ERROR(Equal(page.offset, "leaf page: share of tombstones of a block", share, leaf.dead(i)));
      const Separator separator = leaf.separator(i);
      const Trailer trailer = separator.has_trailer ? separator.trailer : kLastTrailer;
      if (order_.Compare(last_.view(), {separator.user_key, trailer}) > 0) {
        return At(handle.offset, "data block: its last entry is after its separator");
      }
      separator_ = InternalKey(separator.user_key, trailer);
      ++blocks_;
    }
    return absl::OkStatus();
  }

  absl::Status VerifyBlock(BlockHandle handle, const BlockView& view, std::string_view bytes, const IndexPageView& leaf,
                           uint32_t index) {
    BlockCursor cursor;
    cursor.Attach(bytes, order_);
    bool first = true;
    for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next(), first = false) {
      const InternalKeyView key = cursor.key();
      const bool new_key = entries_ == 0 || !order_.Equal(last_.user_key, key.user_key);
      if (entries_ > 0 && !order_.Less(last_.view(), key)) {
        return At(handle.offset, absl::StrFormat("data block: %s is not after the entry before it", ToString(key)));
      }
      if (first) {
        if (blocks_ > 0 && !order_.Less(separator_.view(), key)) {
          return At(handle.offset, "data block: its first entry is not after the separator before it");
        }
        if (view.continuation() != !new_key) return At(handle.offset, "data block: continuation flag");
      }
      RETURN_IF_ERROR(VerifyEntry(handle, view, key, cursor.value(), leaf, index, new_key));
      last_.user_key.assign(key.user_key);
      last_.trailer = key.trailer;
    }
    return absl::OkStatus();
  }

  absl::Status VerifyEntry(BlockHandle handle, const BlockView& view, InternalKeyView key, std::string_view value,
                           const IndexPageView& leaf, uint32_t index, bool new_key) {
    const uint64_t hash = table_.hashable ? HashKey(key.user_key, table_.footer.hash_seed) : 0;
    const BlockView::Hit hit = view.Find(key.user_key, hash, key.sequence(), order_);
    if (!hit.found || TrailerSequence(hit.trailer) != key.sequence()) {
      return At(handle.offset, absl::StrFormat("data block: a lookup does not find its entry %s", ToString(key)));
    }
    if (table_.hashable && !leaf.LaneMayContain(index, hash)) {
      return At(handle.offset, absl::StrFormat("data block: its lane denies its key %s", ToString(key)));
    }
    if (guard_.has_value() && !guard_->MayContain(hash)) {
      return At(table_.footer.guard.offset, absl::StrFormat("guard: it denies the key %s", ToString(key)));
    }
    if (entries_ == 0) {
      first_ = InternalKey(key);
      lowest_ = highest_ = key.sequence();
    }
    lowest_ = std::min(lowest_, key.sequence());
    highest_ = std::max(highest_, key.sequence());
    ++entries_;
    if (IsTombstone(key.kind())) ++tombstones_;
    raw_key_bytes_ += key.user_key.size();
    raw_value_bytes_ += value.size();
    if (new_key) {
      ++distinct_keys_;
      if (table_.hashable) sketch_.Add(hash);
    }
    return absl::OkStatus();
  }

  absl::Status VerifyProperties() const {
    const uint64_t at = table_.footer.properties.offset;
    RETURN_IF_ERROR(Equal(at, "properties: entries", entries_, stated_.entries));
    RETURN_IF_ERROR(Equal(at, "properties: tombstones", tombstones_, stated_.tombstones));
    RETURN_IF_ERROR(Equal(at, "properties: distinct keys", distinct_keys_, stated_.distinct_keys));
    RETURN_IF_ERROR(Equal(at, "properties: bytes of keys", raw_key_bytes_, stated_.raw_key_bytes));
    RETURN_IF_ERROR(Equal(at, "properties: bytes of values", raw_value_bytes_, stated_.raw_value_bytes));
    RETURN_IF_ERROR(Equal(at, "properties: data blocks", blocks_, stated_.data_blocks));
    RETURN_IF_ERROR(Equal(at, "properties: bytes of leaf pages", leaf_page_bytes_, stated_.leaf_page_bytes));
    RETURN_IF_ERROR(Equal(at, "properties: bytes of lanes", lane_bytes_, stated_.lane_bytes));
    RETURN_IF_ERROR(Equal(at, "properties: bytes of the guard", table_.footer.guard.size, stated_.guard_bytes));
    RETURN_IF_ERROR(Equal(at, "properties: lowest sequence number", lowest_.value(), stated_.lowest_sequence.value()));
    RETURN_IF_ERROR(
        Equal(at, "properties: highest sequence number", highest_.value(), stated_.highest_sequence.value()));
    if (guard_.has_value()) {
      RETURN_IF_ERROR(Equal(table_.footer.guard.offset, "guard: count of keys", distinct_keys_, guard_->keys()));
    }
    std::string smallest, largest;
    AppendInternalKey(&smallest, first_.view());
    AppendInternalKey(&largest, last_.view());
    if (smallest != stated_.smallest_key) return At(at, "properties: smallest key");
    if (largest != stated_.largest_key) return At(at, "properties: largest key");
    if (table_.hashable && sketch_.ToBytes() != stated_.key_sketch) return At(at, "properties: sketch of the keys");
    return absl::OkStatus();
  }

  const TableReader::Impl& table_;
  WindowedReads reads_;
  const KeyOrder order_;
  const TableProperties& stated_;
  BlockBuffer guard_bytes_;
  std::optional<GuardView> guard_;

  InternalKey first_, last_;  // of the entries so far
  InternalKey separator_;     // of the previous block
  uint64_t entries_ = 0, tombstones_ = 0, distinct_keys_ = 0, raw_key_bytes_ = 0, raw_value_bytes_ = 0;
  uint64_t blocks_ = 0, leaf_page_bytes_ = 0, lane_bytes_ = 0;
  SequenceNumber lowest_, highest_;
  HyperLogLog sketch_;
};

uint64_t BitsSet(std::string_view bytes) {
  uint64_t bits = 0;
  for (const char c : bytes) bits += static_cast<uint64_t>(__builtin_popcount(static_cast<unsigned char>(c)));
  return bits;
}

uint32_t DistinctKeys(std::string_view block, KeyOrder order) {
  BlockCursor cursor;
  cursor.Attach(block, order);
  uint32_t keys = 0;
  std::string last;
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    if (keys > 0 && order.Equal(last, cursor.key().user_key)) continue;
    ++keys;
    last.assign(cursor.key().user_key);
  }
  return keys;
}

}  // namespace

absl::Status TableReader::Impl::CheckPlace(uint32_t page, const IndexPageView& leaf) const {
  const Separator last = leaf.separator(leaf.count() - 1);
  const Trailer trailer = last.has_trailer ? last.trailer : kLastTrailer;
  if (root->Find({last.user_key, trailer}, options.order) == page) return absl::OkStatus();
  return Damaged(options.name, root->handle(page).offset, "leaf page: it does not end where the root has it");
}

absl::Status TableReader::Impl::CheckPlace(uint32_t page, const IndexPageView& leaf, uint32_t i, std::string_view block,
                                           std::string* key) const {
  const BlockView view(block);
  const InternalKeyView first{view.user_key(0, key), view.trailer(0)};
  bool in_place;
  if (i > 0) {
    in_place = leaf.EndsBefore(i - 1, first, options.order);
  } else if (page > 0) {
    in_place = root->EndsBefore(page - 1, first, options.order);
  } else {
    in_place = !options.order.Less(first, *ParseInternalKey(properties.smallest_key));
  }
  const uint32_t last = view.count() - 1;
  in_place = in_place && !leaf.EndsBefore(i, {view.user_key(last, key), view.trailer(last)}, options.order);
  if (in_place) return absl::OkStatus();
  return Damaged(options.name, leaf.handle(i).offset, "data block: its keys are not where the index has them");
}

absl::Status TableReader::Verify() const { return Verifier(*impl_).Run(); }

absl::Status TableReader::ForEachBlock(const std::function<absl::Status(const BlockInfo&)>& visit) const {
  WindowedReads reads(*impl_);
  for (uint32_t page = 0; page < impl_->root->count(); ++page) {
    ASSIGN_OR_RETURN(const BlockBuffer page_bytes, reads.Read(impl_->root->handle(page), UnitKind::kLeafPage));
    const IndexPageView leaf(page_bytes.view());
    for (uint32_t i = 0; i < leaf.count(); ++i) {
      BlockInfo info;
      info.handle = leaf.handle(i);
      ASSIGN_OR_RETURN(const BlockBuffer bytes, reads.Read(info.handle, UnitKind::kDataBlock, &info.compression));
      const BlockView view(bytes.view());
      info.entries = view.count();
      info.keys = DistinctKeys(bytes.view(), impl_->options.order);
      info.raw_bytes = bytes.size();
      info.lane_bits = leaf.lane(i).size() * 8;
      if (info.lane_bits > 0) {
        info.lane_probes = leaf.lane_probes();
        info.lane_fill = static_cast<double>(BitsSet(leaf.lane(i))) / static_cast<double>(info.lane_bits);
      }
      info.continuation = view.continuation();
      info.dead = leaf.dead(i);
      info.separator = leaf.separator(i);
      RETURN_IF_ERROR(visit(info));
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal
