#include <algorithm>

#include "absl/strings/str_format.h"
#include "db/engine/core/pinned_value_access.h"
#include "tests/model/history.h"

namespace sepal::model {

History::Moment History::RandomMoment() {
  Moment moment{.options = {}, .batch = model_.latest()};
  moment.options.fill_cache = !random_.OneIn(5);
  if (!snapshots_.empty() && random_.OneIn(3)) {
    const HeldSnapshot& held = snapshots_[random_.Uniform(snapshots_.size())];
    moment.options.snapshot = held.snapshot.get();
    moment.batch = held.batch;
  } else if (!moments_.empty() && random_.OneIn(2)) {
    const PastMoment& past = moments_[random_.Uniform(moments_.size())];
    moment.options.as_of_sequence = past.sequence;
    moment.batch = past.batch;
  }
  return moment;
}

void History::NoteMoment() {
  if (history_millis_ == 0) return;
  if (moments_.size() > 200) moments_.erase(moments_.begin(), moments_.begin() + 100);
  moments_.push_back({model_.latest(), database_.db->GetSnapshot()->sequence()});
}

void History::GetOne() {
  const std::string family = RandomFamily();
  const std::string key = RandomKey();
  const Moment moment = RandomMoment();
  const std::optional<std::string> expected = model_.Get(family, key, moment.batch);
  HeldPin held{.pin = {}, .expected = expected.value_or("")};
  absl::Status status;
  if (random_.OneIn(2)) {
    status = database_.db->Get(Handle(family), key, held.pin, moment.options);
  } else {
    const absl::StatusOr<std::string> value = database_.db->Get(Handle(family), key, moment.options);
    status = value.status();
    if (value.ok()) PinnedValueAccess::Copy(*value, &held.pin);
  }
  if (!status.ok() && !absl::IsNotFound(status)) {
    Succeeded(status, "get");
    return;
  }
  Expect(status.ok() == expected.has_value(), "whether there is a key " + key + " of " + family);
  Expect(held.pin.value() == held.expected, "the value of key " + key + " of " + family);
  if (status.ok() && pins_.size() < 20) pins_.push_back(std::move(held));
}

void History::GetMany() {
  const std::string family = RandomFamily();
  const Moment moment = RandomMoment();
  std::vector<std::string> keys(random_.Uniform(12));
  for (std::string& key : keys) key = RandomKey();
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  database_.db->MultiGet(Handle(family), views, values, statuses, moment.options).IgnoreError();
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::optional<std::string> expected = model_.Get(family, keys[i], moment.batch);
    if (!statuses[i].ok() && !absl::IsNotFound(statuses[i])) {
      Succeeded(statuses[i], "multiget");
      continue;
    }
    Expect(statuses[i].ok() == expected.has_value(), "whether there is a key " + keys[i]);
    Expect(values[i].value() == expected.value_or(""), "the value of key " + keys[i]);
  }
}

void History::AskKeyMayExist() {
  const std::string family = RandomFamily();
  const std::string key = RandomKey();
  const Moment moment = RandomMoment();
  const bool exists = model_.Get(family, key, moment.batch).has_value();
  const bool may_exist = database_.db->KeyMayExist(Handle(family), key, moment.options);
  Expect(may_exist || !exists, "a key that is said not to exist: " + key + " of " + family);
}

void History::TakeSnapshot() {
  if (snapshots_.size() < 5) snapshots_.push_back({database_.db->GetSnapshot(), model_.latest()});
}

