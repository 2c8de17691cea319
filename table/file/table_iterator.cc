// Iteration over one table: root -> leaf page -> block, each step forward or backward.
#include <algorithm>
#include <utility>
#include <vector>

#include "table/block/block.h"
#include "table/block/block_cursor.h"
#include "table/file/read_ahead.h"
#include "table/file/table_reader.h"
#include "table/file/table_reader_impl.h"
#include "util/base/status.h"

namespace sepal {
namespace {

constexpr uint64_t kFirstCompactionReadAhead = uint64_t{256} << 10;
constexpr uint64_t kMaxCompactionReadAhead = uint64_t{1} << 20;
// What a compaction reads although it is cached, between what is not.
constexpr uint64_t kReadThrough = uint64_t{16} << 10;
constexpr uint64_t kFirstUserReadAhead = uint64_t{16} << 10;
constexpr uint64_t kMaxUserReadAhead = uint64_t{256} << 10;
// Of the buffer for a key, in an iterator that nobody moves for now.
constexpr size_t kMostBytesAtRest = 512;
// The header of a block, the columns and most keys.
constexpr size_t kScanLines = 12;
// Where blocks hold but an entry or two, nearly every step goes to another one: so many of them, the one that is wanted
// first included, are on their way at any time.
constexpr uint32_t kBlocksAhead = 4;
// A user's scan reads ahead from its third consecutive block that was not cached.
constexpr int kMissesBeforeReadAhead = 2;

class TableIterator final : public InternalIterator {
 public:
  TableIterator(std::shared_ptr<const TableReader> self, const TableReader::Impl& table, TableReader::ReadKind kind,
                uint64_t window_bytes)
      : self_(std::move(self)),
        table_(table),
        kind_(kind),
        ahead_(table,
               std::min(window_bytes,
                        kind == TableReader::ReadKind::kCompaction ? kFirstCompactionReadAhead : kFirstUserReadAhead),
               std::min(window_bytes,
                        kind == TableReader::ReadKind::kCompaction ? kMaxCompactionReadAhead : kMaxUserReadAhead)) {}

  void SeekToFirst() override {
    prepared_ = false;
    status_ = absl::OkStatus();
    if (LoadLeaf(0) && LoadBlock(0, Travel::kForward)) {
      cursor_.SeekToFirst();
      Publish();
    }
  }

  void SeekToLast() override {
    prepared_ = false;
    status_ = absl::OkStatus();
    if (LoadLeaf(table_.root->count() - 1) && LoadBlock(leaf_->count() - 1, Travel::kBackward)) {
      cursor_.SeekToLast();
      Publish();
    }
  }

  void Seek(InternalKeyView target) override {
    if (std::exchange(prepared_, false)) {
      AttachBlock();
    } else if (!SeekBlock(target, Travel::kForward)) {
      return;
    }
    cursor_.Seek(target);
    if (!cursor_.Valid()) return NextBlock();
    Publish();
  }

  // A failure is met again, and reported, by the seek.
  void PrepareSeek(InternalKeyView target, int step) override {
    if (step == 0) {
      valid_ = prepared_ = false;
      status_ = absl::OkStatus();
      sought_page_ = table_.root->Find(target, table_.options.order);
    }
    if (sought_page_ == table_.root->count() || !status_.ok()) return;
    switch (step) {
      case 0:
        if (sought_page_ != page_) {
          table_.source->Prefetch(table_.root->handle(sought_page_), &table_.leaf_hints[sought_page_]);
          table_.PrefetchLeaf(sought_page_);
        }
        break;
      case 1:
        LoadLeaf(sought_page_);
        break;
      case 2:
        sought_block_ = leaf_->Find(target, table_.options.order);
        if (sought_block_ < leaf_->count()) leaf_->PrefetchBlock(sought_block_);
        break;
      case 3:
        if (sought_block_ < leaf_->count() && sought_block_ != block_) {
          table_.source->Prefetch(leaf_->handle(sought_block_),
                                  hints_ != nullptr ? &hints_[sought_block_].frame : nullptr);
          FetchForward(sought_block_);
        }
        break;
      case 4:
        prepared_ = sought_block_ < leaf_->count() && PinBlock(sought_block_);
        break;
    }
  }

