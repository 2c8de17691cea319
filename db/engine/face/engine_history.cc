// Reading as of past moments (sepal/history.h), and their time marks.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/visibility/operands.h"
#include "db/engine/face/engine.h"
#include "db/engine/read/database_iterator.h"
#include "db/engine/read/held_view.h"
#include "db/engine/read/range_cover.h"
#include "db/engine/read/separated_value.h"
#include "db/engine/read/view_iterator.h"
#include "db/format/batch_format.h"
#include "db/format/time_mark.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal {

namespace {

std::string ClockText(const TimeMarkList::ClockTrouble& trouble) {
  if (trouble.behind_millis > 0) {
    return absl::StrFormat(
        "%u ms behind the newest mark; until it has caught up no marks are made, and no more is given up: if it is "
        "right, call DB::AcceptClock",
        trouble.behind_millis);
  }
  if (trouble.doubted) {
    return "ahead of the time that has passed for certain; less is given up until it has kept pace for ten minutes: if "
           "it is right, call DB::AcceptClock";
  }
  return "trusted";
}

absl::Status HasNoHistory(const Family& family) {
  return absl::FailedPreconditionError(
      absl::StrFormat("column family \"%s\" keeps no history: give it one by opening the database with "
                      "ColumnFamilyOptions::history; it has what is written from then on",
                      Printable(family.name)));
}

// The versions of one key in a view, newest first.
class VersionsOfKey {
 public:
  VersionsOfKey(Core* core, const Family* family, const ReadView* view, SequenceNumber visible, std::string_view key)
      : core_(core), family_(family), view_(view), visible_(visible), key_(key) {}

  // Collects versions down to the first at or below `floor` that needs none before it: as many as `options` asks for,
  // and possibly some more.
  absl::Status Collect(SequenceNumber floor, const HistoryOptions& options) {
    versions_.clear();
    from_ = visible_;
    if (options.below_sequence == 0) return absl::OkStatus();
    if (options.below_sequence.has_value()) from_ = std::min(visible_, SequenceNumber(*options.below_sequence - 1));
    const std::unique_ptr<InternalIterator> entries =
        NewVersionsIterator(core_, *family_, *view_, {key_, key_}, /*fill_cache=*/true);
    if (from_ < floor) {
      ASSIGN_OR_RETURN(const bool decided, IsDecidedAbove(floor, entries.get()));
      if (decided) return absl::OkStatus();
    }
    size_t wanted = options.limit;
    for (entries->Seek({key_, SeekTrailer(from_)}); wanted > 0 && IsAtKey(*entries); entries->Next()) {
      if (entries->key().sequence() > from_) continue;
      RETURN_IF_ERROR(Add(entries->key(), entries->value()));
      if (entries->key().sequence() <= floor && versions_.back().kind != KeyVersion::Kind::kMerge) break;
      --wanted;
    }
    RETURN_IF_ERROR(entries->status());
    AddRangeDeletes(floor, options.limit);
    return absl::OkStatus();
  }
  // Nothing above this number was looked at.
  SequenceNumber from() const { return from_; }
  // Returns them without versions older than the one that was current at `floor`.
  std::vector<KeyVersion> Take(SequenceNumber floor, const HistoryOptions& options) && {
    std::stable_sort(versions_.begin(), versions_.end(),
                     [](const KeyVersion& a, const KeyVersion& b) { return a.sequence > b.sequence; });
    const auto decides = std::find_if(versions_.begin(), versions_.end(), [&](const KeyVersion& version) {
      return version.sequence <= floor.value() && version.kind != KeyVersion::Kind::kMerge;
    });
    // If the key was absent at the beginning, no version says so.
    const bool absent = decides != versions_.end() && decides->kind != KeyVersion::Kind::kPut;
    if (decides != versions_.end()) versions_.erase(absent ? decides : decides + 1, versions_.end());
    if (versions_.size() > options.limit) versions_.resize(options.limit);
    return std::move(versions_);
  }

