#include "table/file/table_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "table/block/block.h"
#include "table/file/table_reader_impl.h"
#include "table/filter/filter.h"
#include "util/base/status.h"
#include "util/stats/perf_times.h"

namespace sepal {
namespace {

// One read at opening covers the footer, the properties, and the guard and root of a small table. In a remote file it
// also covers leaf pages and guard of most tables, so that their first lookup waits only for a block.
constexpr uint64_t kTailBytes = uint64_t{64} << 10;
constexpr uint64_t kRemoteTailBytes = uint64_t{1} << 20;

// No hints are created while open tables take more than this share of the memory limit.
constexpr size_t kTablesShareForHints = 32;

size_t MemoryOf(const TableProperties& p) {
  return sizeof p + p.smallest_key.capacity() + p.largest_key.capacity() + p.comparator_name.capacity() +
         p.column_family_name.capacity() + p.key_sketch.capacity() + p.writer_version.capacity();
}

}  // namespace

TableReader::TableReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TableReader::~TableReader() = default;

TableReader::Impl::~Impl() {
  for (uint32_t page = 0; block_hints != nullptr && page < root->count(); ++page) {
    delete[] block_hints[page].load(std::memory_order_relaxed);
  }
  if (options.budget != nullptr) options.budget->Release(MemoryPart::kTables, memory_bytes);
}

absl::StatusOr<std::shared_ptr<TableReader>> TableReader::Open(TableReaderOptions options,
                                                               std::unique_ptr<ReadableFile> file) {
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->file = std::move(file);
  ASSIGN_OR_RETURN(impl->file_size, impl->file->Size());
  if (impl->options.expected_size.has_value() && *impl->options.expected_size != impl->file_size) {
    return Damaged(impl->options.name, 0, "size of the file", std::to_string(*impl->options.expected_size),
                   std::to_string(impl->file_size));
  }

  absl::StatusOr<BlockBuffer> tail = impl->ReadTail(impl->options.remote ? kRemoteTailBytes : kTailBytes);
  // The unreadable part may be a unit that opening does not need.
  if (!tail.ok() && !absl::IsDataLoss(tail.status())) tail = impl->ReadTail(kFooterBytes);
  RETURN_IF_ERROR(tail.status());
  RETURN_IF_ERROR(impl->ReadFooter(tail->view()));
  RETURN_IF_ERROR(impl->ReadProperties(tail->view()));
  RETURN_IF_ERROR(impl->ReadRoot(tail->view()));

  impl->leaf_hints = std::make_unique<HintWord[]>(impl->root->count());
  impl->leaf_begins = std::make_unique<std::atomic<const char*>[]>(impl->root->count());
  impl->block_hints = std::make_unique<std::atomic<BlockHint*>[]>(impl->root->count());
  impl->Charge(sizeof(Impl) + impl->root_bytes.charge() + MemoryOf(impl->properties) +
               impl->root->count() * (sizeof(HintWord) + sizeof(const char*) + sizeof(BlockHint*)));
  if (impl->options.remote) impl->KeepTail(tail->view());
  return std::shared_ptr<TableReader>(new TableReader(std::move(impl)));
}

void TableReader::AskForOpening(const ReadableFile& file, uint64_t file_bytes) {
  const uint64_t bytes = std::min(kRemoteTailBytes, file_bytes);
  file.ReadAhead(file_bytes - bytes, bytes);
}

// Damage is ignored here, because the reads that need the unit meet and report it.
void TableReader::Impl::KeepTail(std::string_view tail) const {
  if (options.cache == nullptr) return;
  const uint64_t tail_begin = file_size - tail.size();
  const auto keep = [&](BlockHandle handle, UnitKind kind, HintWord* hint) {
    if (handle.offset < tail_begin || !source->CheckHandle(handle, kind).ok() || !source->Keeps(handle.size)) return;
    const std::string_view bytes = tail.substr(handle.offset - tail_begin, handle.size + kUnitTrailerBytes);
    absl::StatusOr<BlockBuffer> buffer = source->Decode(handle, kind, bytes);
    if (buffer.ok()) source->Keep(handle, kind, *std::move(buffer), /*fill_cache=*/true, hint);
  };
  if (has_guard() && hashable) keep(footer.guard, UnitKind::kGuard, &guard_hint);
  for (uint32_t page = 0; page < root->count(); ++page)
    keep(root->handle(page), UnitKind::kLeafPage, &leaf_hints[page]);
}

void TableReader::Impl::AskAhead(BlockHandle handle) const {
  BlockHint seen;
  source->Sight(handle, &seen);
  if (seen.frame.load(std::memory_order_relaxed) == 0) file->ReadAhead(handle.offset, handle.size + kUnitTrailerBytes);
}

void TableReader::Impl::Charge(size_t bytes) const {
  memory_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (options.budget != nullptr) options.budget->Charge(MemoryPart::kTables, bytes);
}

BlockHint* TableReader::Impl::MakeBlockHints(uint32_t page, const IndexPageView& leaf) const {
  if (options.budget != nullptr &&
      options.budget->used(MemoryPart::kTables) > options.budget->limit_bytes() / kTablesShareForHints) {
    return nullptr;
  }
  const uint32_t blocks = leaf.count();
  auto made = std::make_unique<BlockHint[]>(blocks);
  // Prefetches all blocks' cache entries at once, rather than missing the cache on each when it is first searched.
  for (uint32_t i = 0; i < blocks; ++i) source->Prefetch(leaf.handle(i), nullptr);
  for (uint32_t i = 0; i < blocks; ++i) source->Sight(leaf.handle(i), &made[i]);
  BlockHint* present = nullptr;
  if (!block_hints[page].compare_exchange_strong(present, made.get(), std::memory_order_acq_rel)) return present;
  Charge(blocks * sizeof(BlockHint));
  return made.release();
}

absl::StatusOr<BlockBuffer> TableReader::Impl::ReadTail(uint64_t most_bytes) const {
  BlockBuffer tail(std::min(most_bytes, file_size));
  const PerfTimer timer(PerfPart::kRead);
  ASSIGN_OR_RETURN(const size_t got, file->Read(file_size - tail.size(), tail.size(), tail.data()));
  if (got != tail.size()) return Damaged(options.name, file_size, "the file became shorter");
  return tail;
}

absl::Status TableReader::Impl::ReadFooter(std::string_view tail) {
  const uint64_t at = file_size - kFooterBytes;
  // This comes before the format version is trusted: a footer other than the one that was written is damaged, not of a
  // newer format.
  if (options.expected_footer_checksum.has_value() && tail.size() >= kFooterBytes) {
    if (const uint64_t computed = Footer::ComputeChecksum(tail); computed != *options.expected_footer_checksum) {
      return Damaged(options.name, at, "checksum of the footer, which the manifest knows",
                     Hex64(*options.expected_footer_checksum), Hex64(computed));
    }
  }
  ASSIGN_OR_RETURN(footer, Footer::Decode(tail, options.name, file_size));
  if (options.expected_table_id.has_value() && *options.expected_table_id != footer.table_id) {
    return Damaged(options.name, at, "table id", Hex64(*options.expected_table_id), Hex64(footer.table_id));
  }
  source.emplace(BlockSource::Context{.name = options.name,
                                      .file = file.get(),
                                      .file_size = file_size,
                                      .table_id = footer.table_id,
                                      .cache_file = options.cache_file,
                                      .order = options.order,
                                      .cache = options.cache,
                                      .budget = options.budget,
                                      .statistics = options.statistics,
                                      .read_around = options.read_around});
  return absl::OkStatus();
}

absl::StatusOr<BlockBuffer> TableReader::Impl::FromTail(std::string_view tail, BlockHandle handle,
                                                        UnitKind kind) const {
  const uint64_t tail_begin = file_size - tail.size();
  if (handle.offset >= tail_begin) {
    const std::string_view bytes = tail.substr(handle.offset - tail_begin, handle.size + kUnitTrailerBytes);
    if (absl::StatusOr<BlockBuffer> buffer = source->Decode(handle, kind, bytes); buffer.ok()) return buffer;
  }
  return source->Read(handle, kind);
}

absl::Status TableReader::Impl::ReadProperties(std::string_view tail) {
  ASSIGN_OR_RETURN(const BlockBuffer bytes, FromTail(tail, footer.properties, UnitKind::kProperties));
  ASSIGN_OR_RETURN(properties, TableProperties::Decode(bytes.view(), options.name));
  const Comparator* comparator = options.order.comparator();
  if (properties.comparator_name != comparator->Name()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: its keys are in the order \"%s\"; it cannot be read with the comparator \"%s\"",
                        options.name, properties.comparator_name, comparator->Name()));
  }
  if (footer.hashable != options.order.hashable()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: the comparator \"%s\" answered EqualMeansIdentical differently when the file was written",
                        options.name, comparator->Name()));
  }
  hashable = footer.hashable;
  return absl::OkStatus();
}

