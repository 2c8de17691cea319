#include "tests/reliability/oracle.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"
#include "util/base/check.h"

namespace sepal::reliability {

void Oracle::Apply(const Write& write, State* state) {
  for (const auto& [key, value, appends] : write.updates) {
    if (!value.has_value()) {
      state->erase(key);
    } else if (const auto there = state->find(key); appends && there != state->end()) {
      there->second += "," + *value;
    } else {
      (*state)[key] = *value;
    }
  }
}

void Oracle::BeginWrite(const std::vector<Update>& updates) {
  Write write;
  for (const Update& update : updates) {
    const auto family = families_.find(update.family);
    SEPAL_CHECK(family != families_.end());
    write.updates.push_back({{family->second.incarnation, update.key}, update.value, update.appends});
  }
  writes_.push_back(std::move(write));
}

void Oracle::EndWrite(bool acknowledged) {
  writes_.back().outcome = acknowledged ? Outcome::kAcknowledged : Outcome::kFailed;
}

size_t Oracle::LastAcknowledged() const {
  size_t last = writes_.size();
  while (last > 0 && writes_[last - 1].outcome != Outcome::kAcknowledged) --last;
  return last;
}

void Oracle::AllDurable() { durable_ = std::max(durable_, LastAcknowledged()); }

void Oracle::FamilyDurable(const std::string& family) {
  const int incarnation = families_.at(family).incarnation;
  for (size_t i = writes_.size(); i > durable_; --i) {
    const Write& write = writes_[i - 1];
    const bool touches = std::any_of(write.updates.begin(), write.updates.end(),
                                     [&](const auto& update) { return update.key.first == incarnation; });
    if (write.outcome == Outcome::kAcknowledged && touches) durable_ = i;
  }
}

void Oracle::BeginCreate(const std::string& family) { families_[family] = {.incarnation = ++incarnations_}; }

void Oracle::BeginDrop(const std::string& family) {
  families_.at(family).sure = false;
  families_.at(family).dropping = true;
}

void Oracle::EndFamilyCall(const std::string& family, bool done) {
  if (!done) return;
  if (families_.at(family).dropping) {
    families_.erase(family);
  } else {
    families_.at(family).sure = true;
  }
}

void Oracle::EndNameCall(const std::string& name, bool done, bool drop) {
  if (!done) return;
  if (drop) {
    named_.erase(name);
    return;
  }
  named_.at(name).sure = true;
  AllDurable();
}

void Oracle::ForgetInNames(const std::string& family) {
  for (auto& [name, named] : named_) named.contents.erase(family);
}

std::string Oracle::SettleNames(const std::vector<std::string>& found) {
  const std::set<std::string> there(found.begin(), found.end());
  for (const std::string& name : found) {
    if (!named_.contains(name)) return absl::StrFormat("a snapshot %s that cannot be there", name);
  }
  for (auto& [name, named] : named_) {
    if (named.sure && !there.contains(name)) return absl::StrFormat("snapshot %s is missing", name);
    named.sure = true;
  }
  std::erase_if(named_, [&](const auto& named) { return !there.contains(named.first); });
  return {};
}

bool Oracle::Usable(const std::string& family) const {
  const auto found = families_.find(family);
  return found != families_.end() && found->second.sure;
}

bool Oracle::HasUnknownWrite() const { return LastAcknowledged() < writes_.size(); }

Oracle::State Oracle::Acknowledged() const {
  State state = base_;
  for (const Write& write : writes_) {
    if (write.outcome == Outcome::kAcknowledged) Apply(write, &state);
  }
  return state;
}

std::optional<Oracle::Contents> Oracle::Now(const std::string& family) const {
  if (HasUnknownWrite() || !Usable(family)) return std::nullopt;
  const int incarnation = families_.at(family).incarnation;
  Contents contents;
  for (const auto& [key, value] : Acknowledged()) {
    if (key.first == incarnation) contents[key.second] = value;
  }
  return contents;
}

bool Oracle::MayRead(const std::string& family, const std::string& key, const std::optional<std::string>& value) const {
  const Key wanted = {families_.at(family).incarnation, key};
  const auto value_in = [&](const State& state) {
    const auto found = state.find(wanted);
    return found == state.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  const State acknowledged = Acknowledged();
  if (value_in(acknowledged) == value) return true;
  for (size_t i = LastAcknowledged(); i < writes_.size(); ++i) {
    State state = acknowledged;
    Apply(writes_[i], &state);
    if (value_in(state) == value) return true;
  }
  return false;
}

std::string Oracle::Bounds() const {
  std::string bounds = absl::StrFormat("%u writes since the last opening, %u acknowledged, %u durable", writes_.size(),
                                       LastAcknowledged(), durable_);
  for (const auto& [name, named] : named_) bounds += absl::StrFormat(", %s %s", named.sure ? "named" : "perhaps", name);
  return bounds;
}

std::string Oracle::Settle(const Database& found, bool power_lost) {
  std::set<int> there;
  State target;
  for (const auto& [name, contents] : found) {
    const auto family = families_.find(name);
    if (family == families_.end()) return absl::StrFormat("a column family %s that cannot be there", name);
    there.insert(family->second.incarnation);
    for (const auto& [key, value] : contents) target[{family->second.incarnation, key}] = value;
  }
  for (const auto& [name, family] : families_) {
    if (family.sure && !found.contains(name)) return absl::StrFormat("column family %s is missing", name);
  }
  const auto only_there = [&](State state) {
    std::erase_if(state, [&](const auto& entry) { return !there.contains(entry.first.first); });
    return state;
  };
  const size_t last = LastAcknowledged();
  const size_t lowest = power_lost ? durable_ : last;
  State state = only_there(base_);
  bool matches = lowest == 0 && state == target;
  for (size_t i = 0; i < last && !matches; ++i) {
    if (writes_[i].outcome == Outcome::kAcknowledged) Apply(writes_[i], &state);
    if (i + 1 < lowest || state.size() < target.size()) continue;
    matches = only_there(state) == target;
  }
  if (!matches) state = Acknowledged();
  for (size_t i = last; i < writes_.size() && !matches; ++i) {
    State more = state;
    Apply(writes_[i], &more);
    matches = only_there(std::move(more)) == target;
  }
  if (!matches) {
    std::string difference;
    const State expected = only_there(Acknowledged());
    for (const auto& [key, value] : expected) {
      const auto it = target.find(key);
      if (it == target.end()) {
        difference += absl::StrFormat(" no %s (%s);", key.second, value.substr(0, 8));
      } else if (it->second != value) {
        difference += absl::StrFormat(" %s is %s, not %s;", key.second, it->second.substr(0, 8), value.substr(0, 8));
      }
    }
    for (const auto& [key, value] : target) {
      if (!expected.contains(key)) difference += absl::StrFormat(" %s is %s;", key.second, value.substr(0, 8));
    }
    return absl::StrFormat(
        "what is there is no prefix of what was written (%s): %u entries; against all that was "
        "acknowledged:%s",
        Bounds(), target.size(), difference.substr(0, 600));
  }
  base_ = std::move(target);
  writes_.clear();
  durable_ = 0;
  std::erase_if(families_, [&](const auto& family) { return !found.contains(family.first); });
  for (auto& [name, family] : families_) family = {.incarnation = family.incarnation, .sure = true};
  return {};
}

}  // namespace sepal::reliability