void History::MakeIterator() {
  if (iterators_.size() >= 4) return;
  HeldIterator held;
  held.family = RandomFamily();
  held.comparator = model_.comparator(held.family);
  Moment moment = RandomMoment();
  const auto less = [&](std::string_view a, std::string_view b) { return held.comparator->Compare(a, b) < 0; };
  const std::string lower = RandomKey();
  const std::string upper = RandomKey();
  if (random_.OneIn(3)) moment.options.lower_bound = lower;
  if (random_.OneIn(3)) moment.options.upper_bound = upper;
  for (auto& entry : model_.Contents(held.family, moment.batch)) {
    if (moment.options.lower_bound.has_value() && less(entry.first, lower)) continue;
    if (moment.options.upper_bound.has_value() && !less(entry.first, upper)) continue;
    held.expected.push_back(std::move(entry));
  }
  held.iterator = database_.db->NewIterator(Handle(held.family), moment.options);
  if (absl::IsOutOfRange(held.iterator->status())) {
    Succeeded(held.iterator->status(), "iterator");
    return;
  }
  held.place = held.expected.size();
  Expect(!held.iterator->Valid(), "a new iterator stands somewhere");
  iterators_.push_back(std::move(held));
  for (int i = 0; i < 8; ++i) MoveIterator(&iterators_.back());
}

void History::MoveIterator(HeldIterator* held) {
  if (failed() || crashed_) return;
  const Entries& expected = held->expected;
  const auto before = [&](const std::pair<std::string, std::string>& entry, const std::string& target) {
    return held->comparator->Compare(entry.first, target) < 0;
  };
  const bool valid = held->place < expected.size();
  const std::string target = RandomKey();
  const uint64_t drawn = random_.Uniform(10);
  std::string_view move;
  if (valid && drawn < 4) {
    move = "Next";
    held->iterator->Next();
    ++held->place;
  } else if (valid && drawn < 7) {
    move = "Prev";
    held->iterator->Prev();
    held->place = held->place == 0 ? expected.size() : held->place - 1;
  } else if (drawn == 7) {
    move = random_.OneIn(2) ? "SeekToFirst" : "SeekToLast";
    const bool first = move == "SeekToFirst";
    first ? held->iterator->SeekToFirst() : held->iterator->SeekToLast();
    held->place = first || expected.empty() ? 0 : expected.size() - 1;
  } else if (drawn % 2 == 0) {
    move = "Seek";
    held->iterator->Seek(target);
    const auto it = std::lower_bound(expected.begin(), expected.end(), target, before);
    held->place = static_cast<size_t>(it - expected.begin());
  } else {
    move = "SeekForPrev";
    held->iterator->SeekForPrev(target);
    auto it = std::lower_bound(expected.begin(), expected.end(), target, before);
    if (it == expected.end() || held->comparator->Compare(it->first, target) != 0) {
      it = it == expected.begin() ? expected.end() : std::prev(it);
    }
    held->place = static_cast<size_t>(it - expected.begin());
  }
  Check(*held, std::string(move) + " (target \"" + target + "\")");
}

void History::Check(const HeldIterator& held, std::string_view move) {
  if (!held.iterator->status().ok()) {
    Succeeded(held.iterator->status(), "iterator");
    return;
  }
  const bool valid = held.place < held.expected.size();
  Expect(held.iterator->Valid() == valid,
         absl::StrFormat("whether an iterator is valid after %s in %s", move, held.family));
  if (!valid || !held.iterator->Valid()) return;
  Expect(held.iterator->key() == held.expected[held.place].first,
         absl::StrFormat("an iterator's key after %s in %s: %s, not %s", move, held.family, held.iterator->key(),
                         held.expected[held.place].first));
  Expect(held.iterator->value() == held.expected[held.place].second,
         absl::StrFormat("an iterator's value after %s in %s", move, held.family));
}

void History::LetGo() {
  const auto drop = [&](auto& held) {
    if (!held.empty()) held.erase(held.begin() + static_cast<ptrdiff_t>(random_.Uniform(held.size())));
  };
  drop(iterators_);
  drop(snapshots_);
  for (const HeldPin& held : pins_) Expect(held.pin.value() == held.expected, "a pinned value");
  if (pins_.size() > 10) pins_.clear();
}

}  // namespace sepal::model
