#include "db/state/memtable/memtable.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "db/state/memtable/memtable_entry.h"
#include "db/state/memtable/memtable_index.h"
#include "db/state/memtable/memtable_tree.h"
#include "db/state/memtable/superseded_entries.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/memory/arena.h"

namespace sepal {
namespace {

// Sizes the hash index: a bucket for every 100 to 200 bytes of expected memory, which is about what an entry with a
// small key and value takes.
constexpr size_t kBytesPerBucket = 100;
// As many as a leaf of the tree has room for: until there are more, a lookup in the tree is as fast as one in an index,
// and there may be thousands of memtables with a few keys each.
constexpr uint64_t kKeysWithoutIndex = 30;
// The number of entries that are prefetched before they are inserted into the tree in order.
constexpr size_t kAhead = 8;

// A counter that only the writer changes and any thread reads.
class Counter {
 public:
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(uint64_t n) { Set(value() + n); }
  void Subtract(uint64_t n) { Set(value() - n); }

 private:
  std::atomic<uint64_t> value_{0};
};

std::optional<MemTable::Found> AsOf(const MemTableEntry* newest, SequenceNumber visible) {
  const MemTableEntry* const entry = newest != nullptr ? newest->AsOf(visible) : nullptr;
  if (entry == nullptr) return std::nullopt;
  return MemTable::Found{entry->trailer(), entry->value(), entry};
}

}  // namespace

struct MemTable::Impl {
  Impl(KeyOrder key_order, uint64_t seed, size_t expected_bytes, const Memory& memory, bool indexed)
      : order(key_order),
        hash_seed(seed),
        budget(memory.budget),
        arena(budget, MemoryPart::kMemtables, memory.chunks),
        superseded(budget, memory.copied_value_bytes, &value_pins),
        tree(order, &arena),
        wants_index(indexed && order.hashable()),
        foreseen_buckets(expected_bytes / kBytesPerBucket),
        index_pool(memory.indexes) {
    if (budget != nullptr) budget->Charge(MemoryPart::kMemtables, sizeof(Impl));
  }
  ~Impl() {
    if (budget == nullptr) return;
    budget->Release(MemoryPart::kMemtables, sizeof(Impl) + (owned_index != nullptr ? sizeof(MemTableIndex) : 0));
  }
  // Of what the tree holds.
  void MakeIndex() {
    owned_index = std::make_unique<MemTableIndex>(foreseen_buckets, index_pool, budget);
    if (budget != nullptr) budget->Charge(MemoryPart::kMemtables, sizeof(MemTableIndex));
    tree.ForEachKey([this](const MemTableEntry* newest) { owned_index->Insert(newest); });
    index.store(owned_index.get(), std::memory_order_release);
  }
  // Creates an entry that is not published yet.
  MemTableEntry* Make(Trailer trailer, std::string_view user_key, std::string_view value, uint32_t short_hash,
                      const MemTableEntry::Skips* skips = nullptr) {
    SEPAL_CHECK(user_key.size() <= UINT32_MAX && value.size() <= UINT32_MAX);
    const size_t bytes = MemTableEntry::Bytes(TrailerKind(trailer), user_key, value, skips != nullptr);
    char* memory = superseded.Take(bytes);
    if (memory == nullptr) memory = arena.AllocateAligned(SupersededEntries::RoundUp(bytes), MemTableEntry::kAlignment);
    return MemTableEntry::Make(memory, trailer, user_key, value, short_hash, skips);
  }
  // The newest update of the key, or null. `short_hash` is ignored without an index.
  const MemTableEntry* Newest(std::string_view user_key, uint32_t short_hash) const {
    const MemTableIndex* const made = index.load(std::memory_order_acquire);
    return made != nullptr ? made->Find(user_key, short_hash) : tree.Find(user_key);
  }
  std::optional<MemTableEntry::Skips> SkipsFor(SequenceNumber sequence, std::string_view user_key,
                                               uint32_t short_hash) const;
  void Count(SequenceNumber sequence, ValueKind kind, uint64_t bytes);
  void LetGoSome();
  void LetGoBelow(const MemTableEntry* newer);
  bool IsCut(const MemTableEntry& entry) const;
  void LetGo(const MemTableEntry* entry);
  // Of a folded merge of the key that stands for all updates from `oldest` on.
  MemTableEntry::Shortcut ShortcutTo(std::string_view user_key, SequenceNumber oldest) const;
  void SortIntoTree(uint64_t count, const MemTableEntry* newest);

