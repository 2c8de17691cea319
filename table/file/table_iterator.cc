// Iteration over one table: root -> leaf page -> block, each step forward or backward.
#include <optional>
#include <utility>
#include <vector>

#include "table/block/block.h"
#include "table/block/block_cursor.h"
#include "table/file/prefetch.h"
#include "table/file/sequential_reads.h"
#include "table/file/table_reader.h"
#include "table/file/table_reader_impl.h"
#include "table/file/table_writer.h"
#include "util/base/status.h"

namespace sepal {
namespace {

// A compaction reads through cached stretches up to this size, between blocks that are not cached.
constexpr uint64_t kReadThrough = uint64_t{16} << 10;
// The capacity that an iterator at rest may keep for a key.
constexpr size_t kMostBytesAtRest = 512;

class TableIterator final : public InternalIterator {
 public:
  TableIterator(std::shared_ptr<const TableReader> self, const TableReader::Impl& table, TableReader::ReadKind kind,
                uint64_t window_bytes)
      : self_(std::move(self)),
        table_(table),
        kind_(kind),
        prefetch_(*table.source),
        reads_(table, kind, window_bytes) {}

  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(InternalKeyView target) override;
  void PrepareSeek(InternalKeyView target, int step) override;
  void SeekBefore(InternalKeyView target) override;
  void Rest() override;
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

  bool compacts() const { return kind_ == TableReader::ReadKind::kCompaction; }
  void Publish() {
    ShowLent(&cursor_);
    valid_ = true;
  }
  // Leaves the current entry: past an end, or after a failure. Returns false, for the convenience of callers.
  bool Leave(absl::Status status);
  void DropBlock();
  void DropLeaf();

  // Loads the first block whose separator is at or after `target`; false past the last one, or on failure.
  bool SeekBlock(InternalKeyView target);
  void NextBlock();
  void PreviousBlock();
  bool LoadLeaf(uint32_t page);
  bool LoadBlock(uint32_t block);
  bool PinBlock(uint32_t block);
  void AttachBlock() {
    if (!cursor_.attached()) cursor_.Attach(BlockBytes(), table_.options.order);
  }

  BlockHint* HintsOf(uint32_t page);
  BlockHint* SightBlocks();
  void PrefetchLeaf(uint32_t page);

  std::string_view LeafBytes() const { return leaf_pin_ ? leaf_pin_.bytes() : leaf_bytes_.view(); }
  std::string_view BlockBytes() const { return block_pin_ ? block_pin_.bytes() : block_bytes_.view(); }
  absl::Status FetchLeaf(uint32_t page);
  bool PinCached(BlockHandle handle, HintWord* hint);
  absl::Status ReadBlock(uint32_t block, BlockHandle handle, HintWord* hint);
  uint64_t EndOfMissing(uint32_t block) const;

  const std::shared_ptr<const TableReader> self_;
  const TableReader::Impl& table_;
  const TableReader::ReadKind kind_;
  absl::Status status_;

  // The target of PrepareSeek; `prepared_` is set once the block is there.
  uint32_t sought_page_ = kNone;
  uint32_t sought_block_ = kNone;
  bool prepared_ = false;

  uint32_t page_ = kNone;
  CachePin leaf_pin_;       // either this
  BlockBuffer leaf_bytes_;  // or this holds the page
  std::optional<IndexPageView> leaf_;
  BlockHint* hints_ = nullptr;  // of the page's blocks, or null
  ScanPrefetch prefetch_;

  uint32_t block_ = kNone;
  CachePin block_pin_;
  BlockBuffer block_bytes_;
  BlockCursor cursor_;

  // For a compaction: the hints of the page's blocks, and the key of the block being checked.
  std::vector<BlockHint> sighted_;
  std::string key_of_block_;

