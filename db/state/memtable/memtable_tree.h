// The memtable's order: a B+-tree of user keys, with 8 bytes of each key inline. A slot of a leaf leads to its key's
// newest update, which links to the ones before it, so that searches and scans cost keys and not updates.
//
// An entry that separates nodes stays as long as the tree. Other entries may go once a newer one of their key is in
// their slot and no reader can stand at them.
//
// Inline bytes: all keys that can ever be in a node lie between the separators around it, and therefore share the bytes
// that these separators share. A node compares the 8 key bytes after them (`skip`), as a number, and compares whole
// keys only if these are equal. An inner node at the tree's left or right edge lacks a separator on one side: it skips
// what its own entries share, and a search there first checks whether its target shares it too. A leaf at an edge skips
// nothing. If the order is not bytewise, all prefixes are 0.
//
// One writer, any number of lock-free readers. Keys are only added, nodes only split, to the right, and no node is
// freed before the tree. Each node has a version, which is odd while the node is being changed:
//
// | who    | what                  | how                                                                          |
// |--------|-----------------------|------------------------------------------------------------------------------|
// | writer | changes a node        | version odd; fields (each a release store); version even (release)           |
// | writer | splits a node         | node and parent are odd throughout, so a reader sees both changes or neither |
// | writer | grows the tree        | publishes the new root before the old one, its child, is split               |
// | writer | adds at a leaf's end  | slot, then count (release); no new version, since what was there still holds |
// | writer | updates a key         | the link to the update before, then the slot (release); no new version        |
// | reader | reads a node          | version (even); fields (each an acquire load); the same version, else again  |
// | reader | steps down to a child | reads the child's version before it confirms the parent's                    |
//
// A reader that reads a field from a change in progress also sees, through its acquire load, the odd version, and then
// does not confirm what it read. Even an unconfirmed value is a published entry or node. A reader repeats itself only
// while the node that it reads is being changed.
//
// A leaf's `next` is exact. Its `previous` may lag behind splits of the leaf to its left: a reader that follows it then
// moves right until the next leaf is the one that it came from.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "db/state/memtable/insert_hint.h"
#include "db/state/memtable/memtable_entry.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"
#include "util/memory/arena.h"

namespace sepal {

class MemTableTree {
 public:
  // Nodes lie in `arena`, which must outlive the tree.
  MemTableTree(KeyOrder order, Arena* arena);
  MemTableTree(const MemTableTree&) = delete;
  MemTableTree& operator=(const MemTableTree&) = delete;

  // Returns the place where the next entry of `user_key` will go, if it is newer than all others of that key.
  // Prefetches the leaf, without waiting for it. For the writer only.
  InsertHint Aim(std::string_view user_key) const;
  // Requires that no other Insert runs, and an update that is newer than all others of its key. Returns the newest of
  // these, to which `entry` now links; null: the key is new. `hint` is for the entry's key, or empty; a hint of another
  // tree, or from before the last split, does no harm.
  const MemTableEntry* Insert(const MemTableEntry* entry, const InsertHint& hint = {});

  // Whether every entry was a new key at the end. For the writer only.
  bool in_order() const { return in_order_; }

  // Returns the newest update of `user_key`, or null.
  const MemTableEntry* Find(std::string_view user_key) const;
  // Estimates the fraction of all keys that are before `user_key`, from 0 to 1.
  double FractionBefore(std::string_view user_key) const;
  // Of all updates. Prev takes time for the newer updates of the same key.
  std::unique_ptr<InternalIterator> NewIterator() const;
  // Of what a reader at `visible` needs: of each key the newest update at or below it, and if that is an operand, those
  // before it that it does not stand for, down to the first that is none.
  std::unique_ptr<InternalIterator> NewIterator(SequenceNumber visible) const;

  // Returns entries in order that cut all keys into pieces of about equal numbers: at least `wanted` of them if the
  // tree has as many. Only while nothing is inserted.
  std::vector<const MemTableEntry*> Separators(size_t wanted) const;

  // With each key's newest update. For the writer only.
  void ForEachKey(absl::FunctionRef<void(const MemTableEntry* newest)> call) const;