  void SeekBefore(InternalKeyView target) override {
    prepared_ = false;
    if (!SeekBlock(target, Travel::kBackward)) {
      if (status_.ok()) SeekToLast();
      return;
    }
    cursor_.SeekBefore(target);
    if (!cursor_.Valid()) return PreviousBlock();
    Publish();
  }

  void Rest() override {
    prepared_ = false;
    Leave(absl::OkStatus());
    if (cursor_.BufferBytes() > kMostBytesAtRest) cursor_ = BlockCursor();
    ahead_.Drop();
    last_begin_ = 0;
    last_end_ = ~uint64_t{0};
    misses_ = 0;
  }

  void Next() override {
    cursor_.Next();
    if (!cursor_.Valid()) [[unlikely]]
      return NextBlock();
    Publish();
  }

  void Prev() override {
    cursor_.Prev();
    if (!cursor_.Valid()) [[unlikely]]
      return PreviousBlock();
    Publish();
  }

  absl::Status status() const override { return status_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};

  void Publish() {
    ShowLent(&cursor_);
    valid_ = true;
  }

  // To no entry: past an end, or after a failure. False, for the convenience of callers.
  bool Leave(absl::Status status) {
    valid_ = false;
    status_ = std::move(status);
    DropBlock();
    DropLeaf();
    return false;
  }
  void DropBlock() {
    block_ = kNone;
    lent_ = nullptr;
    cursor_.Detach();
    if (block_pin_ && kind_ == TableReader::ReadKind::kCompaction) {
      table_.source->ReleaseReplaced(std::move(block_pin_));
    }
    block_pin_.Reset();
    block_bytes_.Clear();
  }
  void DropLeaf() {
    page_ = kNone;
    hints_ = nullptr;
    leaf_.reset();
    leaf_pin_.Reset();
    leaf_bytes_.Clear();
  }

  // Loads the first block whose separator is at or after `target`; false past the last one, or on failure.
  bool SeekBlock(InternalKeyView target, Travel travel) {
    status_ = absl::OkStatus();
    const uint32_t page = table_.root->Find(target, table_.options.order);
    if (page == table_.root->count()) return Leave(absl::OkStatus());
    if (!LoadLeaf(page)) return false;
    const uint32_t block = leaf_->Find(target, table_.options.order);
    if (block == leaf_->count()) {
      return Leave(Damaged(table_.options.name, table_.root->handle(page).offset,
                           "leaf page: it ends before the root says it does"));
    }
    return LoadBlock(block, travel);
  }

  void NextBlock() {
    if (block_ + 1 < leaf_->count()) {
      if (!LoadBlock(block_ + 1, Travel::kForward)) return;
    } else if (page_ + 1 < table_.root->count()) {
      if (!LoadLeaf(page_ + 1) || !LoadBlock(0, Travel::kForward)) return;
    } else {
      Leave(absl::OkStatus());
      return;
    }
    cursor_.SeekToFirst();
    Publish();
  }

  void PreviousBlock() {
    if (block_ > 0) {
      if (!LoadBlock(block_ - 1, Travel::kBackward)) return;
    } else if (page_ > 0) {
      if (!LoadLeaf(page_ - 1) || !LoadBlock(leaf_->count() - 1, Travel::kBackward)) return;
    } else {
      Leave(absl::OkStatus());
      return;
    }
    cursor_.SeekToLast();
    Publish();
  }

  bool LoadLeaf(uint32_t page) {
    if (page == page_) return true;
    if (kind_ == TableReader::ReadKind::kUser) PrefetchLeaf(page);
    DropBlock();
    DropLeaf();
    if (absl::Status status = FetchLeaf(page); !status.ok()) return Leave(std::move(status));
    page_ = page;
    if (kind_ == TableReader::ReadKind::kUser) table_.NoteLeaf(page, LeafBytes().data());
    leaf_.emplace(LeafBytes());
    if (kind_ == TableReader::ReadKind::kCompaction) {
      if (absl::Status status = table_.CheckPlace(page, *leaf_); !status.ok()) return Leave(std::move(status));
    }
    few_entries_ = leaf_->BlocksHaveFewEntries();
    fetched_begin_ = fetched_end_ = 0;
    hints_ = HintsOf(page);
    return true;
  }

