// Exports filters, and estimates numbers of keys from sketches.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/engine/face/engine.h"
#include "db/engine/read/distinct_keys.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// If a filter was made for so many times the number of keys, a second scan makes a smaller one.
constexpr double kMostRoom = 1.25;
// The estimated number of keys is raised by two standard errors, so that one scan is usually enough.
constexpr double kMargin = 1 + 2 * HyperLogLog::kStandardError;

// A filter under construction, charged to the memory budget.
class ChargedFilter {
 public:
  static absl::StatusOr<std::unique_ptr<ChargedFilter>> Make(uint64_t keys, const ExportFilterOptions& options,
                                                             MemoryBudget* budget) {
    ASSIGN_OR_RETURN(
        const filters::BloomShape shape,
        filters::BloomShape::For(std::max<uint64_t>(keys, 1), options.false_positive_rate, options.layout));
    const size_t bytes = shape.bits / 8;
    const size_t held = budget->unreclaimable();
    if (held + bytes > budget->limit_bytes()) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "a filter of %u keys takes %s, and %s of memory_limit (%s) are left: raise the limit, or allow "
          "a higher rate of false positives",
          keys, HumanBytes(bytes), HumanBytes(budget->limit_bytes() - std::min(held, budget->limit_bytes())),
          HumanBytes(budget->limit_bytes())));
    }
    auto charged = std::make_unique<ChargedFilter>(budget, bytes);
    ASSIGN_OR_RETURN(charged->filter, filters::BloomFilter::Create(shape, options.seed));
    return charged;
  }
  ChargedFilter(MemoryBudget* budget, size_t bytes) : budget_(budget), bytes_(bytes) {
    budget_->Charge(MemoryPart::kPins, bytes_);
    budget_->Relieve();
  }
  ~ChargedFilter() { budget_->Release(MemoryPart::kPins, bytes_); }
  ChargedFilter(const ChargedFilter&) = delete;
  ChargedFilter& operator=(const ChargedFilter&) = delete;

  std::optional<filters::BloomFilter> filter;

 private:
  MemoryBudget* const budget_;
  const size_t bytes_;
};

}  // namespace

absl::StatusOr<double> Engine::ApproximateDistinct(const ColumnFamily& handle, const std::optional<Range>& range) {
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  if (!family->order.hashable()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the comparator \"%s\" may hold different bytes equal, so there are no sketches of the keys: count them by a "
        "scan",
        family->order.comparator()->Name()));
  }
  if (range.has_value() && !family->order.Less(range->begin, range->end)) return 0;
  ASSIGN_OR_RETURN(const HeldView view, Hold(*family));
  FamilyTableOpener opener = core_->Opener(family->order);
  DistinctKeys keys(family->order, catalog_->identity().hash_seed, range);
  RETURN_IF_ERROR(keys.Add(*view, &opener));
  return keys.Estimate();
}

absl::StatusOr<filters::BloomFilter> Engine::ExportFilter(const ColumnFamily& handle,
                                                          const ExportFilterOptions& options, const ReadOptions& read) {
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  RETURN_IF_ERROR(CheckSnapshot(read));
  if (IsOfPast(read)) {
    ASSIGN_OR_RETURN(const PastRead past, ReadPast(*family, read));
    return ExportFilter(handle, options, past.options);
  }
  const std::shared_ptr<const Snapshot> now = read.snapshot == nullptr ? GetSnapshot() : nullptr;
  ReadOptions scan = read;
  scan.fill_cache = false;
  scan.keys_only = true;
  if (now != nullptr) scan.snapshot = now.get();
  // If only some keys are shown, or there are no sketches to estimate their number, the first scan counts them.
  const bool all = !read.lower_bound.has_value() && !read.upper_bound.has_value() && read.prefix.empty();
  uint64_t room = 1;
  if (all && read.key_filter == nullptr && family->order.hashable()) {
    ASSIGN_OR_RETURN(const double about, ApproximateDistinct(handle, std::nullopt));
    room = static_cast<uint64_t>(std::ceil(about * kMargin)) + 1;
  }
  for (;;) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ChargedFilter> made, ChargedFilter::Make(room, options, &core_->budget));
    const std::unique_ptr<Iterator> keys = NewIterator(handle, scan);
    uint64_t count = 0;
    for (keys->SeekToFirst(); keys->Valid(); keys->Next()) {
      if (++count <= room) made->filter->Add(keys->key());
    }
    RETURN_IF_ERROR(keys->status());
    const bool too_large = static_cast<double>(room) > kMostRoom * static_cast<double>(count) + 64;
    if (count <= room && !too_large) return *std::move(made->filter);
    room = std::max<uint64_t>(count, 1);
  }
}

}  // namespace sepal