absl::Status TableReader::Impl::ReadRoot(std::string_view tail) {
  ASSIGN_OR_RETURN(root_bytes, FromTail(tail, footer.root, UnitKind::kRoot));
  root.emplace(root_bytes.view());
  if (root->end_offset() != footer.root.offset || root->count() != properties.leaf_pages ||
      root->entries() != properties.entries || root->begin_offset() != properties.data_bytes) {
    return Damaged(options.name, footer.root.offset, "root and properties do not agree");
  }
  return absl::OkStatus();
}

absl::StatusOr<CachePin> TableReader::Impl::Leaf(uint32_t page) const {
  return source->Get(root->handle(page), UnitKind::kLeafPage, true, &leaf_hints[page]);
}

absl::StatusOr<uint64_t> TableReader::ApproximateOffset(std::string_view user_key) const {
  const InternalKeyView target{user_key, kFirstTrailer};
  const uint32_t page = impl_->root->Find(target, impl_->options.order);
  if (page == impl_->root->count()) return impl_->data_bytes();
  ASSIGN_OR_RETURN(const CachePin pin, impl_->Leaf(page));
  const IndexPageView leaf(pin.bytes());
  const uint32_t block = leaf.Find(target, impl_->options.order);
  return block == leaf.count() ? leaf.end_offset() : leaf.handle(block).offset;
}

