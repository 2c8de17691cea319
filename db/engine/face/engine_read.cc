// Reading: Get, MultiGet, KeyMayExist, iterators, snapshots.
#include <algorithm>
#include <array>

#include "absl/base/attributes.h"
#include "absl/strings/str_format.h"
#include "db/engine/core/pinned_value_access.h"
#include "db/engine/face/engine.h"
#include "db/engine/read/database_iterator.h"
#include "db/engine/read/group_lookup.h"
#include "db/engine/read/held_view.h"
#include "db/engine/read/key_sieve.h"
#include "db/engine/read/point_lookup.h"
#include "db/engine/read/prefix_bounds.h"
#include "db/engine/read/read_filter.h"
#include "db/engine/read/view_iterator.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// Returns whether `inner` begins within `outer`.
bool LiesIn(std::string_view inner, std::string_view outer) {
  return std::less_equal<>()(outer.data(), inner.data()) && std::less<>()(inner.data(), outer.data() + outer.size());
}

// Returns a status without a message, so that an absent key costs no allocation.
absl::Status Absent() { return absl::Status(absl::StatusCode::kNotFound, {}); }

absl::Status UnequalSpans(size_t keys, size_t values, size_t statuses) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "MultiGet needs a value and a status for each key: %d keys, %d values, %d statuses", keys, values, statuses));
}

// Narrows the bounds to keys with the options' prefix.
ABSL_ATTRIBUTE_NOINLINE absl::Status NarrowToOptionsPrefix(const ReadOptions& options,
                                                           DatabaseIteratorOptions* iterator) {
  if (!iterator->order.bytewise()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("ReadOptions::prefix needs the bytewise order of keys, and the column family has the "
                        "comparator \"%s\": give bounds instead",
                        iterator->order.comparator()->Name()));
  }
  NarrowToPrefix(options.prefix, &iterator->lower_bound, &iterator->upper_bound);
  return absl::OkStatus();
}

// Keeps alive the memtable in which a pinned value lies.
struct HeldMemTable {
  HeldMemTable(std::shared_ptr<Core> its_core, std::shared_ptr<const MemTable> held)
      : core(std::move(its_core)), memtable(std::move(held)), pin(memtable) {}
  ~HeldMemTable() {
    if (core->Forked()) LeakAfterFork(std::pair(core, memtable));
  }
  HeldMemTable(const HeldMemTable&) = delete;
  HeldMemTable& operator=(const HeldMemTable&) = delete;

  const std::shared_ptr<Core> core;  // the memtable's memory is charged to it
  const std::shared_ptr<const MemTable> memtable;
  const MemTable::ValuePin pin;
};

}  // namespace

// Keys of a MultiGet that are looked up together: consecutive ones, without those that a sieve excludes.
class KeyGroup {
 public:
  // `sieve` may be null.
  KeyGroup(std::span<const std::string_view> keys, size_t begin, KeySieve* sieve) : begin_(begin) {
    if (sieve == nullptr) [[likely]] {
      count_ = std::min(GroupLookup::kMostKeys, keys.size() - begin);
      end_ = begin + count_;
      return;
    }
    for (end_ = begin; end_ < keys.size() && count_ < GroupLookup::kMostKeys; ++end_) {
      if (sieve->Passes(keys[end_])) places_[count_++] = end_;
    }
  }
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  size_t count() const { return count_; }
  bool whole() const { return end_ - begin_ == count_; }
  // Returns the position in the call of the group's i-th key.
  size_t place(size_t i) const { return whole() ? begin_ + i : places_[i]; }
  // Moves the group's statuses to their positions in the call; excluded keys are absent.
  void Spread(std::span<absl::Status> statuses, std::span<PinnedValue> values) const {
    size_t i = count_;
    for (size_t place = end_; place-- > begin_;) {
      const bool kept = i > 0 && places_[i - 1] == place;
      if (kept) {
        statuses[place] = std::exchange(statuses[begin_ + --i], absl::OkStatus());
      } else {
        statuses[place] = Absent();
        values[place].Reset();
      }
    }
  }

 private:
  const size_t begin_;
  size_t end_ = 0;
  size_t count_ = 0;
  std::array<size_t, GroupLookup::kMostKeys> places_;
};

namespace {

// What an iterator keeps alive, released in this order: the view, the family, the core.
struct IteratorOwner {
  std::shared_ptr<Core> core;
  FamilyRef family;
  std::shared_ptr<const Snapshot> snapshot;  // null if none; the user may release the snapshot before the iterator
  std::optional<HeldView> view;
  std::optional<RangeCover> cover;  // of the view's range tombstones, if there are any
};

}  // namespace