  BlockHint* HintsOf(uint32_t page) {
    switch (kind_) {
      case TableReader::ReadKind::kUser:
        return table_.BlockHints(page, *leaf_);
      case TableReader::ReadKind::kUserNoFill:
        return nullptr;
      case TableReader::ReadKind::kCompaction:
        return SightBlocks();
    }
    return nullptr;
  }

  // Where the page's blocks lie in the cache; null if none does.
  BlockHint* SightBlocks() {
    const uint32_t blocks = leaf_->count();
    if (sighted_.size() < blocks) sighted_ = std::vector<BlockHint>(blocks);
    for (uint32_t i = 0; i < blocks; ++i) table_.source->Prefetch(leaf_->handle(i), nullptr);
    bool any = false;
    for (uint32_t i = 0; i < blocks; ++i) {
      table_.source->Sight(leaf_->handle(i), &sighted_[i]);
      any |= sighted_[i].frame.load(std::memory_order_relaxed) != 0;
    }
    return any ? sighted_.data() : nullptr;
  }

  // What a search in the page looks at, and the hints of its blocks.
  void PrefetchLeaf(uint32_t page) {
    table_.source->PrefetchFrame(table_.leaf_hints[page]);
    table_.PrefetchBlockHints(page);
    table_.PrefetchLeaf(page);
  }

  // `travel`: where steps will probably go from there.
  bool LoadBlock(uint32_t block, Travel travel) {
    travel == Travel::kForward ? FetchForward(block) : FetchBackward(block);
    if (!PinBlock(block)) return false;
    AttachBlock();
    return true;
  }

  bool PinBlock(uint32_t block) {
    if (block == block_) return true;
    HintWord* const hint = hints_ != nullptr ? &hints_[block].frame : nullptr;
    if (hints_ != nullptr && !few_entries_) {
      table_.source->PrefetchFrame(*hint);
      if (const char* end = hints_[block].end.load(std::memory_order_relaxed); end != nullptr) {
        PrefetchBeforeEnd(end, kScanLines);
      }
    }
    DropBlock();
    const BlockHandle handle = leaf_->handle(block);
    if (!PinCached(handle, hint)) {
      absl::Status status =
          kind_ == TableReader::ReadKind::kCompaction ? FetchPastCache(block) : FetchAndKeep(handle, hint);
      if (!status.ok()) return Leave(std::move(status));
    }
    // What a merge writes anew is in order, and within the bounds of what it has read.
    if (kind_ == TableReader::ReadKind::kCompaction) {
      absl::Status status = table_.CheckPlace(page_, *leaf_, block, BlockBytes(), &key_of_block_);
      if (!status.ok()) return Leave(std::move(status));
    }
    block_ = block;
    const uint64_t begin = handle.offset;
    const uint64_t end_offset = EndOf(handle);
    if (!few_entries_) {
      if (begin == last_end_ && block + 1 < leaf_->count()) PrefetchNeighbour(1);
      if (end_offset == last_begin_ && block > 0) PrefetchNeighbour(-1);
    }
    last_begin_ = begin;
    last_end_ = end_offset;
    block_size_ = BlockBytes().size();
    if (const char* end = BlockBytes().data() + BlockBytes().size();
        hints_ == nullptr || hints_[block].end.load(std::memory_order_relaxed) != end) {
      PrefetchBlockEnd(BlockBytes(), few_entries_ ? kLinesOfFewEntries : kScanLines);
      if (hints_ != nullptr) hints_[block].end.store(end, std::memory_order_relaxed);
    }
    return true;
  }

