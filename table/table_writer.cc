#include "table/table_writer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sepal/version.h"
#include "table/block.h"
#include "table/filter.h"
#include "table/index_page.h"
#include "util/check.h"
#include "util/coding.h"
#include "util/compression.h"
#include "util/hyperloglog.h"
#include "util/mapped_memory.h"
#include "util/status.h"

namespace sepal {
namespace {

// A block never grows beyond this many times its target, unless by a single entry.
constexpr size_t kMaxBlockGrowth = 4;
// A block's columns beside key and value take at most this many bytes an entry.
constexpr size_t kMaxEntryOverhead = 24;
// Dirty bytes are handed to the disk in steps of this size, so that the final sync finds little to do.
constexpr uint64_t kWriteBehindBytes = uint64_t{2} << 20;
// By which a writer's memory grows before it asks that others give way.
constexpr size_t kGrowthToAsk = size_t{64} << 10;

// Appends units to a file through one buffer.
class UnitWriter {
 public:
  UnitWriter(WritableFile* file, uint64_t table_id, size_t buffer_bytes)
      : file_(file), table_id_(table_id), buffer_bytes_(buffer_bytes) {
    buffer_.reserve(buffer_bytes_ + kUnitTrailerBytes);
  }

  uint64_t offset() const { return offset_; }
  size_t MemoryBytes() const { return buffer_.capacity(); }

  absl::Status Write(std::string_view bytes, CompressionKind compression, BlockHandle* handle) {
    *handle = {offset_, bytes.size()};
    char trailer[kUnitTrailerBytes];
    trailer[0] = static_cast<char>(compression);
    EncodeFixed32(trailer + 1, UnitChecksum(bytes, compression, table_id_, offset_));
    RETURN_IF_ERROR(Append(bytes));
    return Append({trailer, sizeof trailer});
  }

  absl::Status Append(std::string_view bytes) {
    offset_ += bytes.size();
    if (buffer_.size() + bytes.size() > buffer_bytes_) RETURN_IF_ERROR(Flush());
    if (bytes.size() >= buffer_bytes_) return AppendToFile(bytes);
    buffer_.append(bytes);
    return absl::OkStatus();
  }

  absl::Status Flush() {
    if (buffer_.empty()) return absl::OkStatus();
    const absl::Status status = AppendToFile({buffer_.data(), buffer_.size()});
    buffer_.clear();
    return status;
  }

 private:
  absl::Status AppendToFile(std::string_view bytes) {
    RETURN_IF_ERROR(file_->Append(bytes));
    appended_ += bytes.size();
    if (appended_ - behind_ < kWriteBehindBytes) return absl::OkStatus();
    const uint64_t begin = std::exchange(behind_, appended_);
    return file_->SyncRange(begin, appended_ - begin);
  }

  WritableFile* file_;
  uint64_t table_id_;
  size_t buffer_bytes_;
  std::basic_string<char, std::char_traits<char>, LargeAllocator<char>> buffer_;
  uint64_t offset_ = 0;    // of the next byte
  uint64_t appended_ = 0;  // bytes that the file has
  uint64_t behind_ = 0;    // bytes whose write-out was asked for
};

}  // namespace

struct TableWriter::Impl {
  Impl(TableWriterOptions o, WritableFile* file)
      : options(std::move(o)),
        hashable(options.order.hashable()),
        policy(hashable ? options.filter_policy : FilterPolicy::None()),
        lane_form(LaneForm::Of(policy)),
        guard_probes(std::min(FilterPolicy::ProbesFor(policy.guard_bits_per_key), kMaxGuardProbes)),
        max_block_bytes(kMaxBlockGrowth * options.block_bytes),
        out(file, options.table_id, options.write_buffer_bytes),
        block(hashable),
        leaf(0, options.order, lane_form),
        guard(policy.guard_bits_per_key, guard_probes) {}
  ~Impl() {
    if (options.budget != nullptr) options.budget->Release(MemoryPart::kCompaction, charged);
  }

  absl::Status Add(InternalKeyView key, std::string_view value);
  void CountKey(InternalKeyView key, std::string_view value, bool new_key);
  bool MustStandApart(InternalKeyView key, std::string_view value) const;
  absl::Status CloseBlock();
  void BuildLane();
  // Puts the closed block into its leaf page. `next` is the first key of the block after it; null at the end.
  void IndexClosedBlock(const InternalKeyView* next);
  void CloseLeaf();

  absl::Status Finish();
  absl::Status WriteLeaves(BlockHandle* root);
  absl::Status WriteGuard(BlockHandle* handle);
  absl::Status WriteProperties(BlockHandle* handle);
  absl::Status WriteCompressed(std::string_view bytes, BlockHandle* handle);
  void Tell(BlockHandle handle, UnitKind kind, std::string_view bytes) const {
    if (options.on_unit) options.on_unit(handle, kind, bytes);
  }

  size_t MemoryBytes() const;
  void ChargeMemory();

