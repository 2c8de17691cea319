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
const MemTableTree::Leaf* MemTableTree::FindLeaf(const InternalKeyView& target, uint32_t* version) const {
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

// Copies the leaf whose range holds `target`; returns how many of its entries are before it.
uint32_t MemTableTree::CopyLeafOf(const InternalKeyView& target, const Leaf** leaf, LeafCopy* copy) const {
  while (true) {
    uint32_t version;
    *leaf = FindLeaf(target, &version);
    if (!TryCopy(**leaf, version, copy)) continue;
    const uint32_t rank = Rank<false>(**leaf, copy->count, target);
    if (Unchanged(**leaf, version)) return rank;
  }
}

const MemTableEntry* MemTableTree::FirstAtOrAfter(const InternalKeyView& target) const {
  while (true) {
    uint32_t version;
    const Leaf* const leaf = FindLeaf(target, &version);
    const uint32_t count = leaf->count.load(std::memory_order_acquire);
    const Leaf* const next = leaf->next.load(std::memory_order_acquire);
    const uint32_t rank = Rank<false>(*leaf, count, target);
    const MemTableEntry* const entry = rank < count ? leaf->entries[rank].load(std::memory_order_acquire) : nullptr;
    if (!Unchanged(*leaf, version)) continue;
    // A leaf's first entry is only ever replaced by a new one, which is also after `target`.
    if (rank == count && next != nullptr) return next->entries[0].load(std::memory_order_acquire);
    return entry;
  }
}

// At each inner node, every child counts as many entries as it has used slots. Nothing is confirmed, since this is an
// estimate.
double MemTableTree::FractionBefore(const InternalKeyView& target) const {
  double before = 0;
  double width = 1;
  const Node* node = root_.load(std::memory_order_acquire);
  while (!node->leaf) {
    const auto& inner = static_cast<const Inner&>(*node);
    const uint32_t count = inner.count.load(std::memory_order_acquire);
    const uint32_t rank = Rank<true>(inner, count, target);
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
  return before + width * Rank<false>(leaf, count, target) / count;
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

// Copies one leaf at a time and moves within the copy. The copy holds everything that was in the leaf's range at that
// time; since splits only go to the right, the copy's `next` is exactly what follows that range.
class MemTableTreeIterator final : public InternalIterator {
 public:
  explicit MemTableTreeIterator(const MemTableTree* tree) : tree_(tree) {}

  void SeekToFirst() override {
    Load(tree_->first_leaf_);
    Show(0);
  }
  void SeekToLast() override {
    Load(tree_->last_leaf_.load(std::memory_order_acquire));
    while (copy_.next != nullptr) Load(copy_.next);
    Show(copy_.count - 1);
  }
  void Seek(InternalKeyView target) override {
    const uint32_t rank = tree_->CopyLeafOf(target, &leaf_, &copy_);
    if (rank < copy_.count) return Show(rank);
    ShowFirstOfNext();
  }
  void SeekBefore(InternalKeyView target) override {
    const uint32_t rank = tree_->CopyLeafOf(target, &leaf_, &copy_);
    if (rank > 0) return Show(rank - 1);
    ShowLastOfPrevious();
  }
  void Next() override {
    SEPAL_DCHECK(valid_);
    if (slot_ + 1 >= copy_.count) return ShowFirstOfNext();
    if (slot_ + kAhead < copy_.count) copy_.entries[slot_ + kAhead]->PrefetchAll();
    Show(slot_ + 1);
  }
  void Prev() override {
    SEPAL_DCHECK(valid_);
    if (slot_ == 0) return ShowLastOfPrevious();
    if (slot_ >= kAhead) copy_.entries[slot_ - kAhead]->Prefetch();
    Show(slot_ - 1);
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  static constexpr uint32_t kAhead = 8;

  void Load(const MemTableTree::Leaf* leaf) {
    leaf_ = leaf;
    MemTableTree::Copy(*leaf, &copy_);
  }
  void ShowFirstOfNext() {
    if (copy_.next == nullptr) {
      valid_ = false;
      return;
    }
    Load(copy_.next);
    if (copy_.next != nullptr) Prefetch(copy_.next);
    for (uint32_t i = 1; i < kAhead && i < copy_.count; ++i) copy_.entries[i]->PrefetchAll();
    Show(0);
  }
  void ShowLastOfPrevious() {
    const MemTableTree::Leaf* const from = leaf_;
    if (copy_.previous == nullptr) {
      valid_ = false;
      return;
    }
    Load(copy_.previous);
    while (copy_.next != from) Load(copy_.next);
    if (copy_.previous != nullptr) Prefetch(copy_.previous);
    for (uint32_t i = 2; i <= kAhead && i <= copy_.count; ++i) copy_.entries[copy_.count - i]->Prefetch();
    Show(copy_.count - 1);
  }
  static void Prefetch(const MemTableTree::Leaf* leaf) {
    __builtin_prefetch(leaf);
    for (uint32_t i = 0; i < MemTableTree::kLeafSlots; i += 8) __builtin_prefetch(&leaf->entries[i]);
  }
  // A slot past the end ends the iteration; the one before the first wraps round to such a slot.
  void Show(uint32_t slot) {
    slot_ = slot;
    valid_ = slot < copy_.count;
    if (!valid_) return;
    const MemTableEntry* const entry = copy_.entries[slot];
    key_ = entry->key();
    value_ = entry->value();
  }

  const MemTableTree* const tree_;
  const MemTableTree::Leaf* leaf_ = nullptr;  // the leaf that was copied to `copy_`
  uint32_t slot_ = 0;
  MemTableTree::LeafCopy copy_;
};

std::unique_ptr<InternalIterator> MemTableTree::NewIterator() const {
  return std::make_unique<MemTableTreeIterator>(this);
}

}  // namespace sepal