  SequentialReads reads_;
};

void TableIterator::SeekToFirst() {
  prepared_ = false;
  status_ = absl::OkStatus();
  if (LoadLeaf(0) && LoadBlock(0)) {
    cursor_.SeekToFirst();
    Publish();
  }
}

void TableIterator::SeekToLast() {
  prepared_ = false;
  status_ = absl::OkStatus();
  if (LoadLeaf(table_.root->count() - 1) && LoadBlock(leaf_->count() - 1)) {
    cursor_.SeekToLast();
    Publish();
  }
}

void TableIterator::Seek(InternalKeyView target) {
  if (std::exchange(prepared_, false)) {
    AttachBlock();
  } else if (!SeekBlock(target)) {
    return;
  }
  cursor_.Seek(target);
  if (!cursor_.Valid()) return NextBlock();
  Publish();
}

// A failure is ignored here, because the seek meets and reports it.
void TableIterator::PrepareSeek(InternalKeyView target, int step) {
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
        if (table_.options.remote) table_.AskAhead(table_.root->handle(sought_page_));
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
        if (table_.options.remote) table_.AskAhead(leaf_->handle(sought_block_));
      }
      break;
    case 4:
      prepared_ = sought_block_ < leaf_->count() && PinBlock(sought_block_);
      break;
  }
}

void TableIterator::SeekBefore(InternalKeyView target) {
  prepared_ = false;
  if (!SeekBlock(target)) {
    if (status_.ok()) SeekToLast();
    return;
  }
  cursor_.SeekBefore(target);
  if (!cursor_.Valid()) return PreviousBlock();
  Publish();
}

void TableIterator::Rest() {
  prepared_ = false;
  Leave(absl::OkStatus());
  if (cursor_.BufferBytes() > kMostBytesAtRest) cursor_ = BlockCursor();
  reads_.Rest();
}

bool TableIterator::Leave(absl::Status status) {
  valid_ = false;
  status_ = std::move(status);
  DropBlock();
  DropLeaf();
  return false;
}

void TableIterator::DropBlock() {
  block_ = kNone;
  lent_ = nullptr;
  cursor_.Detach();
  if (block_pin_ && compacts()) table_.source->ReleaseReplaced(std::move(block_pin_));
  block_pin_.Reset();
  block_bytes_.Clear();
}

void TableIterator::DropLeaf() {
  page_ = kNone;
  hints_ = nullptr;
  leaf_.reset();
  leaf_pin_.Reset();
  leaf_bytes_.Clear();
}

bool TableIterator::SeekBlock(InternalKeyView target) {
  status_ = absl::OkStatus();
  const uint32_t page = table_.root->Find(target, table_.options.order);
  if (page == table_.root->count()) return Leave(absl::OkStatus());
  if (!LoadLeaf(page)) return false;
  const uint32_t block = leaf_->Find(target, table_.options.order);
  if (block == leaf_->count()) {
    return Leave(Damaged(table_.options.name, table_.root->handle(page).offset,
                         "leaf page: it ends before the root says it does"));
  }
  return LoadBlock(block);
}

void TableIterator::NextBlock() {
  if (block_ + 1 < leaf_->count()) {
    if (!LoadBlock(block_ + 1)) return;
  } else if (page_ + 1 < table_.root->count()) {
    if (!LoadLeaf(page_ + 1) || !LoadBlock(0)) return;
  } else {
    Leave(absl::OkStatus());
    return;
  }
  cursor_.SeekToFirst();
  Publish();
}

void TableIterator::PreviousBlock() {
  if (block_ > 0) {
    if (!LoadBlock(block_ - 1)) return;
  } else if (page_ > 0) {
    if (!LoadLeaf(page_ - 1) || !LoadBlock(leaf_->count() - 1)) return;
  } else {
    Leave(absl::OkStatus());
    return;
  }
  cursor_.SeekToLast();
  Publish();
}

bool TableIterator::LoadLeaf(uint32_t page) {
  if (page == page_) return true;
  if (kind_ == TableReader::ReadKind::kUser) PrefetchLeaf(page);
  DropBlock();
  DropLeaf();
  if (absl::Status status = FetchLeaf(page); !status.ok()) return Leave(std::move(status));
  page_ = page;
  if (kind_ == TableReader::ReadKind::kUser) table_.NoteLeaf(page, LeafBytes().data());
  leaf_.emplace(LeafBytes());
  if (compacts()) {
    if (absl::Status status = table_.CheckPlace(page, *leaf_); !status.ok()) return Leave(std::move(status));
  }
  hints_ = HintsOf(page);
  prefetch_.EnterPage(*leaf_, hints_);
  return true;
}

