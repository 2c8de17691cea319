#include "db/engine/group_lookup.h"

#include <algorithm>
#include <utility>

#include "util/check.h"

namespace sepal {

void GroupLookup::Run(std::span<const LookupKey> keys, std::span<PointResult> results,
                      std::span<absl::Status> statuses) {
  SEPAL_CHECK(keys.size() <= kMostKeys && results.size() == keys.size() && statuses.size() == keys.size());
  keys_ = keys;
  results_ = results;
  statuses_ = statuses;
  AskMemTables();
  for (const LevelRun& run : view_.version->runs()) {
    if (wanted_count_ == 0) return;
    AskRun(run);
  }
}

void GroupLookup::AskMemTables() {
  for (const LookupKey& key : keys_) PrefetchMemTables(view_, key);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!LookInMemTables(view_, keys_[i], &results_[i])) wanted_[wanted_count_++] = static_cast<uint8_t>(i);
  }
}

void GroupLookup::AskRun(const LevelRun& run) {
  LevelFilterStatistics filters;
  std::array<uint8_t, kMostKeys> active;
  size_t active_count = 0;
  const auto settled = std::remove_if(wanted_.begin(), wanted_.begin() + wanted_count_, [&](uint8_t i) {
    searches_[i].search.reset();
    const TableFile* file = run.run->Find(keys_[i].user_key);
    if (file == nullptr) return false;
    if (Begin(i, *file, &filters)) {
      active[active_count++] = i;
      return false;
    }
    return true;
  });
  wanted_count_ = static_cast<size_t>(settled - wanted_.begin());
  while (active_count > 0) {
    const auto stepping = std::remove_if(active.begin(), active.begin() + active_count,
                                         [&](uint8_t i) { return !searches_[i].search->Step(); });
    active_count = static_cast<size_t>(stepping - active.begin());
  }
  const auto left =
      std::remove_if(wanted_.begin(), wanted_.begin() + wanted_count_, [&](uint8_t i) { return Settle(i); });
  wanted_count_ = static_cast<size_t>(left - wanted_.begin());
  core_->statistics.AddFilter(run.level, filters);
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
