#include "db/state/memtable.h"

#include <algorithm>
#include <optional>

#include "db/state/memtable_entry.h"
#include "db/state/memtable_index.h"
#include "db/state/memtable_tree.h"
#include "util/arena.h"
#include "util/check.h"
#include "util/status.h"

namespace sepal {
namespace {

// Sizes the hash index: a bucket for every 100 to 200 bytes of memory that are foreseen, which is about what an entry
// of small key and value takes.
constexpr size_t kBytesPerBucket = 100;

// Counted by the one writer, read by anybody.
class Counter {
 public:
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(uint64_t n) { Set(value() + n); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace

struct MemTable::Impl {
  Impl(KeyOrder key_order, uint64_t seed, size_t expected_bytes, MemoryBudget* memory_budget, ChunkPool* chunks)
      : order(key_order),
        hash_seed(seed),
        budget(memory_budget),
        arena(budget, MemoryPart::kMemtables, chunks),
        tree(order, &arena) {
    if (order.hashable()) index.emplace(expected_bytes / kBytesPerBucket);
    if (budget != nullptr) budget->Charge(MemoryPart::kMemtables, fixed_bytes());
  }
  ~Impl() {
    if (budget != nullptr) budget->Release(MemoryPart::kMemtables, fixed_bytes());
  }
  size_t fixed_bytes() const { return sizeof(Impl) + (index.has_value() ? index->memory_bytes() : 0); }

  const KeyOrder order;
  const uint64_t hash_seed;
  MemoryBudget* const budget;
  std::optional<MemTableIndex> index;  // where the order is hashable

  // Written with every update: apart from what lookups read.
  alignas(64) Arena arena;
  Counter data_bytes;
  Counter entries;
  Counter tombstones;
  Counter first_sequence;
  Counter last_sequence;

  alignas(64) MemTableTree tree;
};

MemTable::MemTable(KeyOrder order, uint64_t hash_seed, size_t expected_bytes, MemoryBudget* budget, ChunkPool* chunks)
    : impl_(std::make_unique<Impl>(order, hash_seed, expected_bytes, budget, chunks)) {}

MemTable::~MemTable() = default;

void MemTable::Add(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value,
                   uint64_t hash) {
  Impl& m = *impl_;
  const uint64_t entries = m.entries.value();
  SEPAL_CHECK(entries == 0 || sequence.value() > m.last_sequence.value());
  SEPAL_CHECK(user_key.size() <= UINT32_MAX && value.size() <= UINT32_MAX);
  const uint32_t short_hash = m.index.has_value() ? MemTableIndex::ShortHash(hash) : 0;
  if (m.index.has_value()) m.index->Prefetch(short_hash);

  char* const memory = m.arena.AllocateAligned(MemTableEntry::Bytes(user_key, value), MemTableEntry::kAlignment);
  MemTableEntry* const entry = MemTableEntry::Make(memory, PackTrailer(sequence, kind), user_key, value, short_hash);
  m.tree.Insert(entry);
  if (m.index.has_value()) m.index->Insert(entry);  // by now its bucket has been fetched

  if (entries == 0) m.first_sequence.Set(sequence.value());
  m.last_sequence.Set(sequence.value());
  m.data_bytes.Add(entry->data_bytes());
  if (IsTombstone(kind)) m.tombstones.Add(1);
  m.entries.Set(entries + 1);
}

std::optional<MemTable::Found> MemTable::Lookup(std::string_view user_key, uint64_t hash,
                                                SequenceNumber visible) const {
  const Impl& m = *impl_;
  const MemTableEntry* entry;
  if (m.index.has_value()) [[likely]] {
    entry = m.index->Find(user_key, MemTableIndex::ShortHash(hash), visible);
  } else {
    entry = m.tree.FirstAtOrAfter({user_key, SeekTrailer(visible)});
    if (entry != nullptr && !m.order.Equal(entry->user_key(), user_key)) entry = nullptr;
  }
  if (entry == nullptr) return std::nullopt;
  return Found{entry->trailer(), entry->value()};
}

void MemTable::PrefetchLookup(uint64_t hash) const {
  if (impl_->index.has_value()) impl_->index->Prefetch(MemTableIndex::ShortHash(hash));
}

std::unique_ptr<InternalIterator> MemTable::NewIterator() const { return impl_->tree.NewIterator(); }

size_t MemTable::MemoryBytes() const { return impl_->fixed_bytes() + impl_->arena.memory_bytes(); }
size_t MemTable::DataBytes() const { return impl_->data_bytes.value(); }
uint64_t MemTable::EntryCount() const { return impl_->entries.value(); }
uint64_t MemTable::TombstoneCount() const { return impl_->tombstones.value(); }
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
  // A short range is counted, a long one estimated from where its ends are in the tree.
  constexpr int kCountedEntries = 128;
  const Impl& m = *impl_;
  if (!m.order.Less(begin, end)) return 0;
  const std::unique_ptr<InternalIterator> it = NewIterator();
  uint64_t counted = 0;
  int left = kCountedEntries;
  for (it->Seek({begin, kFirstTrailer}); left > 0; it->Next(), --left) {
    if (!it->Valid() || !m.order.Less(it->key().user_key, end)) return counted;
    counted += it->key().user_key.size() + it->value().size();
  }
  const double fraction = m.tree.FractionBefore({end, kFirstTrailer}) - m.tree.FractionBefore({begin, kFirstTrailer});
  return std::max(counted, static_cast<uint64_t>(std::max(fraction, 0.0) * static_cast<double>(DataBytes())));
}

absl::Status MemTable::Check() const {
  const Impl& m = *impl_;
  uint64_t tree_entries;
  uint64_t tree_fingerprint;
  RETURN_IF_ERROR(m.tree.Check(&tree_entries, &tree_fingerprint));
  if (tree_entries != EntryCount()) return absl::InternalError("memtable: the tree and the counter disagree");
  if (!m.index.has_value()) return absl::OkStatus();
  uint64_t index_entries;
  uint64_t index_fingerprint;
  RETURN_IF_ERROR(m.index->Check(m.hash_seed, &index_entries, &index_fingerprint));
  if (index_entries != tree_entries || index_fingerprint != tree_fingerprint) {
    return absl::InternalError("memtable: the tree and the hash index hold different entries");
  }
  return absl::OkStatus();
}

}  // namespace sepal