 private:
  absl::Status Add(const InternalKeyView& key, std::string_view payload) {
    KeyVersion& version = versions_.emplace_back();
    version.sequence = key.sequence().value();
    switch (MeaningOf(key.trailer)) {
      case Meaning::kAbsent:
        version.kind = KeyVersion::Kind::kDelete;
        return absl::OkStatus();
      case Meaning::kValue:
        version.value = payload;
        return absl::OkStatus();
      case Meaning::kOperand:
        version.kind = KeyVersion::Kind::kMerge;
        version.value = OperandOf(key.trailer, payload).own;
        return absl::OkStatus();
      case Meaning::kReference:
        return FetchValue(core_, key_, payload, &version.value);
      case Meaning::kExpiring:
        break;
    }
    const Meaning now = MeaningNow(key.trailer, &payload, &core_->expiry);
    if (now == Meaning::kReference) return FetchValue(core_, key_, payload, &version.value);
    if (now == Meaning::kAbsent) {
      version.kind = KeyVersion::Kind::kExpired;
    } else {
      version.value = payload;
    }
    return absl::OkStatus();
  }
  bool IsAtKey(const InternalIterator& entries) const {
    return entries.Valid() && family_->order.Equal(entries.key().user_key, key_);
  }
  // Returns whether the key's value at `floor` needs no version at or below `from_`.
  absl::StatusOr<bool> IsDecidedAbove(SequenceNumber floor, InternalIterator* entries) {
    if (CoveringIn(*view_, family_->order, key_, floor) > from_) return true;
    for (entries->Seek({key_, SeekTrailer(floor)}); IsAtKey(*entries); entries->Next()) {
      if (entries->key().sequence() > floor) continue;
      if (entries->key().sequence() <= from_) break;
      if (MeaningOf(entries->key().trailer) != Meaning::kOperand) return true;
    }
    RETURN_IF_ERROR(entries->status());
    return false;
  }
  // Adds at most `limit` range deletes, the newest ones.
  void AddRangeDeletes(SequenceNumber floor, size_t limit) {
    SequenceNumber at = from_;
    for (; limit > 0; --limit) {
      const SequenceNumber deleted = CoveringIn(*view_, family_->order, key_, at);
      if (deleted == SequenceNumber(0)) return;
      versions_.push_back({.sequence = deleted.value(), .kind = KeyVersion::Kind::kDelete});
      if (deleted <= floor) return;
      at = SequenceNumber(deleted.value() - 1);
    }
  }

  Core* const core_;
  const Family* const family_;
  const ReadView* const view_;
  const SequenceNumber visible_;
  const std::string_view key_;
  SequenceNumber from_;
  std::vector<KeyVersion> versions_;
};

}  // namespace

absl::Status Engine::OutOfHistory(const Family& family, std::string_view moment) const {
  const SequenceNumber floor = family.history.floor();
  const std::optional<uint64_t> oldest = core_->time_marks.OldestTime(floor);
  const std::string since = oldest.has_value() ? TimeText(TimeOfMillis(*oldest)) : "no time that is known";
  return absl::OutOfRangeError(
      absl::StrFormat("%s is older than the history of column family \"%s\", which can be read as of %s, sequence "
                      "number %u, and later; a longer ColumnFamilyOptions::history keeps more from now on",
                      moment, Printable(family.name), since, floor.value()));
}

absl::StatusOr<SequenceNumber> Engine::MomentOf(const Family& family, const ReadOptions& options,
                                                SequenceNumber visible) {
  const int given = (options.snapshot != nullptr ? 1 : 0) + (options.as_of_sequence.has_value() ? 1 : 0) +
                    (options.as_of_time.has_value() ? 1 : 0);
  if (given > 1) {
    return absl::InvalidArgumentError(
        "a read is as of one moment: give one of ReadOptions::snapshot, as_of_sequence and as_of_time");
  }
  if (!family.history.on()) return HasNoHistory(family);
  if (read_only_) RETURN_IF_ERROR(ReadTimeMarks());
  if (options.as_of_sequence.has_value()) return std::min(visible, SequenceNumber(*options.as_of_sequence));
  const uint64_t millis = MillisOf(*options.as_of_time);
  const std::optional<SequenceNumber> moment = core_->time_marks.SequenceAsOf(millis, visible);
  if (!moment.has_value()) return OutOfHistory(family, TimeText(*options.as_of_time));
  return std::min(visible, *moment);
}

absl::StatusOr<Engine::PastRead> Engine::ReadPast(const Family& family, const ReadOptions& options) {
  const std::shared_ptr<const Snapshot> now = read_only_ ? GetSnapshot() : nullptr;
  const SequenceNumber visible = now != nullptr ? SequenceNumber(now->sequence()) : state_->VisibleSequence();
  ASSIGN_OR_RETURN(const SequenceNumber moment, MomentOf(family, options, visible));
  PastRead past{.snapshot = nullptr, .options = options};
  const JointView* const views = now != nullptr ? SnapshotList::ViewsOf(now.get()) : nullptr;
  const bool held = family.history.Hold(moment, [&] {
    past.snapshot =
        state_->snapshots->Take(moment, core_, views != nullptr ? views->shared_from_this() : nullptr, family.id);
  });
  if (!held) {
    return OutOfHistory(family, options.as_of_time.has_value() ? TimeText(*options.as_of_time)
                                                               : absl::StrFormat("sequence number %u", moment.value()));
  }
  past.options.snapshot = past.snapshot.get();
  past.options.as_of_sequence.reset();
  past.options.as_of_time.reset();
  return past;
}

