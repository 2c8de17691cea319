// A reader beside the database, which comes to what that is from time to time, and keeps snapshots of what it was.
#include "tests/model/history.h"

namespace sepal::model {

void History::Follow() {
  if (reader_ == nullptr) {
    absl::StatusOr<std::unique_ptr<DB>> opened = database_.OpenReadOnly();
    if (!Succeeded(opened.status(), "open a reader")) return;
    reader_ = *std::move(opened);
  }
  if (!Succeeded(reader_->CatchUp(), "catch up") || crashed_) return;
  CompareReader();
  if (reader_snapshots_.size() < 3) {
    reader_snapshots_.push_back({reader_->GetSnapshot(), model_.latest()});
  } else if (random_.OneIn(2)) {
    reader_snapshots_.erase(reader_snapshots_.begin());
  }
}

void History::CompareReader() {
  for (const std::string& family : model_.FamilyNames()) {
    CheckReader(family, {}, model_.latest());
    if (failed() || crashed_) return;
  }
  Expect(reader_->ColumnFamilyNames().size() == model_.FamilyNames().size(), "a family that a reader has still");
  const std::string family = RandomFamily();
  for (const HeldSnapshot& held : reader_snapshots_) {
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> handle = reader_->FindColumnFamily(family);
    if (!Succeeded(handle.status(), "find a reader's family")) return;
    // One that came later is not in it.
    if (reader_->NewIterator(**handle, {.snapshot = held.snapshot.get()})->status().ok()) {
      CheckReader(family, {.snapshot = held.snapshot.get()}, held.batch);
    }
  }
}

void History::CheckReader(const std::string& family, const ReadOptions& options, uint64_t batch) {
  const absl::StatusOr<std::shared_ptr<ColumnFamily>> handle = reader_->FindColumnFamily(family);
  if (!Succeeded(handle.status(), "find a reader's family")) return;
  const Entries expected = model_.Contents(family, batch);
  const std::unique_ptr<Iterator> iterator = reader_->NewIterator(**handle, options);
  const Entries shown = ReadAll(iterator.get());
  if (!Succeeded(iterator->status(), "a reader's iterator")) return;
  Expect(shown == expected, "what a reader shows of " + family + ": " + Difference(shown, expected));
  const std::string key = RandomKey();
  const absl::StatusOr<std::string> value = reader_->Get(**handle, key, options);
  if (!value.ok() && !absl::IsNotFound(value.status())) {
    Succeeded(value.status(), "a reader's get");
    return;
  }
  const std::optional<std::string> there = model_.Get(family, key, batch);
  Expect(value.value_or("") == there.value_or("") && value.ok() == there.has_value(), "a reader's value of " + key);
}

}  // namespace sepal::model