  // For scans: the block before or behind, which is about as long as this one, and the frame of the one beyond it.
  void PrefetchNeighbour(int distance) {
    if (hints_ == nullptr) return;
    if (const int64_t beyond = int64_t{block_} + 2 * distance; beyond >= 0 && beyond < leaf_->count()) {
      table_.source->PrefetchFrame(hints_[beyond].frame);
    }
    const char* const end = hints_[static_cast<int64_t>(block_) + distance].end.load(std::memory_order_relaxed);
    if (end == nullptr) return;
    PrefetchBeforeEnd(end, kScanLines);
    if (distance > 0) PrefetchBeforeEnd(end - BlockBytes().size() + 64 * kScanLines, kScanLines);
  }

  // Where blocks have few entries: starts to fetch those of the page from `first` on that are not on their way yet, and
  // behind the last one the next page.
  void FetchForward(uint32_t first) {
    if (!few_entries_ || hints_ == nullptr) return;
    if (first < fetched_begin_ || first > fetched_end_) fetched_begin_ = fetched_end_ = first;
    const uint32_t end = std::min(first + kBlocksAhead, leaf_->count());
    if (fetched_end_ >= end) return;
    while (fetched_end_ < end) FetchBlock(fetched_end_++);
    if (end == leaf_->count() && page_ + 1 < table_.root->count()) PrefetchLeaf(page_ + 1);
  }
  // The same from `last` backward.
  void FetchBackward(uint32_t last) {
    if (!few_entries_ || hints_ == nullptr) return;
    if (last + 1 < fetched_begin_ || last >= fetched_end_) fetched_begin_ = fetched_end_ = last + 1;
    const uint32_t begin = last + 1 - std::min(last + 1, kBlocksAhead);
    if (fetched_begin_ <= begin) return;
    while (fetched_begin_ > begin) FetchBlock(--fetched_begin_);
    if (begin == 0 && page_ > 0) PrefetchLeaf(page_ - 1);
  }
  void FetchBlock(uint32_t block) {
    table_.source->PrefetchFrame(hints_[block].frame);
    const char* const end = hints_[block].end.load(std::memory_order_relaxed);
    if (end == nullptr) return;
    PrefetchBeforeEnd(end, kLinesOfFewEntries);
    PrefetchBeforeEnd(end - block_size_ + 1, 1);  // the first value, if the block is as long as the last one was
  }

  void AttachBlock() {
    if (!cursor_.attached()) cursor_.Attach(BlockBytes(), table_.options.order);
  }

  std::string_view LeafBytes() const { return leaf_pin_ ? leaf_pin_.bytes() : leaf_bytes_.view(); }
  std::string_view BlockBytes() const { return block_pin_ ? block_pin_.bytes() : block_bytes_.view(); }

  absl::Status FetchLeaf(uint32_t page) {
    const BlockHandle handle = table_.root->handle(page);
    HintWord* const hint = &table_.leaf_hints[page];
    leaf_pin_ = table_.source->GetCached(handle, UnitKind::kLeafPage, hint);
    if (leaf_pin_) [[likely]]
      return absl::OkStatus();
    if (kind_ == TableReader::ReadKind::kCompaction) {
      ASSIGN_OR_RETURN(leaf_bytes_, table_.source->Read(handle, UnitKind::kLeafPage));
    } else {
      ASSIGN_OR_RETURN(leaf_pin_, table_.source->ReadAndKeep(handle, UnitKind::kLeafPage, /*fill_cache=*/true, hint));
    }
    return absl::OkStatus();
  }

  absl::Status FetchPastCache(uint32_t block) {
    const BlockHandle handle = leaf_->handle(block);
    const bool backward = handle.offset < last_begin_;
    ASSIGN_OR_RETURN(block_bytes_, ReadBlock(handle, !backward, Travel::kForward, EndOfMissing(block)));
    return absl::OkStatus();
  }

