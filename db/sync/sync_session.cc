#include "db/sync/sync_session.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/sync/sync_checks.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// From this round on hashes are sent in place of filters. False positives of three rounds leave one entry of a million
// that differ.
constexpr uint64_t kFirstExactRound = 3;
constexpr uint64_t kMostRounds = 16;

// Chooses the form of the filter for the entries in the ranges that differ, `ours` and `theirs`, of which about
// `differences`, if known, are only on one side.
SyncForm ChooseForm(const SyncTuning& tuning, uint64_t round, uint64_t ours, uint64_t theirs,
                    const std::optional<uint64_t>& differences) {
  const bool few = ours <= tuning.exact_entries && theirs <= tuning.exact_entries - ours;
  // Hashes never take more than a filter may: if a filter had less than 10 bits for each entry, many are left after
  // three rounds.
  const uint64_t most = tuning.most_filter_bytes / sizeof(uint64_t);
  if (few || (round >= kFirstExactRound && ours <= most && theirs <= most)) return SyncForm::kHashes;
  if (!differences.has_value() || *differences > tuning.most_filter_bytes) return SyncForm::kBloom;
  // The other side answers a table with hashes of what it lacks.
  const uint64_t table = DifferenceTable::CellsFor(*differences) * DifferenceTable::kCellBytes;
  const uint64_t filters = (ours + theirs) / 8 * 10;
  const bool smaller = table <= tuning.most_filter_bytes && table + *differences * sizeof(uint64_t) < filters;
  return smaller ? SyncForm::kTable : SyncForm::kBloom;
}

// Writes the items that are received, up to their end.
absl::Status ApplyAll(SyncStream* stream, SyncSide* side) {
  std::string payload;
  for (;;) {
    ASSIGN_OR_RETURN(const SyncMessage type, stream->Receive(&payload));
    if (type == SyncMessage::kEnd) return side->Sync();
    if (type != SyncMessage::kItems) return StreamDamage("a message in the middle of entries that are none");
    RETURN_IF_ERROR(side->Apply(payload));
  }
}

absl::Status SendMissing(SyncStream* stream, SyncSide* side, const SyncFilter& theirs) {
  RETURN_IF_ERROR(
      side->Missing(theirs, [&](std::string_view items) { return stream->Send(SyncMessage::kItems, items); }));
  return stream->Send(SyncMessage::kEnd, {});
}

absl::Status SendConflicts(SyncStream* stream, const std::vector<std::string>& found) {
  std::string keys;
  for (const std::string& key : found) {
    if (!keys.empty() && keys.size() + key.size() + kMaxVarint64Bytes > kMostListBytes) {
      RETURN_IF_ERROR(stream->Send(SyncMessage::kConflicts, std::exchange(keys, {})));
    }
    AppendKey(key, &keys);
  }
  if (!keys.empty()) RETURN_IF_ERROR(stream->Send(SyncMessage::kConflicts, keys));
  return stream->Send(SyncMessage::kEnd, {});
}

// Reads the conflicts that the other side has found, up to their end.
absl::Status ReceiveConflicts(SyncStream* stream, SyncSide* side,
                              const std::function<void(const std::vector<std::string>& keys)>& note) {
  std::string payload;
  for (;;) {
    ASSIGN_OR_RETURN(const SyncMessage type, stream->Receive(&payload));
    if (type == SyncMessage::kEnd) return absl::OkStatus();
    if (type != SyncMessage::kConflicts) return StreamDamage("a message in the middle of keys that are none");
    ASSIGN_OR_RETURN(const std::vector<std::string> keys, ParseKeys(payload));
    RETURN_IF_ERROR(side->AddConflicts(keys));
    note(keys);
  }
}

class Beginner {
 public:
  Beginner(DB* db, SyncStream* stream, ConflictPolicy policy, uint64_t seed, const SyncTuning& tuning)
      : db_(db), stream_(stream), policy_(policy), seed_(seed), tuning_(tuning), side_(db, policy, true, tuning) {}

