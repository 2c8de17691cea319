#include "db/engine/core/check_options.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "db/engine/core/shared_resources_impl.h"
#include "db/format/kept_options.h"
#include "sepal/compaction_filter.h"
#include "sepal/merge_operator.h"
#include "util/base/compression.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr std::chrono::milliseconds kMostTtl = std::chrono::hours(24) * 1'000'000;

constexpr size_t kSmallestMemoryLimit = size_t{8} << 20;
constexpr size_t kLargestMemoryLimit = size_t{1} << 46;
// A smaller memtable would make a log and a table every few hundred writes. LevelDB and RocksDB have the same minimum.
constexpr size_t kSmallestMemtable = size_t{64} << 10;
constexpr int kMostThreads = 1024;
constexpr size_t kSmallestBlock = 256;
constexpr size_t kLeastSeparated = 64;
constexpr size_t kLargestBlock = size_t{1} << 20;

bool IsCompression(CompressionKind kind) { return IsKnownCompression(static_cast<uint8_t>(kind)); }

// C's setters and casts can put a number into an enumeration that none of its enumerators has.
absl::Status CheckEnumerations(const ColumnFamilyOptions& family) {
  constexpr char kCodecs[] = "kNone (0), kSnappy (1), kLz4 (2) or kZstd (3)";
  if (!IsCompression(family.compression)) {
    return absl::InvalidArgumentError(absl::StrFormat("compression must be %s", kCodecs));
  }
  if (!std::all_of(family.compression_per_level.begin(), family.compression_per_level.end(), IsCompression)) {
    return absl::InvalidArgumentError(absl::StrFormat("compression_per_level: each must be %s", kCodecs));
  }
  switch (family.compaction_style) {
    case CompactionStyle::kLazyLeveling:
    case CompactionStyle::kLeveled:
    case CompactionStyle::kUniversal:
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError("compaction_style must be kLazyLeveling (0), kLeveled (1) or kUniversal (2)");
}

absl::Status CheckFilterPolicy(const FilterPolicy& filter) {
  if (!(filter.lane_bits_per_key >= 0 && filter.lane_bits_per_key <= 64 && filter.guard_bits_per_key >= 0 &&
        filter.guard_bits_per_key <= 64)) {
    return absl::InvalidArgumentError("filter_policy: bits per key must lie between 0 and 64");
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const Options& options) {
  if (options.memory_limit < kSmallestMemoryLimit) {
    return absl::InvalidArgumentError(absl::StrFormat("memory_limit of %u bytes is too small: it must be at least %u",
                                                      options.memory_limit, kSmallestMemoryLimit));
  }
  if (options.memory_limit > kLargestMemoryLimit) {
    return absl::InvalidArgumentError(
        absl::StrFormat("memory_limit of %u bytes is out of range: %u to %u. There is no unlimited value: the block "
                        "cache fills what it is given; set how much of the machine's memory the database may use",
                        options.memory_limit, kSmallestMemoryLimit, kLargestMemoryLimit));
  }
  if (options.memtable_bytes != 0 && options.memtable_bytes < kSmallestMemtable) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "memtable_bytes of %u is too small: it is in bytes and must be at least %u, or 0 for a derived value",
        options.memtable_bytes, kSmallestMemtable));
  }
  if (options.memtable_bytes > options.memory_limit / 2) {
    return absl::InvalidArgumentError(
        absl::StrFormat("memtable_bytes of %u is over half of memory_limit (%u): two memtables must fit",
                        options.memtable_bytes, options.memory_limit));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFamilyOptions(const ColumnFamilyOptions& family) {
  if (family.comparator == nullptr) return absl::InvalidArgumentError("a column family's comparator is null");
  if (family.block_bytes < kSmallestBlock || family.block_bytes > kLargestBlock) {
    return absl::InvalidArgumentError(absl::StrFormat("block_bytes of %u is out of range: %u to %u", family.block_bytes,
                                                      kSmallestBlock, kLargestBlock));
  }
  if (!(family.max_space_amplification >= 1)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "max_space_amplification of %g is out of range: it must be at least 1, the space of the live data itself",
        family.max_space_amplification));
  }
  if (family.ttl.count() < 0 || family.ttl > kMostTtl) {
    return absl::InvalidArgumentError(
        absl::StrFormat("ttl of %d ms is out of range: it must be 0, for puts that do not expire, or at most %d ms, a "
                        "million days",
                        family.ttl.count(), kMostTtl.count()));
  }
  if (family.history.has_value() && (family.history->count() < 0 || *family.history > kMostTtl)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("history of %d ms is out of range: it must be 0, for none, or at most %d ms, a million days",
                        family.history->count(), kMostTtl.count()));
  }
  RETURN_IF_ERROR(CheckHistoryAndFilter(family));
  if (family.merge_operator != nullptr && family.merge_operator->Name().empty()) {
    return absl::InvalidArgumentError("merge_operator: the operator has no name, by which the database would know it");
  }
  if (family.compaction_filter != nullptr && family.compaction_filter->Name().empty()) {
    return absl::InvalidArgumentError("compaction_filter: the filter has no name, by which the database would know it");
  }
  if (family.separate_from != 0 && family.separate_from < kLeastSeparated) {
    return absl::InvalidArgumentError(
        absl::StrFormat("separate_from of %u is too small: it must be 0, for no value files, or at least %u",
                        family.separate_from, kLeastSeparated));
  }
  RETURN_IF_ERROR(CheckEnumerations(family));
  return CheckFilterPolicy(family.filter_policy);
}

