// The reader side of the memtable's tree.
#include <thread>

#include "db/state/memtable/memtable_tree.h"
#include "util/base/check.h"

namespace sepal {

// Returns the version of a node that is not being changed. Waits for a change in progress, which takes some tens of
// instructions.
uint32_t MemTableTree::EvenVersion(const Node& node) {
  constexpr int kPatience = 100;  // the writer's thread may have been descheduled in the middle of a change
  for (int tries = 0;; ++tries) {
    const uint32_t version = node.version.load(std::memory_order_acquire);
    if ((version & 1) == 0) [[likely]]
      return version;
    if (tries >= kPatience) std::this_thread::yield();
  }
}

// Returns the leaf whose range holds `target`, and a version at which it did.
const MemTableTree::Leaf* MemTableTree::FindLeaf(std::string_view target, uint32_t* version) const {
  while (true) {
    const Node* node = root_.load(std::memory_order_acquire);
    *version = EvenVersion(*node);
    bool confirmed = root_.load(std::memory_order_acquire) == node;
    while (confirmed && !node->leaf) {
      const auto& inner = static_cast<const Inner&>(*node);
      const uint32_t rank = Rank<true>(inner, inner.count.load(std::memory_order_acquire), target);
      node = inner.children[rank].load(std::memory_order_acquire);
      PrefetchNode(node);
      const uint32_t child_version = EvenVersion(*node);
      confirmed = Unchanged(inner, *version);
      *version = child_version;
    }
    if (confirmed) return static_cast<const Leaf*>(node);
  }
}

bool MemTableTree::TryCopy(const Leaf& leaf, uint32_t version, LeafCopy* copy) {
  copy->count = leaf.count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < copy->count; ++i) copy->entries[i] = leaf.entries[i].load(std::memory_order_acquire);
  copy->next = leaf.next.load(std::memory_order_acquire);
  copy->previous = leaf.previous.load(std::memory_order_acquire);
  return Unchanged(leaf, version);
}

void MemTableTree::Copy(const Leaf& leaf, LeafCopy* copy) {
  while (!TryCopy(leaf, EvenVersion(leaf), copy)) {
  }
}

// Copies the leaf whose range holds `target`; returns how many of its keys are before it.
uint32_t MemTableTree::CopyLeafOf(std::string_view target, const Leaf** leaf, LeafCopy* copy) const {
  while (true) {
    uint32_t version;
    *leaf = FindLeaf(target, &version);
    if (!TryCopy(**leaf, version, copy)) continue;
    const uint32_t rank = Rank<false>(**leaf, copy->count, target);
    if (Unchanged(**leaf, version)) return rank;
  }
}

const MemTableEntry* MemTableTree::Find(std::string_view user_key) const {
  while (true) {
    uint32_t version;
    const Leaf* const leaf = FindLeaf(user_key, &version);
    const uint32_t count = leaf->count.load(std::memory_order_acquire);
    const uint32_t rank = Rank<false>(*leaf, count, user_key);
    const MemTableEntry* const entry = rank < count ? leaf->entries[rank].load(std::memory_order_acquire) : nullptr;
    if (!Unchanged(*leaf, version)) continue;
    return entry != nullptr && order_.Equal(entry->user_key(), user_key) ? entry : nullptr;
  }
}

// At each inner node, every child counts as many entries as it has used slots. Nothing is confirmed, since this is an
// estimate.
double MemTableTree::FractionBefore(std::string_view user_key) const {
  double before = 0;
  double width = 1;
  const Node* node = root_.load(std::memory_order_acquire);
  while (!node->leaf) {
    const auto& inner = static_cast<const Inner&>(*node);
    const uint32_t count = inner.count.load(std::memory_order_acquire);
    const uint32_t rank = Rank<true>(inner, count, user_key);
    double left = 0;
    double all = 0;
    for (uint32_t i = 0; i <= count; ++i) {
      const Node& child = *inner.children[i].load(std::memory_order_acquire);
      const uint32_t slots = child.count.load(std::memory_order_acquire) + (child.leaf ? 0 : 1);
      if (i < rank) left += slots;
      all += slots;
    }
    node = inner.children[rank].load(std::memory_order_acquire);
    const uint32_t slots = node->count.load(std::memory_order_acquire) + (node->leaf ? 0 : 1);
    before += width * left / all;
    width *= slots / all;
  }
  const auto& leaf = static_cast<const Leaf&>(*node);
  const uint32_t count = leaf.count.load(std::memory_order_acquire);
  if (count == 0) return 0;
  return before + width * Rank<false>(leaf, count, user_key) / count;
}