  // Verifies the whole tree, and computes a count and a fingerprint of all updates. Only while nothing is inserted.
  absl::Status Check(uint64_t* entries, uint64_t* fingerprint) const;

 private:
  friend class MemTableTreeIterator;

  // A leaf takes 512 bytes, an inner node 1024.
  static constexpr uint32_t kLeafSlots = 30;
  static constexpr uint32_t kInnerSlots = 41;
  static constexpr uint32_t kEdge = uint32_t{1} << 31;
  static constexpr uint8_t kNoSlot = UINT8_MAX;

  struct Node {
    explicit Node(bool is_leaf) : leaf(is_leaf) {}
    std::atomic<uint32_t> version{0};
    std::atomic<uint32_t> skip{0};   // with kEdge if only the node's own entries are known to share the bytes
    std::atomic<uint32_t> count{0};  // the number of used slots
    const bool leaf;
    // Only in leaves and only for the writer: the slot of the newest key; kNoSlot after a split.
    uint8_t newest_slot = kNoSlot;
  };
  template <uint32_t kSlots>
  struct SlottedNode : Node {
    using Node::Node;
    std::array<std::atomic<uint64_t>, kSlots> prefixes = {};
    std::array<std::atomic<const MemTableEntry*>, kSlots> entries = {};
    bool full() const { return this->count.load(std::memory_order_relaxed) == kSlots; }
  };
  struct Leaf : SlottedNode<kLeafSlots> {
    Leaf() : SlottedNode(true) {}
    std::atomic<Leaf*> next{nullptr};
    std::atomic<Leaf*> previous{nullptr};
  };
  // The entries are separators: child i holds what is before entry i, child i + 1 what is at or after it.
  struct Inner : SlottedNode<kInnerSlots> {
    Inner() : SlottedNode(false) {}
    std::array<std::atomic<Node*>, kInnerSlots + 1> children = {};
  };
  // The entries that a node may hold: at or after `low` and before `high`. Null means unbounded.
  struct Range {
    const MemTableEntry* low = nullptr;
    const MemTableEntry* high = nullptr;
  };
  // A consistent copy of a leaf.
  struct LeafCopy {
    uint32_t count = 0;
    const Leaf* next = nullptr;
    const Leaf* previous = nullptr;
    std::array<const MemTableEntry*, kLeafSlots> entries;
  };
  class Change;  // keeps a node's version odd
  class Path;    // the path of a descent

  // Used by writer and readers.
  static void Prefetch(const Node* node, size_t bytes) {
    for (size_t at = 0; at < bytes; at += 64) __builtin_prefetch(reinterpret_cast<const char*>(node) + at);
  }
  uint64_t PrefixAt(std::string_view user_key, uint32_t skip) const {
    if (!order_.bytewise() || user_key.size() <= skip) return 0;
    return BigEndianPrefix(user_key.data() + skip, user_key.size() - skip);
  }
  template <bool kOrAt, uint32_t kSlots>
  uint32_t Rank(const SlottedNode<kSlots>& node, uint32_t count, std::string_view target) const;

  // Used by the writer.
  template <class AnyNode>
  AnyNode* NewNode();
  static uint32_t SharedBytes(const MemTableEntry* a, const MemTableEntry* b);
  uint32_t SkipOf(const Leaf& leaf, Range range) const;
  uint32_t SkipOf(const Inner& inner, Range range) const;
  template <uint32_t kSlots>
  void Place(SlottedNode<kSlots>* node, uint32_t slot, const MemTableEntry* entry) const;
  template <class AnyNode>
  void Refit(AnyNode* node, Range range) const;
  template <uint32_t kSlots>
  void ShiftRight(SlottedNode<kSlots>* node, uint32_t from) const;
  struct Slot {
    uint32_t at;  // the first that is not before the key
    bool held;    // it is that of the key itself
  };
  Slot FindIn(const Leaf& leaf, std::string_view user_key) const;
  static const MemTableEntry* Update(Leaf* leaf, uint32_t slot, const MemTableEntry* entry);
  const MemTableEntry* InsertInto(Leaf* leaf, const MemTableEntry* entry);
  void AppendLeaf(const MemTableEntry* entry);
  void AddLeafBehind(Inner* parent, uint32_t at, Leaf* leaf, const MemTableEntry* entry, Range range);
  void LinkAfter(Leaf* leaf, Leaf* right);
  Inner* RootWithRoom();
  static uint32_t WhereToSplit(const Leaf& leaf, uint32_t slot);
  void SplitLeaf(Inner* parent, uint32_t at, Leaf* leaf, uint32_t middle, Range range);
  void SplitInner(Inner* parent, uint32_t at, Inner* inner, uint32_t middle, Range range);
  void AddChild(Inner* parent, uint32_t at, const MemTableEntry* separator, Node* right);
  const MemTableEntry* InsertFromRoot(const MemTableEntry* entry);
  bool AtTheEnd(std::string_view user_key) const;
  static void PrefetchForDescent(const Node* inner);

