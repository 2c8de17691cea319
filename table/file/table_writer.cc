#include "table/file/table_writer.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sepal/version.h"
#include "table/block/block.h"
#include "table/file/unit_writer.h"
#include "table/filter/filter.h"
#include "table/index/index_page.h"
#include "util/base/check.h"
#include "util/base/hyperloglog.h"
#include "util/base/status.h"
#include "util/memory/append_buffer.h"

namespace sepal {
namespace {

// A block grows to at most this many times its target, unless a single entry is larger.
constexpr size_t kMaxBlockGrowth = 4;
// Besides key and value, a block's columns take at most this many bytes for each entry.
constexpr size_t kMaxEntryOverhead = 24;
// The growth of a writer's memory at which others are asked to give up memory.
constexpr size_t kGrowthToAsk = size_t{64} << 10;

}  // namespace

struct TableWriter::Impl {
  Impl(TableWriterOptions o, WritableFile* file)
      : options(std::move(o)),
        hashable(options.order.hashable()),
        policy(hashable ? options.filter_policy : FilterPolicy::None()),
        lane_probes(FilterPolicy::ProbesFor(policy.lane_bits_per_key)),
        guard_probes(std::min(FilterPolicy::ProbesFor(policy.guard_bits_per_key), kMaxGuardProbes)),
        max_block_bytes(kMaxBlockGrowth * options.block_bytes),
        out(file, options.table_id, options.write_buffer_bytes, options.pool),
        block(hashable),
        leaf(0, options.order, lane_probes),
        leaf_pages(options.pool),
        guard(policy.guard_bits_per_key, guard_probes, options.pool) {}
  ~Impl() {
    if (options.budget != nullptr) options.budget->Release(MemoryPart::kCompaction, charged);
  }

  absl::Status Add(const InternalKeyView& key, std::string_view value);
  // Adds the block to the table's counts.
  void CountBlock();
  bool MustStandApart(const InternalKeyView& key, std::string_view value) const;
  absl::Status CloseBlock();
  void BuildLane();
  // Nearly the size that the file, without the current block, would have if Finish were called now.
  uint64_t BytesBesideBlock() const {
    return out.offset() + leaf_bytes + leaf.MemoryBytes() + GuardBytes() + kFooterBytes;
  }
  uint64_t GuardBytes() const {
    return static_cast<uint64_t>(static_cast<double>(guard.keys()) * policy.guard_bits_per_key / 8);
  }
  // Adds the closed block to its leaf page. `next` is the first key of the block after it; null at the end.
  void IndexClosedBlock(const InternalKeyView* next);
  void CloseLeaf();

  absl::Status Finish();
  absl::Status WriteLeaves(BlockHandle* root);
  absl::Status WriteGuard(BlockHandle* handle);
  absl::Status WriteProperties(BlockHandle* handle);
  void Tell(BlockHandle handle, UnitKind kind, std::string_view bytes) const {
    if (options.on_unit) options.on_unit(handle, kind, bytes);
  }

  size_t MemoryBytes() const;
  void ChargeMemory();

  const TableWriterOptions options;
  const bool hashable;
  FilterPolicy policy;
  const int lane_probes;
  int guard_probes;
  const size_t max_block_bytes;

  UnitWriter out;
  absl::Status status;
  bool finished = false;

  // The block being built.
  BlockBuilder block;
  std::vector<uint64_t> block_hashes;  // of its distinct keys
  size_t block_keys = 0;               // the number of distinct keys, without the one with which a continuation begins
  size_t block_bytes_bound = 0;        // an upper bound of its size
  bool continuation = false;
  uint64_t bytes_beside_block = kFooterBytes;  // after the last block

  // The last key that was added, and its hash. While the block has entries, they hold the key too.
  std::string last_user_key;  // set when a block closes
  Trailer last_trailer = 0;
  uint64_t last_hash = 0;

