#include "db/engine/read/group_lookup.h"

#include <algorithm>
#include <utility>
#include <vector>

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
  AskRuns();
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

// Resolved key by key, because after the first operand the keys do not proceed together.
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

void GroupLookup::AskRuns() {
  const size_t runs = view_.version->runs().size();
  while (true) {
    for (size_t run = 0; run < runs && wanted_count_ > 0; ++run) AskRun(run);
    wanted_count_ = 0;  // they are in no run
    if (waiting_count_ == 0) break;
    GoOnWithWaiting();
  }
  for (size_t level = 0; level < filters_.size(); ++level) {
    if (filters_[level].lookups > 0) core_->statistics.AddFilter(static_cast<int>(level), filters_[level]);
  }
}

void GroupLookup::AskRun(size_t run) {
  const LevelRun& asked = view_.version->runs()[run];
  active_count_ = 0;
  size_t left = 0;
  for (size_t k = 0; k < wanted_count_; ++k) {
    const uint8_t i = wanted_[k];
    searches_[i].search.reset();
    const TableFile* const file = next_run_[i] <= run ? asked.run->Find(keys_[i].user_key) : nullptr;
    if (file != nullptr) {
      if (file->reader() == nullptr) [[unlikely]]
        OpenTogether(run, std::span(wanted_).subspan(k, wanted_count_ - k));
      if (!Begin(i, *file, asked.level)) continue;
      active_[active_count_++] = i;
    }
    wanted_[left++] = i;
  }
  StepAll();
  for (size_t k = 0; k < active_count_; ++k) {
    next_run_[active_[k]] = static_cast<uint32_t>(run + 1);
    waiting_[waiting_count_++] = active_[k];
  }
  const auto settled = std::remove_if(wanted_.begin(), wanted_.begin() + left, [&](uint8_t i) {
    const Search& search = searches_[i];
    return (search.search.has_value() && search.search->want() != nullptr) || Settle(i);
  });
  wanted_count_ = static_cast<size_t>(settled - wanted_.begin());
}

void GroupLookup::GoOnWithWaiting() {
  active_ = waiting_;
  active_count_ = waiting_count_;
  ReadWanted();
  StepAll();
  const auto ended = std::remove_if(waiting_.begin(), waiting_.begin() + waiting_count_, [&](uint8_t i) {
    if (searches_[i].search->want() != nullptr) return false;
    if (!Settle(i)) wanted_[wanted_count_++] = i;
    return true;
  });
  waiting_count_ = static_cast<size_t>(ended - waiting_.begin());
}

// A failure is ignored here, because the key that needs the table meets and reports it.
void GroupLookup::OpenTogether(size_t first, std::span<const uint8_t> keys) {
  constexpr size_t kAtOnce = 32;  // each may take a mebibyte
  FamilyTableOpener opener = core_->Opener(family_.order);
  if (options_.cached_only || !opener.IsFar()) return;
  std::vector<const TableFile*> tables;
  const std::span<const LevelRun> runs = view_.version->runs();
  for (size_t run = first; run < runs.size() && (run == first || tables.size() % kAtOnce != 0); ++run) {
    for (const uint8_t i : keys) {
      const TableFile* const file = runs[run].run->Find(keys_[i].user_key);
      if (file == nullptr || file->reader() != nullptr) continue;
      if (run > first && tables.size() % kAtOnce == 0) break;
      if (std::find(tables.begin(), tables.end(), file) == tables.end()) tables.push_back(file);
    }
  }
  for (size_t begin = 0; begin < tables.size(); begin += kAtOnce) {
    const auto some = std::span(tables).subspan(begin, std::min(kAtOnce, tables.size() - begin));
    for (const TableFile* table : some) table->Ask(&opener);
    for (const TableFile* table : some) table->OpenReader(&opener).status().IgnoreError();
  }
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

// Returns false if the table cannot be asked, which settles the key.
bool GroupLookup::Begin(uint8_t i, const TableFile& file, int level) {
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
  searches_[i].search.emplace(**reader, keys_[i], options_, &filters_[static_cast<size_t>(level)], &searches_[i].hit,
                              /*among_many=*/true);
  return true;
}

bool GroupLookup::Settle(uint8_t i) {
  Search& search = searches_[i];
  if (!search.search.has_value()) return false;
  statuses_[i] = search.search->status();
  return !statuses_[i].ok() || TakeHit(&search.hit, &results_[i]);
}

}  // namespace sepal