  absl::StatusOr<SyncReport> Run() {
    std::string payload;
    RETURN_IF_ERROR(CheckNothingExpires(*db_));
    ASSIGN_OR_RETURN(const std::vector<SyncFamily> ours, FamiliesToSync(db_));
    RETURN_IF_ERROR(CheckNamesFit(ours, {}));
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kHello, Encode({.policy = policy_, .families = ours})));
    RETURN_IF_ERROR(stream_->Expect(SyncMessage::kHello, &payload));
    ASSIGN_OR_RETURN(const SyncHello theirs, ParseHello(payload));
    RETURN_IF_ERROR(CheckComparators(ours, theirs.families));
    RETURN_IF_ERROR(CheckNamesFit(ours, theirs.families));
    std::set<std::string> families;
    for (const SyncFamily& family : ours) families.insert(family.name);
    for (const SyncFamily& family : theirs.families) families.insert(family.name);
    for (const std::string& family : families) RETURN_IF_ERROR(OneFamily(family));
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kDone, {}));
    RETURN_IF_ERROR(stream_->Expect(SyncMessage::kDone, &payload));
    ASSIGN_OR_RETURN(const SyncDone done, ParseDone(payload));
    report_.written_there = done.written;
    report_.overwritten_there = done.overwritten;
    report_.column_families = families.size();
    report_.written = side_.written();
    report_.overwritten = side_.overwritten();
    report_.sent = side_.sent();
    report_.sent_bytes = stream_->sent_bytes();
    report_.received_bytes = stream_->received_bytes();
    return std::move(report_);
  }

 private:
  absl::Status OneFamily(const std::string& family) {
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kFamily, family));
    RETURN_IF_ERROR(side_.Begin(family));
    for (uint64_t round = 0; round < kMostRounds; ++round) {
      ASSIGN_OR_RETURN(const bool equal, Round(family, round));
      if (!equal) continue;
      report_.entries += side_.entries();
      return absl::OkStatus();
    }
    return absl::AbortedError(absl::StrFormat(
        "the column family \"%s\" still differs after %u rounds: does anything else write to one of the databases?",
        Printable(family), kMostRounds));
  }

  // Whether both sides are equal.
  absl::StatusOr<bool> Round(const std::string& family, uint64_t round) {
    std::string payload;
    RETURN_IF_ERROR(side_.Sum(Mix64(seed_ + round)));
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kRanges, Encode(side_.ranges())));
    RETURN_IF_ERROR(stream_->Expect(SyncMessage::kDiffering, &payload));
    const RangeSums& sums = side_.ranges().ranges;
    ASSIGN_OR_RETURN(SyncDiffering differing, ParseDiffering(payload, sums.size()));
    uint64_t entries = 0;
    bool equal = true;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (!differing.ranges[i]) continue;
      equal = false;
      entries += sums[i].entries;
    }
    if (equal) return true;
    ++report_.rounds;
    side_.WorkOn(std::move(differing.ranges));
    std::optional<uint64_t> differences;
    if (differing.sketch.has_value()) {
      const auto about = static_cast<double>(side_.sketch().DifferenceTo(*differing.sketch));
      differences = static_cast<uint64_t>(tuning_.table_room * about);
    }
    const SyncForm form = ChooseForm(tuning_, round, entries, differing.entries, differences);
    ASSIGN_OR_RETURN(const std::string filter, side_.Filter(form, form == SyncForm::kTable ? *differences : entries));
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kFilter, filter));
    RETURN_IF_ERROR(ApplyAll(stream_, &side_));
    const std::vector<std::string> found = side_.TakeConflicts();
    RETURN_IF_ERROR(SendConflicts(stream_, found));
    Note(family, found);
    RETURN_IF_ERROR(stream_->Expect(SyncMessage::kFilter, &payload));
    ASSIGN_OR_RETURN(const SyncFilter their_filter, SyncFilter::Parse(payload));
    if (their_filter.form() == SyncForm::kTable) return StreamDamage("a table of differences where none was due");
    RETURN_IF_ERROR(SendMissing(stream_, &side_, their_filter));
    RETURN_IF_ERROR(
        ReceiveConflicts(stream_, &side_, [&](const std::vector<std::string>& theirs) { Note(family, theirs); }));
    return false;
  }

  void Note(const std::string& family, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) report_.conflicts.push_back({.column_family = family, .key = key});
  }

  DB* const db_;
  SyncStream* const stream_;
  const ConflictPolicy policy_;
  const uint64_t seed_;
  const SyncTuning tuning_;
  SyncSide side_;
  SyncReport report_;
};

class Answerer {
 public:
  Answerer(DB* db, SyncStream* stream, const SyncTuning& tuning) : db_(db), stream_(stream), tuning_(tuning) {}

