// ExplainGet asks the same sources as a Get (point_lookup.cc), in the same order, and reports what each answers; in a
// table it takes the same steps as a Get (table/file/table_explain.cc).
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "db/decide/visibility/operands.h"
#include "db/decide/visibility/visibility.h"
#include "db/engine/face/engine.h"
#include "db/engine/read/point_lookup.h"
#include "db/engine/read/range_cover.h"
#include "db/engine/read/read_filter.h"
#include "db/format/expiring_value.h"
#include "db/format/file_names.h"
#include "util/base/hash.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/base/unix_time.h"

namespace sepal {
namespace {

using Answer = ExplainedSource::Answer;

class Explainer {
 public:
  Explainer(Core* core, const Family& family, const LookupKey& key, GetExplanation* out)
      : core_(core), family_(family), key_(key), out_(out), resolver_({key.visible}) {}

  absl::Status Run(const ReadView& view) {
    const uint64_t began = core_->world.clock->MonotonicMicros();
    const absl::Status status = Ask(view);
    out_->micros = core_->world.clock->MonotonicMicros() - began;
    for (const ExplainedSource& source : out_->sources) out_->bytes_read += source.bytes_read;
    return status;
  }
  // Returns whether the value lies in a value file, so that it was not read.
  bool refers() const { return refers_; }