absl::Status CheckHistoryAndFilter(const ColumnFamilyOptions& family) {
  if (family.context_filter == nullptr || !family.history.has_value() || family.history->count() == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "a column family with a history cannot have a context_filter, which would change what was there at a past time: "
      "leave one of the two out");
}

ColumnFamilyOptions OptionsGivenOrKept(const ColumnFamilyOptions& given, std::string_view kept_fields) {
  if (kept_fields.empty() || !EncodeKeptOptions(given).empty()) return given;
  absl::StatusOr<ColumnFamilyOptions> kept = DecodeKeptOptions(kept_fields);
  if (!kept.ok() || !CheckFamilyOptions(*kept).ok()) return given;
  kept->comparator = given.comparator;
  kept->merge_operator = given.merge_operator;
  kept->compaction_filter = given.compaction_filter;
  kept->context_filter = given.context_filter;
  kept->ttl = given.ttl;
  kept->history = given.history;
  return *std::move(kept);
}

absl::Status CheckFamilyOptions(const Options& options) {
  RETURN_IF_ERROR(CheckFamilyOptions(options.family));
  for (const ColumnFamilyDescriptor& descriptor : options.column_families) {
    if (descriptor.name.empty()) return absl::InvalidArgumentError("a column family needs a name");
    RETURN_IF_ERROR(CheckFamilyOptions(descriptor.options));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const Options& options) {
  RETURN_IF_ERROR(SharedResourcesAccess::Check(options));
  RETURN_IF_ERROR(CheckMemory(options));
  if (options.background_threads < 0 || options.background_threads > kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrFormat("background_threads of %d is out of range: 1 to %d, or 0 for one for each core, at most 8",
                        options.background_threads, kMostThreads));
  }
  RETURN_IF_ERROR(CheckFamilyOptions(options));
  if (options.read_only && (options.create_if_missing || options.error_if_exists)) {
    return absl::InvalidArgumentError("read_only cannot be combined with create_if_missing or error_if_exists");
  }
  if (options.follow_milliseconds > 0 && !options.read_only) {
    return absl::InvalidArgumentError("follow_milliseconds is for read_only: a writer is never behind");
  }
  if (options.read_only && options.take_over) {
    return absl::InvalidArgumentError(
        "read_only cannot be combined with take_over: a reader takes no lock, and needs nobody's");
  }
  return absl::OkStatus();
}

}  // namespace sepal
