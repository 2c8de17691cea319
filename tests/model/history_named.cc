// Snapshots with names: what a history makes of them, and what openings must find.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_format.h"
#include "tests/model/history.h"

namespace sepal::model {

namespace {

constexpr size_t kMostNames = 8;

}  // namespace

void History::CreateNamed() {
  if (named_.size() >= kMostNames) return;
  const std::string name = "snapshot" + std::to_string(++values_);
  NamedModel made{.batch = model_.latest(), .expires_millis = 0};
  NamedSnapshotOptions options;
  if (database_.clock != nullptr && random_.OneIn(3)) {
    const uint64_t after = kClockStepMillis * (1 + random_.Uniform(3));
    options.expires_after = std::chrono::milliseconds(after);
    made.expires_millis = model_.now_millis() + after;
  }
  unsure_named_ = name;
  named_[name] = made;
  const absl::StatusOr<std::shared_ptr<const Snapshot>> created = database_.db->CreateSnapshot(name, options);
  if (!Succeeded(created.status(), "create snapshot") || crashed_) return;
  unsure_named_.clear();
  // All before it is durable with it.
  synced_ = acknowledged_;
  Expect(absl::IsAlreadyExists(database_.db->CreateSnapshot(name).status()) || crashed_, "a name that is taken");
}

void History::DropNamed() {
  if (named_.empty()) return;
  const std::string name = RandomName();
  unsure_named_ = name;
  if (!Succeeded(database_.db->DropSnapshot(name), "drop snapshot") || crashed_) return;
  unsure_named_.clear();
  named_.erase(name);
  Expect(absl::IsNotFound(database_.db->FindSnapshot(name).status()) || crashed_, "a name that was dropped");
}

void History::ReadNamed() {
  if (named_.empty()) return;
  const std::string name = RandomName();
  const absl::StatusOr<std::shared_ptr<const Snapshot>> found = database_.db->FindSnapshot(name);
  if (!Succeeded(found.status(), "find snapshot")) return;
  const NamedModel& named = named_.at(name);
  // One that is held does not expire, and the model knows no holders.
  if (named.expires_millis == 0 && snapshots_.size() < 10 && random_.OneIn(2)) {
    snapshots_.push_back({*found, named.batch});
  }
  CheckNamed(name, **found);
}

void History::CheckNamed(const std::string& name, const Snapshot& snapshot) {
  const std::string family = RandomFamily();
  const std::unique_ptr<Iterator> iterator = database_.db->NewIterator(Handle(family), {.snapshot = &snapshot});
  const Entries shown = ReadAll(iterator.get());
  if (!Succeeded(iterator->status(), "reading at a name")) return;
  const Entries expected = model_.Contents(family, named_.at(name).batch);
  Expect(shown == expected, absl::StrFormat("what %s shows of %s: %s", name, family, Difference(shown, expected)));
}

std::string History::RandomName() {
  return std::next(named_.begin(), static_cast<ptrdiff_t>(random_.Uniform(named_.size())))->first;
}

void History::ExpireNamed() {
  std::erase_if(named_, [&](const auto& named) {
    return named.second.expires_millis > 0 && named.second.expires_millis <= model_.now_millis();
  });
}

// After an opening, before it is known which batches are there: all that a name sees must be.
void History::SettleNames() {
  const absl::StatusOr<std::vector<NamedSnapshot>> listed = database_.db->ListSnapshots();
  if (!Succeeded(listed.status(), "list snapshots")) return;
  std::vector<std::string> names;
  for (const NamedSnapshot& snapshot : *listed) names.push_back(snapshot.name);
  const std::string unsure = std::exchange(unsure_named_, "");
  if (!unsure.empty() && std::find(names.begin(), names.end(), unsure) == names.end()) named_.erase(unsure);
  std::vector<std::string> expected;
  for (const auto& [name, named] : named_) {
    expected.push_back(name);
    synced_ = std::max(synced_, named.batch);
  }
  Expect(names == expected,
         absl::StrFormat("%u named snapshots, not the %u of the model", names.size(), expected.size()));
}

void History::CheckAllNamed() {
  for (const auto& [name, named] : named_) {
    const absl::StatusOr<std::shared_ptr<const Snapshot>> found = database_.db->FindSnapshot(name);
    if (!Succeeded(found.status(), "find snapshot") || failed()) return;
    CheckNamed(name, **found);
  }
}

}  // namespace sepal::model
