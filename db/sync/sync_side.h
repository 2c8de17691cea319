// One side of a sync: a column family that is compared and filled, one round after another.
//
// A round covers the key space by ranges, and works on those whose sums differ. An entry is identified by a hash of key
// and value with the round's seed; so the next round finds the entries that false positives of this one hide. Each call
// that reads all entries is one scan. Keys whose conflict stays are left out of everything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/sync/difference_table.h"
#include "db/sync/sync_messages.h"
#include "sepal/db.h"
#include "sepal/filter.h"

namespace sepal {

struct SyncTuning {
  uint64_t entries_of_range = 1024;
  // The limit of their sums. Near it, ranges have more entries.
  uint64_t most_range_bytes = RangeSums::kMostBytes;
  // The rate of the filters: a lower one means fewer rounds and more bytes.
  double false_positive_rate = 0.01;
  uint64_t most_filter_bytes = uint64_t{64} << 20;
  // The number of both sides' entries in the ranges that differ up to which their hashes are sent in place of a filter.
  uint64_t exact_entries = 512;
  // The size of a table of differences, as a share of that for all of them: a smaller table yields only some.
  double table_room = 1;
  size_t batch_bytes = size_t{256} << 10;
  // Of all families together.
  uint64_t most_conflicts = 1'000'000;
  uint64_t most_conflict_bytes = uint64_t{64} << 20;
};

// The form in which a side describes the entries that it has, or lacks.
enum class SyncForm : uint8_t {
  kHashes = 0,  // a sorted list of hashes: has
  kBloom = 1,   // has
  kTable = 2,   // a DifferenceTable: has
  kWanted = 3,  // a sorted list of hashes: lacks
};

class SyncFilter {
 public:
  static absl::StatusOr<SyncFilter> Parse(std::string_view payload);
  SyncForm form() const { return form_; }
  // Whether the other side may have the entry. Not for a table.
  bool MayContain(uint64_t hash) const;
  // Only for a table, which SyncSide::Resolve turns into a list of the entries that the other side lacks.
  DifferenceTable& table() { return *table_; }
  void BecomeWanted(std::vector<uint64_t> hashes);

 private:
  SyncForm form_ = SyncForm::kHashes;
  std::optional<filters::BloomFilter> bloom_;
  std::optional<DifferenceTable> table_;
  std::vector<uint64_t> hashes_;
};

// A kFilter payload: kHashes or kWanted.
std::string EncodeHashes(SyncForm form, std::vector<uint64_t> hashes);

class SyncSide {
 public:
  // `begins`: whether this side's values are the "ours" of the policy. The database must outlive the side.
  SyncSide(DB* db, ConflictPolicy policy, bool begins, const SyncTuning& tuning)
      : db_(db), policy_(policy), begins_(begins), tuning_(tuning) {}

  // Chooses the family to work on; it is created if it is missing.
  absl::Status Begin(const std::string& family);

  // Returns sums of all entries, in ranges of this side's choice, which become those of the round.
  absl::Status Sum(uint64_t seed);
  // Compares the same ranges here, and returns those that differ.
  absl::StatusOr<SyncDiffering> Compare(SyncRanges theirs);
  // Sets the round's ranges that differ.
  void WorkOn(std::vector<bool> differing) { differing_ = std::move(differing); }

  // Returns a kFilter payload of the entries of the differing ranges; `count`: about their number, or, for a table, the
  // number of entries that only one side has.
  absl::StatusOr<std::string> Filter(SyncForm form, uint64_t count);
  // Finds in the other side's table the entries that it lacks, which replace `theirs`, and returns those that this side
  // lacks.
  absl::StatusOr<std::vector<uint64_t>> Resolve(SyncFilter* theirs);
  // Calls `send` with kItems payloads: the entries of the differing ranges that are certainly not in `theirs`.
  absl::Status Missing(const SyncFilter& theirs, const std::function<absl::Status(std::string_view)>& send);
  // Writes the entries that are missing here, and decides conflicts.
  absl::Status Apply(std::string_view items);
  // Applied entries are durable when this returns.
  absl::Status Sync() { return db_->Sync(); }

  // The keys that stay in conflict: those found since the last call; and those that the other side has found.
  std::vector<std::string> TakeConflicts() { return std::exchange(new_conflicts_, {}); }
  absl::Status AddConflicts(const std::vector<std::string>& keys);

  const SyncRanges& ranges() const { return ranges_; }        // of the round
  uint64_t entries() const { return entries_; }               // as of the last sums
  const DifferenceSketch& sketch() const { return sketch_; }  // of the same
  uint64_t sent() const { return sent_; }
  uint64_t written() const { return written_; }
  uint64_t overwritten() const { return overwritten_; }

 private:
  using Visit = std::function<absl::Status(std::string_view key, std::string_view value, uint64_t hash)>;
  // Visits every entry of range `i` of the round, at which `it` stands, and leaves `it` behind the range.
  absl::Status ScanRange(Iterator* it, size_t i, const Visit& visit) const;
  absl::Status ScanDiffering(const Visit& visit) const;
  absl::Status ScanHashes(const std::function<void(uint64_t hash)>& take) const;
  // Whether a round's next range begins at `key`.
  bool EndsBefore(const RangeSum& range, std::string_view key) const;
  // InvalidArgument if `key` stands after `*last` in another order than that of bytes; `*last` becomes `key`.
  absl::Status CheckOrder(std::string_view key, std::string* last) const;
  uint64_t HashOf(std::string_view key, std::string_view value) const;
  bool IsInConflict(std::string_view key) const { return !conflicts_.empty() && conflicts_.contains(key); }
  absl::StatusOr<uint64_t> SequenceOf(std::string_view key) const;
  // Returns whether the received value replaces the local one; nullopt: both stay.
  absl::StatusOr<std::optional<bool>> Overwrites(const SyncItem& item) const;
  absl::Status NoteConflict(std::string_view key);  // that this side has found
  absl::Status AddConflict(std::string_view key);

  DB* const db_;
  const ConflictPolicy policy_;
  const bool begins_;
  const SyncTuning tuning_;
  std::shared_ptr<ColumnFamily> family_;
  SyncRanges ranges_;
  DifferenceSketch sketch_;
  std::vector<bool> differing_;
  std::set<std::string, std::less<>> conflicts_;
  std::vector<std::string> new_conflicts_;
  uint64_t conflict_count_ = 0, conflict_bytes_ = 0;  // of all families until now
  uint64_t entries_ = 0, sent_ = 0, written_ = 0, overwritten_ = 0;
};

}  // namespace sepal
