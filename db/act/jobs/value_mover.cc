#include "db/act/jobs/value_mover.h"

#include "db/format/stored_value.h"
#include "db/format/value_reference.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// A window is processed when it has this many values, bytes of values, or entries.
constexpr size_t kMostValues = 64;
constexpr uint64_t kMostBytes = uint64_t{1} << 20;
constexpr size_t kMostEntries = 1024;

}  // namespace

std::optional<ValueReference> ValueMover::ToMove(const InternalKeyView& key, std::string_view value) const {
  const std::optional<ValueReference> reference = ReferenceOf(key.kind(), value);
  // A chunked value is alone in its file, which goes with it.
  if (!reference.has_value() || reference->chunked) return std::nullopt;
  const bool moves = moves_.collection != nullptr && moves_.collection->Empties(reference->file);
  return moves || reference->value_bytes() < moves_.inline_below ? reference : std::nullopt;
}

absl::Status ValueMover::Add(const InternalKeyView& key, std::string_view value, bool first_of_key) {
  const std::optional<ValueReference> reference = ToMove(key, value);
  if (!reference.has_value() && window_.empty()) return emit_(key, value, first_of_key);
  if (reference.has_value()) {
    wanted_.push_back(*reference);
    of_.push_back(window_.size());
    // A value that moves into the table is in the window in its decompressed form.
    const bool comes_back = reference->value_bytes() < moves_.inline_below;
    wanted_bytes_ += comes_back ? reference->value_bytes() : reference->stored_bytes;
  }
  window_.push_back({InternalKey(key), std::string(value), first_of_key});
  const bool full = wanted_.size() >= kMostValues || wanted_bytes_ >= kMostBytes || window_.size() >= kMostEntries;
  return full ? Drain() : absl::OkStatus();
}

absl::Status ValueMover::Drain() {
  RETURN_IF_ERROR(MoveAll());
  const std::vector<Entry> window = std::exchange(window_, {});
  for (const Entry& entry : window) RETURN_IF_ERROR(emit_(entry.key.view(), entry.value, entry.first_of_key));
  return absl::OkStatus();
}

absl::Status ValueMover::MoveAll() {
  std::vector<absl::StatusOr<CachePin>> values(wanted_.size());
  moves_.store->FetchStored(wanted_, [&](size_t i, absl::StatusOr<CachePin> stored) { values[i] = std::move(stored); });
  // In key order, so that scans later read them in the order of the file.
  for (size_t i = 0; i < values.size(); ++i) {
    if (absl::IsDataLoss(values[i].status())) {
      moves_.store->NoteUnreadable(wanted_[i].file);
      continue;
    }
    RETURN_IF_ERROR(values[i].status());
    RETURN_IF_ERROR(MoveOne(wanted_[i], values[i]->bytes(), &window_[of_[i]]));
  }
  wanted_.clear();
  of_.clear();
  wanted_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status ValueMover::MoveInline(const ValueReference& from, std::string_view stored, Entry* entry) {
  std::string value;
  if (from.compressed()) {
    const absl::Status status = moves_.store->Decompress(from, stored, &value);
    if (absl::IsDataLoss(status)) {
      moves_.store->NoteUnreadable(from.file);
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(status);
  } else {
    value = stored;
  }
  const InternalKeyView key = entry->key.view();
  entry->value = WithSameExpiry(key.kind(), entry->value, value);
  entry->key.trailer = PackTrailer(key.sequence(), InlineKind(key.kind()));
  return absl::OkStatus();
}

absl::Status ValueMover::MoveOne(const ValueReference& from, std::string_view stored, Entry* entry) {
  if (from.value_bytes() < moves_.inline_below) return MoveInline(from, stored, entry);
  ASSIGN_OR_RETURN(ValueWriter::Written written, moves_.store->moved().Append(StoredAs(from, stored)));
  entry->value = WithSameExpiry(entry->key.view().kind(), entry->value, EncodeValueReference(written.reference));
  bytes_moved_ += stored.size();
  if (files_.empty() || files_.back() != written.file) files_.push_back(std::move(written.file));
  return absl::OkStatus();
}

}  // namespace sepal
