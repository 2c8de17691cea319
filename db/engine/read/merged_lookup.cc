#include "db/engine/read/merged_lookup.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "db/decide/merge/fold.h"
#include "db/decide/visibility/operands.h"
#include "db/engine/read/separated_value.h"
#include "util/base/status.h"

namespace sepal {

namespace {

absl::StatusOr<std::optional<std::string>> Resolve(Core* core, const Family& family, std::string_view key,
                                                   OperandChain* chain) {
  family.NoteMergeChain(chain->size());
  if (const std::optional<std::string_view> reference = chain->reference()) {
    std::string value;
    RETURN_IF_ERROR(FetchValue(core, key, *reference, &value));
    chain->SetReferenced(std::move(value));
  }
  const MergeOperator* const merge = family.options.merge_operator.get();
  if (merge == nullptr) return NoMergeOperator(family.name, family.merge_operator_name);
  return chain->Resolve(*merge, key);
}

class MergedLookup {
 public:
  MergedLookup(const Family& family, const LookupKey& key, SequenceNumber covered_by, const TableLookupOptions& options,
               Core* core, StatisticsImpl::ThreadCounters* counters)
      : family_(family),
        key_(key),
        covered_by_(covered_by),
        options_(options),
        core_(core),
        counters_(counters),
        chain_(&core->expiry) {}

  // Takes all needed updates. Returns false if memory alone does not have them.
  absl::StatusOr<bool> TakeAll(const ReadView& view) {
    if (TakeFrom(*view.active)) return true;
    for (const std::shared_ptr<const MemTable>& memtable : view.immutables) {
      if (TakeFrom(*memtable)) return true;
    }
    for (const LevelRun& run : view.version->runs()) {
      const TableFile* const file = run.run->Find(key_.user_key);
      if (file == nullptr) continue;
      ASSIGN_OR_RETURN(const TableReader* const reader, ReaderOf(*file, family_, options_, core_));
      if (reader == nullptr) return false;
      ASSIGN_OR_RETURN(const TableHit::Kind last, TakeFrom(*reader, run.level));
      if (last != TableHit::Kind::kAbsent) return last == TableHit::Kind::kFound;
    }
    return true;
  }

  absl::Status Resolve(PointResult* result) {
    ASSIGN_OR_RETURN(std::optional<std::string> value, sepal::Resolve(core_, family_, key_.user_key, &chain_));
    if (!value.has_value()) return absl::OkStatus();
    result->kind = PointResult::Kind::kFound;
    result->made = std::make_unique<std::string>(*std::move(value));
    result->value = *result->made;
    return absl::OkStatus();
  }

 private:
  // Returns whether the chain of updates ends there.
  bool Take(Trailer trailer, std::string_view payload) {
    if (TrailerSequence(trailer) < covered_by_) return true;  // it is deleted, and so is everything older
    const std::optional<SequenceNumber> next = chain_.Take(trailer, payload);
    if (next.has_value()) key_.visible = *next;
    return !next.has_value();
  }

  bool TakeFrom(const MemTable& memtable) {
    if (memtable.empty()) return false;
    std::optional<MemTable::Found> found = memtable.Lookup(key_.user_key, key_.hash, key_.visible);
    while (found.has_value()) {
      if (Take(found->trailer, found->value)) return true;
      found = MemTable::LookupOlder(*found, key_.visible);
    }
    return false;
  }

  // kFound: the chain ends there.
  absl::StatusOr<TableHit::Kind> TakeFrom(const TableReader& reader, int level) {
    for (;;) {
      TableHit hit;
      LevelFilterStatistics filters;
      const absl::Status status = reader.Lookup(key_, options_, &filters, &hit);
      counters_->AddFilter(level, filters);
      RETURN_IF_ERROR(status);
      if (hit.kind != TableHit::Kind::kFound || Take(hit.trailer, hit.value)) return hit.kind;
    }
  }

  const Family& family_;
  LookupKey key_;  // its `visible` decreases
  const SequenceNumber covered_by_;
  const TableLookupOptions& options_;
  Core* const core_;
  StatisticsImpl::ThreadCounters* const counters_;
  OperandChain chain_;
};

}  // namespace

absl::Status LookUpMerged(const Family& family, const ReadView& view, const LookupKey& key, SequenceNumber covered_by,
                          const TableLookupOptions& options, Core* core, StatisticsImpl::ThreadCounters* counters,
                          PointResult* result) {
  *result = {};
  MergedLookup lookup(family, key, covered_by, options, core, counters);
  ASSIGN_OR_RETURN(const bool all, lookup.TakeAll(view));
  if (all) return lookup.Resolve(result);
  result->kind = PointResult::Kind::kMaybe;
  return absl::OkStatus();
}

absl::StatusOr<std::string> MergeVersions(Core* core, const Family& family, SequenceNumber visible,
                                          std::string_view key, InternalIterator* entries) {
  OperandChain chain(&core->expiry);
  std::optional<SequenceNumber> bound = visible;
  for (; bound.has_value() && entries->Valid() && family.order.Equal(entries->key().user_key, key);
       entries->Advance()) {
    if (entries->key().sequence() <= *bound) bound = chain.Take(entries->key().trailer, entries->value());
  }
  RETURN_IF_ERROR(entries->status());
  ASSIGN_OR_RETURN(std::optional<std::string> value, Resolve(core, family, key, &chain));
  return std::move(value).value_or("");  // an operand makes one
}

}  // namespace sepal
