#include "db/state/memtable/memtable_tree.h"

#include <algorithm>
#include <new>

#include "util/base/check.h"
#include "util/base/strings.h"

namespace sepal {

// Makes a node's version odd during the object's life.
class MemTableTree::Change {
 public:
  // The fields' own release stores keep them after the odd version.
  explicit Change(Node* node) : node_(node), version_(node->version.load(std::memory_order_relaxed)) {
    node_->version.store(version_ + 1, std::memory_order_relaxed);
  }
  ~Change() { node_->version.store(version_ + 2, std::memory_order_release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Node* const node_;
  const uint32_t version_;
};

// The inner nodes of a descent, each with the number of the child below it.
class MemTableTree::Path {
 public:
  void Add(const Inner* inner, uint32_t child) {
    SEPAL_DCHECK(depth_ < steps_.size());
    steps_[depth_++] = {inner, child};
  }
  // The last child was split, and the path continues in its right half.
  void TurnRight() { ++steps_[depth_ - 1].child; }
  // The range of the node below the path.
  Range range() const {
    Range range;
    for (size_t i = depth_; i > 0 && (range.low == nullptr || range.high == nullptr); --i) {
      const auto& [inner, child] = steps_[i - 1];
      if (range.low == nullptr && child > 0) range.low = inner->entries[child - 1].load(std::memory_order_relaxed);
      if (range.high == nullptr && child < inner->count.load(std::memory_order_relaxed)) {
        range.high = inner->entries[child].load(std::memory_order_relaxed);
      }
    }
    return range;
  }

 private:
  struct Step {
    const Inner* inner;
    uint32_t child;
  };
  std::array<Step, 16> steps_;  // each level has at least ten times as many nodes as the one above
  size_t depth_ = 0;
};

MemTableTree::MemTableTree(KeyOrder order, Arena* arena) : order_(order), arena_(arena) {
  static_assert(sizeof(Leaf) == 512 && sizeof(Inner) <= 1024);
  Leaf* leaf = NewNode<Leaf>();
  root_.store(leaf, std::memory_order_relaxed);
  last_leaf_.store(leaf, std::memory_order_relaxed);
  first_leaf_ = leaf;
}

InsertHint MemTableTree::Aim(std::string_view user_key) const {
  if (height_ == 0 || AtTheEnd(user_key)) return {};
  Node* node = root_.load(std::memory_order_relaxed);
  for (int level = 1;; ++level) {
    const auto& inner = *static_cast<const Inner*>(node);
    const uint32_t at = Rank<true>(inner, inner.count.load(std::memory_order_relaxed), user_key);
    node = inner.children[at].load(std::memory_order_relaxed);
    if (level == height_) break;
    PrefetchForDescent(node);
  }
  Prefetch(node, sizeof(Leaf));
  return {this, static_cast<Leaf*>(node), splits_};
}

const MemTableEntry* MemTableTree::Insert(const MemTableEntry* entry, const InsertHint& hint) {
  const bool hinted = hint.tree == this && hint.splits == splits_;
  if (hinted || !AtTheEnd(entry->user_key())) {
    in_order_ = false;
    return hinted ? InsertInto(static_cast<Leaf*>(hint.leaf), entry) : InsertFromRoot(entry);
  }
  Leaf* const last = last_leaf_.load(std::memory_order_relaxed);
  const uint32_t n = last->count.load(std::memory_order_relaxed);
  if (n < kLeafSlots) {
    Place(last, n, entry);
    last->count.store(n + 1, std::memory_order_release);
  } else {
    AppendLeaf(entry);
  }
  return nullptr;
}

bool MemTableTree::AtTheEnd(std::string_view user_key) const {
  const Leaf* const last = last_leaf_.load(std::memory_order_relaxed);
  const uint32_t n = last->count.load(std::memory_order_relaxed);
  return n == 0 || order_.Less(last->entries[n - 1].load(std::memory_order_relaxed)->user_key(), user_key);
}

// For most new keys a look at the prefixes is enough.
MemTableTree::Slot MemTableTree::FindIn(const Leaf& leaf, std::string_view user_key) const {
  const uint32_t n = leaf.count.load(std::memory_order_relaxed);
  if (n == 0) return {0, false};
  const uint64_t prefix = PrefixAt(user_key, leaf.skip.load(std::memory_order_relaxed));
  const uint32_t low = CountBelow(leaf.prefixes, 0, n, prefix);
  if (low == n || leaf.prefixes[low].load(std::memory_order_relaxed) != prefix) [[likely]]
    return {low, false};
  const uint32_t at = Rank<false>(leaf, n, user_key);
  return {at, at < n && order_.Equal(leaf.entries[at].load(std::memory_order_relaxed)->user_key(), user_key)};
}

// The prefix stays, since the key does.
const MemTableEntry* MemTableTree::Update(Leaf* leaf, uint32_t slot, const MemTableEntry* entry) {
  const MemTableEntry* const before = leaf->entries[slot].load(std::memory_order_relaxed);
  entry->set_previous(before);
  leaf->entries[slot].store(entry, std::memory_order_release);
  return before;
}

// Entries are read only if prefixes are equal.
void MemTableTree::PrefetchForDescent(const Node* inner) {
  constexpr size_t kChildren = sizeof(Inner::children);
  Prefetch(inner, sizeof(Inner) - kChildren - sizeof(Inner::entries));
  const auto* end = reinterpret_cast<const char*>(inner) + sizeof(Inner);
  for (const char* line = end - kChildren; line < end; line += 64) __builtin_prefetch(line);
}

// `leaf` is the one that the entry's key belongs to.
const MemTableEntry* MemTableTree::InsertInto(Leaf* leaf, const MemTableEntry* entry) {
  const uint32_t n = leaf->count.load(std::memory_order_relaxed);
  const auto [slot, held] = FindIn(*leaf, entry->user_key());
  if (held) return Update(leaf, slot, entry);
  if (n == kLeafSlots) return InsertFromRoot(entry);
  leaf->newest_slot = static_cast<uint8_t>(slot);
  if (slot == n) {
    Place(leaf, n, entry);
    leaf->count.store(n + 1, std::memory_order_release);
    return nullptr;
  }
  const Change change(leaf);
  ShiftRight(leaf, slot);
  Place(leaf, slot, entry);
  leaf->count.store(n + 1, std::memory_order_release);
  return nullptr;
}

// Descends to the leaf that `entry` belongs to, and splits every full node on the way, so that a split always finds
// room in the parent.
const MemTableEntry* MemTableTree::InsertFromRoot(const MemTableEntry* entry) {
  const std::string_view key = entry->user_key();
  Node* node = root_.load(std::memory_order_relaxed);
  if (node->leaf && !static_cast<Leaf*>(node)->full()) return InsertInto(static_cast<Leaf*>(node), entry);
  node = RootWithRoom();
  Path path;
  while (!node->leaf) {
    auto* const inner = static_cast<Inner*>(node);
    const uint32_t at = Rank<true>(*inner, inner->count.load(std::memory_order_relaxed), key);
    node = inner->children[at].load(std::memory_order_relaxed);
    Prefetch(node, sizeof(Leaf));
    path.Add(inner, at);
    if (node->leaf) {
      auto* const leaf = static_cast<Leaf*>(node);
      if (!leaf->full()) break;
      const auto [slot, held] = FindIn(*leaf, key);
      if (held) return Update(leaf, slot, entry);
      const uint32_t middle = WhereToSplit(*leaf, slot);
      if (middle == kLeafSlots) {
        AddLeafBehind(inner, at, leaf, entry, path.range());
        return nullptr;
      }
      SplitLeaf(inner, at, leaf, middle, path.range());
    } else {
      if (!static_cast<Inner*>(node)->full()) continue;
      SplitInner(inner, at, static_cast<Inner*>(node), kInnerSlots / 2, path.range());
    }
    if (order_.Less(key, inner->entries[at].load(std::memory_order_relaxed)->user_key())) continue;
    path.TurnRight();
    node = inner->children[at + 1].load(std::memory_order_relaxed);
  }
  return InsertInto(static_cast<Leaf*>(node), entry);
}

// The last leaf is full and `entry` comes after it. Full nodes are left full, since ascending keys do not come back to
// them.
void MemTableTree::AppendLeaf(const MemTableEntry* entry) {
  Inner* parent = RootWithRoom();
  Range range;
  while (true) {
    const uint32_t n = parent->count.load(std::memory_order_relaxed);
    Node* child = parent->children[n].load(std::memory_order_relaxed);
    if (n > 0) range.low = parent->entries[n - 1].load(std::memory_order_relaxed);
    if (child->leaf) break;
    if (static_cast<Inner*>(child)->full()) {
      SplitInner(parent, n, static_cast<Inner*>(child), kInnerSlots - 1, range);
      range.low = parent->entries[n].load(std::memory_order_relaxed);
      child = parent->children[n + 1].load(std::memory_order_relaxed);
    }
    parent = static_cast<Inner*>(child);
  }
  const uint32_t at = parent->count.load(std::memory_order_relaxed);
  Leaf* const leaf = last_leaf_.load(std::memory_order_relaxed);
  SEPAL_DCHECK(parent->children[at].load(std::memory_order_relaxed) == leaf);
  AddLeafBehind(parent, at, leaf, entry, range);
}

// Child `at` of `parent`, which has room, is a full leaf; `entry` goes into a new leaf after it.
void MemTableTree::AddLeafBehind(Inner* parent, uint32_t at, Leaf* leaf, const MemTableEntry* entry, Range range) {
  ++splits_;
  Leaf* const right = NewNode<Leaf>();
  Refit(right, {entry, range.high});
  Place(right, 0, entry);
  right->count.store(1, std::memory_order_relaxed);

  const Change parent_change(parent);
  const Change leaf_change(leaf);
  LinkAfter(leaf, right);
  Refit(leaf, {range.low, entry});
  AddChild(parent, at, entry, right);
}

// Returns the root, once it is an inner node that is not full.
MemTableTree::Inner* MemTableTree::RootWithRoom() {
  Node* const root = root_.load(std::memory_order_relaxed);
  if (!root->leaf && !static_cast<Inner*>(root)->full()) return static_cast<Inner*>(root);
  auto* const grown = NewNode<Inner>();
  ++height_;
  ++splits_;
  Refit(grown, {});
  grown->children[0].store(root, std::memory_order_relaxed);
  root_.store(grown, std::memory_order_release);
  if (!root->leaf) SplitInner(grown, 0, static_cast<Inner*>(root), kInnerSlots / 2, {});
  return grown;
}

// Of a full leaf into which a key comes at `slot`. If keys ascend in one of many places, the leaf is cut after the
// newest key, because keys do not come back to what is before it. kLeafSlots: the leaf is not cut.
uint32_t MemTableTree::WhereToSplit(const Leaf& leaf, uint32_t slot) {
  return slot == kLeafSlots || slot == leaf.newest_slot + 1u ? slot : kLeafSlots / 2;
}

// Moves the entries from slot `middle` on to a new leaf.
void MemTableTree::SplitLeaf(Inner* parent, uint32_t at, Leaf* leaf, uint32_t middle, Range range) {
  ++splits_;
  const MemTableEntry* const separator = leaf->entries[middle].load(std::memory_order_relaxed);
  Leaf* const right = NewNode<Leaf>();
  Refit(right, {separator, range.high});

  const Change parent_change(parent);
  const Change leaf_change(leaf);
  for (uint32_t i = middle; i < kLeafSlots; ++i) {
    Place(right, i - middle, leaf->entries[i].load(std::memory_order_relaxed));
  }
  right->count.store(kLeafSlots - middle, std::memory_order_relaxed);
  leaf->count.store(middle, std::memory_order_release);
  leaf->newest_slot = kNoSlot;
  Refit(leaf, {range.low, separator});
  LinkAfter(leaf, right);
  AddChild(parent, at, separator, right);
}

// Moves entry `middle` to the parent, and the entries and children after it to a new node.
void MemTableTree::SplitInner(Inner* parent, uint32_t at, Inner* inner, uint32_t middle, Range range) {
  ++splits_;
  const MemTableEntry* const separator = inner->entries[middle].load(std::memory_order_relaxed);
  auto* const right = NewNode<Inner>();

  const Change parent_change(parent);
  const Change inner_change(inner);
  for (uint32_t i = middle + 1; i < kInnerSlots; ++i) {
    Place(right, i - middle - 1, inner->entries[i].load(std::memory_order_relaxed));
  }
  for (uint32_t i = middle + 1; i <= kInnerSlots; ++i) {
    right->children[i - middle - 1].store(inner->children[i].load(std::memory_order_relaxed),
                                          std::memory_order_relaxed);
  }
  right->count.store(kInnerSlots - middle - 1, std::memory_order_relaxed);
  Refit(right, {separator, range.high});
  inner->count.store(middle, std::memory_order_release);
  Refit(inner, {range.low, separator});
  AddChild(parent, at, separator, right);
}

// Requires a Change of `parent`, which must have room. `right` was split off child `at`.
void MemTableTree::AddChild(Inner* parent, uint32_t at, const MemTableEntry* separator, Node* right) {
  const uint32_t n = parent->count.load(std::memory_order_relaxed);
  separator->Stay();
  ShiftRight(parent, at);
  for (uint32_t i = n + 1; i > at + 1; --i) {
    parent->children[i].store(parent->children[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
  Place(parent, at, separator);
  parent->children[at + 1].store(right, std::memory_order_release);
  parent->count.store(n + 1, std::memory_order_release);
  if ((parent->skip.load(std::memory_order_relaxed) & kEdge) != 0) Refit(parent, {});
}

void MemTableTree::LinkAfter(Leaf* leaf, Leaf* right) {
  Leaf* const next = leaf->next.load(std::memory_order_relaxed);
  right->previous.store(leaf, std::memory_order_relaxed);
  right->next.store(next, std::memory_order_relaxed);
  leaf->next.store(right, std::memory_order_release);
  if (next != nullptr) {
    next->previous.store(right, std::memory_order_release);
  } else {
    last_leaf_.store(right, std::memory_order_release);
  }
}

template <class AnyNode>
AnyNode* MemTableTree::NewNode() {
  return new (arena_->AllocateAligned(sizeof(AnyNode), 64)) AnyNode();
}

uint32_t MemTableTree::SharedBytes(const MemTableEntry* a, const MemTableEntry* b) {
  return static_cast<uint32_t>(CommonPrefixSize(a->user_key(), b->user_key()));
}

uint32_t MemTableTree::SkipOf(const Leaf&, Range range) const {
  if (!order_.bytewise() || range.low == nullptr || range.high == nullptr) return 0;
  return SharedBytes(range.low, range.high);
}

uint32_t MemTableTree::SkipOf(const Inner& inner, Range range) const {
  if (!order_.bytewise()) return 0;
  if (range.low != nullptr && range.high != nullptr) return SharedBytes(range.low, range.high);
  const uint32_t n = inner.count.load(std::memory_order_relaxed);
  if (n == 0) return kEdge;
  return kEdge | SharedBytes(inner.entries[0].load(std::memory_order_relaxed),
                             inner.entries[n - 1].load(std::memory_order_relaxed));
}

template <uint32_t kSlots>
void MemTableTree::Place(SlottedNode<kSlots>* node, uint32_t slot, const MemTableEntry* entry) const {
  const uint32_t skip = node->skip.load(std::memory_order_relaxed) & ~kEdge;
  node->prefixes[slot].store(PrefixAt(entry->user_key(), skip), std::memory_order_release);
  node->entries[slot].store(entry, std::memory_order_release);
}

// Updates the number of key bytes that the node skips. Requires a Change of `node`, unless it is not published yet, and
// that its range or its entries have changed.
template <class AnyNode>
void MemTableTree::Refit(AnyNode* node, Range range) const {
  const uint32_t skip = SkipOf(*node, range);
  if (skip == node->skip.load(std::memory_order_relaxed)) return;
  node->skip.store(skip, std::memory_order_release);
  const uint32_t n = node->count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < n; ++i) Place(node, i, node->entries[i].load(std::memory_order_relaxed));
}

// Requires a Change of `node`, which must have room.
template <uint32_t kSlots>
void MemTableTree::ShiftRight(SlottedNode<kSlots>* node, uint32_t from) const {
  for (uint32_t i = node->count.load(std::memory_order_relaxed); i > from; --i) {
    node->prefixes[i].store(node->prefixes[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
    node->entries[i].store(node->entries[i - 1].load(std::memory_order_relaxed), std::memory_order_release);
  }
}

void MemTableTree::ForEachKey(absl::FunctionRef<void(const MemTableEntry* newest)> call) const {
  for (const Leaf* leaf = first_leaf_; leaf != nullptr; leaf = leaf->next.load(std::memory_order_relaxed)) {
    const uint32_t count = leaf->count.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < count; ++i) call(leaf->entries[i].load(std::memory_order_relaxed));
  }
}

}  // namespace sepal
