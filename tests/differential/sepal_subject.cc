#include "absl/strings/str_format.h"
#include "tests/db/engine/test_database.h"
#include "tests/differential/operations.h"
#include "tests/model/option_sets.h"
#include "util/base/random.h"

namespace sepal::reliability {

namespace {

// Each fixed set differs from the one before in one thing at least; together they meet every value of every option.
void UseFixedSet(uint64_t set, ColumnFamilyOptions* family, Tuning* tuning) {
  constexpr CompressionKind kKinds[] = {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4,
                                        CompressionKind::kZstd};
  constexpr size_t kBlocks[] = {256, 512, 4096};
  const FilterPolicy filters[] = {FilterPolicy{}, FilterPolicy::None(),
                                  FilterPolicy{.lane_bits_per_key = 0, .guard_bits_per_key = 4}};
  family->compaction_style = set % 2 == 0 ? CompactionStyle::kLeveled : CompactionStyle::kLazyLeveling;
  family->compression = kKinds[set % 4];
  family->block_bytes = kBlocks[set / 4 % 3];
  family->filter_policy = filters[set / 12 % 3];
  family->separate_from = set % 3 == 2 ? 64 : 0;
  tuning->memtable_bytes = size_t{4} << 10 << set % 3;
  tuning->table_bytes = size_t{2} << 10 << set % 5;
  tuning->runs_per_level = static_cast<int>(2 + set % 3);
  tuning->unread_runs = set % 5 == 1 ? 6 : 0;
  tuning->fanout = static_cast<int>(2 + set % 4);
  tuning->blocks_per_leaf_page = static_cast<uint32_t>(1 + set % 7);
  tuning->copy_value_bytes = set % 3 * 200;
  tuning->manifest_limit_bytes = set % 5 == 0 ? 256 : 64 << 10;
}

class SepalSubject final : public Subject {
 public:
  SepalSubject(uint64_t set, bool wander)
      : set_(set), wander_(wander), unlogged_(set), database_(Threads::kSimulated, set + 1, /*switch_one_in=*/60) {
    UseSet();
    Note(database_.Open());
  }

  void Write(const std::vector<Update>& batch, bool sync) override {
    WriteBatch updates;
    for (const Update& update : batch) {
      if (update.value.has_value()) {
        updates.Put(update.key, *update.value);
      } else {
        updates.Delete(update.key);
      }
    }
    // The database is always closed: nothing is lost.
    Note(db()->Write(updates, {.sync = sync, .disable_wal = !sync && set_ % 4 == 1 && unlogged_.OneIn(3)}));
  }
  std::optional<std::string> Get(const std::string& key, int snapshot) override {
    const absl::StatusOr<std::string> value = db()->Get(key, At(snapshot));
    if (value.ok()) return *value;
    if (!absl::IsNotFound(value.status())) Note(value.status());
    return std::nullopt;
  }
  Entries Scan(const std::string& begin, const std::string& end, bool backwards, size_t limit, int snapshot) override {
    ReadOptions options = At(snapshot);
    options.lower_bound = begin;
    options.upper_bound = end;
    const std::unique_ptr<Iterator> it = db()->NewIterator(options);
    Entries entries;
    backwards ? it->SeekToLast() : it->SeekToFirst();
    while (it->Valid() && entries.size() < limit) {
      entries.emplace_back(it->key(), it->value());
      backwards ? it->Prev() : it->Next();
    }
    Note(it->status());
    return entries;
  }
  void TakeSnapshot() override { snapshots_.push_back(db()->GetSnapshot()); }
  void LetSnapshotsGo() override { snapshots_.clear(); }
  void Flush() override { Note(db()->Flush()); }
  void Compact(const std::string& begin, const std::string& end) override {
    Note(db()->CompactRange({.begin = begin, .end = end}));
  }
  void Reopen() override {
    if (wander_) ++set_;
    UseSet();
    Note(database_.Reopen());
    if (database_.db != nullptr) Note(database_.db->CheckConsistency());
  }

 private:
  DB* db() { return database_.db.get(); }
  ReadOptions At(int snapshot) const {
    ReadOptions options;
    if (snapshot != kNow) options.snapshot = snapshots_[static_cast<size_t>(snapshot)].get();
    return options;
  }
  void Note(const absl::Status& status) {
    if (!status.ok() && error.empty()) error = absl::StrFormat("option set %u: %s", set_, status.ToString());
  }
  void UseSet() {
    if (set_ < kFixedOptionSets) {
      UseFixedSet(set_, &database_.options.family, &database_.tuning);
      return;
    }
    Random random(set_);
    model::RandomizeFamily(&random, &database_.options.family);
    database_.tuning = model::RandomTuning(&random);
  }

  uint64_t set_;
  const bool wander_;
  Random unlogged_;
  TestDatabase database_;
  std::vector<std::shared_ptr<const Snapshot>> snapshots_;
};

}  // namespace

std::unique_ptr<Subject> MakeSepalSubject(uint64_t set, bool wander) {
  return std::make_unique<SepalSubject>(set, wander);
}

}  // namespace sepal::reliability