  absl::Status Run() {
    std::string payload;
    RETURN_IF_ERROR(CheckNothingExpires(*db_));
    ASSIGN_OR_RETURN(const std::vector<SyncFamily> ours, FamiliesToSync(db_));
    RETURN_IF_ERROR(stream_->Expect(SyncMessage::kHello, &payload));
    ASSIGN_OR_RETURN(const SyncHello theirs, ParseHello(payload));
    RETURN_IF_ERROR(CheckNamesFit(ours, {}));
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kHello, Encode({.policy = theirs.policy, .families = ours})));
    // This check follows the greeting, so that the other side finds the mistake too, and reports it from its own point
    // of view.
    RETURN_IF_ERROR(CheckComparators(ours, theirs.families));
    RETURN_IF_ERROR(CheckNamesFit(ours, theirs.families));
    for (const SyncFamily& family : ours) families_.insert(family.name);
    for (const SyncFamily& family : theirs.families) families_.insert(family.name);
    side_.emplace(db_, theirs.policy, /*begins=*/false, tuning_);
    for (;;) {
      ASSIGN_OR_RETURN(const SyncMessage type, stream_->Receive(&payload));
      if (type == SyncMessage::kDone) {
        return stream_->Send(SyncMessage::kDone,
                             Encode(SyncDone{.written = side_->written(), .overwritten = side_->overwritten()}));
      }
      RETURN_IF_ERROR(Answer(type, payload));
    }
  }

 private:
  absl::Status Answer(SyncMessage type, const std::string& payload) {
    if (type == SyncMessage::kFamily) {
      // Its comparator has not been checked.
      if (!families_.contains(payload)) return StreamDamage("a column family that no greeting has named");
      begun_ = true;
      differing_.reset();
      return side_->Begin(payload);
    }
    if (type == SyncMessage::kRanges && begun_) {
      ASSIGN_OR_RETURN(SyncRanges ranges, ParseRanges(std::move(payload)));
      ASSIGN_OR_RETURN(differing_, side_->Compare(std::move(ranges)));
      return stream_->Send(SyncMessage::kDiffering, Encode(*differing_));
    }
    if (type == SyncMessage::kFilter && differing_.has_value()) return Exchange(payload);
    return StreamDamage(absl::StrFormat("a message of type %u that was not due", static_cast<uint8_t>(type)));
  }

  // Answers in the form that the other side has chosen.
  absl::Status Exchange(const std::string& payload) {
    ASSIGN_OR_RETURN(SyncFilter theirs, SyncFilter::Parse(payload));
    const SyncForm form = theirs.form();
    if (form == SyncForm::kWanted) return StreamDamage("a list of what is wanted that was not due");
    std::string filter;
    if (form == SyncForm::kTable) {
      ASSIGN_OR_RETURN(std::vector<uint64_t> wanted, side_->Resolve(&theirs));
      filter = EncodeHashes(SyncForm::kWanted, std::move(wanted));
    }
    RETURN_IF_ERROR(SendMissing(stream_, &*side_, theirs));
    RETURN_IF_ERROR(ReceiveConflicts(stream_, &*side_, [](const std::vector<std::string>&) {}));
    if (form != SyncForm::kTable) {
      ASSIGN_OR_RETURN(filter, side_->Filter(form, differing_->entries));
    }
    RETURN_IF_ERROR(stream_->Send(SyncMessage::kFilter, filter));
    RETURN_IF_ERROR(ApplyAll(stream_, &*side_));
    differing_.reset();
    return SendConflicts(stream_, side_->TakeConflicts());
  }

  DB* const db_;
  SyncStream* const stream_;
  const SyncTuning tuning_;
  std::optional<SyncSide> side_;
  std::set<std::string, std::less<>> families_;  // of both sides
  bool begun_ = false;
  std::optional<SyncDiffering> differing_;
};

// If the other side is gone, its last message, if any, is the reason. Without one, the error at the end of its bytes
// says more than a failed write, and less than a failed read.
absl::Status Explained(absl::Status status, SyncStream* stream) {
  std::string payload;
  const bool write_failed = stream->sending_failed();
  if (!absl::IsUnavailable(status)) {
    stream->SendError(status);
    return status;
  }
  for (;;) {
    const absl::StatusOr<SyncMessage> type = stream->Receive(&payload);
    if (!type.ok()) return absl::IsUnavailable(type.status()) && !write_failed ? status : type.status();
  }
}

}  // namespace

absl::StatusOr<SyncReport> BeginSync(DB* db, SyncChannel* other, const SyncOptions& options, const SyncTuning& tuning) {
  SyncStream stream(other);
  absl::StatusOr<SyncReport> report = Beginner(db, &stream, options.policy, options.seed, tuning).Run();
  if (report.ok()) return report;
  return Explained(report.status(), &stream);
}

absl::Status ServeSync(DB* db, SyncChannel* other, const SyncTuning& tuning) {
  SyncStream stream(other);
  const absl::Status status = Answerer(db, &stream, tuning).Run();
  return status.ok() ? status : Explained(status, &stream);
}

absl::StatusOr<SyncReport> BeginSync(DB& db, SyncChannel& other, const SyncOptions& options) {
  SyncOptions seeded = options;
  if (seeded.seed == 0) seeded.seed = SystemRandomSeed();
  return BeginSync(&db, &other, seeded, SyncTuning());
}

void RefuseSync(const absl::Status& why, SyncChannel& other) {
  SyncStream stream(&other);
  // The other side sends first: a side that can no longer write would not read the reason.
  std::string greeting;
  stream.Receive(&greeting).status().IgnoreError();
  stream.SendError(why);
}

absl::Status ServeSync(DB& db, SyncChannel& other) { return ServeSync(&db, &other, SyncTuning()); }

}  // namespace sepal