  // Used by readers.
  static uint32_t EvenVersion(const Node& node);
  static bool Unchanged(const Node& node, uint32_t version) {
    return node.version.load(std::memory_order_acquire) == version;
  }
  // Prefetches the header and the prefixes; entries are read only at the end of a search, in one place.
  static void PrefetchNode(const Node* node) { Prefetch(node, 320); }
  const Leaf* FindLeaf(std::string_view target, uint32_t* version) const;
  static bool TryCopy(const Leaf& leaf, uint32_t version, LeafCopy* copy);
  static void Copy(const Leaf& leaf, LeafCopy* copy);
  uint32_t CopyLeafOf(std::string_view target, const Leaf** leaf, LeafCopy* copy) const;

  struct CheckState;
  absl::Status CheckUpdates(const MemTableEntry* newest, CheckState* state) const;
  absl::Status CheckNode(const Node& node, Range range, int depth, CheckState* state) const;
  template <uint32_t kSlots>
  absl::Status CheckSlots(const SlottedNode<kSlots>& node, Range range) const;

  const KeyOrder order_;
  Arena* const arena_;
  std::atomic<Node*> root_;
  std::atomic<Leaf*> last_leaf_;  // may lag behind by one split
  const Leaf* first_leaf_;        // the first root, because splits go to the right

  // The writer's fields, apart from what readers read.
  alignas(64) int height_ = 0;  // the number of levels of inner nodes
  uint64_t splits_ = 0;
  bool in_order_ = true;
};

// Counts how many of the first `count` prefixes are below `prefix`; the first `from` are known to be, and `count` is
// larger than `from`. The prefixes ascend, unless the node is being changed.
template <size_t kSlots>
uint32_t CountBelow(const std::array<std::atomic<uint64_t>, kSlots>& prefixes, uint32_t from, uint32_t count,
                    uint64_t prefix) {
  uint32_t low = from;
  for (uint32_t n = count - from; n > 1;) {
    const uint32_t half = n / 2;
    low = prefixes[low + half - 1].load(std::memory_order_acquire) < prefix ? low + half : low;
    n -= half;
  }
  return low + (prefixes[low].load(std::memory_order_acquire) < prefix ? 1 : 0);
}

// Counts how many of the first `count` keys are before `target`, or also at it if kOrAt.
template <bool kOrAt, uint32_t kSlots>
uint32_t MemTableTree::Rank(const SlottedNode<kSlots>& node, uint32_t count, std::string_view target) const {
  if (count == 0) return 0;
  const uint32_t skip = node.skip.load(std::memory_order_acquire);
  if ((skip & kEdge) != 0) {
    const std::string_view first = node.entries[0].load(std::memory_order_acquire)->user_key();
    const int order = target.substr(0, skip & ~kEdge).compare(first.substr(0, skip & ~kEdge));
    if (order != 0) return order < 0 ? 0 : count;
  }
  const uint64_t prefix = PrefixAt(target, skip & ~kEdge);
  uint32_t low = CountBelow(node.prefixes, 0, count, prefix);
  if (low == count || node.prefixes[low].load(std::memory_order_acquire) != prefix) return low;
  uint32_t high = prefix == UINT64_MAX ? count : CountBelow(node.prefixes, low, count, prefix + 1);
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    const int order = order_.Compare(node.entries[middle].load(std::memory_order_acquire)->user_key(), target);
    if (kOrAt ? order <= 0 : order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace sepal
