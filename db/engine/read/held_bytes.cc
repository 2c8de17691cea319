#include "db/engine/read/held_bytes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "db/decide/compaction/subcompactions.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/read/range_cover.h"
#include "db/engine/read/view_iterator.h"
#include "db/format/value_reference.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr uint64_t kMostPlaces = 256;
constexpr uint64_t kLeastBytesOfPlace = uint64_t{4} << 10;
// The bytes of a walk that take about as long as one search for a range delete.
constexpr uint64_t kBytesOfSearch = 64;

template <class Visit>
void ForEachTable(const ReadView& view, Visit visit) {
  for (const LevelRun& run : view.version->runs()) {
    for (const TableRef& table : run.run->tables()) visit(*table);
  }
}

template <class Visit>
void ForEachMemTable(const ReadView& view, Visit visit) {
  visit(*view.active);
  for (const std::shared_ptr<const MemTable>& memtable : view.immutables) visit(*memtable);
}

struct Stored {
  uint64_t table_bytes = 0;
  uint64_t raw_table_bytes = 0;  // bytes of keys and values
  uint64_t memory_bytes = 0;     // likewise
  uint64_t entries = 0;
  uint64_t raw_bytes() const { return raw_table_bytes + memory_bytes; }
};

Stored StoredIn(const ReadView& view) {
  Stored stored;
  ForEachTable(view, [&](const TableFile& table) {
    stored.table_bytes += table.metadata().size_bytes;
    stored.raw_table_bytes += table.metadata().raw_bytes;
    stored.entries += table.metadata().entries;
  });
  ForEachMemTable(view, [&](const MemTable& memtable) {
    stored.memory_bytes += memtable.DataBytes();
    stored.entries += memtable.EntryCount();
  });
  return stored;
}

KeyStretch StretchOf(const TableFile& table) {
  const TableMetadata& m = table.metadata();
  return {m.smallest.user_key, m.largest.user_key, m.raw_bytes};
}

// Adds the memtable's stretch, with a cut after every `piece_bytes`.
void AppendMemTable(const MemTable& memtable, KeyOrder order, uint64_t piece_bytes,
                    std::vector<KeyStretch>* stretches) {
  const std::unique_ptr<InternalIterator> entries = memtable.NewIterator();
  entries->SeekToFirst();
  if (!entries->Valid()) return;
  KeyStretch all{.smallest = std::string(entries->key().user_key), .largest = {}, .bytes = 0};
  std::vector<std::string> cuts;
  for (uint64_t piece = 0; entries->Valid(); entries->Next()) {
    const uint64_t size = entries->key().user_key.size() + entries->value().size();
    all.bytes += size;
    piece += size;
    if (piece < piece_bytes) continue;
    cuts.emplace_back(entries->key().user_key);
    piece = 0;
  }
  entries->SeekToLast();
  all.largest = std::string(entries->key().user_key);
  AppendStretches(stretches, order, std::move(all), cuts);
}

// Where the next older update of the current key is hidden.
class HidingOfKey {
 public:
  // `deletes`: sequence numbers of range deletes that cover the key, newest first.
  void Begin(std::vector<SequenceNumber> deletes) {
    deletes_ = std::move(deletes);
    next_delete_ = 0;
    by_update_.reset();
    by_delete_.reset();
  }
  // Returns the sequence number from which readers neither see nor need the next older update; nullopt if they do until
  // now.
  std::optional<SequenceNumber> Of(SequenceNumber sequence) {
    while (next_delete_ < deletes_.size() && deletes_[next_delete_] > sequence) by_delete_ = deletes_[next_delete_++];
    if (!by_delete_.has_value() || !by_update_.has_value()) return by_delete_.has_value() ? by_delete_ : by_update_;
    return std::min(*by_delete_, *by_update_);
  }
  void HideOlder(SequenceNumber sequence) { by_update_ = sequence; }