std::unique_ptr<Iterator> Engine::NewPastIterator(const ColumnFamily& handle, const Family& family,
                                                  const ReadOptions& options) {
  if (absl::Status status = CheckSnapshot(options); !status.ok()) return NewErrorIterator(std::move(status));
  absl::StatusOr<PastRead> past = ReadPast(family, options);
  return past.ok() ? NewIterator(handle, past->options) : NewErrorIterator(std::move(past).status());
}

HeldPoint Engine::HoldPoint(const Family& family) {
  HeldPoint held;
  const EpochDomain::Guard guard(&core_->epochs);
  const ReadPoint point = PointOf(family, kDefaultReadOptions);
  if (point.view == nullptr) return held;
  held.view.emplace(core_, point.view->shared_from_this());
  held.visible = point.visible;
  held.standing = family.range_deletes.Stand(point.visible);
  return held;
}

// A job that runs meanwhile drops only versions below the floor that is read last; everything above it is complete.
absl::StatusOr<std::vector<KeyVersion>> Engine::History(const ColumnFamily& handle, std::string_view key,
                                                        const HistoryOptions& options) {
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  if (!family->history.on()) return HasNoHistory(*family);
  if (read_only_) RETURN_IF_ERROR(ReadTimeMarks());
  TellOfReads(1);
  const HeldPoint now = HoldPoint(*family);
  if (!now.view.has_value()) return NoView(*family);
  VersionsOfKey collected(core_.get(), family.get(), &**now.view, now.visible, key);
  // If the floor rises beyond what was looked at, the version that was current at the floor was not collected.
  SequenceNumber floor;
  do {
    floor = family->history.floor();
    RETURN_IF_ERROR(collected.Collect(floor, options));
  } while (family->history.floor() > std::max(floor, collected.from()));
  std::vector<KeyVersion> versions = std::move(collected).Take(family->history.floor(), options);
  for (KeyVersion& version : versions) {
    const std::optional<uint64_t> millis = core_->time_marks.TimeOfUpdate(SequenceNumber(version.sequence));
    if (millis.has_value()) version.time = TimeOfMillis(*millis);
  }
  return versions;
}

// --- time marks ---

absl::Status Engine::StartHistories() {
  if (read_only_ || !core_->time_marks.wanted()) return absl::OkStatus();
  RETURN_IF_ERROR(AllowSystemRows());
  RETURN_IF_ERROR(ReadTimeMarks());
  core_->time_marks.Begin(state_->VisibleSequence());
  return absl::OkStatus();
}

absl::Status Engine::ReadTimeMarks() {
  const std::shared_ptr<FamilyHandle> rows = SystemFamily();
  if (rows == nullptr) return absl::OkStatus();
  MutexLock lock(&marks_mutex_);
  std::vector<TimeMarkRow> marks;
  const std::string prefix = SystemRowKey(SystemRowKind::kTimeMark, "");
  const std::unique_ptr<Iterator> it = NewIterator(*rows, kDefaultReadOptions);
  const SequenceNumber from = core_->time_marks.newest();
  it->Seek(prefix + (from > SequenceNumber(0) ? TimeMarkName(from.next()) : std::string()));
  for (; it->Valid() && it->key().starts_with(prefix); it->Next()) {
    const std::optional<TimeMarkRow> mark = ParseTimeMark(it->key().substr(prefix.size()), it->value());
    if (!mark.has_value()) return absl::DataLossError(absl::StrFormat("%s: a time mark is damaged", core_->path));
    marks.push_back(*mark);
  }
  RETURN_IF_ERROR(it->status());
  SequenceNumber lowest = state_->VisibleSequence(), begun = kMaxSequenceNumber;
  {
    // Read after the rows, so that a concurrent CatchUp cannot make histories older than the rows.
    StateLock state_lock(state_.get());
    for (const auto& [id, family] : state_->families) {
      if (!family->history.on()) continue;
      lowest = std::min(lowest, family->history.floor());
      begun = std::min(begun, family->history.begun());
    }
  }
  core_->time_marks.Restore(marks, begun);
  core_->time_marks.Forget(lowest);
  if (read_only_) core_->time_marks.DropForgotten();
  return absl::OkStatus();
}

std::string Engine::HistoryText(const Family& family) {
  if (!family.history.on()) return "";
  if (read_only_) ReadTimeMarks().IgnoreError();  // on an error it shows the marks that it has
  const SequenceNumber floor = family.history.floor();
  const std::optional<uint64_t> oldest = core_->time_marks.OldestTime(floor);
  return absl::StrFormat("kept: %u ms\nfloor: %u\noldest time: %s\ntime marks: %u\nclock: %s\n",
                         family.history.millis(), floor.value(),
                         oldest.has_value() ? TimeText(TimeOfMillis(*oldest)) : "unknown", core_->time_marks.count(),
                         read_only_ ? "the writer's" : ClockText(core_->time_marks.trouble()));
}

}  // namespace sepal