 private:
  absl::Status Ask(const ReadView& view) {
    out_->runs = view.version->runs().size();
    AskMemTable(*view.active, ExplainedSource::Kind::kActiveMemtable);
    for (const auto& memtable : view.immutables) {
      if (!decided_) AskMemTable(*memtable, ExplainedSource::Kind::kImmutableMemtable);
    }
    if (decided_) return absl::OkStatus();
    for (const LevelRun& level_run : view.version->runs()) {
      const TableFile* file = level_run.run->Find(key_.user_key);
      if (file == nullptr) {
        ++out_->runs_without_file;
        continue;
      }
      for (bool more = true; more;) {
        ASSIGN_OR_RETURN(more, AskTable(level_run, *file));
      }
      if (decided_) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // Takes the newest visible update of the key from the source; its value is not read.
  void Take(Trailer trailer, ExplainedSource* source) {
    decided_ = resolver_.Add(trailer, {});
    out_->found = resolver_.meaning() != Meaning::kAbsent;
    out_->merge_operands = resolver_.operands();
    out_->value_bytes = out_->found ? source->value_bytes : 0;
    switch (MeaningOf(trailer)) {
      case Meaning::kReference:
        refers_ = true;
        [[fallthrough]];
      case Meaning::kValue:
        source->answer = Answer::kFound;
        break;
      case Meaning::kAbsent:
        source->answer = Answer::kDeleted;
        break;
      case Meaning::kOperand:
        source->answer = Answer::kOperand;
        break;
      case Meaning::kExpiring:
        source->answer = Answer::kFound;
        refers_ = MeaningUntilExpiry(trailer) == Meaning::kReference;
        out_->expires = true;
        break;
    }
    source->sequence = TrailerSequence(trailer).value();
  }

  void AskMemTable(const MemTable& memtable, ExplainedSource::Kind kind) {
    for (bool more = true; more;) {
      const uint64_t began = core_->world.clock->MonotonicMicros();
      ExplainedSource& source = out_->sources.emplace_back();
      source.kind = kind;
      const std::optional<MemTable::Found> found = memtable.Lookup(key_.user_key, key_.hash, key_.visible);
      if (found.has_value()) {
        source.value_bytes = found->value.size();
        Take(found->trailer, &source);
      }
      source.micros = core_->world.clock->MonotonicMicros() - began;
      more = GoesOn(source) && LooksBelow(OperandOf(found->trailer, found->value).oldest);
    }
  }

  bool GoesOn(const ExplainedSource& source) const { return source.answer == Answer::kOperand && !decided_; }
  // Returns whether the lookup goes on below that number.
  bool LooksBelow(SequenceNumber sequence) {
    if (sequence == SequenceNumber(0)) return false;
    key_.visible = SequenceNumber(sequence.value() - 1);
    return true;
  }

  // Returns whether the table must be asked again.
  absl::StatusOr<bool> AskTable(const LevelRun& level_run, const TableFile& file) {
    const uint64_t began = core_->world.clock->MonotonicMicros();
    ExplainedSource& source = out_->sources.emplace_back();
    source.kind = ExplainedSource::Kind::kTable;
    source.level = level_run.level;
    source.run = level_run.run->number().value();
    source.file_number = file.number().value();
    source.was_open = file.reader() != nullptr;
    FamilyTableOpener opener = core_->Opener(family_.order);
    ASSIGN_OR_RETURN(const TableReader* reader, file.OpenReader(&opener));
    const EpochDomain::Guard guard(&core_->epochs);
    ASSIGN_OR_RETURN(const std::optional<Trailer> found, reader->Explain(key_, &source));
    if (found.has_value()) Take(*found, &source);
    source.micros = core_->world.clock->MonotonicMicros() - began;
    return GoesOn(source) && LooksBelow(SequenceNumber(source.sequence));
  }

  Core* const core_;
  const Family& family_;
  LookupKey key_;  // its `visible` decreases below the operands that were found
  GetExplanation* const out_;
  Resolver resolver_;
  bool decided_ = false;
  bool refers_ = false;
};

std::string_view AnswerText(Answer answer) {
  switch (answer) {
    case Answer::kFound:
      return "found";
    case Answer::kDeleted:
      return "deleted";
    case Answer::kOperand:
      return "merge operand";
    case Answer::kExpired:
      return "expired";
    case Answer::kRefused:
      return "refused by the filter";
    case Answer::kAbsent:
      return "not there";
    case Answer::kGuardSaysNo:
      return "ruled out by its guard";
    case Answer::kLaneSaysNo:
      return "ruled out by a block's lane";
  }
  return "?";
}

std::string_view CachedText(bool cached) { return cached ? "cached" : "read"; }

std::string SourceName(const ExplainedSource& source) {
  switch (source.kind) {
    case ExplainedSource::Kind::kActiveMemtable:
      return "active memtable";
    case ExplainedSource::Kind::kImmutableMemtable:
      return "immutable memtable";
    case ExplainedSource::Kind::kTable:
      return absl::StrFormat("level %d, run %u, %s%s", source.level, source.run,
                             TableFileName(FileNumber(source.file_number)), source.was_open ? "" : " (opened)");
  }
  return "?";
}

std::string BlockText(const ExplainedBlock& block) {
  std::string text =
      absl::StrFormat("      leaf page %u (%s): fence %u of %u -> block at %u, %u bytes\n", block.leaf_page,
                      CachedText(block.leaf_page_cached), block.fence, block.fences, block.offset, block.stored_bytes);
  text += absl::StrFormat("      lane: %s\n", !block.has_lane     ? "none"
                                              : block.lane_admits ? "may be there"
                                                                  : "not there: the block is not touched");
  if (block.lane_admits) {
    text += absl::StrFormat("      block (%s): %s\n", CachedText(block.cached),
                            block.key_present ? "holds the key" : "does not hold the key: a false positive");
  }
  return text;
}

// Hides what was found unless it is newer than the range tombstone.
void HideCovered(SequenceNumber covered_by, GetExplanation* explanation) {
  explanation->range_deleted_at = covered_by.value();
  if (!explanation->found || explanation->sources.back().sequence >= covered_by.value()) return;
  explanation->found = false;
  explanation->value_bytes = 0;
}

}  // namespace

absl::StatusOr<GetExplanation> Engine::ExplainGet(const ColumnFamily& handle, std::string_view key,
                                                  const ReadOptions& options) {
  ASSIGN_OR_RETURN(const FamilyRef family, ResolveShared(handle));
  RETURN_IF_ERROR(CheckSnapshot(options));
  if (IsOfPast(options)) {
    ASSIGN_OR_RETURN(const PastRead past, ReadPast(*family, options));
    return ExplainGet(handle, key, past.options);
  }
  std::optional<HeldView> view;
  SequenceNumber visible;
  std::optional<ReadFilter> filter;
  std::shared_ptr<const void> standing;
  {
    const EpochDomain::Guard guard(&core_->epochs);
    const ReadPoint point = PointOf(*family, options);
    if (point.view == nullptr) return NoView(*family);
    view.emplace(core_, point.view->shared_from_this());
    visible = point.visible;
    if (family->reads_ask_more()) {
      filter.emplace(*family, visible);
      standing = family->range_deletes.Stand(visible);
    }
  }
  const bool filtered = filter.has_value() && filter->epoch() != nullptr;
  const uint64_t seed = catalog_->identity().hash_seed;
  const LookupKey lookup{.user_key = key,
                         .hash = family->order.hashable() ? HashKey(key, seed) : 0,
                         .hash_seed = seed,
                         .visible = visible};
  GetExplanation explanation;
  explanation.key = key;
  explanation.column_family = family->name;
  explanation.visible_sequence = visible.value();
  Explainer explainer(core_.get(), *family, lookup, &explanation);
  RETURN_IF_ERROR(explainer.Run(**view));
  if (family->range_deletes.any()) {
    const EpochDomain::Guard guard(&core_->epochs);
    HideCovered(CoveringIn(**view, family->order, key, visible), &explanation);
  }
  if (explanation.merge_operands > 0 || explanation.expires || explainer.refers() || (filtered && explanation.found)) {
    const EpochDomain::Guard guard(&core_->epochs);
    StatisticsImpl::ThreadCounters counters = core_->statistics.ForThisThread();
    PointResult result;
    RETURN_IF_ERROR(LookUp(*family, **view, lookup, {}, core_.get(), &counters, &result));
    if (filtered) RETURN_IF_ERROR(filter->HideIfRefused(key, &result));
    explanation.found = result.kind == PointResult::Kind::kFound;
    explanation.refused = result.kind == PointResult::Kind::kRefused;
    explanation.value_bytes = result.value.size();
    if (explanation.found && result.expiry_millis > 0) {
      explanation.expires_at = TimeOfMillis(result.expiry_millis);
    }
    if (explanation.refused) {
      explanation.filter_epoch = filter->epoch()->epoch;
      explanation.sources.back().answer = Answer::kRefused;
    } else if (explanation.expires && !explanation.found) {
      explanation.sources.back().answer = Answer::kExpired;
    }
  }
  return explanation;
}

std::string GetExplanation::ToString() const {
  std::string text =
      absl::StrFormat("key '%s' in family %s, as of sequence %u: ", Printable(key), column_family, visible_sequence);
  text += found ? absl::StrFormat("found, %u bytes", value_bytes) : std::string("not found");
  if (refused) absl::StrAppendFormat(&text, ", refused by the filter at epoch '%s'", Printable(filter_epoch));
  if (found && expires) text += ", which expire";
  if (expires_at.has_value()) {
    absl::StrAppend(&text, " at ", TimeText(*expires_at));
  }
  if (merge_operands > 0) absl::StrAppendFormat(&text, ", made of %u merge operands", merge_operands);
  if (range_deleted_at > 0) absl::StrAppendFormat(&text, "; a range with the key was deleted at %u", range_deleted_at);
  text += "\n";
  for (const ExplainedSource& source : sources) {
    absl::StrAppendFormat(&text, "  %s: %s", SourceName(source), AnswerText(source.answer));
    const bool has_entry = source.answer == Answer::kFound || source.answer == Answer::kDeleted ||
                           source.answer == Answer::kOperand || source.answer == Answer::kExpired ||
                           source.answer == Answer::kRefused;
    if (has_entry) absl::StrAppendFormat(&text, " at sequence %u", source.sequence);
    text += "\n";
    if (source.kind != ExplainedSource::Kind::kTable) continue;
    if (!source.has_guard) {
      text += "      guard: none\n";
    } else {
      absl::StrAppendFormat(&text, "      guard (%s): %s\n", CachedText(source.guard_cached),
                            source.guard_admits ? "may be there" : "not there");
    }
    for (const ExplainedBlock& block : source.blocks) text += BlockText(block);
  }
  absl::StrAppendFormat(&text, "  %u of %u runs have no file that spans the key\n", runs_without_file, runs);
  absl::StrAppendFormat(&text, "  %u bytes read from files, %u us\n", bytes_read, micros);
  return text;
}

}  // namespace sepal