  const TableWriterOptions options;
  const bool hashable;
  const FilterPolicy policy;
  const LaneForm lane_form;
  const int guard_probes;
  const size_t max_block_bytes;

  UnitWriter out;
  absl::Status status;
  bool finished = false;

  // The block being built.
  BlockBuilder block;
  std::vector<uint64_t> block_hashes;  // of its distinct keys
  size_t block_bytes_bound = 0;        // its size, at most
  bool continuation = false;

  // The last key that was added, and its hash. While the block has entries, they hold the key too.
  std::string last_user_key;  // set when a block closes
  Trailer last_trailer = 0;
  uint64_t last_hash = 0;

  // The last closed block, until the first key of the next one gives its separator.
  struct Closed {
    BlockHandle handle;
    uint64_t entries = 0;
    uint64_t tombstones = 0;
  };
  std::optional<Closed> closed;
  std::string lane;  // of the closed block

  IndexPageBuilder leaf;
  struct Leaf {
    std::string bytes;
    Separator separator;
    uint64_t entries = 0;
    uint64_t tombstones = 0;
  };
  std::vector<Leaf> leaves;
  uint64_t leaf_bytes = 0;
  uint64_t leaf_tombstones = 0;
  uint64_t entries_in_leaves = 0;

  GuardBuilder guard;
  HyperLogLog sketch;
  std::string compressed;
  TableProperties properties;
  uint64_t footer_checksum = 0;
  size_t charged = 0;
  size_t asked_at = 0;  // what was charged when relief was last asked for, or least since
};

absl::Status TableWriter::Impl::Add(InternalKeyView key, std::string_view value) {
  bool new_key = true;
  if (properties.entries > 0) {
    const std::string_view last = block.empty() ? std::string_view(last_user_key) : block.last_user_key();
    const int order = options.order.Compare(last, key.user_key);
    if (order > 0 || (order == 0 && last_trailer <= key.trailer)) [[unlikely]] {
      return absl::InternalError("keys are not added to the table in order: " + ToString(key) + " comes after " +
                                 ToString(InternalKeyView{last, last_trailer}));
    }
    new_key = order != 0;
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
  block.Add(key, value, last_hash);
  block_bytes_bound += key.user_key.size() + value.size() + kMaxEntryOverhead;
  last_trailer = key.trailer;
  CountKey(key, value, new_key);
  const bool full = (block_bytes_bound >= options.block_bytes && block.SizeEstimate() >= options.block_bytes) ||
                    value.size() > kLoneValueBytes;
  return full ? CloseBlock() : absl::OkStatus();
}

bool TableWriter::Impl::MustStandApart(InternalKeyView key, std::string_view value) const {
  if (value.size() > kLoneValueBytes) return true;
  if (block_bytes_bound + key.user_key.size() + value.size() + kMaxEntryOverhead <= max_block_bytes) return false;
  return block.SizeEstimateWith(key, value) > max_block_bytes;
}

void TableWriter::Impl::CountKey(InternalKeyView key, std::string_view value, bool new_key) {
  if (properties.entries == 0) {
    AppendInternalKey(&properties.smallest_key, key);
    properties.lowest_sequence = properties.highest_sequence = key.sequence();
  }
  ++properties.entries;
  properties.raw_key_bytes += key.user_key.size();
  properties.raw_value_bytes += value.size();
  properties.lowest_sequence = std::min(properties.lowest_sequence, key.sequence());
  properties.highest_sequence = std::max(properties.highest_sequence, key.sequence());
  if (!new_key) return;
  ++properties.distinct_keys;
  if (!hashable) return;
  sketch.Add(last_hash);
  if (policy.guard_bits_per_key > 0) guard.Add(last_hash);
}

absl::Status TableWriter::Impl::CloseBlock() {
  last_user_key.assign(block.last_user_key());
  const size_t entries = block.entries();
  const size_t tombstones = block.tombstones();
  BlockHandle handle;
  const std::string_view bytes = block.Finish(continuation);
  RETURN_IF_ERROR(WriteCompressed(bytes, &handle));
  Tell(handle, UnitKind::kDataBlock, bytes);
  BuildLane();
  closed = Closed{handle, entries, tombstones};
  properties.tombstones += tombstones;
  ++properties.data_blocks;
  block.Reset();
  block_hashes.clear();
  block_bytes_bound = 0;
  ChargeMemory();
  return absl::OkStatus();
}

absl::Status TableWriter::Impl::WriteCompressed(std::string_view bytes, BlockHandle* handle) {
  if (options.compression != CompressionKind::kNone && bytes.size() <= kMaxCompressibleBytes) {
    RETURN_IF_ERROR(Compress(options.compression, bytes, &compressed));
    if (compressed.size() <= bytes.size() - bytes.size() / 8) return out.Write(compressed, options.compression, handle);
  }
  return out.Write(bytes, CompressionKind::kNone, handle);
}

void TableWriter::Impl::BuildLane() {
  lane.assign(lane_form.BytesFor(block_hashes.size(), policy.lane_bits_per_key), '\0');
  lane_form.Fill(lane.data(), lane.size(), block_hashes);
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
}

void TableWriter::Impl::CloseLeaf() {
  leaves.push_back({leaf.Finish(entries_in_leaves), leaf.last_separator(), leaf.entries(), leaf_tombstones});
  entries_in_leaves += leaf.entries();
  leaf_bytes += leaves.back().bytes.size() + kUnitTrailerBytes;
  leaf_tombstones = 0;
  leaf.Reset();
}

absl::Status TableWriter::Impl::Finish() {
  SEPAL_CHECK(properties.entries > 0);
  if (!block.empty()) RETURN_IF_ERROR(CloseBlock());
  IndexClosedBlock(nullptr);
  if (!leaf.empty()) CloseLeaf();
  properties.data_bytes = out.offset();

  Footer footer;
  footer.table_id = options.table_id;
  footer.hash_seed = options.hash_seed;
  footer.hashable = hashable;
  if (lane_form.kind == FilterKind::kFingerprint) footer.version = kFingerprintTableVersion;
  RETURN_IF_ERROR(WriteLeaves(&footer.root));
  RETURN_IF_ERROR(WriteGuard(&footer.guard));
  RETURN_IF_ERROR(WriteProperties(&footer.properties));
  footer.file_size = out.offset() + kFooterBytes;
  const std::string bytes = footer.Encode();
  footer_checksum = Footer::ChecksumOf(bytes);
  RETURN_IF_ERROR(out.Append(bytes));
  RETURN_IF_ERROR(out.Flush());
  finished = true;
  return absl::OkStatus();
}

absl::Status TableWriter::Impl::WriteLeaves(BlockHandle* root_handle) {
  IndexPageBuilder root(1, options.order, {});
  for (const Leaf& page : leaves) {
    if (root.Full()) return absl::OutOfRangeError("the table has too many blocks for one root");
    BlockHandle handle;
    RETURN_IF_ERROR(out.Write(page.bytes, CompressionKind::kNone, &handle));
    Tell(handle, UnitKind::kLeafPage, page.bytes);
    root.Add(page.separator, handle, page.entries, page.tombstones, {});
  }
  properties.leaf_pages = leaves.size();
  properties.leaf_page_bytes = leaf_bytes;
  leaves.clear();
  return out.Write(root.Finish(0), CompressionKind::kNone, root_handle);
}

absl::Status TableWriter::Impl::WriteGuard(BlockHandle* handle) {
  if (guard.keys() == 0) return absl::OkStatus();
  const std::string bytes = guard.Finish();
  properties.guard_bytes = bytes.size();
  RETURN_IF_ERROR(out.Write(bytes, CompressionKind::kNone, handle));
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
  properties.lane_probes = static_cast<uint32_t>(lane_form.kind == FilterKind::kBloom ? lane_form.shape : 0);
  if (lane_form.kind == FilterKind::kFingerprint) {
    properties.fingerprint_bytes = static_cast<uint32_t>(lane_form.shape);
  }
  properties.guard_probes = static_cast<uint32_t>(guard_probes);
  properties.expected_filter_rate = policy.ExpectedRate();
  properties.compression = static_cast<uint32_t>(options.compression);
  properties.block_bytes = static_cast<uint32_t>(options.block_bytes);
  if (hashable) properties.key_sketch = sketch.ToBytes();
  properties.writer_version = VersionString();
  properties.database_id = options.database_id;
  return WriteCompressed(properties.Encode(), handle);
}

size_t TableWriter::Impl::MemoryBytes() const {
  return out.MemoryBytes() + 2 * options.block_bytes + compressed.capacity() + leaf_bytes + leaf.MemoryBytes() +
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

absl::Status TableWriter::Add(InternalKeyView key, std::string_view value) {
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

uint64_t TableWriter::entries() const { return impl_->properties.entries; }

uint64_t TableWriter::EstimatedFileSize() const {
  if (impl_->finished) return impl_->out.offset();
  const double guard_bytes = static_cast<double>(impl_->guard.keys()) * impl_->policy.guard_bits_per_key / 8;
  return impl_->out.offset() + impl_->block_bytes_bound + impl_->leaf_bytes + impl_->leaf.MemoryBytes() +
         static_cast<uint64_t>(guard_bytes) + kFooterBytes;
}

size_t TableWriter::MemoryBytes() const { return impl_->MemoryBytes(); }

uint64_t TableWriter::FileSize() const {
  SEPAL_CHECK(impl_->finished);
  return impl_->out.offset();
}
uint64_t TableWriter::footer_checksum() const { return impl_->footer_checksum; }
const TableProperties& TableWriter::properties() const { return impl_->properties; }
const HyperLogLog* TableWriter::key_sketch() const { return impl_->hashable ? &impl_->sketch : nullptr; }

}  // namespace sepal