absl::Status Engine::CheckSnapshot(const ReadOptions& options) const {
  if (MayReadAs(options)) return absl::OkStatus();
  return absl::InvalidArgumentError("the snapshot belongs to another database");
}

void Engine::HearReads(uint64_t reads) { background_->scheduler()->OnReads(reads); }

LookupKey Engine::MakeLookupKey(const Family& family, std::string_view key, SequenceNumber visible) const {
  const uint64_t seed = catalog_->identity().hash_seed;
  return {
      .user_key = key, .hash = family.order.hashable() ? HashKey(key, seed) : 0, .hash_seed = seed, .visible = visible};
}

absl::Status Engine::HandOver(StatisticsImpl::ThreadCounters* counters, PointResult* result, PinnedValue* value) {
  counters->Add(Ticker::kGets);
  if (result->memtable != nullptr) counters->Add(Ticker::kMemtableHits);
  if (result->kind != PointResult::Kind::kFound) return Absent();
  counters->Add(Ticker::kGetHits);
  if (result->value.size() <= core_->tuning.copy_value_bytes) {
    PinnedValueAccess::Copy(result->value, value);
  } else if (result->made != nullptr) {
    PinnedValueAccess::Pin(
        result->value, [](void* owner, void*) { delete static_cast<std::string*>(owner); }, result->made.release(),
        nullptr, value);
  } else if (result->memtable != nullptr && !result->pin) {
    auto* held = new HeldMemTable(core_, result->memtable->shared_from_this());
    PinnedValueAccess::Pin(
        result->value, [](void* owner, void*) { delete static_cast<HeldMemTable*>(owner); }, held, nullptr, value);
  } else {
    core_->PinValue(result->value, std::move(result->pin), result->peek, value);
  }
  return absl::OkStatus();
}

absl::Status Engine::Get(const ColumnFamily& family, std::string_view key, PinnedValue& value,
                         const ReadOptions& options) {
  if (LiesIn(key, value.value())) [[unlikely]]
    return Get(family, std::string(key), value, options);
  value.Reset();
  const Family* const resolved = Find(family);
  if (resolved == nullptr) [[unlikely]]
    return Refusal(family);
  if (!MayReadAs(options)) [[unlikely]]
    return CheckSnapshot(options);
  if (IsOfPast(options)) [[unlikely]] {
    ASSIGN_OR_RETURN(const PastRead past, ReadPast(*resolved, options));
    return Get(family, key, value, past.options);
  }
  StatisticsImpl::ThreadCounters counters = core_->statistics.ForThisThread();
  TellOfReads(1);
  const WatchedCall call(&core_->calls, &counters, {.name = "get", .histogram = Histogram::kGetMicros},
                         [&] { return CallWatch::Subject{.column_family = resolved->name, .key = key}; });
  const EpochDomain::Guard guard(&core_->epochs);
  const ReadPoint point = PointOf(*resolved, options);
  if (point.view == nullptr) [[unlikely]]
    return NoView(*resolved);
  const LookupKey lookup = MakeLookupKey(*resolved, key, point.visible);
  PointResult result;
  RETURN_IF_ERROR(
      LookUp(*resolved, *point.view, lookup, {.fill_cache = options.fill_cache}, core_.get(), &counters, &result));
  return HandOver(&counters, &result, &value);
}

absl::StatusOr<std::string> Engine::Get(const ColumnFamily& family, std::string_view key, const ReadOptions& options) {
  PinnedValue value;
  RETURN_IF_ERROR(Get(family, key, value, options));
  return std::string(value.value());
}

