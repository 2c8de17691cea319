#include "tests/model/model.h"

#include <algorithm>

namespace sepal::model {

void Model::CreateFamily(const std::string& name, const Comparator* comparator) {
  families_.insert_or_assign(name,
                             Family{comparator, std::map<std::string, std::vector<Version>, Less>({comparator}), {}});
}

std::vector<std::string> Model::FamilyNames() const {
  std::vector<std::string> names;
  for (const auto& [name, family] : families_) names.push_back(name);
  return names;
}

void Model::Apply(const std::vector<Update>& batch) {
  ++latest_;
  for (const Update& update : batch) {
    const auto family = families_.find(update.family);
    if (family == families_.end()) continue;
    if (update.kind == ValueKind::kRangeDelete) {
      auto& keys = family->second.keys;
      const auto end = update.end.has_value() ? keys.lower_bound(*update.end) : keys.end();
      for (auto it = keys.lower_bound(update.key); it != end; ++it) {
        it->second.push_back({latest_, ValueKind::kDelete, it->first, "", 0});
      }
      continue;
    }
    family->second.keys[update.key].push_back({latest_, update.kind, update.key, update.value, update.expiry_millis});
  }
}

void Model::TruncateAfter(uint64_t batch) {
  for (auto& [name, family] : families_) {
    family.epochs.erase(family.epochs.upper_bound(batch), family.epochs.end());
    for (auto it = family.keys.begin(); it != family.keys.end();) {
      std::vector<Version>& versions = it->second;
      while (!versions.empty() && versions.back().batch > batch) versions.pop_back();
      it = versions.empty() ? family.keys.erase(it) : std::next(it);
    }
  }
  latest_ = batch;
}

std::optional<std::pair<std::string, std::string>> Model::EntryAt(const std::vector<Version>& versions,
                                                                  uint64_t batch) const {
  std::optional<std::pair<std::string, std::string>> entry;
  for (const Version& version : versions) {
    if (version.batch > batch) break;
    if (version.kind == ValueKind::kMerge) {
      const std::string before = entry.has_value() ? entry->second + ";" : "";
      entry = {version.key, before + version.value};
    } else if (IsTombstone(version.kind) ||
               (version.kind == ValueKind::kExpiringPut && version.expiry_millis <= now_millis_)) {
      entry.reset();
    } else {
      entry = {version.key, version.value};
    }
  }
  return entry;
}

void Model::SetEpoch(const std::string& family, const std::string& epoch) {
  families_.at(family).epochs[++latest_] = epoch;
}

std::string Model::EpochAt(const std::string& family, uint64_t batch) const {
  const auto& epochs = families_.at(family).epochs;
  const auto above = epochs.upper_bound(batch);
  return above == epochs.begin() ? std::string() : std::prev(above)->second;
}

std::optional<std::pair<std::string, std::string>> Model::ShownAt(const Family& family,
                                                                  const std::vector<Version>& versions,
                                                                  uint64_t batch) const {
  auto entry = EntryAt(versions, batch);
  if (!entry.has_value() || entry->second.empty()) return entry;
  const auto above = family.epochs.upper_bound(batch);
  const bool refused =
      above != family.epochs.begin() && std::prev(above)->second.find(entry->second.front()) != std::string::npos;
  return refused ? std::nullopt : entry;
}

Entries Model::Contents(const std::string& family, uint64_t batch) const {
  Entries entries;
  const Family& shown = families_.at(family);
  for (const auto& [key, versions] : shown.keys) {
    if (auto entry = ShownAt(shown, versions, batch)) entries.push_back(*std::move(entry));
  }
  return entries;
}

std::optional<std::string> Model::Get(const std::string& family, const std::string& key, uint64_t batch) const {
  const Family& shown = families_.at(family);
  const auto it = shown.keys.find(key);
  const auto entry = it == shown.keys.end() ? std::nullopt : ShownAt(shown, it->second, batch);
  return entry.has_value() ? std::optional<std::string>(entry->second) : std::nullopt;
}

int Model::PutsSinceDeletion(const std::string& family, const std::string& key) const {
  const auto& keys = families_.at(family).keys;
  const auto it = keys.find(key);
  if (it == keys.end()) return 0;
  int puts = 0;
  for (const Version& version : it->second) puts = IsTombstone(version.kind) ? 0 : puts + 1;
  return puts;
}

uint64_t Model::LastBatchOf(const std::string& family) const {
  uint64_t last = 0;
  for (const auto& [key, versions] : families_.at(family).keys) last = std::max(last, versions.back().batch);
  return last;
}

}  // namespace sepal::model