  // How far a compaction that has to read `block` reads ahead: to the next stretch that the cache has.
  uint64_t EndOfMissing(uint32_t block) const {
    if (hints_ == nullptr) return table_.data_bytes();
    uint64_t end = EndOf(leaf_->handle(block));
    for (uint32_t i = block + 1; i < leaf_->count(); ++i) {
      const BlockHandle handle = leaf_->handle(i);
      if (hints_[i].frame.load(std::memory_order_relaxed) == 0) end = EndOf(handle);
      if (EndOf(handle) - end > kReadThrough) break;
    }
    return end;
  }

  bool PinCached(BlockHandle handle, HintWord* hint) {
    if (kind_ == TableReader::ReadKind::kCompaction) {
      if (hint == nullptr) return false;
      block_pin_ = table_.source->GetSighted(handle, hint);
      return static_cast<bool>(block_pin_);
    }
    block_pin_ = table_.source->GetCached(handle, UnitKind::kDataBlock, hint);
    if (!block_pin_) return false;
    misses_ = 0;
    return true;
  }

  absl::Status FetchAndKeep(BlockHandle handle, HintWord* hint) {
    const bool backward = EndOf(handle) == last_begin_;
    misses_ = backward || handle.offset == last_end_ ? misses_ + 1 : 0;
    const bool ahead = misses_ >= kMissesBeforeReadAhead;
    ASSIGN_OR_RETURN(BlockBuffer buffer,
                     ReadBlock(handle, ahead, backward ? Travel::kBackward : Travel::kForward, table_.data_bytes()));
    block_pin_ = table_.source->Keep(handle, UnitKind::kDataBlock, std::move(buffer),
                                     kind_ == TableReader::ReadKind::kUser, hint);
    return absl::OkStatus();
  }

  absl::StatusOr<BlockBuffer> ReadBlock(BlockHandle handle, bool ahead, Travel travel, uint64_t limit) {
    if (!ahead) return table_.source->ReadForUser(handle, UnitKind::kDataBlock);
    std::string_view bytes = ahead_.Find(handle);
    if (bytes.empty()) {
      ahead_.Fill(handle, travel, limit);
      bytes = ahead_.Find(handle);
    }
    absl::StatusOr<BlockBuffer> buffer = table_.source->Decode(handle, UnitKind::kDataBlock, bytes);
    // What is damaged in the window, or not in it, is read on its own.
    if (!buffer.ok()) return table_.source->Read(handle, UnitKind::kDataBlock);
    return buffer;
  }

  const std::shared_ptr<const TableReader> self_;
  const TableReader::Impl& table_;
  const TableReader::ReadKind kind_;
  absl::Status status_;

  // Where PrepareSeek is going; `prepared_` once the block is there.
  uint32_t sought_page_ = kNone;
  uint32_t sought_block_ = kNone;
  bool prepared_ = false;

  uint32_t page_ = kNone;
  CachePin leaf_pin_;       // either this
  BlockBuffer leaf_bytes_;  // or this holds the page
  std::optional<IndexPageView> leaf_;
  BlockHint* hints_ = nullptr;  // of the page's blocks, or null

  // Whether the page's blocks have few entries. Then those in [fetched_begin_, fetched_end_) are on their way.
  bool few_entries_ = false;
  uint32_t fetched_begin_ = 0;
  uint32_t fetched_end_ = 0;
  size_t block_size_ = 0;  // of the last one

  uint32_t block_ = kNone;
  CachePin block_pin_;
  BlockBuffer block_bytes_;
  BlockCursor cursor_;

  // A compaction's hints of the page's blocks, and the key of a block that it looks at.
  std::vector<BlockHint> sighted_;
  std::string key_of_block_;

  // How the file was read up to now.
  ReadAhead ahead_;
  uint64_t last_begin_ = 0;
  uint64_t last_end_ = ~uint64_t{0};
  int misses_ = 0;
};

}  // namespace

std::unique_ptr<InternalIterator> TableReader::NewIterator(std::shared_ptr<const TableReader> self, ReadKind kind,
                                                           uint64_t window_bytes) {
  const Impl& table = *self->impl_;
  return std::make_unique<TableIterator>(std::move(self), table, kind, window_bytes);
}

}  // namespace sepal
