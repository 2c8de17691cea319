#include "db/engine/read/group_lookup.h"

#include <algorithm>
#include <utility>

#include "db/engine/read/merged_lookup.h"
#include "db/engine/read/separated_value.h"
#include "util/base/check.h"

namespace sepal {

void GroupLookup::Run(std::span<const LookupKey> keys, std::span<PointResult> results,
                      std::span<absl::Status> statuses) {
  SEPAL_CHECK(keys.size() <= kMostKeys && results.size() == keys.size() && statuses.size() == keys.size());
  keys_ = keys;
  results_ = results;
  statuses_ = statuses;
  AskMemTables();
  for (const LevelRun& run : view_.version->runs()) {
    if (wanted_count_ == 0) break;
    AskRun(run);
  }
  size_t references = 0;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (cover_ != nullptr) [[unlikely]]
      HideIfCovered(CoveredBy(i), &results_[i]);
    if (results_[i].kind == PointResult::Kind::kOperand) [[unlikely]]
      ResolveMerges(i);
    if (results_[i].kind == PointResult::Kind::kExpiring) [[unlikely]]
      Expire(core_, &results_[i]);
    references += results_[i].kind == PointResult::Kind::kReference ? 1 : 0;
  }
  if (references > 0) [[unlikely]]
    FetchResults(core_, keys_, options_, results_, statuses_);
  if (filter_ != nullptr) [[unlikely]]
    HideRefused();
}

void GroupLookup::HideRefused() {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (statuses_[i].ok()) statuses_[i] = filter_->HideIfRefused(keys_[i].user_key, &results_[i]);
  }
}

// Alone: after the first operand a key goes its own way.
void GroupLookup::ResolveMerges(size_t i) {
  StatisticsImpl::ThreadCounters counters = core_->statistics.ForThisThread();
  statuses_[i] = LookUpMerged(family_, view_, keys_[i], CoveredBy(i), options_, core_, &counters, &results_[i]);
}

void GroupLookup::AskMemTables() {
  for (const LookupKey& key : keys_) PrefetchMemTables(view_, key);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!LookInMemTables(view_, keys_[i], &results_[i])) wanted_[wanted_count_++] = static_cast<uint8_t>(i);
  }
}

void GroupLookup::AskRun(const LevelRun& run) {
  LevelFilterStatistics filters;
  active_count_ = 0;
  const auto settled = std::remove_if(wanted_.begin(), wanted_.begin() + wanted_count_, [&](uint8_t i) {
    searches_[i].search.reset();
    const TableFile* file = run.run->Find(keys_[i].user_key);
    if (file == nullptr) return false;
    if (Begin(i, *file, &filters)) {
      active_[active_count_++] = i;
      return false;
    }
    return true;
  });
  wanted_count_ = static_cast<size_t>(settled - wanted_.begin());
  for (StepAll(); active_count_ > 0; StepAll()) ReadWanted();
  const auto left =
      std::remove_if(wanted_.begin(), wanted_.begin() + wanted_count_, [&](uint8_t i) { return Settle(i); });
  wanted_count_ = static_cast<size_t>(left - wanted_.begin());
  core_->statistics.AddFilter(run.level, filters);
}

void GroupLookup::StepAll() {
  std::array<uint8_t, kMostKeys> stepping;
  size_t count = std::exchange(active_count_, 0);
  std::copy_n(active_.begin(), count, stepping.begin());
  while (count > 0) {
    const auto end = std::remove_if(stepping.begin(), stepping.begin() + count, [&](uint8_t i) {
      if (searches_[i].search->Step()) return false;
      if (searches_[i].search->want() != nullptr) active_[active_count_++] = i;
      return true;
    });
    count = static_cast<size_t>(end - stepping.begin());
  }
}

void GroupLookup::ReadWanted() {
  std::array<UnitWant, kMostKeys> wants;
  for (size_t i = 0; i < active_count_; ++i) wants[i] = *searches_[active_[i]].search->want();
  FetchUnits(*core_->directory, std::span(wants).first(active_count_),
             [&](size_t i, absl::StatusOr<CachePin> unit) { searches_[active_[i]].search->Provide(std::move(unit)); });
}

// False when the table cannot be asked, which settles the key.
bool GroupLookup::Begin(uint8_t i, const TableFile& file, LevelFilterStatistics* filters) {
  absl::StatusOr<const TableReader*> reader = ReaderOf(file, family_, options_, core_);
  if (!reader.ok()) {
    statuses_[i] = std::move(reader).status();
    return false;
  }
  if (*reader == nullptr) {
    results_[i].kind = PointResult::Kind::kMaybe;
    return false;
  }
  (*reader)->PrefetchGuard(keys_[i]);
  searches_[i].hit = {};
  searches_[i].search.emplace(**reader, keys_[i], options_, filters, &searches_[i].hit, /*among_many=*/true);
  return true;
}

bool GroupLookup::Settle(uint8_t i) {
  Search& search = searches_[i];
  if (!search.search.has_value()) return false;
  statuses_[i] = search.search->status();
  return !statuses_[i].ok() || TakeHit(&search.hit, &results_[i]);
}

}  // namespace sepal