absl::Status Engine::MultiGet(const ColumnFamily& family, std::span<const std::string_view> keys,
                              std::span<PinnedValue> values, std::span<absl::Status> statuses,
                              const ReadOptions& options) {
  if (values.size() != keys.size() || statuses.size() != keys.size()) [[unlikely]]
    return UnequalSpans(keys.size(), values.size(), statuses.size());
  absl::StatusOr<Family*> resolved = Resolve(family);
  absl::Status refused = resolved.ok() ? CheckSnapshot(options) : resolved.status();
  const auto refuse = [&](const absl::Status& status) {
    std::fill(statuses.begin(), statuses.end(), status);
    for (PinnedValue& value : values) value.Reset();
    return status;
  };
  if (!refused.ok()) return refuse(refused);
  if (IsOfPast(options)) [[unlikely]] {
    const absl::StatusOr<PastRead> past = ReadPast(**resolved, options);
    return past.ok() ? MultiGet(family, keys, values, statuses, past->options) : refuse(past.status());
  }
  const WatchedCall call(&core_->calls, {.name = "multiget", .histogram = Histogram::kMultiGetMicros}, [&] {
    return CallWatch::Subject{.column_family = (*resolved)->name,
                              .key = keys.empty() ? std::string_view() : keys.front()};
  });
  TellOfReads(keys.size());
  StatisticsImpl::ThreadCounters counters = core_->statistics.ForThisThread();
  // Each group has a guard of its own, so that blocks evicted earlier can be freed; one view serves all groups.
  std::optional<HeldView> held;
  std::optional<RangeCover> cover;
  std::optional<ReadFilter> filter;
  std::optional<KeySieve> sieve;
  if (options.key_filter != nullptr) sieve.emplace(options.key_filter);
  const ReadView* view = nullptr;
  SequenceNumber visible;
  absl::Status first;
  for (size_t begin = 0; begin < keys.size();) {
    const EpochDomain::Guard guard(&core_->epochs);
    if (view == nullptr) {
      const ReadPoint point = PointOf(**resolved, options);
      if (point.view == nullptr) return refuse(NoView(**resolved));
      view = point.view;
      visible = point.visible;
      if (keys.size() > GroupLookup::kMostKeys) held.emplace(core_, view->shared_from_this());
      if ((*resolved)->reads_ask_more()) {
        cover.emplace(*view, (*resolved)->order, visible, (*resolved)->range_deletes.Stand(visible));
        filter.emplace(**resolved, visible);
      }
    }
    const KeyGroup group(keys, begin, sieve.has_value() ? &*sieve : nullptr);
    GroupLookup lookup(**resolved, *view, cover.has_value() ? &*cover : nullptr,
                       filter.has_value() ? &*filter : nullptr, {.fill_cache = options.fill_cache}, core_.get());
    std::array<LookupKey, GroupLookup::kMostKeys> lookups;
    for (size_t i = 0; i < group.count(); ++i) lookups[i] = MakeLookupKey(**resolved, keys[group.place(i)], visible);
    GetGroup(group, std::span(lookups).first(group.count()), &lookup, values, statuses, &counters, &first);
    begin = group.end();
  }
  return first;
}

// The excluded keys are reported absent only after the lookups, because keys may lie in the values of an earlier call.
void Engine::GetGroup(const KeyGroup& group, std::span<const LookupKey> lookups, GroupLookup* lookup,
                      std::span<PinnedValue> values, std::span<absl::Status> statuses,
                      StatisticsImpl::ThreadCounters* counters, absl::Status* first) {
  std::array<PointResult, GroupLookup::kMostKeys> results;
  const std::span<absl::Status> said = statuses.subspan(group.begin(), group.count());
  std::fill(said.begin(), said.end(), absl::OkStatus());
  lookup->Run(lookups, std::span(results).first(group.count()), said);
  counters->Add(Ticker::kMultiGetKeys, group.count());
  if (!group.whole()) [[unlikely]]
    group.Spread(statuses, values);
  for (size_t i = 0; i < group.count(); ++i) {
    const size_t place = group.place(i);
    values[place].Reset();
    if (statuses[place].ok()) {
      statuses[place] = HandOver(counters, &results[i], &values[place]);
    } else {
      KeepFirst(first, statuses[place]);
    }
  }
}

std::vector<absl::StatusOr<std::string>> Engine::MultiGet(const ColumnFamily& family,
                                                          std::span<const std::string_view> keys,
                                                          const ReadOptions& options) {
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  MultiGet(family, keys, values, statuses, options).IgnoreError();  // each error is in `statuses`
  std::vector<absl::StatusOr<std::string>> results;
  results.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (statuses[i].ok()) {
      results.emplace_back(values[i].value());
    } else {
      results.emplace_back(std::move(statuses[i]));
    }
  }
  return results;
}