std::vector<std::string> TableReader::EvenCuts(size_t most) const {
  const size_t pages = impl_->root->count();
  const size_t pieces = std::min(most + 1, pages);
  std::vector<std::string> cuts;
  for (size_t i = 1; i < pieces; ++i) {
    cuts.push_back(impl_->root->separator(static_cast<uint32_t>(pages * i / pieces - 1)).user_key);
  }
  return cuts;
}

absl::StatusOr<std::optional<TableReader::GuardInfo>> TableReader::ReadGuardInfo() const {
  if (!impl_->has_guard()) return std::optional<GuardInfo>();
  ASSIGN_OR_RETURN(const BlockBuffer bytes, impl_->source->Read(impl_->footer.guard, UnitKind::kGuard));
  const GuardView guard(bytes.view());
  return std::optional<GuardInfo>(GuardInfo{.bits = guard.lines() * kGuardLineBytes * 8,
                                            .keys = guard.keys(),
                                            .probes = guard.probes(),
                                            .fill = guard.Fill()});
}

const TableProperties& TableReader::properties() const { return impl_->properties; }
const Footer& TableReader::footer() const { return impl_->footer; }
uint64_t TableReader::file_size() const { return impl_->file_size; }
size_t TableReader::MemoryBytes() const { return impl_->memory_bytes; }

}  // namespace sepal