  const KeyOrder order;
  const uint64_t hash_seed;
  MemoryBudget* const budget;
  std::atomic<const MemTableIndex*> index{nullptr};  // once there are keys enough
  MemTableEntry* collected = nullptr;                // the newest one; each links to the one before it as `previous`
  uint64_t collected_entries = 0;

  // Changes with every update, so it is kept apart from what lookups read.
  alignas(64) Arena arena;
  Counter data_bytes;
  Counter entries;
  Counter tombstones;
  Counter first_sequence;
  Counter last_sequence;
  Counter range_tombstones;  // how many were added
  Counter operands;          // of merges
  Counter separated_bytes;
  std::vector<std::pair<FileNumber, std::shared_ptr<const void>>> value_files;
  uint64_t superseded_bytes = 0;
  bool any_single_deletes = false;
  bool use_skips = false;
  MemTableReaders readers;
  mutable std::atomic<int64_t> value_pins{0};
  SupersededEntries superseded;
  std::unique_ptr<RangeTombstoneMap> owned_ranges;
  std::atomic<const RangeTombstoneMap*> ranges = nullptr;

  alignas(64) MemTableTree tree;

  const bool wants_index;  // and the order is hashable
  const size_t foreseen_buckets;
  ReadyPages* const index_pool;
  uint64_t keys_without_index = 0;
  std::unique_ptr<MemTableIndex> owned_index;
};

void MemTable::Impl::Count(SequenceNumber sequence, ValueKind kind, uint64_t bytes) {
  if (entries.value() == 0) first_sequence.Set(sequence.value());
  last_sequence.Set(sequence.value());
  data_bytes.Add(bytes);
  if (IsTombstone(kind)) tombstones.Add(1);
  if (IsOperand(kind)) operands.Add(1);
  any_single_deletes |= IsSingleDelete(kind);
  entries.Add(1);
}

// Of the updates that came over others of their keys, looks at the oldest two that all readers see.
void MemTable::Impl::LetGoSome() {
  for (int i = 0; i < 2; ++i) {
    const MemTableEntry* const newer = superseded.first();
    if (newer == nullptr || TrailerSequence(newer->trailer()) > readers.settled) return;
    LetGoBelow(newer);
    superseded.PopFirst();
  }
}

// Lets go of what no reader can see under `newer`, up to the first that one may see. A single delete must meet its put,
// so that where there is one all stays.
void MemTable::Impl::LetGoBelow(const MemTableEntry* newer) {
  constexpr int kMost = 8;
  if (any_single_deletes || IsCut(*newer)) return;
  for (int i = 0; i < kMost && superseded.HasRoom(); ++i) {
    const MemTableEntry* const entry = newer->previous();
    if (entry == nullptr || newer->StandsOn(*entry) || entry->has_skips()) return;
    if (readers.MayReadBetween(TrailerSequence(entry->trailer()), TrailerSequence(newer->trailer()))) return;
    newer->set_previous(entry->previous());
    LetGo(entry);
  }
}

// Whether a snapshot stands among the updates that a folded merge stands for: then a flush takes it for its own operand
// alone, and needs those before it down to the snapshot.
bool MemTable::Impl::IsCut(const MemTableEntry& entry) const {
  return IsFolded(entry.kind()) && readers.HasSnapshotBetween(entry.oldest(), TrailerSequence(entry.trailer()));
}

void MemTable::Impl::LetGo(const MemTableEntry* entry) {
  entries.Subtract(1);
  data_bytes.Subtract(entry->data_bytes());
  if (IsTombstone(entry->kind())) tombstones.Subtract(1);
  if (IsOperand(entry->kind())) operands.Subtract(1);
  if (!entry->stays()) superseded.Drop(entry);
}

// Every eighth update of a key has skips, about; the sequence number's bits are mixed, since keys may come in turns.
// Nullopt: not this one.
std::optional<MemTableEntry::Skips> MemTable::Impl::SkipsFor(SequenceNumber sequence, std::string_view user_key,
                                                             uint32_t short_hash) const {
  constexpr uint64_t kStride = 8;
  if (!use_skips || Mix64(sequence.value()) % kStride != 0) return std::nullopt;
  const MemTableEntry* const newest = Newest(user_key, short_hash);
  if (newest == nullptr) return std::nullopt;
  return MemTableEntry::Skips::Over(newest->NewestWithSkips());
}

MemTableEntry::Shortcut MemTable::Impl::ShortcutTo(std::string_view user_key, SequenceNumber oldest) const {
  const MemTableEntry* const newest = tree.Find(user_key);
  const bool any_before = newest != nullptr && oldest > SequenceNumber(0);
  return {oldest, any_before ? newest->AsOf(SequenceNumber(oldest.value() - 1)) : nullptr};
}

// Sorts mostly by the 8 bytes after the prefix that all keys share. Entries that ascend are appended to the tree.
void MemTable::Impl::SortIntoTree(uint64_t count, const MemTableEntry* newest) {
  struct Item {
    uint64_t prefix;
    const MemTableEntry* entry;
  };
  const size_t bytes = count * sizeof(Item);
  if (budget != nullptr) budget->Charge(MemoryPart::kMemtables, bytes);
  std::vector<Item> items;
  items.reserve(count);
  size_t shared = order.bytewise() ? newest->user_key().size() : 0;
  for (const MemTableEntry* entry = newest; entry != nullptr; entry = entry->previous()) {
    items.push_back({0, entry});
    shared = std::min(shared, CommonPrefixSize(entry->user_key(), newest->user_key()));
  }
  if (order.bytewise()) {
    for (Item& item : items) {
      item.prefix = BigEndianPrefix(item.entry->user_key().substr(shared));
    }
  }
  std::sort(items.begin(), items.end(), [this](const Item& a, const Item& b) {
    return a.prefix != b.prefix ? a.prefix < b.prefix : order.Less(a.entry->key(), b.entry->key());
  });
  for (size_t i = 0; i < items.size();) {
    if (i + kAhead < items.size()) items[i + kAhead].entry->Prefetch();
    const MemTableEntry* entry = items[i].entry;
    const MemTableEntry* const before = tree.Insert(entry);
    for (++i; i < items.size() && order.Equal(items[i].entry->user_key(), entry->user_key()); ++i) {
      entry->set_previous(items[i].entry);
      entry = items[i].entry;
    }
    entry->set_previous(before);
  }
  if (budget != nullptr) budget->Release(MemoryPart::kMemtables, bytes);
}

MemTable::MemTable(KeyOrder order, uint64_t hash_seed, size_t expected_bytes, const Memory& memory, bool indexed)
    : impl_(std::make_unique<Impl>(order, hash_seed, expected_bytes, memory, indexed)) {}

size_t MemTable::IndexBytes(size_t expected_bytes) {
  return MemTableIndex::MemoryBytes(expected_bytes / kBytesPerBucket);
}

size_t MemTable::FixedBytes() {
  static const size_t bytes =
      MemTable(KeyOrder(BytewiseComparator()), /*hash_seed=*/0, /*expected_bytes=*/0, Memory{}).MemoryBytes();
  return bytes;
}

MemTable::~MemTable() = default;

void MemTable::Add(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value,
                   uint64_t hash, const InsertHint& hint, SequenceNumber oldest) {
  Impl& m = *impl_;
  SEPAL_CHECK(m.entries.value() == 0 || sequence.value() > m.last_sequence.value());
  MemTableIndex* const index = m.owned_index.get();
  const uint32_t short_hash = m.wants_index ? MemTableIndex::ShortHash(hash) : 0;
  if (index != nullptr) index->Prefetch(short_hash);

  const std::optional<MemTableEntry::Skips> skips = m.SkipsFor(sequence, user_key, short_hash);
  MemTableEntry* const entry =
      m.Make(PackTrailer(sequence, kind), user_key, value, short_hash, skips.has_value() ? &*skips : nullptr);
  if (IsFolded(kind)) [[unlikely]]
    entry->SetShortcut(m.ShortcutTo(user_key, oldest));
  const MemTableEntry* const before = m.tree.Insert(entry, hint);
  if (index != nullptr) [[likely]] {  // its bucket has been prefetched by now
    before == nullptr ? index->Insert(entry) : index->Replace(before, entry);
  } else if (m.wants_index && before == nullptr && ++m.keys_without_index > kKeysWithoutIndex) {
    m.MakeIndex();
  }
  if (before != nullptr) {
    m.superseded_bytes += before->bytes_used();
    m.superseded.Add(entry);
  }
  if (m.superseded.first() != nullptr) m.LetGoSome();
  m.Count(sequence, kind, entry->data_bytes());
}

void MemTable::UseSkips() { impl_->use_skips = true; }

size_t MemTable::SupersededBytes() const { return impl_->superseded_bytes; }

void MemTable::SetReaders(MemTableReaders readers) {
  impl_->superseded.SetViews(readers.oldest_view, readers.replaced_view);
  impl_->superseded_bytes = 0;
  impl_->readers = std::move(readers);
}

bool MemTable::MayLackVersionsFor(std::span<const SequenceNumber> sequences) const {
  const MemTableReaders& readers = impl_->readers;
  return std::ranges::any_of(sequences, [&](SequenceNumber sequence) {
    return sequence >= FirstSequence() && sequence < readers.settled &&
           !readers.HasSnapshotBetween(sequence, sequence.next());
  });
}

MemTable::ValuePin::ValuePin(std::shared_ptr<const MemTable> memtable) : memtable_(std::move(memtable)) {
  memtable_->impl_->value_pins.fetch_add(1, std::memory_order_relaxed);
}
MemTable::ValuePin::~ValuePin() { memtable_->impl_->value_pins.fetch_sub(1, std::memory_order_release); }

InsertHint MemTable::PrefetchAdd(std::string_view user_key, uint64_t hash) const {
  PrefetchLookup(hash);
  return impl_->tree.Aim(user_key);
}

void MemTable::Collect(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value) {
  Impl& m = *impl_;
  SEPAL_CHECK(!m.wants_index);
  SEPAL_CHECK(m.entries.value() == 0 || sequence.value() > m.last_sequence.value());
  MemTableEntry* const entry = m.Make(PackTrailer(sequence, kind), user_key, value, 0);
  entry->set_previous(std::exchange(m.collected, entry));
  ++m.collected_entries;
  m.Count(sequence, kind, entry->data_bytes());
}

void MemTable::AddRangeTombstone(const RangeTombstone& tombstone, RangeTombstoneMap::StripesNow stripes) {
  Impl& m = *impl_;
  SEPAL_CHECK(m.entries.value() == 0 || tombstone.sequence.value() > m.last_sequence.value());
  if (m.owned_ranges == nullptr) m.owned_ranges = std::make_unique<RangeTombstoneMap>(m.order, &m.arena);
  m.owned_ranges->Add(tombstone, stripes);
  m.ranges.store(m.owned_ranges.get(), std::memory_order_release);
  m.range_tombstones.Add(1);
  m.Count(tombstone.sequence, ValueKind::kRangeDelete,
          tombstone.begin.size() + tombstone.end.value_or(std::string_view()).size());
}

// Writers go on in one file for long, and then in the next.
bool MemTable::HoldsValues(FileNumber file) const {
  const auto& held = impl_->value_files;
  return std::any_of(held.rbegin(), held.rend(), [file](const auto& each) { return each.first == file; });
}
void MemTable::HoldValues(FileNumber file, std::shared_ptr<const void> pin) {
  impl_->value_files.emplace_back(file, std::move(pin));
}
void MemTable::CountSeparated(uint64_t bytes) { impl_->separated_bytes.Add(bytes); }
uint64_t MemTable::SeparatedBytes() const { return impl_->separated_bytes.value(); }

const RangeTombstoneMap* MemTable::range_tombstones() const { return impl_->ranges.load(std::memory_order_acquire); }

void MemTable::Arrange() {
  Impl& m = *impl_;
  const uint64_t count = std::exchange(m.collected_entries, 0);
  const MemTableEntry* const newest = std::exchange(m.collected, nullptr);
  if (count > 0) m.SortIntoTree(count, newest);
}

std::optional<MemTable::Found> MemTable::Lookup(std::string_view user_key, uint64_t hash,
                                                SequenceNumber visible) const {
  return AsOf(impl_->Newest(user_key, MemTableIndex::ShortHash(hash)), visible);
}

std::optional<MemTable::Found> MemTable::LookupOlder(const Found& newer, SequenceNumber visible) {
  return AsOf(newer.entry, visible);
}

void MemTable::PrefetchLookup(uint64_t hash) const {
  const MemTableIndex* const index = impl_->index.load(std::memory_order_acquire);
  if (index != nullptr) index->Prefetch(MemTableIndex::ShortHash(hash));
}

std::unique_ptr<InternalIterator> MemTable::NewIterator() const { return impl_->tree.NewIterator(); }
std::unique_ptr<InternalIterator> MemTable::NewIterator(SequenceNumber visible) const {
  return impl_->tree.NewIterator(visible);
}

size_t MemTable::MemoryBytes() const {
  const MemTableIndex* const index = impl_->index.load(std::memory_order_acquire);
  const size_t index_bytes = index != nullptr ? sizeof(MemTableIndex) + index->memory_bytes() : 0;
  return sizeof(Impl) + index_bytes + impl_->arena.memory_bytes();
}
size_t MemTable::DataBytes() const { return impl_->data_bytes.value(); }
uint64_t MemTable::EntryCount() const { return impl_->entries.value(); }
uint64_t MemTable::TombstoneCount() const { return impl_->tombstones.value(); }
uint64_t MemTable::OperandCount() const { return impl_->operands.value(); }
bool MemTable::InOrder() const { return impl_->tree.in_order(); }
SequenceNumber MemTable::FirstSequence() const { return SequenceNumber(impl_->first_sequence.value()); }
SequenceNumber MemTable::LastSequence() const { return SequenceNumber(impl_->last_sequence.value()); }
uint64_t MemTable::hash_seed() const { return impl_->hash_seed; }

std::vector<std::string> MemTable::CutKeys(size_t parts) const {
  constexpr size_t kChoices = 16;  // for each cut
  std::vector<std::string> keys;
  if (parts < 2) return keys;
  const std::vector<const MemTableEntry*> separators = impl_->tree.Separators(kChoices * parts);
  for (size_t i = 1; i < parts && !separators.empty(); ++i) {
    const std::string_view key = separators[separators.size() * i / parts]->key().user_key;
    if (keys.empty() || impl_->order.Less(keys.back(), key)) keys.emplace_back(key);
  }
  return keys;
}

uint64_t MemTable::ApproximateBytes(std::string_view begin, std::string_view end) const {
  // A short range is counted; a long one is estimated from the positions of its ends in the tree.
  constexpr int kCountedEntries = 128;
  const Impl& m = *impl_;
  if (!m.order.Less(begin, end)) return 0;
  const std::unique_ptr<InternalIterator> it = NewIterator(kMaxSequenceNumber);
  uint64_t counted = 0;
  int left = kCountedEntries;
  for (it->Seek({begin, kFirstTrailer}); left > 0; it->Next(), --left) {
    if (!it->Valid() || !m.order.Less(it->key().user_key, end)) return counted;
    counted += it->key().user_key.size() + it->value().size();
  }
  const double fraction = m.tree.FractionBefore(end) - m.tree.FractionBefore(begin);
  return std::max(counted, static_cast<uint64_t>(std::max(fraction, 0.0) * static_cast<double>(DataBytes())));
}

absl::Status MemTable::Check() const {
  const Impl& m = *impl_;
  uint64_t tree_entries;
  uint64_t tree_fingerprint;
  RETURN_IF_ERROR(m.tree.Check(&tree_entries, &tree_fingerprint));
  if (tree_entries + m.range_tombstones.value() != EntryCount())
    return absl::InternalError("memtable: the tree and the counter disagree");
  const MemTableIndex* const index = m.index.load(std::memory_order_acquire);
  if (index == nullptr) return absl::OkStatus();
  uint64_t index_entries;
  uint64_t index_fingerprint;
  RETURN_IF_ERROR(index->Check(m.hash_seed, &index_entries, &index_fingerprint));
  if (index_entries != tree_entries || index_fingerprint != tree_fingerprint) {
    return absl::InternalError("memtable: the tree and the hash index hold different entries");
  }
  return absl::OkStatus();
}

}  // namespace sepal