bool Engine::KeyMayExist(const ColumnFamily& family, std::string_view key, const ReadOptions& options) {
  absl::StatusOr<Family*> resolved = Resolve(family);
  if (!resolved.ok() || !CheckSnapshot(options).ok()) return true;
  if (IsOfPast(options)) [[unlikely]] {
    const absl::StatusOr<PastRead> past = ReadPast(**resolved, options);
    return !past.ok() || KeyMayExist(family, key, past->options);
  }
  TellOfReads(1);
  const EpochDomain::Guard guard(&core_->epochs);
  const ReadPoint point = PointOf(**resolved, options);
  if (point.view == nullptr) return true;
  const LookupKey lookup = MakeLookupKey(**resolved, key, point.visible);
  StatisticsImpl::ThreadCounters counters = core_->statistics.ForThisThread();
  PointResult result;
  const absl::Status status =
      LookUp(**resolved, *point.view, lookup, {.cached_only = true}, core_.get(), &counters, &result);
  const bool absent = result.kind == PointResult::Kind::kAbsent || result.kind == PointResult::Kind::kRefused;
  return !status.ok() || !absent;
}

std::unique_ptr<Iterator> Engine::NewIterator(const ColumnFamily& family, const ReadOptions& options) {
  absl::StatusOr<FamilyRef> resolved = ResolveShared(family);
  if (!resolved.ok()) return NewErrorIterator(resolved.status());
  if (!MayReadAs(options) || IsOfPast(options)) return NewPastIterator(family, **resolved, options);
  // A seek reads all runs, so a single iterator is reason enough to check what is due.
  TellOfIterator();
  DatabaseIteratorOptions iterator;
  iterator.order = (*resolved)->order;
  if (options.lower_bound.has_value()) iterator.lower_bound = options.lower_bound;
  if (options.upper_bound.has_value()) iterator.upper_bound = options.upper_bound;
  if (!options.prefix.empty()) {
    absl::Status narrowed = NarrowToOptionsPrefix(options, &iterator);
    if (!narrowed.ok()) return NewErrorIterator(std::move(narrowed));
  }
  auto owner = std::make_shared<IteratorOwner>();
  owner->core = core_;
  owner->family = *std::move(resolved);
  if (options.snapshot != nullptr) {
    owner->snapshot = state_->snapshots->TakeAgain(*options.snapshot, core_);
  }
  // Loaded before the view, which then has everything up to it.
  const SequenceNumber complete = VisibleTo(options);
  SequenceNumber visible;
  std::optional<ReadFilter> filter;
  {
    const EpochDomain::Guard guard(&core_->epochs);
    const ReadPoint point = PointOf(*owner->family, options);
    if (point.view == nullptr) return NewErrorIterator(NoView(*owner->family));
    owner->view.emplace(core_, point.view->shared_from_this());
    visible = point.visible;
    if (owner->family->reads_ask_more()) {
      owner->cover.emplace(**owner->view, owner->family->order, visible, owner->family->range_deletes.Stand(visible));
      filter.emplace(*owner->family, visible);
    }
  }
  iterator.visible = visible;
  iterator.source = {.core = core_.get(),
                     .family = owner->family.get(),
                     .view = &**owner->view,
                     .visible = iterator.visible,
                     .complete = read_only_ ? visible : complete,
                     .adds = options.snapshot == nullptr};
  iterator.key_filter = options.key_filter;
  const bool filters = filter.has_value() && filter->epoch() != nullptr;
  iterator.keys_only = options.keys_only && !filters;
  iterator.fill_cache = options.fill_cache;
  iterator.open_mark = &core_->open_mark;
  iterator.statistics = &core_->statistics;
  iterator.calls = &core_->calls;
  iterator.family_name = owner->family->name;
  std::unique_ptr<InternalIterator> entries =
      NewViewIterator(core_.get(), *owner->family, **owner->view, visible,
                      owner->cover.has_value() && !owner->cover->empty() ? &*owner->cover : nullptr,
                      {.begin = iterator.lower_bound, .end = iterator.upper_bound}, options.fill_cache);
  iterator.owner = std::move(owner);
  std::unique_ptr<Iterator> all = NewDatabaseIterator(std::move(iterator), std::move(entries));
  if (!filters) [[likely]]
    return all;
  return NewFilteredIterator(std::move(all), *std::move(filter), options.keys_only);
}

std::shared_ptr<const Snapshot> Engine::GetSnapshot() {
  if (core_->Forked()) {
    const JointView* const views = state_->joint_view();
    return state_->snapshots->Take(state_->VisibleSequence(), core_,
                                   views != nullptr ? views->shared_from_this() : nullptr);
  }
  StateLock lock(state_.get());
  return state_->snapshots->Take(state_->VisibleSequence(), core_, state_->current_joint_view());
}

}  // namespace sepal
