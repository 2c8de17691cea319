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

constexpr int kPlaces = 256;

// The tables of a view, together.
struct Stored {
  uint64_t bytes = 0;
  uint64_t raw_bytes = 0;  // of keys and values
};

Stored StoredIn(const Version& version) {
  Stored stored;
  for (const LevelRun& run : version.runs()) {
    for (const TableRef& table : run.run->tables()) {
      stored.bytes += table->metadata().size_bytes;
      stored.raw_bytes += table->metadata().raw_bytes;
    }
  }
  return stored;
}

// What lies apart from the entry.
uint64_t SeparatedBytes(const InternalKeyView& key, std::string_view payload) {
  if (MeaningOf(key.trailer) != Meaning::kReference) return 0;
  const std::optional<ValueReference> reference = ParseValueReference(payload);
  return reference.has_value() ? reference->stored_bytes : 0;
}

class Walk {
 public:
  Walk(Core* core, const Family& family, const ReadView& view, SequenceNumber visible, const ReaderMoments& moments)
      : core_(core),
        family_(family),
        view_(view),
        visible_(visible),
        moments_(moments),
        most_bytes_(core->tuning.snapshot_walk_bytes) {}

  // All entries, or those of some places.
  absl::Status Go(const Stored& stored) {
    if (stored.bytes <= most_bytes_) return GoFrom(std::nullopt, UINT64_MAX);
    const std::vector<std::string> places = Places(stored);
    const uint64_t most = most_bytes_ / (places.size() + 1);
    RETURN_IF_ERROR(GoFrom(std::nullopt, most));
    for (const std::string& place : places) RETURN_IF_ERROR(GoFrom(place, most));
    return absl::OkStatus();
  }
  // What was walked stands for all that is stored.
  void AddTo(HeldBytes* held, const Stored& stored) const {
    const double part = stored.bytes <= most_bytes_ || walked_bytes_ == 0
                            ? 1.0
                            : static_cast<double>(stored.raw_bytes) / static_cast<double>(walked_bytes_);
    const double packed =
        stored.raw_bytes == 0 ? 1.0 : static_cast<double>(stored.bytes) / static_cast<double>(stored.raw_bytes);
    for (const auto& [moment, sum] : held_) {
      const double bytes = packed * static_cast<double>(sum.entry_bytes) + static_cast<double>(sum.separated_bytes);
      (*held)[moment] += static_cast<uint64_t>(part * bytes);
    }
  }

 private:
  struct Sum {
    uint64_t entry_bytes = 0;
    uint64_t separated_bytes = 0;
  };

  std::vector<std::string> Places(const Stored& stored) const {
    FamilyTableOpener opener = core_->Opener(family_.order);
    std::vector<KeyStretch> stretches;
    for (const LevelRun& run : view_.version->runs()) {
      for (const TableRef& table : run.run->tables()) {
        const TableMetadata& m = table->metadata();
        std::vector<std::string> cuts;
        const absl::StatusOr<const TableReader*> reader = table->OpenReader(&opener);
        if (reader.ok()) cuts = (*reader)->EvenCuts(kPlaces * m.size_bytes / stored.bytes);
        AppendStretches(&stretches, family_.order, {m.smallest.user_key, m.largest.user_key, m.size_bytes}, cuts);
      }
    }
    return SubcompactionBoundaries(stretches, family_.order, kPlaces, /*min_part_bytes=*/0);
  }

  // Whole keys, from `begin` on, until it has seen as many bytes.
  absl::Status GoFrom(const std::optional<std::string>& begin, uint64_t most_bytes) {
    const std::unique_ptr<InternalIterator> entries = NewVersionsIterator(core_, family_, view_, {.begin = begin});
    if (begin.has_value()) {
      entries->Seek({*begin, SeekTrailer(kMaxSequenceNumber)});
    } else {
      entries->SeekToFirst();
    }
    uint64_t bytes = 0;
    bool first = true;
    for (; entries->Valid(); entries->Next()) {
      const InternalKeyView key = entries->key();
      if (first || !family_.order.Equal(key.user_key, key_)) {
        if (bytes >= most_bytes) break;
        BeginKey(key.user_key);
        first = false;
      }
      const uint64_t size = key.user_key.size() + entries->value().size();
      bytes += size;
      if (key.sequence() > visible_) continue;
      Add(key, {.entry_bytes = size, .separated_bytes = SeparatedBytes(key, entries->value())});
    }
    walked_bytes_ += bytes;
    return entries->status();
  }
  void BeginKey(std::string_view key) {
    key_.assign(key);
    hidden_at_.reset();
    deletes_.clear();
    const SequenceNumber oldest = moments_.snapshots.front();
    for (SequenceNumber at = visible_;;) {
      const SequenceNumber deleted = CoveringIn(view_, family_.order, key_, at, /*known=*/oldest);
      if (deleted <= oldest) return;  // what it hides, no snapshot sees
      deletes_.push_back(deleted);
      at = SequenceNumber(deleted.value() - 1);
    }
  }

  // The next older update of the key. Readers see it, or need it, from its own number on until it is hidden.
  void Add(const InternalKeyView& key, const Sum& size) {
    const SequenceNumber sequence = key.sequence();
    while (!deletes_.empty() && deletes_.back() <= sequence) deletes_.pop_back();
    std::optional<SequenceNumber> hidden = hidden_at_;
    if (!deletes_.empty()) hidden = std::min(deletes_.back(), hidden.value_or(deletes_.back()));
    if (MeaningOf(key.trailer) != Meaning::kOperand) hidden_at_ = sequence;
    if (!hidden.has_value() || *hidden > moments_.floor) return;
    const auto sees = std::lower_bound(moments_.snapshots.begin(), moments_.snapshots.end(), sequence);
    if (sees == moments_.snapshots.end() || *sees >= *hidden) return;
    const auto next = sees + 1;
    if (next != moments_.snapshots.end() && *next < *hidden) return;
    Sum& sum = held_[*sees];
    sum.entry_bytes += size.entry_bytes;
    sum.separated_bytes += size.separated_bytes;
  }

  Core* const core_;
  const Family& family_;
  const ReadView& view_;
  const SequenceNumber visible_;
  const ReaderMoments moments_;
  const uint64_t most_bytes_;
  uint64_t walked_bytes_ = 0;
  std::map<SequenceNumber, Sum> held_;
  // Of the key in hand: where its next older update is hidden, and the range deletes that cover it, the newest first.
  std::string key_;
  std::optional<SequenceNumber> hidden_at_;
  std::vector<SequenceNumber> deletes_;
};

}  // namespace

absl::Status AddHeldBytes(Core* core, const Family& family, const ReadView& view, SequenceNumber visible,
                          const ReaderMoments& moments, HeldBytes* held) {
  if (moments.snapshots.empty()) return absl::OkStatus();
  const Stored stored = StoredIn(*view.version);
  Walk walk(core, family, view, visible, moments);
  RETURN_IF_ERROR(walk.Go(stored));
  walk.AddTo(held, stored);
  return absl::OkStatus();
}

}  // namespace sepal
