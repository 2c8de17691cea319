// The verification of the memtable's tree.
#include "absl/strings/str_format.h"
#include "db/state/memtable/memtable_tree.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

struct MemTableTree::CheckState {
  int leaf_depth = -1;
  const Leaf* last_leaf = nullptr;  // the leaf visited last
  uint64_t entries = 0;
  uint64_t fingerprint = 0;
};

namespace {

absl::Status Broken(std::string_view what, const MemTableEntry* entry) {
  return absl::InternalError(absl::StrFormat("memtable tree: %s at %s", what, ToString(entry->key())));
}
absl::Status Broken(std::string_view what) { return absl::InternalError(absl::StrFormat("memtable tree: %s", what)); }

}  // namespace

absl::Status MemTableTree::Check(uint64_t* entries, uint64_t* fingerprint) const {
  CheckState state;
  RETURN_IF_ERROR(CheckNode(*root_.load(std::memory_order_acquire), {}, 0, &state));
  if (state.last_leaf->next.load(std::memory_order_acquire) != nullptr) return Broken("a leaf outside the tree");
  if (last_leaf_.load(std::memory_order_acquire) != state.last_leaf) return Broken("the last leaf is not the last");
  *entries = state.entries;
  *fingerprint = state.fingerprint;
  return absl::OkStatus();
}

absl::Status MemTableTree::CheckNode(const Node& node, Range range, int depth, CheckState* state) const {
  if (node.version.load(std::memory_order_acquire) % 2 != 0) return Broken("a node is being changed");
  const uint32_t count = node.count.load(std::memory_order_acquire);
  if (!node.leaf) {
    const auto& inner = static_cast<const Inner&>(node);
    RETURN_IF_ERROR(CheckSlots(inner, range));
    for (uint32_t i = 0; i <= count; ++i) {
      const Range within = {i > 0 ? inner.entries[i - 1].load(std::memory_order_acquire) : range.low,
                            i < count ? inner.entries[i].load(std::memory_order_acquire) : range.high};
      RETURN_IF_ERROR(CheckNode(*inner.children[i].load(std::memory_order_acquire), within, depth + 1, state));
    }
    return absl::OkStatus();
  }
  const auto& leaf = static_cast<const Leaf&>(node);
  RETURN_IF_ERROR(CheckSlots(leaf, range));
  if (count == 0 && depth > 0) return Broken("an empty leaf");
  if (state->leaf_depth >= 0 && state->leaf_depth != depth) return Broken("leaves at different depths");
  state->leaf_depth = depth;
  const Leaf* const before = state->last_leaf;
  if (leaf.previous.load(std::memory_order_acquire) != before) return Broken("a wrong link to the previous leaf");
  if ((before == nullptr ? first_leaf_ : before->next.load(std::memory_order_acquire)) != &leaf) {
    return Broken("a wrong link to the next leaf");
  }
  state->last_leaf = &leaf;
  for (uint32_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckUpdates(leaf.entries[i].load(std::memory_order_acquire), state));
  }
  return absl::OkStatus();
}

absl::Status MemTableTree::CheckUpdates(const MemTableEntry* newest, CheckState* state) const {
  for (const MemTableEntry* entry = newest; entry != nullptr; entry = entry->previous()) {
    ++state->entries;
    state->fingerprint += Mix64(reinterpret_cast<uint64_t>(entry));
    const MemTableEntry* const previous = entry->previous();
    if (entry->has_skips()) {
      const MemTableEntry* const next = previous != nullptr ? previous->NewestWithSkips() : nullptr;
      if (entry->skips().near.to != next) return Broken("a skip that does not lead to the next one", entry);
    }
    if (previous == nullptr) continue;
    if (previous->trailer() >= entry->trailer()) return Broken("updates out of order", entry);
    if (!order_.Equal(previous->user_key(), entry->user_key())) return Broken("a link to another key", entry);
  }
  return absl::OkStatus();
}

// Checks that entries ascend within the range, and that the prefixes are those of the entries.
template <uint32_t kSlots>
absl::Status MemTableTree::CheckSlots(const SlottedNode<kSlots>& node, Range range) const {
  const uint32_t count = node.count.load(std::memory_order_acquire);
  const uint32_t skip = node.skip.load(std::memory_order_acquire) & ~kEdge;
  const bool at_edge = (node.skip.load(std::memory_order_acquire) & kEdge) != 0;
  const bool bounded = range.low != nullptr && range.high != nullptr;
  if (count > kSlots) return Broken("a node holds more than it can");
  for (uint32_t i = 0; i < count; ++i) {
    const MemTableEntry* const entry = node.entries[i].load(std::memory_order_acquire);
    if (i > 0 && !order_.Less(node.entries[i - 1].load(std::memory_order_acquire)->user_key(), entry->user_key())) {
      return Broken("entries out of order", entry);
    }
    if (range.low != nullptr && order_.Less(entry->user_key(), range.low->user_key()))
      return Broken("below its node", entry);
    if (range.high != nullptr && !order_.Less(entry->user_key(), range.high->user_key()))
      return Broken("above its node", entry);
    if (node.prefixes[i].load(std::memory_order_acquire) != PrefixAt(entry->user_key(), skip)) {
      return Broken("a wrong prefix", entry);
    }
    const MemTableEntry* const shares =
        bounded && order_.bytewise() ? range.low : node.entries[0].load(std::memory_order_acquire);
    if (entry->user_key().substr(0, skip) != shares->user_key().substr(0, skip)) {
      return Broken("more bytes are skipped than are shared", entry);
    }
  }
  if (at_edge && (bounded || node.leaf)) return Broken("not at an edge of the tree");
  if (skip > 0 && !at_edge && !bounded) return Broken("bytes are skipped without bounds");
  return absl::OkStatus();
}

}  // namespace sepal