// Takes the entries of one level of the tree: the highest that has enough.
std::vector<const MemTableEntry*> MemTableTree::Separators(size_t wanted) const {
  std::vector<const Node*> level = {root_.load(std::memory_order_acquire)};
  std::vector<const MemTableEntry*> between;  // the nodes of `level`
  const auto entries_of = [](const auto& node, std::vector<const MemTableEntry*>* out) {
    const uint32_t count = node.count.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; ++i) out->push_back(node.entries[i].load(std::memory_order_acquire));
  };
  while (between.size() < wanted && !level.front()->leaf) {
    std::vector<const Node*> below;
    std::vector<const MemTableEntry*> finer;
    for (size_t i = 0; i < level.size(); ++i) {
      if (i > 0) finer.push_back(between[i - 1]);
      const auto& inner = static_cast<const Inner&>(*level[i]);
      entries_of(inner, &finer);
      for (uint32_t c = 0; c <= inner.count.load(std::memory_order_acquire); ++c) {
        below.push_back(inner.children[c].load(std::memory_order_acquire));
      }
    }
    level = std::move(below);
    between = std::move(finer);
  }
  if (between.size() >= wanted) return between;
  std::vector<const MemTableEntry*> all;
  for (const Node* leaf : level) entries_of(static_cast<const Leaf&>(*leaf), &all);
  return all;
}

// Copies one leaf at a time and moves within the copy. The copy holds every key that was in the leaf's range at that
// time, with its newest update; since splits only go to the right, the copy's `next` is exactly what follows that
// range.
class MemTableTreeIterator final : public InternalIterator {
 public:
  // Null: of all updates.
  MemTableTreeIterator(const MemTableTree* tree, const SequenceNumber* visible)
      : tree_(tree), all_(visible == nullptr), visible_(all_ ? kMaxSequenceNumber : *visible) {}