 private:
  std::vector<SequenceNumber> deletes_;
  size_t next_delete_ = 0;
  std::optional<SequenceNumber> by_update_;
  std::optional<SequenceNumber> by_delete_;
};

class HeldWalk {
 public:
  HeldWalk(Core* core, const Family& family, const ReadView& view, SequenceNumber visible, const ReaderMoments& moments)
      : core_(core), family_(family), view_(view), visible_(visible), moments_(moments) {}

  absl::Status GoThroughAll() {
    all_ = true;
    return GoFrom(std::nullopt, UINT64_MAX);
  }
  // Walks about `most_bytes`, at evenly spaced places.
  absl::Status GoToPlaces(const Stored& stored, uint64_t most_bytes) {
    const std::vector<std::string> places =
        Places(stored, std::clamp<uint64_t>(most_bytes / kLeastBytesOfPlace, 1, kMostPlaces));
    const uint64_t most = most_bytes / (places.size() + 1);
    RETURN_IF_ERROR(GoFrom(std::nullopt, most));
    for (const std::string& place : places) RETURN_IF_ERROR(GoFrom(place, most));
    return absl::OkStatus();
  }
  // Scales the sums of the walk up to all stored bytes.
  void AddTo(const Stored& stored, HeldBytes* held) const {
    const auto share = [](uint64_t a, uint64_t b) {
      return b == 0 ? 1.0 : static_cast<double>(a) / static_cast<double>(b);
    };
    const double part = all_ ? 1.0 : std::max(1.0, share(stored.raw_bytes(), walked_bytes_));
    const double packed = share(stored.table_bytes, stored.raw_table_bytes);
    for (const auto& [moment, sum] : held_) {
      const double bytes = packed * static_cast<double>(sum.entry_bytes) + static_cast<double>(sum.separated_bytes);
      (*held)[moment] += static_cast<uint64_t>(part * bytes);
    }
  }

 private:
  struct Sum {
    uint64_t entry_bytes = 0;
    uint64_t separated_bytes = 0;  // bytes of separated values
  };

  // Returns keys that divide the stored bytes evenly. Opens only tables that are cut.
  std::vector<std::string> Places(const Stored& stored, uint64_t count) const {
    FamilyTableOpener opener = core_->Opener(family_.order);
    const uint64_t piece = stored.raw_bytes() / count + 1;
    std::vector<KeyStretch> stretches;
    ForEachTable(view_, [&](const TableFile& table) {
      std::vector<std::string> cuts;
      if (table.metadata().raw_bytes >= piece) {
        const absl::StatusOr<const TableReader*> reader = table.OpenReader(&opener);
        if (reader.ok()) cuts = (*reader)->EvenCuts(table.metadata().raw_bytes / piece);
      }
      AppendStretches(&stretches, family_.order, StretchOf(table), cuts);
    });
    ForEachMemTable(view_,
                    [&](const MemTable& memtable) { AppendMemTable(memtable, family_.order, piece, &stretches); });
    return SubcompactionBoundaries(stretches, family_.order, static_cast<int>(count), /*min_part_bytes=*/0);
  }