  // The last closed block, until the first key of the next one determines its separator.
  struct Closed {
    BlockHandle handle;
    uint64_t entries = 0;
    uint64_t tombstones = 0;
  };
  std::optional<Closed> closed;
  std::string lane;  // of the closed block

  IndexPageBuilder leaf;
  struct Leaf {
    size_t bytes = 0;
    Separator separator;
    uint64_t entries = 0;
    uint64_t tombstones = 0;
  };
  std::vector<Leaf> leaves;
  // The bytes of all leaf pages, one after another. Separate strings, which live until the end, would obstruct malloc's
  // arena, which would then grow page by page with the temporary buffers of compression.
  AppendBuffer leaf_pages;
  uint64_t leaf_bytes = 0;
  uint64_t leaf_tombstones = 0;
  uint64_t entries_in_leaves = 0;

  GuardBuilder guard;
  HyperLogLog sketch;
  TableProperties properties;
  uint64_t footer_checksum = 0;
  size_t charged = 0;
  size_t asked_at = 0;  // the charge at which relief was last asked for, or the least charge since
};

absl::Status TableWriter::Impl::Add(const InternalKeyView& key, std::string_view value) {
  bool new_key = true;
  if (!block.empty() || closed.has_value()) [[likely]] {
    const std::string_view last = block.empty() ? std::string_view(last_user_key) : block.last_user_key();
    const int order = options.order.Compare(last, key.user_key);
    if (order > 0 || (order == 0 && last_trailer <= key.trailer)) [[unlikely]] {
      return absl::InternalError("keys are not added to the table in order: " + ToString(key) + " comes after " +
                                 ToString(InternalKeyView{last, last_trailer}));
    }
    new_key = order != 0;
  } else {
    AppendInternalKey(&properties.smallest_key, key);
  }
  if (!block.empty() && MustStandApart(key, value)) RETURN_IF_ERROR(CloseBlock());
  const bool opens_block = block.empty();
  if (opens_block) {
    if (closed.has_value()) IndexClosedBlock(&key);
    continuation = !new_key;
  }
  if (hashable) {
    if (new_key) last_hash = HashKey(key.user_key, options.hash_seed);
    if (new_key || opens_block) block_hashes.push_back(last_hash);
  }
  block_keys += new_key ? 1 : 0;
  block.Add(key, value, last_hash);
  block_bytes_bound += key.user_key.size() + value.size() + kMaxEntryOverhead;
  last_trailer = key.trailer;
  const bool full = (block_bytes_bound >= options.block_bytes && block.SizeEstimate() >= options.block_bytes) ||
                    value.size() > kLoneValueBytes;
  return full ? CloseBlock() : absl::OkStatus();
}

bool TableWriter::Impl::MustStandApart(const InternalKeyView& key, std::string_view value) const {
  if (value.size() > kLoneValueBytes) return true;
  if (block_bytes_bound + key.user_key.size() + value.size() + kMaxEntryOverhead <= max_block_bytes) return false;
  return block.SizeEstimateWith(key, value) > max_block_bytes;
}

void TableWriter::Impl::CountBlock() {
  const bool first = properties.entries == 0;
  properties.lowest_sequence =
      first ? block.lowest_sequence() : std::min(properties.lowest_sequence, block.lowest_sequence());
  properties.highest_sequence = std::max(properties.highest_sequence, block.highest_sequence());
  properties.entries += block.entries();
  properties.tombstones += block.tombstones();
  properties.raw_key_bytes += block.key_bytes();
  properties.raw_value_bytes += block.value_bytes();
  properties.distinct_keys += block_keys;
  ++properties.data_blocks;
  if (!hashable) return;
  // The first key of a continuation was already counted in the previous block.
  const std::span<const uint64_t> hashes = std::span(block_hashes).last(block_keys);
  for (const uint64_t hash : hashes) sketch.Add(hash);
  if (policy.guard_bits_per_key > 0) guard.Add(hashes);
}

absl::Status TableWriter::Impl::CloseBlock() {
  last_user_key.assign(block.last_user_key());
  BlockHandle handle;
  const std::string_view bytes = block.Finish(continuation);
  RETURN_IF_ERROR(out.WriteCompressed(bytes, options.compression, &handle));
  Tell(handle, UnitKind::kDataBlock, bytes);
  BuildLane();
  CountBlock();
  closed = Closed{handle, block.entries(), block.tombstones()};
  block.Reset();
  block_hashes.clear();
  block_keys = 0;
  block_bytes_bound = 0;
  bytes_beside_block = BytesBesideBlock();
  ChargeMemory();
  return absl::OkStatus();
}

void TableWriter::Impl::BuildLane() {
  lane.assign(LaneBytes(block_hashes.size(), policy.lane_bits_per_key), '\0');
  if (lane.empty()) return;
  for (const uint64_t hash : block_hashes) LaneAdd(lane.data(), lane.size(), lane_probes, hash);
}

void TableWriter::Impl::IndexClosedBlock(const InternalKeyView* next) {
  const InternalKeyView last{last_user_key, last_trailer};
  const Separator separator =
      next != nullptr ? ShortestSeparator(last, *next, options.order) : ShortestSuccessor(last, options.order);
  if (leaf.Full()) CloseLeaf();
  leaf.Add(separator, closed->handle, closed->entries, closed->tombstones, lane);
  leaf_tombstones += closed->tombstones;
  properties.lane_bytes += lane.size();
  closed.reset();
  if (leaf.blocks() >= options.blocks_per_leaf_page) CloseLeaf();
  bytes_beside_block = BytesBesideBlock();
}

void TableWriter::Impl::CloseLeaf() {
  const std::string bytes = leaf.Finish(entries_in_leaves);
  leaf_pages.Append(bytes);
  leaves.push_back({bytes.size(), leaf.last_separator(), leaf.entries(), leaf_tombstones});
  entries_in_leaves += leaf.entries();
  leaf_bytes += bytes.size() + kUnitTrailerBytes;
  leaf_tombstones = 0;
  leaf.Reset();
}

absl::Status TableWriter::Impl::Finish() {
  if (!block.empty()) RETURN_IF_ERROR(CloseBlock());
  SEPAL_CHECK(properties.entries > 0);
  IndexClosedBlock(nullptr);
  if (!leaf.empty()) CloseLeaf();
  properties.data_bytes = out.offset();

  Footer footer;
  footer.table_id = options.table_id;
  footer.hash_seed = options.hash_seed;
  footer.hashable = hashable;
  RETURN_IF_ERROR(WriteLeaves(&footer.root));
  RETURN_IF_ERROR(WriteGuard(&footer.guard));
  RETURN_IF_ERROR(WriteProperties(&footer.properties));
  footer.file_size = out.offset() + kFooterBytes;
  const std::string bytes = footer.Encode();
  footer_checksum = Footer::ChecksumOf(bytes);
  RETURN_IF_ERROR(out.Append(bytes));
  RETURN_IF_ERROR(out.Finish());
  finished = true;
  bytes_beside_block = out.offset();
  return absl::OkStatus();
}

absl::Status TableWriter::Impl::WriteLeaves(BlockHandle* root_handle) {
  IndexPageBuilder root(1, options.order, /*lane_probes=*/0);
  std::string_view rest = leaf_pages.view();
  for (const Leaf& page : leaves) {
    if (root.Full()) return absl::OutOfRangeError("the table has too many blocks for one root");
    const std::string_view bytes = rest.substr(0, page.bytes);
    rest.remove_prefix(page.bytes);
    BlockHandle handle;
    RETURN_IF_ERROR(out.Write(bytes, &handle));
    Tell(handle, UnitKind::kLeafPage, bytes);
    root.Add(page.separator, handle, page.entries, page.tombstones, {});
  }
  properties.leaf_pages = leaves.size();
  properties.leaf_page_bytes = leaf_bytes;
  leaves.clear();
  return out.Write(root.Finish(0), root_handle);
}

absl::Status TableWriter::Impl::WriteGuard(BlockHandle* handle) {
  if (guard.keys() == 0) return absl::OkStatus();
  if (guard.Bytes() > options.max_guard_bytes) {
    policy.guard_bits_per_key = 0;
    guard_probes = 0;
    return absl::OkStatus();
  }
  const std::string bytes = guard.Finish();
  properties.guard_bytes = bytes.size();
  RETURN_IF_ERROR(out.Write(bytes, handle));
  Tell(*handle, UnitKind::kGuard, bytes);
  return absl::OkStatus();
}

absl::Status TableWriter::Impl::WriteProperties(BlockHandle* handle) {
  AppendInternalKey(&properties.largest_key, {last_user_key, last_trailer});
  properties.comparator_name = options.order.comparator()->Name();
  properties.column_family_name = options.column_family_name;
  properties.column_family_id = options.column_family_id;
  properties.creation_unix_micros = options.creation_unix_micros;
  properties.filter_policy = policy;
  properties.lane_probes = static_cast<uint32_t>(lane_probes);
  properties.guard_probes = static_cast<uint32_t>(guard_probes);
  properties.expected_filter_rate = policy.ExpectedRate();
  properties.compression = static_cast<uint32_t>(options.compression);
  properties.block_bytes = static_cast<uint32_t>(options.block_bytes);
  if (hashable) properties.key_sketch = sketch.ToBytes();
  properties.writer_version = VersionString();
  properties.database_id = options.database_id;
  return out.WriteCompressed(properties.Encode(), options.compression, handle);
}

size_t TableWriter::Impl::MemoryBytes() const {
  return out.MemoryBytes() + 2 * options.block_bytes + leaf_pages.capacity() + leaf.MemoryBytes() +
         guard.MemoryBytes() + block_hashes.capacity() * sizeof(uint64_t);
}

void TableWriter::Impl::ChargeMemory() {
  if (options.budget == nullptr) return;
  const size_t now = MemoryBytes();
  if (now > charged) options.budget->Charge(MemoryPart::kCompaction, now - charged);
  if (now < charged) options.budget->Release(MemoryPart::kCompaction, charged - now);
  charged = now;
  asked_at = std::min(asked_at, now);
  if (now < asked_at + kGrowthToAsk) return;
  asked_at = now;
  options.budget->Relieve();
}

TableWriter::TableWriter(TableWriterOptions options, WritableFile* file)
    : impl_(std::make_unique<Impl>(std::move(options), file)) {
  impl_->ChargeMemory();
}
TableWriter::~TableWriter() = default;

absl::Status TableWriter::Add(const InternalKeyView& key, std::string_view value) {
  if (!impl_->status.ok()) [[unlikely]]
    return impl_->status;
  absl::Status status = impl_->Add(key, value);
  if (!status.ok()) [[unlikely]]
    impl_->status = status;
  return status;
}

absl::Status TableWriter::Finish() {
  RETURN_IF_ERROR(impl_->status);
  SEPAL_CHECK(!impl_->finished);
  impl_->status = impl_->Finish();
  return impl_->status;
}

uint64_t TableWriter::entries() const { return impl_->properties.entries + impl_->block.entries(); }

uint64_t TableWriter::EstimatedFileSize() const { return impl_->bytes_beside_block + impl_->block_bytes_bound; }

size_t TableWriter::MemoryBytes() const { return impl_->MemoryBytes(); }

uint64_t TableWriter::FileSize() const {
  SEPAL_CHECK(impl_->finished);
  return impl_->out.offset();
}
uint64_t TableWriter::footer_checksum() const { return impl_->footer_checksum; }
const TableProperties& TableWriter::properties() const { return impl_->properties; }
const HyperLogLog* TableWriter::key_sketch() const { return impl_->hashable ? &impl_->sketch : nullptr; }

}  // namespace sepal