absl::Status TableIterator::FetchLeaf(uint32_t page) {
  const BlockHandle handle = table_.root->handle(page);
  HintWord* const hint = &table_.leaf_hints[page];
  leaf_pin_ = table_.source->GetCached(handle, UnitKind::kLeafPage, hint);
  if (leaf_pin_) [[likely]]
    return absl::OkStatus();
  if (compacts()) {
    ASSIGN_OR_RETURN(leaf_bytes_, table_.source->Read(handle, UnitKind::kLeafPage));
  } else {
    ASSIGN_OR_RETURN(leaf_pin_, table_.source->ReadAndKeep(handle, UnitKind::kLeafPage, /*fill_cache=*/true, hint));
  }
  return absl::OkStatus();
}

BlockHint* TableIterator::HintsOf(uint32_t page) {
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

// Returns hints of where the page's blocks are in the cache; null if none is there.
BlockHint* TableIterator::SightBlocks() {
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

// Prefetches what a search in the page reads, and the hints of its blocks.
void TableIterator::PrefetchLeaf(uint32_t page) {
  table_.source->PrefetchFrame(table_.leaf_hints[page]);
  table_.PrefetchBlockHints(page);
  table_.PrefetchLeaf(page);
}

bool TableIterator::LoadBlock(uint32_t block) {
  if (!PinBlock(block)) return false;
  AttachBlock();
  return true;
}

bool TableIterator::PinBlock(uint32_t block) {
  if (block == block_) return true;
  prefetch_.BeforePin(block);
  DropBlock();
  const BlockHandle handle = leaf_->handle(block);
  HintWord* const hint = hints_ != nullptr ? &hints_[block].frame : nullptr;
  if (!PinCached(handle, hint)) {
    if (absl::Status status = ReadBlock(block, handle, hint); !status.ok()) return Leave(std::move(status));
  }
  // A compaction checks that what it writes is in order, and within the bounds of what it has read.
  if (compacts()) {
    absl::Status status = table_.CheckPlace(page_, *leaf_, block, BlockBytes(), &key_of_block_);
    if (!status.ok()) return Leave(std::move(status));
  }
  block_ = block;
  prefetch_.AfterPin(block, BlockBytes(),
                     reads_.IsNext(handle)       ? 1
                     : reads_.IsPrevious(handle) ? -1
                                                 : 0,
                     !cursor_.passes_values());
  reads_.CameTo(handle);
  return true;
}

bool TableIterator::PinCached(BlockHandle handle, HintWord* hint) {
  if (compacts()) {
    if (hint == nullptr) return false;
    block_pin_ = table_.source->GetSighted(handle, hint);
    return static_cast<bool>(block_pin_);
  }
  block_pin_ = table_.source->GetCached(handle, UnitKind::kDataBlock, hint);
  if (!block_pin_) return false;
  reads_.FoundInCache();
  return true;
}

absl::Status TableIterator::ReadBlock(uint32_t block, BlockHandle handle, HintWord* hint) {
  if (compacts()) {
    ASSIGN_OR_RETURN(block_bytes_, reads_.ReadForCompaction(handle, EndOfMissing(block)));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(BlockBuffer buffer, reads_.ReadForUser(handle));
  if (const MemoryBudget* const budget = table_.options.budget; budget != nullptr && buffer.size() > kLoneValueBytes) {
    RETURN_IF_ERROR(budget->CheckRoomToPin(buffer.size()));
  }
  block_pin_ =
      table_.source->Keep(handle, UnitKind::kDataBlock, std::move(buffer), kind_ == TableReader::ReadKind::kUser, hint);
  return absl::OkStatus();
}

// Returns how far a compaction that has to read `block` reads ahead: to the next stretch that is cached.
uint64_t TableIterator::EndOfMissing(uint32_t block) const {
  if (hints_ == nullptr) return table_.data_bytes();
  uint64_t end = EndOf(leaf_->handle(block));
  for (uint32_t i = block + 1; i < leaf_->count(); ++i) {
    const BlockHandle handle = leaf_->handle(i);
    if (hints_[i].frame.load(std::memory_order_relaxed) == 0) end = EndOf(handle);
    if (EndOf(handle) - end > kReadThrough) break;
  }
  return end;
}

}  // namespace

std::unique_ptr<InternalIterator> TableReader::NewIterator(std::shared_ptr<const TableReader> self, ReadKind kind,
                                                           uint64_t window_bytes) {
  const Impl& table = *self->impl_;
  return std::make_unique<TableIterator>(std::move(self), table, kind, window_bytes);
}

}  // namespace sepal