  // Walks from `begin` until `most` is reached, mostly at a key's end.
  absl::Status GoFrom(const std::optional<std::string>& begin, uint64_t most) {
    const std::unique_ptr<InternalIterator> entries =
        NewVersionsIterator(core_, family_, view_, {.begin = begin}, /*fill_cache=*/false);
    if (begin.has_value()) {
      entries->Seek({*begin, SeekTrailer(kMaxSequenceNumber)});
    } else {
      entries->SeekToFirst();
    }
    uint64_t work = 0;
    bool first = true;
    for (; entries->Valid() && work / 2 <= most; entries->Next()) {
      const InternalKeyView key = entries->key();
      if (first || !family_.order.Equal(key.user_key, key_)) {
        if (work >= most) break;
        RETURN_IF_ERROR(core_->CheckOpen());
        work += kBytesOfSearch * BeginKey(key.user_key);
        first = false;
      }
      const uint64_t size = key.user_key.size() + entries->value().size();
      work += size;
      walked_bytes_ += size;
      if (key.sequence() <= visible_) Add(key, entries->value());
    }
    return entries->status();
  }
  // Returns the number of searches. Of the deletes between two moments only the newest is needed, as they hide the
  // same.
  uint64_t BeginKey(std::string_view key) {
    key_.assign(key);
    std::vector<SequenceNumber> deletes;
    uint64_t searches = 0;
    for (std::optional<SequenceNumber> at = visible_; family_.range_deletes.any() && at.has_value(); ++searches) {
      const SequenceNumber deleted = CoveringIn(view_, family_.order, key_, *at);
      if (deleted == SequenceNumber(0)) break;
      deletes.push_back(deleted);
      at = LastMomentBefore(deleted);
    }
    hiding_.Begin(std::move(deletes));
    return searches;
  }
  std::optional<SequenceNumber> LastMomentBefore(SequenceNumber sequence) const {
    std::optional<SequenceNumber> last;
    if (moments_.floor < sequence) last = moments_.floor;
    const auto behind = std::lower_bound(moments_.snapshots.begin(), moments_.snapshots.end(), sequence);
    if (behind == moments_.snapshots.begin()) return last;
    return last.has_value() ? std::max(*last, *std::prev(behind)) : *std::prev(behind);
  }

  // Adds the next older update of the key. Readers see or need it from its own number on until it is hidden.
  void Add(const InternalKeyView& key, std::string_view payload) {
    const SequenceNumber sequence = key.sequence();
    const std::optional<SequenceNumber> hidden = hiding_.Of(sequence);
    const Meaning meaning = MeaningOf(key.trailer);
    if (meaning != Meaning::kOperand) hiding_.HideOlder(sequence);
    if (!hidden.has_value() || *hidden > moments_.floor) return;
    const auto sees = std::lower_bound(moments_.snapshots.begin(), moments_.snapshots.end(), sequence);
    if (sees == moments_.snapshots.end() || *sees >= *hidden) return;
    const auto next = sees + 1;
    if (next != moments_.snapshots.end() && *next < *hidden) return;
    Sum& sum = held_[*sees];
    std::string_view value = payload;
    // An expired put is absent at every moment, so it is kept for none.
    if (meaning == Meaning::kExpiring && MeaningNow(key.trailer, &value, &core_->expiry) == Meaning::kAbsent) return;
    const std::optional<ValueReference> reference = ReferenceOf(key.kind(), payload);
    if (reference.has_value()) sum.separated_bytes += reference->stored_bytes;
    sum.entry_bytes += key.user_key.size() + payload.size();
  }

  Core* const core_;
  const Family& family_;
  const ReadView& view_;
  const SequenceNumber visible_;
  const ReaderMoments moments_;
  bool all_ = false;
  uint64_t walked_bytes_ = 0;
  std::map<SequenceNumber, Sum> held_;
  std::string key_;
  HidingOfKey hiding_;
};

}  // namespace

uint64_t WalkBytes(const Family& family, const ReadView& view, const ReaderMoments& moments) {
  const Stored stored = StoredIn(view);
  if (!family.range_deletes.any()) return stored.raw_bytes();
  return stored.raw_bytes() + kBytesOfSearch * stored.entries * moments.snapshots.size();
}

absl::Status AddHeldBytes(Core* core, const Family& family, const ReadView& view, SequenceNumber visible,
                          const ReaderMoments& moments, uint64_t most_bytes, HeldBytes* held) {
  if (moments.snapshots.empty()) return absl::OkStatus();
  const Stored stored = StoredIn(view);
  HeldWalk walk(core, family, view, visible, moments);
  const bool all = WalkBytes(family, view, moments) <= most_bytes;
  RETURN_IF_ERROR(all ? walk.GoThroughAll() : walk.GoToPlaces(stored, most_bytes));
  walk.AddTo(stored, held);
  return absl::OkStatus();
}

}  // namespace sepal