  void SeekToFirst() override {
    Load(tree_->first_leaf_);
    ShowFrom(0);
  }
  void SeekToLast() override {
    Load(tree_->last_leaf_.load(std::memory_order_acquire));
    while (copy_.next != nullptr) Load(copy_.next);
    ShowBefore(copy_.count);
  }
  void Seek(InternalKeyView target) override {
    uint32_t slot = tree_->CopyLeafOf(target.user_key, &leaf_, &copy_);
    if (PartsUpdates(slot, target)) {
      const MemTableEntry* entry = Newest(slot);
      while (entry != nullptr && entry->trailer() > target.trailer) entry = Older(entry);
      if (entry != nullptr) return Show(slot, entry);
      ++slot;
    }
    ShowFrom(slot);
  }
  void SeekBefore(InternalKeyView target) override {
    const uint32_t slot = tree_->CopyLeafOf(target.user_key, &leaf_, &copy_);
    if (PartsUpdates(slot, target)) {
      const MemTableEntry* const entry = LastNewerThan(target.trailer, slot);
      if (entry != nullptr) return Show(slot, entry);
    }
    ShowBefore(slot);
  }
  void Next() override {
    SEPAL_DCHECK(valid_);
    if (const MemTableEntry* const older = Older(entry_); older != nullptr) return Show(slot_, older);
    if (slot_ + kAhead < copy_.count) copy_.entries[slot_ + kAhead]->PrefetchAll();
    ShowFrom(slot_ + 1);
  }
  void Prev() override {
    SEPAL_DCHECK(valid_);
    if (const MemTableEntry* const newer = LastNewerThan(entry_->trailer(), slot_); newer != nullptr) {
      return Show(slot_, newer);
    }
    if (slot_ >= kAhead) copy_.entries[slot_ - kAhead]->Prefetch();
    ShowBefore(slot_);
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  static constexpr uint32_t kAhead = 8;

  void Load(const MemTableTree::Leaf* leaf) {
    leaf_ = leaf;
    MemTableTree::Copy(*leaf, &copy_);
  }
  void LoadNext() {
    Load(copy_.next);
    if (copy_.next != nullptr) Prefetch(copy_.next);
    for (uint32_t i = 1; i < kAhead && i < copy_.count; ++i) copy_.entries[i]->PrefetchAll();
  }
  void LoadPrevious() {
    const MemTableTree::Leaf* const from = leaf_;
    Load(copy_.previous);
    while (copy_.next != from) Load(copy_.next);
    if (copy_.previous != nullptr) Prefetch(copy_.previous);
    for (uint32_t i = 2; i <= kAhead && i <= copy_.count; ++i) copy_.entries[copy_.count - i]->Prefetch();
  }
  static void Prefetch(const MemTableTree::Leaf* leaf) {
    __builtin_prefetch(leaf);
    for (uint32_t i = 0; i < MemTableTree::kLeafSlots; i += 8) __builtin_prefetch(&leaf->entries[i]);
  }

  // Of the updates of a key that the iterator shows: the newest, the one before another, and the oldest.
  const MemTableEntry* Newest(uint32_t slot) const { return copy_.entries[slot]->AsOf(visible_); }
  const MemTableEntry* Older(const MemTableEntry* entry) const {
    return all_ ? entry->previous() : entry->NextNeeded();
  }
  const MemTableEntry* Oldest(uint32_t slot) const { return LastNewerThan(kLastTrailer, slot); }
  // The last that is newer than `trailer`, or null.
  const MemTableEntry* LastNewerThan(Trailer trailer, uint32_t slot) const {
    const MemTableEntry* last = nullptr;
    for (const MemTableEntry* entry = Newest(slot); entry != nullptr && entry->trailer() > trailer;
         entry = Older(entry)) {
      last = entry;
    }
    return last;
  }
  // Whether `target` may stand between updates of the key in `slot` that the iterator shows.
  bool PartsUpdates(uint32_t slot, const InternalKeyView& target) const {
    return slot < copy_.count && target.trailer < SeekTrailer(visible_) &&
           tree_->order_.Equal(copy_.entries[slot]->user_key(), target.user_key);
  }

  // Shows the first update of the keys from `slot` on.
  void ShowFrom(uint32_t slot) {
    while (true) {
      for (; slot < copy_.count; ++slot) {
        if (const MemTableEntry* const entry = Newest(slot); entry != nullptr) return Show(slot, entry);
      }
      if (copy_.next == nullptr) break;
      LoadNext();
      slot = 0;
    }
    valid_ = false;
  }
  // Shows the last update of the keys before `slot`.
  void ShowBefore(uint32_t slot) {
    while (true) {
      while (slot > 0) {
        if (const MemTableEntry* const entry = Oldest(--slot); entry != nullptr) return Show(slot, entry);
      }
      if (copy_.previous == nullptr) break;
      LoadPrevious();
      slot = copy_.count;
    }
    valid_ = false;
  }
  void Show(uint32_t slot, const MemTableEntry* entry) {
    slot_ = slot;
    entry_ = entry;
    key_ = entry->key();
    value_ = entry->value();
    valid_ = true;
  }

  const MemTableTree* const tree_;
  const bool all_;
  const SequenceNumber visible_;
  const MemTableTree::Leaf* leaf_ = nullptr;  // the leaf that was copied to `copy_`
  uint32_t slot_ = 0;
  const MemTableEntry* entry_ = nullptr;  // an update of the key in `slot_`
  MemTableTree::LeafCopy copy_;
};

std::unique_ptr<InternalIterator> MemTableTree::NewIterator() const {
  return std::make_unique<MemTableTreeIterator>(this, nullptr);
}

std::unique_ptr<InternalIterator> MemTableTree::NewIterator(SequenceNumber visible) const {
  return std::make_unique<MemTableTreeIterator>(this, &visible);
}

}  // namespace sepal
